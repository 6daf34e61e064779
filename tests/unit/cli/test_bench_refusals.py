"""bench refuses what makes no sense, in a line that says what is allowed."""

from pathlib import Path

import pytest

import hcasim.workloads
from hcasim.cli.results import FORMS
from hcasim.ground.errors import one_of
from tests.unit.cli.conftest import Hcasim

LIU = ("--testbed", "liu2004")
SUR = ("--testbed", "sur2005")


@pytest.mark.parametrize(
    ("workload", "form", "others"),
    [
        ("window_bw", "perftest", ()),
        ("host_memory", "osu", ()),
        ("write_lat", "netpipe", ("perftest",)),
        ("write_lat", "osu", ("perftest",)),
        ("multi_bibw", "imb", ()),
        ("imb_bcast", "osu", ("imb",)),
        ("osu_bcast", "imb", ("osu",)),
        ("netpipe_mpi", "osu", ("netpipe",)),
    ],
)
def test_a_tool_that_has_no_such_test_has_no_form_for_it(
    hcasim_: Hcasim, workload: str, form: str, others: tuple[str, ...]
) -> None:
    (fault,) = hcasim_("bench", workload, *SUR, "--format", form).faults
    allowed = one_of([*FORMS, *others])
    assert fault == f"format: {form} has no test like {workload}; allowed: {allowed}"


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("--size", "0"), "size: found 0; allowed: 1 B to 2 GiB"),
        (("--size=-8",), "size: found -8; allowed: 1 B to 2 GiB"),
        (("--size", "3G"), "size: found 3G; allowed: 1 B to 2 GiB"),
        (("--size", "8 ns"), "size: found '8 ns'"),
        (("--adapter", "mt2520"), "did you mean 'mt25208'?"),
        (("--qps", "many"), "qps: found 'many'; allowed: a whole number"),
        (("--qps", "1000000"), "allowed: up to 65536"),
        (("--qps", "1,0"), "qps: found 0; allowed: 1 to 2147483647"),
        (("--qps", "8..1"), "qps: found the range '8..1'"),
        (("--reuse", "101"), "reuse: found 101; allowed: 0 to 100"),
        (("--reuse", "most"), "reuse: found 'most'; allowed: a whole number from 0 to 100"),
        (("--page-size", "2K"), "page_size: found 2048; allowed: powers of two from 4096 B"),
        (("--page-size", "big"), "page_size: found 'big'"),
        (("--depth", "8"), "depth: window_bw has no such option"),
        (("--depth", "x"), "depth: found 'x'; allowed: a whole number"),
        (("--firmware-mode", "memfre"), "did you mean 'memfree'?"),
        (("--window", "0"), "window: found 0; allowed: 1 to 2147483647"),
        (("--mode", "striping", "--ports", "1"), "ports: found 1 with mode striping"),
        (("--ports", "2"), "choose mode striping or binding"),
        (("--mode", "bindng"), "did you mean 'binding'?"),
        (("--op", "fetch_add"), "op: window_bw has no such option"),
        (("--mtu", "1000"), "mtu: found 1000; allowed: "),
        (("--mtu", "big"), "mtu: found 'big'"),
        (("--set", "adapter.bus.lanes"), "--set: found 'adapter.bus.lanes'; allowed: PATH=VALUE"),
        (("--set", "adapter.bus.lanez=4"), "did you mean 'adapter.bus.lanes'?"),
        (("--set", "adapter.bus.lanes=3"), "adapter.bus.lanes"),
        (("--set", "link.width=1", "--set", "link.width=4"), "found link.width twice"),
        (("--format", "jsno"), "did you mean 'json'?"),
        (("--format", "osu", "--json"), "--json: contradicts --format osu"),
        (("--iters", str(2**63)), f"iters: found {2**63}; allowed: 1 to 2147483647"),
        (("--trace", "."), "found a folder"),
        (("--trace", "/nowhere/file"), "there is no folder /nowhere"),
        (("--size", "4,8", "--trace", "events"), "--trace: records one size, found 2"),
        (("--qps", "4,8", "--trace", "events"), "--trace: records one point, found 2"),
        (("--size", "4,8", "--pcap", "x.pcap"), "--pcap: records one size, found 2"),
        (("--pcap", "x.cap"), "--pcap: found 'x.cap'; allowed endings: .pcap"),
        (("--pcap-link", "0"), "--pcap-link: says more of --pcap FILE, which is missing"),
        (("--pcap", "x.pcap", "--pcap-link", "0:0"), "--pcap-link: found '0:0'; allowed: "),
        (("--pcap", "x.pcap", "--pcap-snaplen", "8"), "--pcap-snaplen: found '8'; allowed: 16"),
        (("--trace", "x.txt", "--trace-node", "0"), "--trace-node: chooses a part of a timeline"),
        (("--trace", "x.json", "--trace-time", "1..2us"), "--trace-time: found '1' with no unit"),
        (("--trace", "x.json", "--trace-time", "9us"), "allowed: BEGIN..END, such as 10us..50us"),
        (("--trace", "x.json.bz2"), "--trace: found 'x.json.bz2'; allowed: .json or .json.gz"),
        (("--trace", "x.json", "--trace-node", "0,-1"), "--trace-node: found '-1'; allowed: "),
    ],
)
def test_bad_input_is_one_line_that_says_what_is_allowed(
    hcasim_: Hcasim, words: tuple[str, ...], fault: str
) -> None:
    (found,) = hcasim_("bench", "window_bw", *LIU, *words).faults
    assert fault in found


def test_all_faults_are_said_at_once(hcasim_: Hcasim) -> None:
    words = ("--size", "3G,x", "--qps", "y", "--mode", "z", "--set", "a", "--format", "b")
    assert len(hcasim_("bench", "wirte_bw", "--testbed", "liu204", *words).faults) == 7


def test_the_bus_alone_has_no_form_of_perftest_and_no_stages(hcasim_: Hcasim) -> None:
    (fault,) = hcasim_("bench", "bw_rd", *LIU, "--format", "perftest").faults
    assert "no test of the bus alone" in fault
    (fault,) = hcasim_("bench", "lat_rd", *LIU, "--explain").faults
    assert "explain: lat_rd has no such option; it has cache, exact, " in fault


@pytest.mark.parametrize("name", [f"{300 * 'n'}", "loop", "none/x"])
@pytest.mark.parametrize(
    ("option", "ending"), [("-o", ".json"), ("--plot", ".png"), ("--trace", "")]
)
def test_a_file_that_cannot_be_written_is_said_before_simulating(
    hcasim_: Hcasim,
    in_empty_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    option: str,
    ending: str,
    name: str,
) -> None:
    monkeypatch.setattr(hcasim.workloads, "run_point", None)
    Path(f"loop{ending}").symlink_to(f"loop{ending}")
    words = ("--testbed", "liu2004", "--size", "8", option, f"{name}{ending}")
    (fault,) = hcasim_("bench", "write_lat", *words).faults
    option = "--output" if option == "-o" else option
    assert fault.startswith(f"{option} {name}{ending}: cannot be written: ")


@pytest.mark.usefixtures("invented")
def test_two_options_do_not_write_one_file_unless_it_is_a_device(
    hcasim_: Hcasim, in_empty_folder: Path
) -> None:
    words = ("bench", "write_lat", *LIU, "--size", "8")
    assert hcasim_(*words, "-o", "/dev/null", "--trace", "/dev/null").code == 0
    assert hcasim_(*words, "-o", "same.json", "--trace", "./same.json").faults == [
        "--output same.json: found the same file as --trace same.json; allowed: one of its own"
    ]
    assert list(in_empty_folder.iterdir()) == []
