"""perftest's text: versions and modes of which there is no sample, and what cannot be read."""

from collections.abc import Callable

import pytest

from hcasim.traces import LOOPBACK, Trace
from tests.unit.traces.conftest import DATA
from tests.unit.traces.outputs import perftest

Read = Callable[..., Trace]
Faults = Callable[..., list[str]]
LAT = (DATA / "perftest" / "rxe_write_lat_all.txt").read_text()
BW = (DATA / "perftest" / "rxe_write_bw_64K.txt").read_text()
UNSORTED = (DATA / "perftest" / "rxe_write_lat_unsorted.txt").read_text()


def points(trace: Trace) -> list[str]:
    """Workload, options and figures of each point in a line."""
    return [
        f"{point.workload} {' '.join(f'{name}={value}' for name, value in point.options.items())}: "
        f"{', '.join(one.printed for one in point.measured)}"
        for point in trace.points
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            perftest.LAT_2008,
            """write_lat size=2 iters=1000 mtu=2048 inline=True: 3.21 us
            write_lat size=4 iters=1000 mtu=2048 inline=True: 3.20 us
            write_lat size=512 iters=1000 mtu=2048 inline=False: 4.60 us""",
        ),
        (
            perftest.BW_2008,
            "write_bibw size=65536 iters=5000 qps=4 inline=False connection=UC: 1855.25 MiB/s",
        ),
        (
            perftest.BW_2011,
            (
                "send_bw size=65536 iters=1000 qps=1 mtu=2048 tx_depth=300 cq_mod=50 inline=False: "
                "1432.17 MiB/s"
            ),
        ),
        # Its bandwidth is of both directions and its rate of one, which is left out.
        (
            perftest.BIDIR_2013,
            (
                "write_bibw size=65536 iters=5000 qps=1 mtu=2048 tx_depth=128 cq_mod=100 "
                "inline=False: 5990.00 MiB/s"
            ),
        ),
        (perftest.DURATION_2016, "read_lat size=2 iters=4523118 qps=1 mtu=2048: 2.21 us"),
        (
            perftest.LAT_2017,
            """send_lat size=2 iters=1000 qps=1 mtu=2048 inline=True: 0.83 us
            send_lat size=256 iters=1000 qps=1 mtu=2048 inline=False: 1.34 us""",
        ),
        (
            perftest.BW_2024,
            (
                "read_bw size=65536 iters=1000 qps=2 mtu=4096 tx_depth=128 cq_mod=8 connection=XRC "
                "srq=True post_list=8: 11525.49 MiB/s, 0.184408 M/s"
            ),
        ),
    ],
)
def test_each_version_tells_its_options_and_figures(text: str, expected: str, read: Read) -> None:
    assert points(read(text)) == [line.strip() for line in expected.split("\n")]


def test_service_levels_are_lines_of_their_own(read: Read) -> None:
    found = [line.partition(" sl=")[2] for line in points(read(perftest.QOS_2013))]
    assert found == ["0: 2499.00 MiB/s, 0.039984 M/s", "3: 1190.00 MiB/s, 0.019040 M/s"]


def test_three_columns_have_a_median_and_a_run_of_some_seconds_a_mean(read: Read) -> None:
    found = read(perftest.LAT_2008).points[0].measured[0].statistics
    assert found is not None
    assert (found.minimum, found.median, found.mean, found.maximum) == (3120, 3210, None, 18260)
    found = read(perftest.DURATION_2016).points[0].measured[0].statistics
    assert found is not None
    assert (found.mean, found.median) == (2210, None)


def test_what_is_passed_over_and_the_command_are_said(read: Read) -> None:
    notes = read(perftest.LAT_2017).header.notes
    assert notes[0] == "figures behind the last column were passed over"
    assert notes[1].startswith("line 15 was passed over: 'Conflicting CPU frequency")
    command = read(perftest.BW_2024).header.tool.command
    assert command.startswith("ib_read_bw -d mlx5_0 -q 2 -l 8")


