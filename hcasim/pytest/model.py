"""What a test asks of the model: to simulate, and to agree with a curve."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from os import PathLike
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from hcasim.calibrate.objective import Objective, runner
from hcasim.calibrate.mismatch import mismatches
from hcasim.calibrate.gathering import gather
from hcasim.calibrate.request import Request, find_base, is_mpi
from hcasim.catalog import CatalogError
from hcasim.catalog.folders import is_path
from hcasim.catalog.machine import Machine
from hcasim.ground.errors import display, name_fault, refuse
from hcasim.ground.quantities import result, title
from hcasim.ground.text import brief
from hcasim.pytest.agreement import Agreement, Compared, Disagreement, checked, share
from hcasim.pytest.published import Published, opened, read_published
from hcasim.runs.benchmark import Benchmark, run_benchmark
from hcasim.runs.curve import Curve
from hcasim.runs.experiment import Experiment
from hcasim.runs.store import usual_store
from hcasim.traces import Trace
from hcasim.workloads import find_workload, unknown_workload
from hcasim.workloads.options import AXES

__all__ = ["Agreement", "Compared", "Disagreement", "Model"]

_PARTS = ("adapter", "host", "stack", "switch")

P = ParamSpec("P")
R = TypeVar("R")


def told(method: Callable[P, R]) -> Callable[P, R]:
    """Have what a method raises come from where the test calls it, not from deep inside."""

    @wraps(method)
    def call(*given: P.args, **named: P.kwargs) -> R:
        __tracebackhide__ = True
        try:
            return method(*given, **named)
        except (CatalogError, Disagreement) as error:
            raise error.with_traceback(None) from None

    return call


class Model:
    """The model, as the fixture `hcasim` gives it to a test.

    Results are kept where `hcasim run` keeps them (`HCASIM_CACHE`).

    Parameters:
        folder: of the test, from which files that it names are seen.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __repr__(self) -> str:
        return brief(self, display(self.folder))

    @told
    def bench(
        self, workload: str, testbed: str | PathLike[str] | Machine, **options: Any
    ) -> Benchmark:
        """Run a benchmark.

        Parameters:
            workload, testbed, options: those of `hcasim.bench`.

        Raises:
            CatalogError: every fault of the request.
        """
        asked = Experiment.of(workload, self._seen(testbed), **self._located(options))
        points = asked.benchmark()
        return run_benchmark(points, jobs=processes(), store=usual_store())

    @told
    def agrees(
        self,
        found: Benchmark | Curve,
        published: object,
        *,
        within: str | float | None = None,
        quantity: str = "",
        unit: str = "",
    ) -> Agreement:
        """Compare a simulated curve with a published one, at each point of that.

        Parameters:
            found: what `bench`, or a series of `hcasim.run`, has found.
            published: numbers, or ranges as (low, high), by the x axis, such as {8: 3.8, "1K": 6};
                a table of pandas or a .csv file, whose columns are named as in rows, such as
                "size" and "latency_us"; a trace, its file, or a file that perftest, OSU, IMB or
                NetPIPE printed.
            within: the relative error that is allowed, such as "5 %" or 0.05; without it the usual
                tolerance of claims.
            quantity: what is compared, such as "latency", if that is not clear.
            unit: of `published`, such as "MiB/s", if it is not that of a row.

        Raises:
            Disagreement: an AssertionError with a table of both.
            CatalogError: every fault of the request.
        """
        curve = found.curve if isinstance(found, Benchmark) else found
        fields = found.fields
        name = curve.settings.get("workload", curve.name)
        read = read_published(
            opened(published, self.folder), name, curve.axis, fields, quantity, unit
        )
        return checked(_compared(curve, read, share(within, read.field)))

    @told
    def holds(
        self,
        published: object,
        testbed: str | PathLike[str] | Machine,
        workload: str | None = None,
        *,
        within: str | float | None = None,
        over: str = "size",
        quantity: str = "",
        unit: str = "",
        **options: Any,
    ) -> Agreement:
        """Simulate what was published, and compare both.

        Parameters:
            published: as of `agrees`; without `workload` a trace or a file of a tool.
            testbed: id or file of the machine.
            workload: the benchmark, such as "write_lat"; without it each point of the trace runs
                with the workload and the options that the trace tells.
            within, quantity, unit: as of `agrees`.
            over: the name of the x axis, such as "qps".
            options: of `hcasim.bench`; beside a trace adapter, host, stack, mtu, switch and
                overrides, and allow_mismatch=True if it was taken on another adapter or link.

        Raises:
            Disagreement: an AssertionError with a table of both.
            CatalogError: every fault of the request.
        """
        data = opened(published, self.folder)
        if workload is None:
            return checked(self._repeated(data, testbed, within, options))
        known = find_workload(workload)
        refuse("" if known else unknown_workload(workload))
        assert known is not None
        refuse("" if over in AXES else f"over: found {over!r}; allowed: {', '.join(AXES)}")
        read = read_published(data, known.name, over, known.fields, quantity, unit)
        allowed = share(within, read.field)
        found = self.bench(workload, testbed, **{**options, over: list(read.values)})
        return checked(_compared(found.curve, read, allowed, over))

    def _repeated(
        self, trace: object, testbed: Any, within: str | float | None, options: Mapping[str, Any]
    ) -> Agreement:
        """Simulate each point of a trace as it was measured."""
        known = (*_PARTS, "mtu", "overrides", "allow_mismatch")
        faults = [
            f"{name}: found beside a trace without workload; allowed: {', '.join(known)}"
            for name in options
            if name not in known
        ]
        if not isinstance(trace, Trace):
            faults.append("workload: missing; a curve that is no trace does not tell it")
        faults.append(name_fault("testbed", testbed))
        refuse(*faults)
        assert isinstance(trace, Trace)
        located = self._located(options)
        chosen = {name: one for name, one in located.items() if name != "allow_mismatch"}
        chosen["settings"] = chosen.pop("overrides", {})
        request = Request((), str(self._seen(testbed)), (), **chosen)
        base = find_base(request, any(map(is_mpi, trace.points)))
        if not options.get("allow_mismatch", False):
            differ = [*mismatches(trace.header, base.machine)]
            hint = "the trace was taken on another machine; see also allow_mismatch=True"
            refuse(*differ, hint if differ else "")
        gathered = gather({"published": trace}, base)
        if not gathered.observations:
            refuse("published: no point of the trace can be simulated", *gathered.notes)
        for note in gathered.notes:
            warnings.warn(f"hcasim: {note}", stacklevel=4)
        run = runner(jobs=processes(), store=usual_store())
        simulated = Objective(gathered.observations, (), run).simulated([{}])[0].tolist()
        return Agreement(
            f"{trace.header.tool.name} on {base.machine.id}, {base.machine.adapter.id}",
            "point",
            [
                Compared(one.id, float(one.published), value, one.unit, share(within, one.field))
                for one, value in zip(gathered.observations, simulated, strict=True)
            ],
        )

    def _located(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Name files of descriptions as they are seen from the current folder."""
        return {
            name: self._seen(value) if name in _PARTS else value for name, value in options.items()
        }

    def _seen(self, name: Any) -> Any:
        return str(self.folder / name) if isinstance(name, str) and is_path(name) else name


def processes() -> int | None:
    """Return how many processes simulate: all processors, unless tests already run beside each
    other."""
    return 1 if "PYTEST_XDIST_WORKER" in os.environ else None


def _compared(curve: Curve, published: Published, allowed: float, over: str = "") -> Agreement:
    """Put both beside each other at each published x."""
    axis = AXES[over or curve.axis]
    rows: dict[int, Mapping[str, Any]] = {}
    faults = []
    for row in curve.rows:
        x = row[axis.name]
        if x in rows:
            faults.append(f"found: has {axis.name} {axis.label(x)} twice; allowed: one curve")
        rows[x] = row
    missing = [axis.label(x) for x in published.values if x not in rows]
    if missing:
        faults.append(f"published: has {axis.name} {', '.join(missing)}, which was not simulated")
    refuse(*faults)
    where = ", ".join(str(curve.settings[one]) for one in ("testbed", "adapter"))
    points = [
        Compared(
            axis.label(x),
            value,
            published.factor * result(rows[x], published.field),
            published.unit,
            allowed,
        )
        for x, value in published.values.items()
    ]
    what = title(published.field).partition(" (")[0].lower()
    return Agreement(f"{curve.name} on {where}, {what}", axis.title, points)
