"""What bench prints as another tool is read back with all that it is of."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hcasim.workloads import WORKLOADS
from tests.unit.cli.conftest import Hcasim

Reread = Callable[..., Any]


@pytest.fixture
def reread(hcasim_: Hcasim, tmp_path: Path) -> Reread:
    """Import what a command prints; the trace as JSON."""

    def reread(*words: str) -> Any:
        printed = hcasim_(*words)
        assert printed.code == 0, printed.messages
        file = tmp_path / "printed"
        file.write_text(printed.output)
        found = hcasim_("import", str(file), "--json")
        assert found.code == 0, found.messages
        (trace,) = found.json["traces"]
        return trace

    return reread


MPI = sorted(one.name for one in WORKLOADS.values() if one.name.startswith(("osu_", "imb_")))


@pytest.mark.parametrize(
    ("form", "workload", "field"),
    [
        *(("perftest", one, "latency_us") for one in ("write_lat", "read_lat", "send_lat")),
        *(("perftest", one, "bandwidth_MBps") for one in ("write_bw", "send_bibw")),
        ("netpipe", "netpipe", "latency_us"),
    ],
)
def test_what_bench_prints_as_a_tool_is_read_without_being_told_the_workload(
    form: str, workload: str, field: str, hcasim_: Hcasim, reread: Reread
) -> None:
    qps = () if workload == "netpipe" else ("--qps", "1,2")
    words = (workload, "--testbed", "liu2004", "--size", "64,4K", *qps, "--iters", "20")
    trace = reread("bench", *words, "--format", form)
    rows = hcasim_("bench", *words, "--format", "json").json["rows"]
    assert {point["workload"] for point in trace["points"]} == {workload}
    found = {
        (point["options"]["size"], point["options"].get("qps")): point["measured"][0]
        for point in trace["points"]
    }
    assert len(found) == len(rows)
    for row in rows:
        measured = found[row["size"], row.get("qps") if qps else None]
        statistics = measured["statistics"]
        number = statistics.get("median", statistics.get("mean"))
        scale = 1000 if field == "latency_us" else 1
        assert abs(number / scale - row[field]) <= 0.0051 * 1.05


@pytest.mark.parametrize("workload", MPI)
def test_what_bench_prints_of_mpi_is_read_back_with_all_that_it_is_of(
    workload: str, reread: Reread, tmp_path: Path
) -> None:
    known, form = WORKLOADS[workload], workload[:3]
    rows = tmp_path / "rows.json"
    sizes = ("--size", "0,8,4K" if known.table.startswith("0") else "8,4K")
    sizes = sizes if "size" in known.options else ()
    nodes = ("--nodes", "2,4") if "nodes" in known.options else ()
    window = ("--window", "8") if "window" in known.options else ()
    words = (workload, "--testbed", "liu2004", "--iters", "5", "--set", "stack.post_send=1 us")
    words = ("bench", *words, *sizes, *nodes, *window)
    trace = reread(*words, "-o", str(rows), "--format", form)
    document = json.loads(rows.read_text())
    assert trace["header"]["tool"]["name"] == form
    assert trace["header"]["device"]["name"] == "hcasim-mt25208"
    (note,) = trace["header"]["notes"]
    assert note.startswith(
        "simulated: liu2004, adapter mt25208, stack mvapich-liu2004, stack.post_send=1 us"
    )
    # A run of the tool has one number of nodes.
    rows_of_runs = sorted(document["rows"], key=lambda row: row.get("nodes", 0))
    for point, row in zip(trace["points"], rows_of_runs, strict=True):
        options = point["options"]
        assert (point["workload"], options["mtu"], options["iters"]) == (workload, 1024, 5)
        for name in ("size", "nodes", "processes"):
            # A pair of processes is on two nodes unless the trace says otherwise.
            default = getattr(known.defaults, name)
            assert name not in row or options.get(name, default) == row[name]
        for one in point["measured"]:
            field, scale = {
                "latency": ("latency_us", 1000),
                "bandwidth": ("bandwidth_MBps", 1),
                "rate": ("rate_Mps", 1),
            }[one["quantity"]]
            number = one["statistics"]["mean"] / scale
            assert abs(number - row[field]) <= 0.00501, (field, number, row)
        # What counts is there, whatever follows from it.
        assert point["measured"][0]["quantity"] in known.fields[0]