def test_ethernet_without_its_transport_is_not_called_roce(read: Read, faults: Faults) -> None:
    text = perftest.BW_2011.replace("Link type       : IB", "Link type       : Ethernet")
    assert read(text).header.device.transport == ""
    assert read(text, transport="iwarp").header.device.transport == "iwarp"
    assert faults(perftest.BW_2011, transport="iwarp") == [
        "file:15: found infiniband; --transport says iwarp"
    ]


def test_cycles_are_no_microseconds(faults: Faults) -> None:
    for text in (perftest.CYCLES, perftest.SILENT_CYCLES):
        (fault,) = faults(text)
        assert "found whole and half numbers only, which are cycles (-C)" in fault


def test_samples_are_passed_over(read: Read) -> None:
    trace = read(UNSORTED)
    assert points(trace)[0].endswith(": 10.39 us")
    assert trace.header.notes[1].startswith("line 22 was passed over: '#, usec'")
    assert trace.header.notes[-1] == "195 further such lines were passed over"


def test_a_loopback_is_said_to_be_one(read: Read) -> None:
    assert LOOPBACK in read(BW).header.notes
    other = BW[::-1].replace("10:00:00:01"[::-1], "10:00:00:02"[::-1], 1)[::-1]
    assert LOOPBACK not in read(other).header.notes
    # Here two different ports have LIDs.
    assert LOOPBACK not in read(perftest.LAT_2008).header.notes
    assert LOOPBACK in read(perftest.LAT_2008.replace("LID 0x04", "LID 0x01")).header.notes


def test_two_ends_on_one_terminal_are_refused(faults: Faults) -> None:
    (fault,) = faults(LAT[: LAT.index(" #bytes")] + LAT)
    assert fault.startswith("file:2: found no line of figures behind the title")


def test_several_runs_of_one_adapter_are_read_from_one_file(read: Read) -> None:
    trace = read(LAT + BW)
    assert len(trace.points) == 24
    assert {point.workload for point in trace.points} == {"write_lat", "write_bw"}


def test_runs_of_two_adapters_are_refused(faults: Faults) -> None:
    (fault,) = faults(LAT + BW.replace("rxe0", "rxe1"))
    assert fault == (
        "file:68: found rxe1 over roce, and in line 22 rxe0 over roce: "
        "a trace is of one adapter; divide it"
    )


def test_runs_of_several_mtus_leave_that_of_the_port_open(read: Read) -> None:
    trace = read(BW + BW.replace("Mtu             : 4096", "Mtu             : 1024"))
    assert trace.header.port.mtu is None
    assert [point.options["mtu"] for point in trace.points] == [4096, 1024]


def test_a_table_without_title_needs_the_name_of_its_test(read: Read, faults: Faults) -> None:
    text = "".join(LAT.splitlines(keepends=True)[-25:])
    assert "--workload says which it is, such as write_lat" in faults(text)[0]
    assert {p.workload for p in read(text, workload="send_lat").points} == {"send_lat"}
    assert faults(text, workload="send_bw")[0].startswith("file:1: found the columns of another")
    assert faults(text, workload="write_lst") == [
        (
            "--workload: found 'write_lst'; allowed: send_lat, write_lat, read_lat, atomic_lat, "
            "send_bw, send_bibw, write_bw, write_bibw, read_bw, read_bibw, atomic_bw or "
            "atomic_bibw; did you mean 'write_lat'?"
        )
    ]
    assert (
        faults(LAT, workload="read_lat")[0] == "file:2: found write_lat; --workload says read_lat"
    )


def test_a_deviation_that_is_no_number_is_left_out_with_a_note(read: Read) -> None:
    lines = LAT.splitlines(keepends=True)
    words = lines[21].split()
    lines[21] = " ".join([*words[:6], "-nan", *words[7:]]) + "\n"
    trace = read("".join(lines))
    assert "line 22: t_stdev is -nan, which says nothing; passed over" in trace.header.notes
    found = trace.points[0].measured[0].statistics
    assert found is not None
    assert (found.deviation, found.count) == (None, int(words[1]))
    assert all(one.measured[0].statistics.deviation is not None for one in trace.points[1:])


