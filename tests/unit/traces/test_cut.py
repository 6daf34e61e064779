"""An output that was cut short at any byte is refused, or gives only what the whole one gives."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hcasim.catalog import CatalogError
from hcasim.traces import Hints, Source, Trace, import_trace
from tests.unit.traces.conftest import DATA
from tests.unit.traces.outputs import imb, netpipe, osu, perftest

Read = Callable[..., Trace]
Faults = Callable[..., list[str]]
LATENCY = (DATA / "osu" / "osu_latency_v7.2_hpcx_ib.txt").read_text()
NP_OUT = (DATA / "netpipe" / "netpipe3_np.out").read_text()
TERMINAL = (DATA / "netpipe" / "netpipe3_NPtcp_e1000_2004_stdout.txt").read_text()
OPEN = "found a last line without a newline, which may be cut: add one if it is whole"


def is_small(path: Path) -> bool:
    return path.name not in ("README.md", "siw_atomic_lat_fadd.txt") and path.stat().st_size < 1600


WHOLE = {
    **{path.name: path.read_text() for path in sorted(DATA.rglob("*.*")) if is_small(path)},
    "np.out": "".join(NP_OUT.splitlines(keepends=True)[:12]),
    "netpipe 2": netpipe.NP_OUT_2,
    "netpipe 4": netpipe.NP_OUT_4,
    "netpipe 5": netpipe.NP_OUT_5,
    "two of osu": osu.ONE_SIDED_3,
    "osu -f": osu.FULL_5,
    "osu -f, few": osu.FULL_5.replace("3.60        1000", "3.60         100"),
    "osu: all of a barrier": osu.BIBW_3.replace("3.3", "5.6.3") + osu.BARRIER_5,
    "imb: all of 2005": imb.PMB_2_2,
    "imb: all of 2021": imb.SEVERAL_2021,
    "osu with validation": osu.LATENCY_7,
    **perftest.TEXTS,
}


WHERE = {"nodes": 2, "processes": 2}
"""Of collectives, which do not say it."""


# Any byte in `make check`; else about every fiftieth, elsewhere in each output.
@pytest.mark.parametrize("step", [53, pytest.param(1, marks=pytest.mark.check)])
@pytest.mark.parametrize("partial", [False, True])
def test_no_beginning_of_an_output_gives_another_number(partial: bool, step: int) -> None:
    for place, name in enumerate(WHOLE):
        whole_or_refused(name, partial, place % step, step)


def whole_or_refused(name: str, partial: bool, first: int, step: int) -> None:
    data = WHOLE[name].encode()
    where = WHERE if name.startswith(("osu -f", "osu: all", "imb: all")) else {}
    whole = import_trace(Source("file", data), "", Hints(**where)).points
    ends = 0
    for length in range(first, len(data), step):
        try:
            trace = import_trace(Source("file", data[:length]), "", Hints(partial=partial, **where))
        except CatalogError:
            continue
        assert trace.points == whole[: len(trace.points)], (name, data[:length][-80:])
        assert trace.end is not None
        # Where a line ends, nothing tells that more were to come.
        line_ends = data[length : length + 1] == b"\n" or data[:length].endswith(b"\n")
        assert not trace.end.complete or line_ends or trace.points == whole, (name, length)
        ends += 1
    assert ends or "json" in name or not partial or step > 1


@pytest.mark.parametrize("length", [495, 508, 515, 520])
def test_a_result_that_ends_before_its_arrow_is_refused(
    length: int, read: Read, faults: Faults
) -> None:
    (fault,) = faults(TERMINAL[:length])
    assert fault.startswith("file:8: found ")
    assert fault.endswith("the output was cut short; --partial takes what is there")
    trace = read(TERMINAL[:length], partial=True)
    assert [point.options["size"] for point in trace.points] == [1, 2, 3]
    assert trace.end is not None
    assert (trace.end.complete, trace.end.reason) == (False, "the output was cut short")


def test_half_a_result_among_others_is_refused(faults: Faults) -> None:
    lines = TERMINAL.splitlines(keepends=True)
    lines[6] = lines[6][:20] + "\n"
    (fault,) = faults("".join(lines))
    assert fault.startswith("file:7: found '2:       3 bytes', which is no result")


def test_a_name_of_a_host_is_no_half_result(read: Read) -> None:
    assert read("0: node1\n1: 2\n" + TERMINAL).points == read(TERMINAL).points


@pytest.mark.parametrize("end", ["1.61", "1.6", "1.", "1", "1.61  "])
def test_the_only_row_needs_its_newline(end: str, read: Read, faults: Faults) -> None:
    text = LATENCY[: LATENCY.index("1.61")]
    (fault,) = faults(text + end)
    assert fault.startswith(f"file:5: {OPEN}")
    assert len(read(text + "1.61\n").points) == 1
    np_out = "       1 0.276301   0.00002761"
    assert faults(np_out)[0].startswith(f"file:1: {OPEN}")


def test_a_last_row_without_a_newline_is_taken_if_its_decimals_are_those_above(
    read: Read, faults: Faults
) -> None:
    assert read(LATENCY.rstrip()).points == read(LATENCY).points
    assert read(NP_OUT.rstrip()).points == read(NP_OUT).points
    # Whole numbers do not tell.
    assert OPEN in faults("# OSU MPI Latency Test v7.2\n# Size Latency (us)\n1 3\n2 4")[0]
    full = osu.FULL_5[: osu.FULL_5.rindex("\n[")]
    assert OPEN in faults(full, **WHERE)[0]


def test_a_verdict_ends_a_row(read: Read, faults: Faults) -> None:
    head = "# OSU MPI Latency Test v7.4\n# Size Avg Latency(us) Validation\n"
    assert len(read(head + "1 1.61 Pass").points) == 1
    assert "found 'Pas'; allowed: Pass or Fail" in faults(head + "1 1.61 Pas")[0]


def test_an_output_without_its_last_newline_is_whole(read: Read) -> None:
    trace = read(perftest.LAT_2008.rstrip(), partial=True)
    assert len(trace.points) == 3
    assert trace.end is not None
    assert trace.end.complete


def test_a_half_row_of_np_out_is_passed_over_if_the_user_says_so(
    read: Read, faults: Faults
) -> None:
    text = NP_OUT[: NP_OUT.rindex("0.01389531")]
    assert faults(text)[0].endswith(": the output was cut short; --partial takes what is there")
    trace = read(text, partial=True)
    assert len(trace.points) == 123
    assert trace.end is not None
    assert not trace.end.complete


def test_only_the_row_that_was_cut_is_left_out(read: Read) -> None:
    """A row that has been found wrong before has no point that could be taken back."""
    text = osu.BIBW_3.replace("13.08\n", "0.0\n")
    assert [p.options["size"] for p in read(text, partial=True).points] == [1, 2]


def test_a_table_that_has_only_begun_does_not_cost_the_one_before(read: Read) -> None:
    text = osu.BIBW_3 + "# OSU MPI Latency Test v3.3\n# Size          Latency (us)\n"
    trace = read(text, partial=True)
    assert len(trace.points) == 3
    assert trace.end is not None
    assert not trace.end.complete
