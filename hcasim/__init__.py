"""A discrete-event simulator of RDMA adapters.

From a program or a notebook, after `import hcasim as hc`:

    hc.machine(testbed, ...)     put a machine together from its descriptions
    hc.bench(workload, ...)      run a benchmark on a machine
    hc.Experiment.of(...)        keep what to ask, to vary it and to run it with hc.bench
    hc.app(program, ...)         run a program of MPI on a machine
    hc.run(scenario, ...)        replay a published figure
    hc.reproduce(papers)         replay papers and compare them with what they state
    hc.sweep(workload, ...)      measure over any settings, as one table
    hc.compare(a, b, ...)        set two machines or results side by side
    hc.why(a, b, workload)       ask which parameters explain their difference
    hc.sensitivity(subject)      ask on which parameters a benchmark or a figure rests
    hc.check(file, testbed)      compare what was measured with what the model gives
    hc.load_trace(file)          read what a real adapter was measured to do
    hc.calibration(file)         read the values that `hcasim calibrate` has fitted
    hc.list_ids(kind)            the adapters, hosts, testbeds ... that there are
    hc.list_scenarios(paper)     the published figures that there are
    hc.timeline(workload, ...)   write what each block does in a benchmark, and when
    hc.schema(name)              the JSON Schema of a kind of files, or of a command's JSON
    hc.workload(field, ...)      make a benchmark of a function of your own
    hc.CatalogError              what these raise, with all that is wrong with a request

`help(hc.bench)` says what each takes and returns.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hcasim.calibrate.file.reading import read_calibration as calibration
    from hcasim.catalog import CatalogError, list_ids
    from hcasim.catalog import resolve as machine
    from hcasim.papers.loader import list_scenarios
    from hcasim.papers.replay import replay as run
    from hcasim.papers.report import reproduce
    from hcasim.runs.benchmark import bench
    from hcasim.runs.experiment import Experiment
    from hcasim.runs.program import app
    from hcasim.schemas.making import schema
    from hcasim.study.agreement.agreement import check
    from hcasim.study.comparison.compare import compare
    from hcasim.study.comparison.why import why
    from hcasim.study.sensitivity.study import sensitivity
    from hcasim.study.sweep.sweep import sweep
    from hcasim.study.timeline.recording import timeline
    from hcasim.traces import read_trace as load_trace
    from hcasim.workloads.own import workload

__version__ = "0.1.0"
__all__ = [
    "CatalogError",
    "Experiment",
    "app",
    "bench",
    "calibration",
    "check",
    "compare",
    "list_ids",
    "list_scenarios",
    "load_trace",
    "machine",
    "reproduce",
    "run",
    "schema",
    "sensitivity",
    "sweep",
    "timeline",
    "why",
    "workload",
]

_ROOMS = {
    "CatalogError": "catalog:CatalogError",
    "Experiment": "runs.experiment:Experiment",
    "app": "runs.program:app",
    "bench": "runs.benchmark:bench",
    "check": "study.agreement.agreement:check",
    "compare": "study.comparison.compare:compare",
    "calibration": "calibrate.file.reading:read_calibration",
    "list_ids": "catalog:list_ids",
    "list_scenarios": "papers.loader:list_scenarios",
    "load_trace": "traces:read_trace",
    "machine": "catalog:resolve",
    "reproduce": "papers.report:reproduce",
    "run": "papers.replay:replay",
    "schema": "schemas.making:schema",
    "timeline": "study.timeline.recording:timeline",
    "sensitivity": "study.sensitivity.study:sensitivity",
    "sweep": "study.sweep.sweep:sweep",
    "why": "study.comparison.why:why",
    "workload": "workloads.own:workload",
}
"""Where each is, because the command line may not import all of them to say what it can do."""


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room, _, there = _ROOMS[name].partition(":")
    return getattr(importlib.import_module(f"{__name__}.{room}"), there)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
