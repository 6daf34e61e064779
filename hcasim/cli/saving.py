"""Results of a benchmark in a file, whose ending says in which form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hcasim.cli.formats import BANDED
from hcasim.cli.netpipe import np_out
from hcasim.cli.output import to_csv, to_json

if TYPE_CHECKING:
    from hcasim.runs.benchmark import Benchmark

ENDINGS = (".json", ".csv", ".jsonl", ".out")
NP_OUT = ".out"
TRACE = ".jsonl"
_UNBANDED = {TRACE: "a trace", NP_OUT: "NetPIPE's np.out"}


def saving_fault(file: Path, workload: str) -> str | None:
    """Say why results cannot be written to this file, before anything is simulated."""
    from hcasim.catalog import one_of
    from hcasim.runs.simulated_trace import has_trace
    from hcasim.workloads import WORKLOADS

    known = WORKLOADS.get(workload)
    measured = known is None or "throughput_Mbps" in known.fields
    missing = [
        ending for ending, has in ((NP_OUT, measured), (TRACE, has_trace(workload))) if not has
    ]
    allowed = [ending for ending in ENDINGS if ending not in missing]
    if file.suffix.lower() not in allowed:
        return f"--output: found {str(file)!r}; allowed endings: {one_of(allowed)}"
    if not file.parent.is_dir():
        return f"--output: found {str(file)!r}; there is no folder {file.parent}"
    return None


def lost_bands(form: str, output: Path | None, plot: Path | None) -> Iterator[str]:
    """Say where the quantiles of --uncertainty will not be, before anything is simulated.

    Parameters:
        form: in which the results are printed.
        output: file of the results, if any.
        plot: file of a figure, if any.
    """
    others = "; --json, CSV and tables have"
    ending = "" if output is None else output.suffix.lower()
    if ending in _UNBANDED:
        yield f"{output}: {_UNBANDED[ending]} has no bands{others}"
    if plot is not None:
        yield f"{plot}: a figure has no bands{others}"
    if form not in BANDED:
        yield f"--format {form}: has no bands{others}"


def save(result: Benchmark, file: Path) -> None:
    """Write results whole: as JSON, as CSV, as a trace, or as NetPIPE's np.out."""
    from hcasim.ground.writing import write_atomically
    from hcasim.runs.simulated_trace import to_trace
    from hcasim.traces import render

    ending = file.suffix.lower()
    if ending == NP_OUT:
        write_atomically(file, np_out(result.curve.rows))
    elif ending == TRACE:
        write_atomically(file, render(to_trace(result)))
    elif ending == ".csv":
        write_atomically(file, to_csv(result.curve.rows))
    else:
        write_atomically(file, to_json(result.to_dict()))
