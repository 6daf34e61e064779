"""What is printed as OSU or IMB has the titles, heads and widths of the tool."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import hcasim as hc
from hcasim.runs.foreign import tool_runs
from hcasim.traces import Hints, Source, import_trace
from hcasim.traces.imb import write_imb
from hcasim.traces.osu import write_osu
from hcasim.traces.simulated import Run

Write = Callable[[Run], Iterator[str]]


def printed(write: Write, workload: str, **options: Any) -> list[str]:
    """The lines of a small run but for hcasim's own comments, the last digit of numbers as N."""
    found = hc.bench(workload, "liu2004", jobs=1, iters=4, warmup=2, **options)
    lines = [line for run in tool_runs(found) for line in write(run)]
    told = [line for line in lines if not re.match(r"# (hcasim|simulated|\[ \w+: \S+ \]$)", line)]
    return [re.sub(r" +\d+\.\d\d\b", lambda n: "N".rjust(len(n[0])), line) for line in told]


GROUPS = "# ( 2 groups of 2 processes each running simultaneous ) "
TIMES = "  t_min[usec]  t_max[usec]  t_avg[usec]"
ONE = "            N"


@pytest.mark.parametrize(
    ("workload", "options", "lines"),
    [
        (
            "imb_pingpong",
            {"size": 1024},
            [
                "# Benchmarking PingPong ",
                "# #processes = 2 ",
                "       #bytes #repetitions      t[usec]   Mbytes/sec",
                f"         1024            4{ONE * 2}",
            ],
        ),
        (
            "imb_pingping",
            {"size": 8, "nodes": 4},
            [
                "# Benchmarking Multi-PingPing ",
                GROUPS,
                f"       #bytes #repetitions{TIMES}   Mbytes/sec",
                f"            8            4{ONE * 4}",
            ],
        ),
        (
            "imb_bcast",
            {"size": 8, "nodes": 2, "processes": 2},
            [
                "# Benchmarking Bcast ",
                "# #processes = 4 ",
                f"       #bytes #repetitions{TIMES}",
                f"            8            4{ONE * 3}",
            ],
        ),
        (
            "imb_barrier",
            {"nodes": 2},
            [
                "# Benchmarking Barrier ",
                "# #processes = 2 ",
                f" #repetitions{TIMES}",
                f"            4{ONE * 3}",
            ],
        ),
        (
            "osu_latency",
            {"size": 8},
            ["Latency", "# Size          Latency (us)", "8                          N"],
        ),
        (
            "osu_bibw",
            {"size": 8, "window": 4},
            ["Bi-Directional Bandwidth", "# Size      Bandwidth (MB/s)", f"8{ONE:>27}"],
        ),
        (
            "osu_allgather",
            {"size": 8, "nodes": 2},
            ["Allgather Latency", "# Size       Avg Latency(us)", f"8{ONE:>27}"],
        ),
        (
            "osu_mbw_mr",
            {"size": 8, "nodes": 2, "processes": 2, "window": 4},
            [
                "Multiple Bandwidth / Message Rate",
                "# [ pairs: 2 ] [ window size: 4 ]",
                "# Size                  MB/s        Messages/s",
                f"8{ONE:>27}{ONE:>18}",
            ],
        ),
        ("osu_barrier", {"nodes": 2}, ["Barrier Latency", "# Avg Latency(us)", f"{ONE:>17}"]),
    ],
)
def test_what_is_printed_has_the_titles_and_heads_of_the_tool(
    workload: str, options: dict[str, Any], lines: list[str]
) -> None:
    if workload.startswith("osu"):
        expected = [f"# OSU MPI {lines[0]} Test v5.6.3", *lines[1:]]
        assert printed(write_osu, workload, **options) == expected
    else:
        # A line of dashes is as wide as the head.
        title, processes, head, row = lines
        rule = "#" + "-" * (len(head) - 1)
        expected = ["", rule, title, processes, rule, head, row]
        assert printed(write_imb, workload, **options) == expected


def test_imb_says_how_long_the_fastest_and_the_slowest_process_took() -> None:
    found = hc.bench("imb_reduce", "liu2004", size=64, nodes=4, jobs=1)
    (row,) = found.curve.rows
    (run,) = tool_runs(found)
    *_, least, most, mean = [*write_imb(run)][-1].split()
    assert float(least) == pytest.approx(row["process_min_us"], abs=0.0051)
    assert float(most) == pytest.approx(row["process_max_us"], abs=0.0051)
    assert float(least) <= float(mean) <= float(most)


def test_what_a_text_says_of_its_nodes_is_not_overruled() -> None:
    found = hc.bench("osu_bcast", "liu2004", size=8, nodes=4, iters=4, jobs=1)
    text = "\n".join(line for run in tool_runs(found) for line in write_osu(run)) + "\n"
    source = Source("file", text.encode())
    assert import_trace(source, "", Hints(nodes=4)).points[0].options["nodes"] == 4
    with pytest.raises(hc.CatalogError, match="found nodes 4; --nodes says 2"):
        import_trace(source, "", Hints(nodes=2))
