"""Results of a benchmark in a file, whose ending says in which form."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hcasim.cli.formats import BANDED, tool_run
from hcasim.cli.outputs import Output

if TYPE_CHECKING:
    from hcasim.runs.benchmark import Benchmark

ENDINGS = (".json", ".csv", ".jsonl", ".out")
NP_OUT = ".out"
TRACE = ".jsonl"
_UNBANDED = {TRACE: "a trace", NP_OUT: "NetPIPE's np.out"}


def saving_output(file: Path | None, workload: str) -> Output:
    """Return what --output names; its ending says a form that can hold the results."""
    if file is None:
        return Output("--output", None)
    from hcasim.runs.simulated_trace import has_trace
    from hcasim.workloads import WORKLOADS

    known = WORKLOADS.get(workload)
    able = {NP_OUT: known is None or "throughput_Mbps" in known.fields, TRACE: has_trace(workload)}
    return Output("--output", file, [one for one in ENDINGS if able.get(one, True)])


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
    from hcasim.traces.netpipe import write_np_out

    ending = file.suffix.lower()
    if ending == NP_OUT:
        run = tool_run(result, result.curve.rows, result.changed)
        write_atomically(file, "".join(f"{line}\n" for line in write_np_out(run)))
    elif ending == TRACE:
        write_atomically(file, render(to_trace(result)))
    else:
        write_atomically(file, result.render(ending))
