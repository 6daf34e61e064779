"""Commands refuse what makes no sense, in a line that says what is allowed."""

import shlex
from pathlib import Path

import pytest

import hcasim.workloads
from hcasim.cli.results import FORMS
from hcasim.ground.errors import one_of
from tests.unit.cli.conftest import Hcasim

TREE = "app --testbed fat-tree-64 -n 4"
LIU = "--testbed liu2004"
PAIR = "liu2004 liu2004 write_lat --size 8,1K -j 1"
NETPIPE = "bench netpipe --testbed benjegerdes2004"
BUS = "sensitivity bw_rd --testbed pcie-bench-haswell --size 512 -j 1"
SWEEP = "sweep write_lat --testbed liu2004"
REFUSED = {
    f"compare {PAIR}": [
        ("--a x", "--a: found 'x'; allowed: NAME=VALUE"),
        ("--csv --json", "--csv: contradicts --json; choose one"),
        ("--sources --json", "--sources: found with --format json;"),
        ("--uncertainty 1", "--uncertainty: found 1; allowed: 2 to"),
        ("--explain", "explain: found with compare; allowed: with why"),
        ("--adapter mt25208,mt23108", "or --a adapter=mt25208 --b adapter=mt23108"),
        ("--b qps=2,window=4", "allowed: each by itself: --b qps=2 --b window=4"),
    ],
    "compare": [
        ("x.csv liu2004", "x.csv"),
        ("liu2004 sur2005 --csv", "--format csv: found without a workload"),
        ("liu2004 sur2006", "sur2006"),
    ],
    f"why {PAIR}": [
        ("--a qps=1 --a qps=2", "--a: found qps twice, as 1 and 2"),
        ("--b qps=2 --group swich", "group: found 'swich'; allowed: part"),
    ],
    "why": [
        ("a.json liu2004 write_lat", "a: found a result; allowed: a testbed"),
    ],
    BUS: [
        ("--range a", "--range: found 'a'; allowed: PATH=LOW..HIGH"),
        ("--range a=1", "--range: found 'a=1'; allowed: PATH=LOW..HIGH"),
        ("--spread x", "spread: found 'x'; allowed: a number above 1"),
        ("-o x.zip", "--output: found 'x.zip'; allowed endings: .json, .csv, .jsonl, .parquet, "),
        ("--set adapter", "--set: found 'adapter'; allowed: PATH=VALUE"),
    ],
    SWEEP: [
        ("--over sise=8", "'sise'"),
        ("--over size", "--over: found 'size'"),
        ("--let qps", "--let: found 'qps'"),
        ("--size 8 --over size=9", "--over: found size also as --size"),
        ("--explain", "explain: found with sweep, which does not look into points; allowed: "),
        ("--csv --json", "--csv: contradicts --json"),
        ("--set adapter.bus.lanes=5,4", "adapter.bus.lanes: found 5; allowed"),
    ],
    NETPIPE: [
        ("--verb wriet", "verb: found 'wriet'; allowed: write or send; did you mean 'write'?"),
        ("--completion ram", "completion: found 'ram'; allowed: cq or memory"),
        ("--verb write --completion cq", "completion: found 'cq' with verb write, "),
        ("--perturbation x", "perturbation: found 'x'; allowed: a whole number"),
        ("--perturbation=-1", "perturbation: found -1; allowed: 0 to 2147483647"),
        ("-I --buffers 8", "buffers: found 8 with invalidate"),
        ("-I --size 16M", "size: found 16777216 with invalidate; allowed: up to 10000000"),
        ("-o results.zip", "--output: found 'results.zip'; allowed endings: .json, .csv, .jsonl, "),
        ("-o /nowhere/np.out", "--output /nowhere/np.out: cannot be written: there is no folder"),
        ("--plot results.gif", "--plot: found 'results.gif'; allowed endings: .png, .svg"),
    ],
    f"bench window_bw {LIU}": [
        ("--size 0", "size: found 0; allowed: 1 B to 2 GiB"),
        ("--adapter mt2520", "did you mean 'mt25208'?"),
        ("--qps many", "qps: found 'many'; allowed: a whole number"),
        ("--qps 8..1", "qps: found the range '8..1'"),
        ("--mtu 1000", "mtu: found 1000; allowed: "),
        ("--set adapter.bus.lanes", "--set: found 'adapter.bus.lanes'; allowed: PATH=VALUE"),
        ("--set adapter.bus.lanez=4", "did you mean 'adapter.bus.lanes'?"),
        ("--set link.width=1 --set link.width=4", "found link.width twice"),
        ("--format jsno", "did you mean 'json'?"),
        ("--format osu --json", "--json: contradicts --format osu"),
        ("--trace .", "found a folder"),
        ("--trace /nowhere/file", "there is no folder /nowhere"),
        ("--size 4,8 --trace events", "--trace: records one size, found 2"),
        ("--qps 4,8 --trace events", "--trace: records one point, found 2"),
        ("--size 4,8 --pcap x.pcap", "--pcap: records one size, found 2"),
        ("--pcap x.cap", "--pcap: found 'x.cap'; allowed endings: .pcap"),
        ("--pcap-link 0", "--pcap-link: says more of --pcap FILE, which is missing"),
        ("--pcap x.pcap --pcap-link 0:0", "--pcap-link: found '0:0'; allowed: "),
        ("--trace x.txt --trace-node 0", "--trace-node: chooses a part of a timeline"),
        ("--trace x.json --trace-time 1..2us", "--trace-time: found '1' with no unit"),
        ("--trace x.json --trace-time 9us", "allowed: BEGIN..END, such as 10us..50us"),
        ("--series x.txt", "--series: found 'x.txt'; allowed endings: .csv or .csv.gz"),
        ("--series x.csv --series-every 0us", "--series-every: found '0us'; allowed: from 1 ns on"),
        ("--series x.csv --series-every 7", "--series-every: found '7' with no unit"),
        ("--series-every 1us", "--series-every: says more of --series FILE, which is missing"),
        ("--trace x.json.bz2", "--trace: found 'x.json.bz2'; allowed: .json or .json.gz"),
        ("--trace x.json --trace-node 0,-1", "--trace-node: found '-1'; allowed: "),
        ("--perturbation 3", "perturbation: window_bw has no such option; netpipe has it"),
        ("-o np.out", "--output: found 'np.out'; allowed endings: .json, .csv, .jsonl, "),
    ],
    "bench write_bw --testbed liu2004 --profile": [
        ("--format csv", "--profile: found with format csv; allowed: text or json"),
        ("--format perftest", "--profile: found with format perftest; allowed: text or json"),
    ],
    "run rashti2007/fig4 --profile": [
        ("--csv", "--profile: found with format csv; allowed: text or json"),
    ],
    "import missing.txt": [
        ("--nodes 0", "--nodes: found '0'; allowed: a whole number from 1"),
        ("--nodes many", "--nodes: found 'many'; allowed: a whole number from 1"),
        ("--processes -1", "--processes: found '-1'; allowed: a whole number from 1"),
        ("--nodes 99999999999999999999", "--nodes: found '9999"),
        ("-o none/t.jsonl", "--output none/t.jsonl: cannot be written: there is no folder none"),
        ("-o none/", "--output: found 'none'; allowed endings: .jsonl"),
    ],
    TREE: [
        ("alreduce", "did you mean 'allreduce'?"),
        ("pipeline mixtral rate=inf", "did you mean 'mixtral-8x7b'?"),
        ("pipeline", "pipeline: model: found none; allowed: bert-large"),
        ("pipeline resnet-50 rate=inf", "model: found 'resnet-50'; allowed: bert-large"),
        ("experts bert-large rate=inf", "found 'bert-large'; allowed: mixtral-8x7b"),
        ("data_parallel resnet-50", "host.computing.tensor: xeon-e7520 has none; needed: rate="),
        ("data_parallel resnet-50 rate=0flop/s", "allowed: 1 to 1e24 flop/s, or inf"),
        ("data_parallel resnet-50 rate=2", "found '2' with no unit"),
        ("data_parallel resnet-50 rate=inf overlap=ja", "found 'ja'; allowed: yes or no"),
        ("data_parallel resnet-50 rate=inf batch=0", "batch: found '0'; allowed: 1 to"),
        ("data_parallel resnet-50 rate=inf bach=1", "did you mean 'batch'?"),
        ("data_parallel resnet-50 rate=", "rate: found nothing; needed: operations"),
        ("allreduce size=1M size=2M", "size: found twice, '1M' and '2M'"),
        ("allreduce size=1X", "found '1X' with the unit 'X'"),
        ("allreduce size=0", "found '0'; allowed: 1 B to 64 GiB"),
        ("allreduce size=40G,40G", "found messages of 80 GiB; allowed: up to 64 GiB"),
        ("data_parallel gpt-3-175b rate=inf", "found messages of 650 GiB; allowed: up to"),
        ("data_parallel resnet-50 rate=1flop/s", "seconds; allowed: 0 to 1000000"),
        ("allreduce 1M", "found '1M'; allowed: size=..., steps=..., warmup=... or combining=..."),
        ("allreduce combining=1", "or inf or host"),
        ("experts mixtral-8x7b rate=inf tokens=3", "tokens: found 3; allowed: what 4 processes"),
        ("experts mixtral-8x7b rate=inf group=3", "group: found 3; allowed: a group of 1, 2, 4"),
        ("experts mixtral-8x7b rate=inf skew=1", "skew: found without seed"),
        ("experts mixtral-8x7b rate=inf seed=1 skew=-1", "skew: found '-1'; allowed: 0 to 10"),
    ],
    "run": [
        ("liu2004/fig03 --plot fig.gif", "--plot: found 'fig.gif'; allowed endings: .png"),
        ("liu2004/fig03 --plot /nowhere/fig.png", "there is no folder /nowhere"),
        ("liu2004 --plot fig.png", "--plot: found 'fig.png' for several scenarios"),
        ("liu2004/fig03 --csv --json", "--csv: contradicts --json"),
        ("liu2004/fig03 --set adapter.bus", "--set: found 'adapter.bus'; allowed: PATH="),
        ("liu2004/fig03 --set adapter.bus=mt2310", "did you mean 'mt23108'?"),
    ],
    "reproduce liu2004/fig03": [
        ("-o x.png", "--output: found 'x.png'; allowed endings: .txt, .json"),
        ("--csv --profile", "--profile: found with format csv; allowed: text or json"),
    ],
    f"app {LIU}": [
        ("is.Z -n 2", "is: class: found 'Z'"),
        ("ix.A -n 2", "did you mean 'is.A'?"),
        ("nothing.py -n 2", "nothing.py: cannot be read: no such file"),
        ("nothing -n 2", "which is no file"),
        ("is.S -n 8", "ranks: found 8; allowed: 1 to 4"),
        ("is.S -n 2 --map-by blok", "did you mean 'block'?"),
        ("is.S -n 2 --algorithm bcast", "allowed: COLLECTIVE=NAME"),
        ("is.S -n 2 --algorithm bcast=x", "algorithms['bcast']"),
        ("is.S -n 2 more", "with a file of Python only"),
    ],
}


