"""A discrete-event simulator of RDMA adapters.

From a program or a notebook, after `import hcasim as hc`:

    hc.machine(testbed, ...)     put a machine together from its descriptions
    hc.bench(workload, ...)      run a benchmark on a machine
    hc.app(program, ...)         run a program of MPI on a machine
    hc.run(scenario, ...)        replay a published figure
    hc.reproduce(papers)         replay papers and compare them with what they state
    hc.load_trace(file)          read what a real adapter was measured to do
    hc.calibration(file)         read the values that `hcasim calibrate` has fitted
    hc.list_ids(kind)            the adapters, hosts, testbeds ... that there are
    hc.list_scenarios(paper)     the published figures that there are
    hc.schema(name)              the JSON Schema of a kind of files, or of a command's JSON
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
    from hcasim.runs.application import app
    from hcasim.runs.benchmark import bench
    from hcasim.schemas import schema
    from hcasim.traces import read_trace as load_trace

__version__ = "0.1.0"
__all__ = [
    "CatalogError",
    "app",
    "bench",
    "calibration",
    "list_ids",
    "list_scenarios",
    "load_trace",
    "machine",
    "reproduce",
    "run",
    "schema",
]

_ROOMS = {
    "CatalogError": "catalog:CatalogError",
    "app": "runs.application:app",
    "bench": "runs.benchmark:bench",
    "calibration": "calibrate.file.reading:read_calibration",
    "list_ids": "catalog:list_ids",
    "list_scenarios": "papers.loader:list_scenarios",
    "load_trace": "traces:read_trace",
    "machine": "catalog:resolve",
    "reproduce": "papers.report:reproduce",
    "run": "papers.replay:replay",
    "schema": "schemas:schema",
}
"""Where each is, because the command line may not import all of them to say what it can do."""


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room, _, there = _ROOMS[name].partition(":")
    return getattr(importlib.import_module(f"{__name__}.{room}"), there)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
