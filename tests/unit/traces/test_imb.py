"""IMB's output, and that of PMB: what is read, what is asked for, and what cannot be read."""

from collections.abc import Callable
from typing import Any

import pytest

from hcasim.traces import Trace
from tests.unit.traces.outputs import imb, osu

Read = Callable[..., Trace]
Faults = Callable[..., list[str]]
NEXT = f"\n#{'-' * 64}\n# Benchmarking Bcast"


def means(trace: Trace, workload: str) -> list[tuple[int | bool | str, float | None]]:
    """Bytes and microseconds of the points of one workload."""
    return [
        (one.options["size"], (one.measured[0].typical or 0) / 1000)
        for one in trace.points
        if one.workload == workload
    ]


def test_several_tests_become_points_of_their_own(read: Read) -> None:
    trace = read(imb.PMB_2_2, nodes=4)
    assert (trace.header.tool.name, trace.header.tool.version) == ("imb", "2.2")
    assert means(trace, "imb_pingpong") == [(0, 6.02), (1024, 11.31), (65536, 101.24)]
    assert means(trace, "imb_bcast") == [(0, 0.03), (1024, 16.37)]
    assert trace.points[1].options == {"size": 1024, "iters": 1000}
    assert trace.points[-1].options == {"nodes": 4, "processes": 1, "size": 1024, "iters": 1000}


def test_a_time_is_the_mean_with_the_least_and_the_greatest(read: Read) -> None:
    (measured,) = read(imb.PMB_2_2, nodes=4).points[-1].measured
    found = measured.statistics
    assert found is not None
    assert (measured.quantity, measured.unit, measured.printed) == ("latency", "ns", "16.37 us")
    assert (found.count, found.minimum, found.mean, found.maximum) == (1000, 16210, 16370, 16480)


def test_mbytes_are_those_that_fit_the_time(read: Read) -> None:
    old = read(imb.PMB_2_2, nodes=4).points[2].measured[1]
    assert (old.unit, old.printed) == ("MB/s", "617.35 MiB/s")
    assert abs((old.typical or 0) - 65536 / 101.24) < 0.01
    # Of a ring it is what a process sends and receives, in the time of the slowest.
    new = read(imb.SEVERAL_2021, processes=1).points[1].measured[1]
    assert new.printed == "3128.21 MB/s"
    assert abs((new.typical or 0) - 2 * 65536 / 41.90) < 0.01


@pytest.mark.parametrize(
    ("hints", "places"),
    [
        ({"processes": 1}, [(2, 1), (4, 1)]),
        ({"processes": 2}, [(1, 2), (2, 2)]),
        ({"processes": 4}, [(1, 2), (1, 4)]),
        ({"nodes": 2}, [(2, 1), (2, 2)]),
        ({"nodes": 4}, [(2, 1), (4, 1)]),
        ({"nodes": 2, "processes": 2}, [(1, 2), (2, 2)]),
        ({"nodes": 1}, [(1, 2), (1, 4)]),
    ],
)
def test_processes_fill_the_nodes_that_the_user_names(
    hints: dict[str, int], places: list[tuple[int, int]], read: Read
) -> None:
    points = read(imb.SEVERAL_2021, **hints).points
    rings = [one.options for one in points if one.workload == "imb_sendrecv"]
    found = [(one["nodes"], one["processes"]) for one in rings]
    assert found == [places[0]] * 2 + [places[1]] * 2
    barrier = points[-1]
    assert (barrier.workload, "size" in barrier.options) == ("imb_barrier", False)
    assert (barrier.options["nodes"], barrier.options["processes"]) == places[1]


@pytest.mark.parametrize(
    ("text", "hints", "fault"),
    [
        (imb.SEVERAL_2021, {}, "file:21: imb_sendrecv: found 4 processes; --nodes says on how"),
        (imb.SEVERAL_2021, {"processes": 3}, "4 processes, which --processes 3 does not divide"),
        (imb.SEVERAL_2021, {"nodes": 3}, "found 4 processes, which --nodes 3 does not divide"),
        (osu.FULL_5, {"nodes": 4}, "osu_alltoall: does not say how many took part"),
        (osu.BARRIER_5, {"processes": 4}, "osu_barrier: does not say how many took part"),
        (
            imb.PMB_2_2,
            {"nodes": 4, "algorithm": "binomal"},
            "imb_bcast: found --algorithm binomal; allowed: binomial, ",
        ),
    ],
)
def test_where_processes_ran_is_asked_for(
    text: str, hints: dict[str, Any], fault: str, faults: Faults
) -> None:
    (found,) = faults(text, **hints)
    assert fault in found