@pytest.mark.parametrize(
    ("base", "words", "fault"),
    [(base, *one) for base, refused in REFUSED.items() for one in refused],
)
def test_what_cannot_be_is_refused(hcasim_: Hcasim, base: str, words: str, fault: str) -> None:
    found = hcasim_(*base.split(), *shlex.split(words))
    (one,) = found.faults
    assert fault in one


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
    (fault,) = hcasim_("bench", workload, "--testbed", "sur2005", "--format", form).faults
    allowed = one_of([*FORMS, *others])
    assert fault == f"format: {form} has no test like {workload}; allowed: {allowed}"


def test_all_faults_are_said_at_once(hcasim_: Hcasim) -> None:
    words = ("--size", "3G,x", "--qps", "y", "--mode", "z", "--set", "a", "--format", "b")
    assert len(hcasim_("bench", "wirte_bw", "--testbed", "liu204", *words).faults) == 7
    first, *_ = hcasim_("bench", "window_bw", *LIU.split(), "-I").faults
    assert first.startswith("invalidate: window_bw has no such option")


def test_the_bus_alone_has_no_form_of_perftest_and_no_stages(hcasim_: Hcasim) -> None:
    (fault,) = hcasim_("bench", "bw_rd", *LIU.split(), "--format", "perftest").faults
    assert "no test of the bus alone" in fault
    (fault,) = hcasim_("bench", "lat_rd", *LIU.split(), "--explain").faults
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
    words = (*LIU.split(), "--size", "8", option, f"{name}{ending}")
    (fault,) = hcasim_("bench", "write_lat", *words).faults
    option = "--output" if option == "-o" else option
    assert fault.startswith(f"{option} {name}{ending}: cannot be written: ")


@pytest.mark.usefixtures("invented")
def test_two_options_do_not_write_one_file_unless_it_is_a_device(
    hcasim_: Hcasim, in_empty_folder: Path
) -> None:
    words = ("bench", "write_lat", *LIU.split(), "--size", "8")
    assert hcasim_(*words, "-o", "/dev/null", "--trace", "/dev/null").code == 0
    assert hcasim_(*words, "-o", "same.json", "--trace", "./same.json").faults == [
        "--output same.json: found the same file as --trace same.json; allowed: one of its own"
    ]
    assert list(in_empty_folder.iterdir()) == []
