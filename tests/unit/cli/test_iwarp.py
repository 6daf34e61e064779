"""The command line on a testbed with Ethernet links and an iWARP adapter."""

from pathlib import Path

import pytest

from hcasim.catalog import folders
from hcasim.workloads import WORKLOADS
from tests import iwarp
from tests.unit.cli.conftest import Hcasim

BED = ("--testbed", iwarp.TESTBED)


@pytest.fixture(autouse=True)
def _described(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    iwarp.catalogue(tmp_path)
    monkeypatch.setattr(folders, "roots", lambda: (tmp_path,))


def test_atomics_are_refused_in_one_line_that_says_what_is_allowed(hcasim_: Hcasim) -> None:
    (fault,) = hcasim_("bench", "atomic_lat", *BED, "--op", "cmp_swap").faults
    assert fault.startswith(f"atomic_lat: found with {iwarp.ADAPTER}, which has no atomic ")
    assert "; allowed: write_lat, send_lat, read_lat, " in fault
    assert "atomic_lat" not in fault.partition("allowed")[2]
    faults = hcasim_("bench", "atomic_lat", *BED, "--mtu", "256", "--qps", "0").faults
    assert [fault.partition(":")[0] for fault in faults] == ["qps", "mtu", "atomic_lat"]


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("--mtu", "9001"), f"{iwarp.TESTBED}: mtu: found 9001 B; allowed: up to adapter.limits."),
        (("--mtu", "100"), "mtu: found 100; allowed: values from 576 B to 9 KiB"),
        (("--adapter", "mt25208"), f"{iwarp.TESTBED}: adapter.protocol: found infiniband, which "),
        (("--set", "adapter.protocol.marker=true"), "--set adapter.protocol.marker: unknown "),
        (("--set", "link.width=8"), "--set link.width: unknown parameter; allowed: "),
    ],
)
def test_a_wrong_choice_is_said_in_one_line(
    hcasim_: Hcasim, words: tuple[str, ...], fault: str
) -> None:
    (found,) = hcasim_("bench", "write_lat", *BED, *words).faults
    assert found.startswith(fault)


@pytest.mark.parametrize("mtu", ["1500", "9000"])
def test_perftest_names_the_transport_and_the_link(hcasim_: Hcasim, mtu: str) -> None:
    words = ("--size", "8", "--iters", "10", "--mtu", mtu, "--format", "perftest")
    lines = hcasim_("bench", "write_lat", *BED, *words).output.splitlines()
    assert lines[3].split("\t\t")[1] == "Transport type : IW"
    assert f" Mtu             : {mtu}[B]" in lines
    assert " Link type       : Ethernet" in lines


NETWORK = [
    name
    for name, one in WORKLOADS.items()
    if "op" not in one.options
    and "bus alone" not in one.title
    and "qps" in one.options
    # NetEffect's adapter registers no memory by work requests.
    and not name.startswith("nvmf_")
    # iWARP has no datagrams.
    and not one.replies
]


@pytest.mark.parametrize("workload", [*NETWORK, "netpipe"])
def test_each_workload_runs_over_iwarp(hcasim_: Hcasim, workload: str) -> None:
    words = ["--size", "3000"] if "size" in WORKLOADS[workload].options else []
    words += ["--explain"] if "explain" in WORKLOADS[workload].options else []
    found = hcasim_("bench", workload, *BED, *words)
    assert found.code == 0
    assert f"{workload} on {iwarp.TESTBED}, {iwarp.ADAPTER}" in found.output