def test_two_processes_are_on_two_nodes_unless_the_user_says_otherwise(read: Read) -> None:
    alone = imb.PMB_2_2[: imb.PMB_2_2.index(NEXT)]
    assert "processes" not in read(alone).points[0].options
    for hints in ({"processes": 2}, {"nodes": 1}, {"processes": 4, "nodes": 8}):
        assert read(alone, **hints).points[0].options["processes"] == 2


def test_an_algorithm_belongs_to_its_collective(read: Read, faults: Faults) -> None:
    trace = read(imb.PMB_2_2, nodes=4, algorithm="binomial")
    assert [one.options.get("algorithm") for one in trace.points[2:]] == [None, *["binomial"] * 2]
    barrier = read(osu.BARRIER_5, nodes=4, processes=1, algorithm="tree")
    assert barrier.points[0].options == {"nodes": 4, "processes": 1, "algorithm": "tree"}
    (fault,) = faults(osu.BIBW_3, algorithm="tree")
    assert fault == "--algorithm: has no meaning for file: no collective"


def test_tests_that_are_no_workloads_are_passed_over_with_a_note(read: Read) -> None:
    text = imb.SEVERAL_2021.replace("Benchmarking Barrier", "Benchmarking Iallgather")
    trace = read(text + imb.MULTI, nodes=4)
    assert {one.workload for one in trace.points} == {"imb_sendrecv"}
    assert trace.header.notes[:2] == (
        "line 30: Iallgather was passed over",
        "line 40: Multi-Exchange was passed over",
    )


def test_a_table_without_title_needs_its_name(read: Read, faults: Faults) -> None:
    text = imb.PMB_2_2.replace("# Benchmarking PingPong\n", "")
    assert "--workload says which it is, such as imb_pingpong" in faults(text, nodes=4)[0]
    alone = text[text.index("       #bytes") : text.index(NEXT)]
    assert means(read(alone, workload="imb_pingpong"), "imb_pingpong")[0] == (0, 6.02)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("11.31", "-11.31"), "file:23: t: found '-11.31'; it cannot be negative"),
        (("11.31", "nan"), "file:23: t: found 'nan'; allowed: a number"),
        (("11.31", "1" * 50), "file:23: t: found '1111"),
        (
            ("         1024         1000        11.31", "1" * 20 + " 1000 11.31"),
            "file:23: #bytes: ",
        ),
        ((" 86.35", ""), "file:23: found 3 columns; allowed: 4"),
        ((" 86.35", " 96.35"), "file:17: found sizes, times and rates that do not fit together"),
        (
            ("0         1000         6.02         0.00\n", "0 1000 6.02 0.00 1.00\n"),
            "file:22: found 5 columns; allowed: 4",
        ),
        (("t[usec]", "t[msec]"), "file:21: t: found 'msec'; allowed: usec"),
        (("16.21 ", "16.91 "), "file:32: found t_min 16.91 above t_max 16.48"),
        (
            ("            0         1000         0.02", "         1024         1000         0.02"),
            "file:32: found 1024 bytes a second time in the same table",
        ),
        (("#processes = 2", "#processes = 3"), "file:17: found 3 processes; allowed: 2"),
        (
            ("# Bcast\n", "# PALLAS MPI Benchmark Suite V2.3, MPI-1 part\n"),
            "file:14: found version 2.3 behind version 2.2; divide the file",
        ),
    ],
)
def test_what_cannot_be_read_is_named(change: tuple[str, str], fault: str, faults: Faults) -> None:
    changed = imb.PMB_2_2.replace(*change)
    assert changed != imb.PMB_2_2
    (found,) = faults(changed, nodes=4)
    assert found.startswith(fault), found


def test_a_title_without_results_is_refused(faults: Faults) -> None:
    (fault,) = faults("# Benchmarking PingPong\n# #processes = 2\n")
    assert fault.startswith("file:1: imb_pingpong: found no results: the output was cut short")


def test_imb_beside_osu_is_refused(faults: Faults) -> None:
    (fault,) = faults(imb.SEVERAL_2021 + osu.BIBW_3)
    assert "an Intel MPI benchmark (line 12) and an OSU benchmark (line 39); divide" in fault
