"""What bench prints as another tool is the same experiment when it is read back, or is refused."""

from pathlib import Path
from typing import Any

import pytest

from hcasim.workloads import WORKLOADS
from tests.unit.cli.conftest import Hcasim

OTHER = {
    "size": "8,32",
    "qps": "3",
    "reuse": "50",
    "window": "7",
    "tx_depth": "9",
    "rx_depth": "16",
    "cq_mod": "4",
    "post_list": "2",
    "rate_limit": "10",
    "sl": "3",
    "connection": "UC",
    "inline_size": "16",
    "ports": "2 --mode binding",
    "mode": "striping",
    "threshold": "4K",
    "processes": "2",
    "clients": "3",
    "client": "compute[1]",
    "server": "compute[2]",
    "nodes": "3",
    "pattern": "random",
    "page_size": "8K",
    "region": "64K",
    "access": "sequential",
    "buffers": "5",
    "iommu": "off",
    "verb": "write",
    "completion": "memory --verb write",
    "algorithm": "ring",
    "op": "cmp_swap",
    "iters": "30",
    "work": "7",
    "memory": "gpu",
    "warmup": "2001",
}
"""A value of each option that is no workload's default, with what it needs beside it."""
GROUPS = {"client", "server", "clients", "nodes"}
"""Those that need more than two nodes, or several groups of them."""
EQUAL = ("exact", "explain")
UNTOLD = {
    "write_lat": {"pattern", "page_size", "iommu", "client", "server", "loopback", "warmup"},
    "atomic_lat": {
        *("pattern", "page_size", "iommu", "region", "access", "client", "server", "loopback"),
        "warmup",
    },
    "send_bw": {
        *("page_size", "iommu", "client", "server", "clients", "loopback", "rate_limit", "sl"),
        *("rx_depth", "memory", "work"),
    },
}
"""What perftest's text does not say."""
CASES = [
    (form, workload, option)
    for form, workload in (
        ("osu", "osu_latency"),
        ("osu", "osu_bw"),
        ("osu", "osu_allgather"),
        ("osu", "osu_barrier"),
        ("imb", "imb_pingpong"),
        ("imb", "imb_allgather"),
        ("imb", "imb_barrier"),
        ("perftest", "write_lat"),
        ("perftest", "atomic_lat"),
        ("perftest", "send_bw"),
        ("netpipe", "netpipe"),
        ("np.out", "netpipe"),
    )
    for option in sorted(WORKLOADS[workload].options - set(EQUAL))
    if (workload, option) not in (("atomic_lat", "size"), ("atomic_lat", "access"))
]


def numbers_are_those_of(row: dict[str, float], point: dict[str, Any]) -> None:
    """What was printed, with two digits behind the dot, and read again."""
    fields = {"latency": ("latency_us", 1000), "bandwidth": ("bandwidth_MBps", 1)}
    for one in point["measured"]:
        if one["quantity"] in fields and not one.get("name"):
            field, scale = fields[one["quantity"]]
            number = one["statistics"].get("median", one["statistics"].get("mean"))
            assert abs(number / scale - row[field]) <= 0.0051 * 1.05, (field, number, row)


@pytest.mark.parametrize(("form", "workload", "option"), CASES)
def test_each_option_comes_back_or_the_form_is_refused(
    form: str,
    workload: str,
    option: str,
    hcasim_: Hcasim,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    if "netpipe" not in workload and form != "imb":
        # IMB's and NetPIPE's numbers are only read if they fit together.
        request.getfixturevalue("invented")
    value = OTHER.get(option)
    if (workload, option) == ("window_bw", "verb"):
        value = "read"
    if option == "algorithm" and workload.endswith("barrier"):
        value = "tree"
    if option == "connection" and "UC" not in WORKLOADS[workload].option(option).words:
        value = "DC --adapter connectx5"
    name = option.replace("_", "-")
    words = [f"--{name}", *value.split()] if value else [f"--{name}"]
    if option != "size" and "size" in WORKLOADS[workload].options and workload != "atomic_lat":
        words += ["--size", "8,32"]
    if option != "iters":
        words += ["--iters", "20"]
    file = tmp_path / "np.out"
    testbed = "fat-tree-64" if option in GROUPS else "liu2004"
    if option in ("memory", "work") or "--adapter" in words:
        testbed = "pair"
    stack = ("--stack", "mvapich-liu2004") if WORKLOADS[workload].mpi else ()
    words = ["bench", workload, "--testbed", testbed, *stack, "-j", "1", *words]
    if form == "np.out":
        ran = hcasim_(*words, "-o", str(file))
    else:
        ran = hcasim_(*words, "--format", form)
        file.write_text(ran.output)
    if form == "perftest" and option in UNTOLD[workload]:
        (fault,) = ran.faults
        assert fault.startswith(f"--{name}: found with format perftest, which does not say it; ")
        return
    assert ran.code == 0, ran.messages
    (trace,) = hcasim_("import", str(file), "--json").json["traces"]
    (told,) = [hcasim_(*words, "--json")]
    asked = told.json
    known = WORKLOADS[workload]
    every = [asked["options"] | one for one in asked["points"] or [{}] * len(asked["rows"])]
    assert len(trace["points"]) == len(every)
    for point, options, row in zip(trace["points"], every, asked["rows"], strict=True):
        numbers_are_those_of(row, point)
        given = {one: v for one, v in point["options"].items() if one in known.options}
        read = vars(known.build(given))
        # These say what comes of them: a queue is not deeper than there are iterations.
        read["tx_depth"] = min(read["tx_depth"], read["iters"])
        if option == "inline_size":
            assert point["options"]["inline"] is (options["size"] <= 16)
            read["inline"], read[option] = False, 16
        for one in known.options - set(EQUAL) - {"cq_mod"}:
            expected = options[one]
            if one == "tx_depth":
                expected = min(expected, options["iters"])
            assert (one, read[one]) == (one, expected)
        if option == "cq_mod":
            assert point["options"]["cq_mod"] == 4
