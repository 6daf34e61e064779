"""OSU's output: versions of which there is no sample, and what cannot be read."""

from collections.abc import Callable

import pytest

from hcasim.traces import Trace
from tests.unit.traces.conftest import DATA
from tests.unit.traces.outputs import osu

Read = Callable[..., Trace]
Faults = Callable[..., list[str]]
LATENCY = (DATA / "osu" / "osu_latency_v3.1.1_mvapich2.1_qlogic.txt").read_text()
MBW_MR = (DATA / "osu" / "osu_mbw_mr_v5.6.3_ib100g.txt").read_text()

VALIDATED = osu.LATENCY_7.replace("-CUDA", "").replace("DEVICE", "HOST").replace("Fail", "Pass")


def test_the_layout_of_version_2_is_read(read: Read) -> None:
    trace = read(osu.BW_AND_LATENCY_2)
    assert trace.header.tool.version == "2.1"
    assert [(p.workload, p.options["size"], p.measured[0].printed) for p in trace.points] == [
        ("osu_bw", 1, "0.401152 MB/s"),
        ("osu_bw", 2, "0.797310 MB/s"),
        ("osu_bw", 1048576, "967.451822 MB/s"),
    ]


def test_both_directions_have_a_column_of_their_own_in_version_3(read: Read) -> None:
    trace = read(osu.BIBW_3)
    assert trace.header.tool.version == "3.3"
    assert [(p.workload, p.measured[0].printed) for p in trace.points] == [
        ("osu_bibw", "3.10 MB/s"),
        ("osu_bibw", "6.21 MB/s"),
        ("osu_bibw", "13.08 MB/s"),
    ]


def test_full_results_have_least_and_greatest_times(read: Read) -> None:
    trace = read(osu.FULL_5, nodes=4, processes=2)
    (measured,) = trace.points[0].measured
    assert trace.points[0].workload == "osu_alltoall"
    assert trace.points[0].options == {"nodes": 4, "processes": 2, "size": 1, "iters": 1000}
    assert measured.quantity == "latency"
    found = measured.statistics
    assert found is not None
    assert (found.count, found.minimum, found.mean, found.maximum) == (1000, 3050, 3250, 3510)
    assert trace.header.notes[0].startswith("line 10 was passed over: '[node01:12345] 1 more")


@pytest.mark.parametrize(
    ("hints", "nodes", "processes"),
    [({}, 2, 4), ({"nodes": 8}, 8, 1), ({"processes": 2}, 4, 2), ({"nodes": 1}, 1, 8)],
)
def test_pairs_are_processes_of_two_nodes_unless_the_user_says_otherwise(
    hints: dict[str, int], nodes: int, processes: int, read: Read
) -> None:
    places = {"nodes": nodes, "processes": processes}
    expected = {"size": 8, "window": 64, **places}
    assert read(osu.MBW_MR_7, **hints).points[0].options == expected


def test_how_many_pairs_there_were_is_asked_for(read: Read, faults: Faults) -> None:
    text = LATENCY.replace("MPI Latency", "MPI Multi Latency")
    (fault,) = faults(text)
    assert fault.startswith("file:3: osu_multi_lat: does not say how many took part; --nodes")
    (first, *_) = read(text, processes=3).points
    assert first.options == {"size": 0, "nodes": 2, "processes": 3}


def test_a_barrier_has_no_size(read: Read, faults: Faults) -> None:
    trace = read(osu.BARRIER_5, nodes=4, processes=2)
    (point,) = trace.points
    assert (point.workload, point.options) == ("osu_barrier", {"nodes": 4, "processes": 2})
    assert point.measured[0].printed == "4.91 us"
    (fault,) = faults(osu.BARRIER_5 + "             4.95\n", nodes=4, processes=2)
    assert fault == "file:5: found a second result in the same table"


def test_several_programs_are_read_from_one_file(read: Read) -> None:
    text = LATENCY + MBW_MR.replace("v5.6.3", "v3.1.1")
    assert {point.workload for point in read(text).points} == {"osu_latency", "osu_mbw_mr"}


