"""NetPIPE's output: every version's units, both directions, and what cannot be read."""

from collections.abc import Callable

import pytest

from hcasim.traces import Trace
from tests.unit.traces.conftest import DATA
from tests.unit.traces.outputs import netpipe

Read = Callable[..., Trace]
Faults = Callable[..., list[str]]
NP_OUT = (DATA / "netpipe" / "netpipe3_np.out").read_text()
TERMINAL = (DATA / "netpipe" / "netpipe3_NPtcp_e1000_2004_stdout.txt").read_text()


def numbers(trace: Trace) -> list[tuple[object, list[float | None]]]:
    """Size, and nanoseconds and MB/s, of each point."""
    return [
        (point.options["size"], [m.statistics.mean for m in point.measured if m.statistics])
        for point in trace.points
    ]


def test_version_5_has_gigabits_and_microseconds(read: Read) -> None:
    trace = read(netpipe.NP_OUT_5)
    assert trace.header.tool.version == "5"
    assert numbers(trace)[3] == (65536, [12_000, 43.691 * 125])
    assert trace.points[3].measured[1].printed == "43.691 Gbit/s"


def test_version_4_has_megabits_of_a_million(read: Read) -> None:
    trace = read(netpipe.NP_OUT_4)
    assert trace.header.tool.version == "4"
    assert numbers(trace) == [(1, [2000, 0.5]), (1024, [6000, 1365.333333 / 8])]


def test_bytes_of_both_directions_are_asked_for_and_halved(read: Read, faults: Faults) -> None:
    (fault,) = faults(netpipe.BOTH_3)
    assert "--workload says: netpipe, netpipe_bi or netpipe_stream" in fault
    trace = read(netpipe.BOTH_3, workload="netpipe_bi")
    assert [point.options["size"] for point in trace.points] == [1, 2, 3, 4, 6]
    assert {one.quantity for point in trace.points for one in point.measured} == {"bandwidth"}
    assert len(read(netpipe.BOTH_3, workload="netpipe").points) == 5


def test_both_directions_are_known_on_the_terminal(read: Read) -> None:
    trace = read(netpipe.TERMINAL_BOTH_3)
    assert [(p.workload, p.options["size"]) for p in trace.points] == [
        ("netpipe_bi", 65536),
        ("netpipe_bi", 98304),
    ]


def test_a_stream_has_no_latency(read: Read) -> None:
    trace = read(NP_OUT, workload="netpipe_stream")
    assert {one.quantity for point in trace.points for one in point.measured} == {"bandwidth"}


def test_what_np_out_does_not_say_is_noted_unless_the_user_says_it(read: Read) -> None:
    assert read(NP_OUT).header.notes == (
        "np.out does not say what was measured, nor over what; read as a ping-pong",
    )
    trace = read(NP_OUT, workload="netpipe", device="nic0", transport="iwarp")
    assert trace.header.notes == ()
    assert (trace.header.device.name, trace.header.device.transport) == ("nic0", "iwarp")


def test_memory_that_no_cache_holds_is_an_option(read: Read) -> None:
    text = TERMINAL.replace("Now starting", "Performance measured without cache effects\n\nNow")
    assert read(text).points[0].options["invalidate"] is True


@pytest.mark.parametrize(
    ("text", "change", "fault"),
    [
        (NP_OUT, ("0.276301", "0.376301"), "file:2: found a size, a throughput and a time that do"),
        (NP_OUT, ("0.276301", "-0.276301"), "file:2: column 2: found '-0.276301'; it cannot be"),
        (NP_OUT, ("0.276301   ", ""), "file:2: found 2 columns; allowed: 3 or 5"),
        (NP_OUT, ("0.276301", "0.276301 1 2 3"), "file:2: found 6 columns; allowed: 3 or 5"),
        (NP_OUT, ("       2 0.55", "       1 0.55"), "do not fit together"),
        (NP_OUT, ("       2 ", "     two "), "file:3: column 1: found 'two'; allowed: a number"),
        (TERMINAL, ("0.03 Mbps", "0.05 Mbps"), "file:5: found a size, a throughput and a time"),
        (
            TERMINAL,
            ("0.03 Mbps", "0.03 Gbps"),
            "file:5: found '0.03 Gbps in     250.03 usec' behind the arrow",
        ),
        (TERMINAL, ("0.03 Mbps", "-0.03 Mbps"), "file:5: throughput: found '-0.03'; it cannot"),
        (TERMINAL, ("250.03 usec", "250.03 nsecs"), "nsecs' behind the arrow; allowed"),
        (TERMINAL, (" 0.03 Mbps in     250.03 usec", ""), "file:5: found '' behind the arrow"),
        (TERMINAL, ("  1:       2 bytes", "  1:       1 bytes"), "file:6: found a size"),
        (TERMINAL, ("Mbps in     250.03 usec", "Mbps at     250.03 usec"), "behind the arrow"),
    ],
)
def test_what_cannot_be_read_is_named(
    text: str, change: tuple[str, str], fault: str, faults: Faults
) -> None:
    changed = text.replace(change[0], change[1], 1)
    assert changed != text
    (found,) = faults(changed)
    assert fault in found


def test_too_few_digits_leave_the_unit_to_the_user(read: Read, faults: Faults) -> None:
    text = "8 5 0.00001\n"
    assert "--unit says which it is: Mibit/s or Mbit/s" in faults(text)[0]
    assert read(text, unit="Mbit/s").points[0].measured[1].printed == "5 Mbit/s"
    assert faults(NP_OUT, unit="Gbit/s") == ["--unit: found Gbit/s, which no version prints"]


def test_the_rounded_output_of_version_5_is_refused(faults: Faults) -> None:
    # netpipe.c of version 5 prints so, in colours.
    text = "  0:       \x1b[32m1  B\x1b[0m     24999 times -->    4.505 Mbps  in    1.776 usecs\n"
    assert faults(text) == [
        (
            "file:1: found the terminal output of NetPIPE 5, rounded to three decimals of changing "
            "units; import its np.out"
        )
    ]


def test_a_short_terminal_output_leaves_the_unit_to_the_user(read: Read, faults: Faults) -> None:
    text = "  0:       1 bytes   4999 times -->      0.03 Mbps in     250.03 usec\n"
    assert "--unit says which it is: Mibit/s or Mbit/s" in faults(text)[0]
    trace = read(text, unit="Mibit/s", workload="netpipe")
    assert trace.points[0].measured[1].printed == "0.03 Mibit/s"


def test_two_runs_behind_each_other_are_refused(faults: Faults) -> None:
    assert faults(NP_OUT + NP_OUT)[0] == "file:127: found 1 bytes a second time in the same table"
