"""Each command refuses what makes no sense, in a line that says what is allowed."""

import pytest

from tests.unit.cli.conftest import Hcasim

TREE = "app --testbed fat-tree-64 -n 4"
LIU = "app --testbed liu2004"
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
    ],
    "compare": [
        ("x.csv liu2004", "x.csv"),
        ("liu2004 sur2005 --csv", "--format csv: found without a workload"),
        ("liu2004 sur2006", "sur2006"),
    ],
    f"why {PAIR}": [
        ("--a qps=1 --a qps=2", "--a: found qps twice, as 1 and 2"),
        ("--b qps=2 --group swich", "group: found 'swich', with which nothing"),
    ],
    "why": [
        ("a.json liu2004 write_lat", "a: found a result; allowed: a testbed"),
    ],
    BUS: [
        ("--range a", "--range: found 'a'; allowed: PATH=LOW..HIGH"),
        ("--range a=1", "--range: found 'a=1'; allowed: PATH=LOW..HIGH"),
        ("--csv --json", "--csv: contradicts --json; choose one"),
        ("--spread x", "spread: found 'x'; allowed: a number above 1"),
        ("-o x.zip", "--output: found 'x.zip'; allowed endings: .json, .csv, .jsonl, .parquet, "),
        ("--set adapter", "--set: found 'adapter'; allowed: PATH=VALUE"),
    ],
    SWEEP: [
        ("--over sise=8", "'sise'"),
        ("--over size", "--over: found 'size'"),
        ("--let qps", "--let: found 'qps'"),
        ("--size 8 --over size=9", "--over: found size also as --size"),
        ("-o x.zip", "allowed endings"),
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
    "bench window_bw --testbed liu2004": [
        ("--perturbation 3", "perturbation: window_bw has no such option; netpipe has it"),
        ("-I", "invalidate: window_bw has no such option"),
        ("-o np.out", "--output: found 'np.out'; allowed endings: .json, .csv, .jsonl, "),
    ],
    "bench write_bw --testbed liu2004 --profile": [
        ("--format csv", "--profile: found with format csv; allowed: text or json"),
        ("--format perftest", "--profile: found with format perftest; allowed: text or json"),
    ],
    "run rashti2007/fig4 --profile": [
        ("--csv", "--profile: found with --format csv; allowed: with text or json"),
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
    LIU: [
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
    found = hcasim_(*base.split(), *words.split())
    assert any(fault in one for one in found.faults), found.messages