@pytest.mark.parametrize("text", [LATENCY, MBW_MR, osu.BIBW_3, osu.FULL_5])
def test_output_whose_number_signs_were_lost_is_read(text: str, read: Read) -> None:
    where = {"nodes": 8, "processes": 1}
    assert read(text.replace("# ", ""), **where).points == read(text, **where).points


@pytest.mark.parametrize(
    ("text", "change", "fault"),
    [
        (LATENCY, ("Latency (us)", "Latency (ms)"), "file:3: Latency: found 'ms'; allowed: us"),
        (LATENCY, ("Latency (us)", "Bandwidth (MiB/s)"), "found 'MiB/s'; allowed: MB/s"),
        (LATENCY, ("Latency (us)", "Lateness (us)"), "which is no column"),
        (LATENCY, (" 1.35\n", " -1.35\n"), "file:4: Latency: found '-1.35'; it cannot be negative"),
        (LATENCY, (" 1.35\n", " 0.00\n"), "file:4: Latency: found 0.00; allowed: more than"),
        (LATENCY, (" 1.35\n", "\n"), "file:4: found 1 columns; allowed: 2"),
        (LATENCY, ("\n2      ", "\n1      "), "file:6: found 1 bytes a second time"),
        (
            LATENCY,
            ("MPI Latency Test", "MPI Lateness Test"),
            "file:2: found 'Lateness'; allowed: osu_",
        ),
        (
            MBW_MR,
            ("11753.33", "11207.87"),
            "found 12324.26 MB/s and 11207.87 messages a second, which do not fit together",
        ),
        (MBW_MR, ("window size: 64", "window size: varied"), "window: found 'varied'; allowed: a"),
        (osu.CUDA_5, ("-CUDA", ""), "found '# Send Buffer on DEVICE (D) and Receive Buffer on"),
        (osu.CUDA_5, ("5.6.3", "5.6.4"), "found '-CUDA Latency'; allowed: osu_latency"),
        (
            osu.FULL_5,
            ("3.05              3.51", "3.51              3.05"),
            "found Min Latency 3.51 above Max Latency 3.05",
        ),
        (VALIDATED, ("Pass", "Fail"), "file:6: Validation: found 'Fail'; allowed: Pass"),
    ],
)
def test_what_cannot_be_read_is_named(
    text: str, change: tuple[str, str], fault: str, faults: Faults
) -> None:
    changed = text.replace(*change)
    assert changed != text
    (found,) = faults(changed, nodes=8, processes=1)
    assert fault in found


def test_a_table_without_title_needs_its_name(read: Read, faults: Faults) -> None:
    text = LATENCY.replace("# OSU MPI Latency Test v3.1.1\n", "")
    assert "--workload says which it is" in faults(text)[0]
    assert read(text, workload="osu_latency").points == read(LATENCY).points


def test_a_title_without_results_is_refused(faults: Faults) -> None:
    lines = LATENCY.splitlines(keepends=True)
    assert "osu_latency: found no results" in faults("".join(lines[:3]))[0]


def test_a_bandwidth_without_digits_is_noted_and_passed_over(read: Read) -> None:
    trace = read(osu.BIBW_3.replace("3.10", "0.00"))
    assert [point.options["size"] for point in trace.points] == [2, 4]
    assert trace.header.notes == ("line 3: a bandwidth of 0 says nothing; passed over",)


def test_what_mpirun_says_behind_a_table_is_no_line_of_it(read: Read) -> None:
    text = osu.BIBW_3 + "2 total processes failed to start\n"
    trace = read(text)
    assert len(trace.points) == 3
    assert "line 6 was passed over" in trace.header.notes[0]


def test_a_collective_that_does_not_block_is_one_fault(faults: Faults) -> None:
    (found,) = faults(osu.NON_BLOCKING_5)
    assert found.startswith("file:2: found 'Non-blocking Allreduce Latency'; allowed: osu_latency")


def test_two_versions_in_one_file_are_refused(faults: Faults) -> None:
    assert faults(LATENCY + osu.BIBW_3) == [
        "file:28: found version 3.3 behind version 3.1.1; divide the file"
    ]
