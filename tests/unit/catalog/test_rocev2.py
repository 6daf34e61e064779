"""Adapters whose ports take InfiniBand and Ethernet speak the protocol of their links."""

from pathlib import Path
from typing import Any

import pytest

from hcasim.catalog import CatalogError, InfinibandProtocol, Rocev2Protocol, resolve
from hcasim.catalog.link import roce_mtu
from hcasim.runs.benchmark import bench
from tests import iwarp

PORT = """
[port]
speed = { value = "SDR", evidence = "assumed", source = "invented" }
width = { value = 4, evidence = "assumed", source = "invented" }
gigabits = { value = 10, evidence = "assumed", source = "invented" }

[doorbell]
"""
KIND = "adapter.protocol.kind"


@pytest.fixture(autouse=True)
def _described(data: Path) -> None:
    iwarp.catalogue(data)
    file = data / "models/adapters/mt25208.toml"
    text = file.read_text()
    assert text.count("\n[doorbell]\n") == 1
    file.write_text(text.replace("\n[doorbell]\n", PORT))


def faults(*args: Any, **request: Any) -> list[str]:
    with pytest.raises(CatalogError) as caught:
        resolve(*args, **request)
    return caught.value.faults


def test_the_links_of_the_testbed_choose_the_protocol() -> None:
    assert isinstance(resolve("liu2004").adapter.protocol, InfinibandProtocol)
    machine = resolve(iwarp.TESTBED, adapter="mt25208")
    assert isinstance(machine.adapter.protocol, Rocev2Protocol)
    assert machine.adapter.limits.atomics


def test_a_protocol_may_be_chosen_among_those_of_the_ports() -> None:
    assert resolve(iwarp.TESTBED, adapter="mt25208", overrides={KIND: "rocev2"})
    assert faults(overrides={KIND: "rocev"}, testbed_id="liu2004") == [
        f"--set {KIND}: found 'rocev'; allowed: infiniband or rocev2; did you mean 'rocev2'?"
    ]
    assert faults("liu2004", adapter="mt23108", overrides={KIND: "rocev2"}) == [
        f"--set {KIND}: found 'rocev2'; allowed: infiniband"
    ]
    (fault,) = faults("liu2004", overrides={KIND: "rocev2"})
    assert fault.startswith(
        "liu2004: adapter.protocol: found rocev2, which needs ethernet links, on a link of kind inf"
    )


@pytest.mark.parametrize(
    ("given", "path"),
    [(576, 256), (1500, 1024), (9000, 4096), (512, 512), (4096, 4096), (4095, 2048)],
)
def test_the_mtu_is_that_of_the_path_or_leaves_room_for_it(given: int, path: int) -> None:
    assert roce_mtu(given) == path
    if path <= 2048:
        assert resolve(iwarp.TESTBED, adapter="mt25208", mtu=given).mtu == path


def test_without_a_choice_the_path_fits_into_the_frames_of_the_testbed() -> None:
    machine = resolve(iwarp.TESTBED, adapter="mt25208")
    assert machine.mtu == 1024
    (size,) = (one for one in machine.parameters if one.path == "mtu")
    assert (size.value, size.source) == (1024, "largest path MTU of RoCEv2 in IP packets of 1500 B")


def test_an_mtu_that_neither_has_is_refused() -> None:
    (fault,) = faults(iwarp.TESTBED, adapter="mt25208", mtu=300)
    infiniband = "256 B, 512 B, 1024 B, 2048 B or 4096 B"
    assert fault == f"mtu: found 300; allowed: {infiniband}, or values from 576 B to 9 KiB"


def test_a_long_message_gets_what_the_frames_leave_of_the_link() -> None:
    """At 10 Gbit/s 82 B surround 1024 B of data, and 16 B more the first of them."""
    found = bench("write_bw", iwarp.TESTBED, adapter="mt25208", size="1M", iters=50)
    assert found.curve.bandwidth_MBps[0] <= 1250 * 1024 / (1024 + 82)


def test_all_verbs_work_over_it() -> None:
    for workload in ("write_lat", "send_lat", "read_lat", "atomic_lat"):
        (found,) = bench(workload, iwarp.TESTBED, adapter="mt25208").curve.rows
        assert found["latency_us"] > 0