@pytest.mark.parametrize(
    ("text", "change", "fault"),
    [
        (
            BW,
            ("Write BW", "Write inf"),
            "file:2: found 'RDMA_Write inf Test'; allowed: a test such",
        ),
        (
            BW,
            ("RDMA_Write BW", "Raw Ethernet BW"),
            "found a table without the title of its test; --workload",
        ),
        (
            LAT,
            (LAT[-200:], "\n"),
            "file:21: found no line of dashes behind the table: the output was cut short",
        ),
        (
            LAT,
            (LAT[500:], "\n"),
            "file:2: found no line of figures behind the title, as on the server",
        ),
        (
            BW,
            (BW[BW.index(" 65536 ") : BW.rindex("\n-")], ""),
            "found no line of figures behind the title, as on the server of a one-way test",
        ),
        (LAT, (" 10.26 ", " -10.26 "), "file:22: t_min: found '-10.26'; it cannot be negative"),
        (LAT, (" 10.26 ", " 10,26 "), "file:22: t_min: found '10,26'; allowed: a number"),
        (LAT, (" 10.26 ", " nan "), "file:22: t_min: found 'nan'; allowed: a number"),
        (LAT, (" 10.26 ", " ٣٤ "), "file:22: t_min: found '٣٤'; allowed: a number"),
        (LAT, (" 10.26 ", " "), "file:22: found 8 columns; allowed: 9"),
        (LAT, (" 10.40 ", " 0.00 "), "file:22: found t_min 10.26 above t_typical 0.00"),
        (
            LAT,
            (" 10.26          18.80 ", " 18.80          10.26 "),
            (
                "file:22: found t_min 18.80 above t_typical 10.40: "
                "the line is damaged, or its columns are swapped"
            ),
        ),
        (LAT, ("t_min[usec]", "t_min[msec]"), "file:21: t_min: found 'msec'; allowed: usec"),
        (LAT, ("t_min[usec]", "t_mean[usec]"), "is no column"),
        (LAT, (" 4       20  ", " 2       20  "), "file:23: found 2 bytes a second time"),
        (
            LAT,
            (" 4       20  ", " 4       0   "),
            "file:23: #iterations: found '0'; allowed: a whole",
        ),
        (
            BW,
            ("BW average[MB/sec]", "BW average[GB/sec]"),
            "file:22: BW average: found 'GB/sec'; allowed: MB/sec, MiB/sec or Gb/sec",
        ),
        (
            BW,
            ("BW average[MB/sec]", "BW average[Gb/sec]"),
            "file:22: head of the table: found bandwidths in Gbit/s or MiB/s",
        ),
        (
            BW,
            ("MB/sec", "Gb/sec"),
            (
                "file:23: found 92.19 Gbit/s and 0.001475 million messages a second, which do not "
                "fit together at 65536 bytes; as MiB/s they would"
            ),
        ),
    ],
)
def test_a_line_that_cannot_be_read_is_named(
    text: str, change: tuple[str, str], fault: str, faults: Faults
) -> None:
    changed = text.replace(*change)
    assert changed != text
    (found,) = faults(changed)
    assert fault in found


def test_a_peak_that_was_not_measured_is_not_zero(read: Read) -> None:
    (point,) = read(BW.replace("100.31", "0.00  ")).points
    assert point.measured[0].statistics is not None
    assert point.measured[0].statistics.maximum is None


def test_memory_of_an_accelerator_is_told_by_an_option(read: Read) -> None:
    allocated = "allocated GPU buffer of a 131072 address at 0x5af3874d4fb0 for type CUDA_MEM\n"
    freed = "deallocating GPU buffer 00007255bb400000\ndestroying current CUDA Ctx\n"
    found = read(f"initializing CUDA\n{allocated}{BW}{freed}{LAT}").points
    assert found[0].options["accelerator"] is True
    assert not [point for point in found[1:] if "accelerator" in point.options]
    (point,) = read(perftest.BW_2024.replace("memory : OFF", "memory : ON")).points
    assert point.options["accelerator"] == "ROCM"
    (point,) = read(perftest.BW_2024).points
    assert "accelerator" not in point.options
