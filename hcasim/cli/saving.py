"""Results of a benchmark in a file, whose ending says in which form."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hcasim.cli.netpipe import np_out
from hcasim.cli.output import to_csv, to_json

if TYPE_CHECKING:
    from hcasim.study import Benchmark

ENDINGS = (".json", ".csv", ".jsonl", ".out")
NP_OUT = ".out"
TRACE = ".jsonl"


def saving_fault(file: Path, workload: str) -> str | None:
    """Say why results cannot be written to this file, before anything is simulated."""
    from hcasim.catalog import one_of
    from hcasim.study.simulated_trace import has_trace
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


def save(result: Benchmark, file: Path) -> None:
    """Write results whole: as JSON, as CSV, as a trace, or as NetPIPE's np.out."""
    from hcasim.study import write_atomically
    from hcasim.study.simulated_trace import to_trace
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
