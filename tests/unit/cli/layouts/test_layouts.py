"""What is printed as OSU or IMB has the titles, heads and widths of the tool."""

import re
from collections.abc import Callable
from typing import Any

import pytest

import hcasim as hc
from hcasim.cli.layouts import imb, osu
from hcasim.cli.layouts.runs import runs
from hcasim.traces import Hints, Source, import_trace
from hcasim.traces.osu.titles import TITLES

Lines = Callable[..., Any]


def printed(layout: Lines, workload: str, **options: Any) -> list[str]:
    """The lines of a small run but for hcasim's own comments, the last digit of numbers as N."""
    found = hc.bench(workload, "liu2004", jobs=1, iters=4, warmup=2, **options)
    lines = [line for run in runs(found) for line in layout(found, *run)]
    told = [line for line in lines if not re.match(r"# (hcasim|simulated|\[ \w+: \S+ \]$)", line)]
    return [re.sub(r" +\d+\.\d\d\b", lambda n: "N".rjust(len(n[0])), line) for line in told]


def test_a_ping_pong_of_imb_has_one_time() -> None:
    rule = "#" + "-" * 51
    assert printed(imb.lines, "imb_pingpong", size=1024) == [
        "",
        rule,
        "# Benchmarking PingPong ",
        "# #processes = 2 ",
        rule,
        "       #bytes #repetitions      t[usec]   Mbytes/sec",
        "         1024            4            N            N",
    ]


def test_pairs_of_imb_are_groups() -> None:
    rule = "#" + "-" * 77
    assert printed(imb.lines, "imb_pingping", size=8, nodes=4)[1:6] == [
        rule,
        "# Benchmarking Multi-PingPing ",
        "# ( 2 groups of 2 processes each running simultaneous ) ",
        rule,
        "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec",
    ]
    alone = printed(imb.lines, "imb_pingping", size=8, nodes=2)
    assert alone[2:4] == ["# Benchmarking PingPing ", "# #processes = 2 "]
    assert alone[5] == "       #bytes #repetitions      t[usec]   Mbytes/sec"


def test_collectives_of_imb_have_three_times_and_barriers_no_size() -> None:
    assert printed(imb.lines, "imb_bcast", size=8, nodes=2, processes=2)[2:] == [
        "# Benchmarking Bcast ",
        "# #processes = 4 ",
        "#" + "-" * 64,
        "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]",
        "            8            4            N            N            N",
    ]
    assert printed(imb.lines, "imb_barrier", nodes=2)[5:] == [
        " #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]",
        "            4            N            N            N",
    ]


@pytest.mark.parametrize(
    ("workload", "options", "lines"),
    [
        (
            "osu_latency",
            {"size": 8},
            ["Latency", "# Size          Latency (us)", "8                          N"],
        ),
        (
            "osu_bibw",
            {"size": 8, "window": 4},
            [
                "Bi-Directional Bandwidth",
                "# Size      Bandwidth (MB/s)",
                "8                          N",
            ],
        ),
        (
            "osu_allgather",
            {"size": 8, "nodes": 2},
            ["Allgather Latency", "# Size       Avg Latency(us)", "8                          N"],
        ),
        (
            "osu_mbw_mr",
            {"size": 8, "nodes": 2, "processes": 2, "window": 4},
            [
                "Multiple Bandwidth / Message Rate",
                "# [ pairs: 2 ] [ window size: 4 ]",
                "# Size                  MB/s        Messages/s",
                "8                          N                 N",
            ],
        ),
        (
            "osu_barrier",
            {"nodes": 2},
            ["Barrier Latency", "# Avg Latency(us)", "                N"],
        ),
    ],
)
def test_programs_of_osu_print_their_own_titles_and_heads(
    workload: str, options: dict[str, Any], lines: list[str]
) -> None:
    title, *rest = lines
    assert TITLES[workload] == title
    assert printed(osu.lines, workload, **options) == [f"# OSU MPI {title} Test v5.6.3", *rest]


def test_imb_says_how_long_the_fastest_and_the_slowest_process_took() -> None:
    found = hc.bench("imb_reduce", "liu2004", size=64, nodes=4, jobs=1)
    (row,) = found.curve.rows
    (run,) = runs(found)
    *_, least, most, mean = [*imb.lines(found, *run)][-1].split()
    assert float(least) == pytest.approx(row["process_min_us"], abs=0.0051)
    assert float(most) == pytest.approx(row["process_max_us"], abs=0.0051)
    assert float(least) <= float(mean) <= float(most)


def test_what_a_text_says_of_its_nodes_is_not_overruled() -> None:
    found = hc.bench("osu_bcast", "liu2004", size=8, nodes=4, iters=4, jobs=1)
    text = "\n".join(line for run in runs(found) for line in osu.lines(found, *run)) + "\n"
    source = Source("file", text.encode())
    assert import_trace(source, "", Hints(nodes=4)).points[0].options["nodes"] == 4
    with pytest.raises(hc.CatalogError, match="found nodes 4; --nodes says 2"):
        import_trace(source, "", Hints(nodes=2))
