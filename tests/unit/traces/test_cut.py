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
    "netpipe 4": netpipe.NP_OUT_4,
    "netpipe 5": netpipe.NP_OUT_5,
    "osu -f": osu.FULL_5,
    "osu -f, few": osu.FULL_5.replace("3.60        1000", "3.60         100"),
    "osu: all of a barrier": osu.BIBW_3.replace("3.3", "5.6.3") + osu.BARRIER_5,
    "imb: all of 2005": imb.PMB_2_2,
    "imb: all of 2021": imb.SEVERAL_2021,
    "osu with validation": osu.LATENCY_7.replace("-CUDA", "")
    .replace("DEVICE", "HOST")
    .replace("Fail", "Pass"),
    **perftest.TEXTS,
}


WHERE = {"nodes": 2, "processes": 2}
"""Of collectives, which do not say it."""


# Any byte in `make check`; else about every fiftieth, elsewhere in each output.
@pytest.mark.parametrize("step", [53, pytest.param(1, marks=pytest.mark.check)])
def test_no_beginning_of_an_output_gives_another_number(step: int) -> None:
    """Where a line ends, nothing tells that more were to come; elsewhere it is refused."""
    for place, name in enumerate(WHOLE):
        data = WHOLE[name].encode()
        where = WHERE if name.startswith(("osu -f", "osu: all", "imb: all")) else {}
        whole = import_trace(Source("file", data), "", Hints(**where)).points
        for length in range(place % step, len(data), step):
            try:
                trace = import_trace(Source("file", data[:length]), "", Hints(**where))
            except CatalogError:
                continue
            assert trace.points == whole[: len(trace.points)], (name, data[:length][-80:])
            line_ends = data[length : length + 1] == b"\n" or data[:length].endswith(b"\n")
            assert line_ends or trace.points == whole, (name, length)


def test_half_a_result_among_others_is_refused(faults: Faults) -> None:
    lines = TERMINAL.splitlines(keepends=True)
    lines[6] = lines[6][:20] + "\n"
    (fault,) = faults("".join(lines))
    assert fault == "file:7: found '2:       3 bytes', which is no result"


def test_a_name_of_a_host_is_no_half_result(read: Read) -> None:
    assert read("0: node1\n1: 2\n" + TERMINAL).points == read(TERMINAL).points


def test_a_last_row_without_a_newline_may_be_cut(faults: Faults) -> None:
    assert faults(LATENCY.rstrip()) == [f"file:27: {OPEN}"]
    assert faults("       1 0.276301   0.00002761") == [f"file:1: {OPEN}"]
    assert faults(TERMINAL.rstrip()[:-2]) == [f"file:22: {OPEN}"]


def test_what_ends_itself_needs_no_last_newline(read: Read) -> None:
    assert len(read(perftest.LAT_2008.rstrip()).points) == 3
    assert len(read(perftest.JSON_2024.rstrip()).points) == 1
