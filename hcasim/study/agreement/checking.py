"""The question whether the model gives what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from hcasim.calibrate.gathering import gather
from hcasim.calibrate.objective import Objective, Run, runner
from hcasim.calibrate.request import find_base, is_mpi, mismatches, software
from hcasim.catalog import Machine
from hcasim.ground.errors import name_fault, refuse
from hcasim.ground.quantities import result, title
from hcasim.runs.benchmark import run_benchmark
from hcasim.runs.curve import Curve
from hcasim.runs.executor import Progress
from hcasim.runs.experiment import Experiment
from hcasim.runs.store import usual_store
from hcasim.study.agreement.agreement import Agreement, Compared, share
from hcasim.study.agreement.published import Published, opened, read_published
from hcasim.traces import LOOPBACK, Trace
from hcasim.workloads import find_workload, unknown_workload
from hcasim.workloads.options import AXES


def check(
    published: object,
    testbed: str | PathLike[str] | Machine,
    workload: str | None = None,
    *,
    within: str | float | None = None,
    over: str = "size",
    quantity: str = "",
    unit: str = "",
    folder: Path = Path(),
    jobs: int | None = None,
    progress: Progress | None = None,
    cache: bool = True,
    **settings: Any,
) -> Agreement:
    """Simulate what was measured or published, and compare both at each of its points.

    Parameters:
        published: numbers, or ranges as (low, high), by the x axis, such as {8: 3.8, "1K": 6};
            a table of pandas or a .csv file, whose columns are named as in rows, such as
            "size" and "latency_us"; a trace, its file, or a file that perftest, OSU, IMB or
            NetPIPE printed.
        testbed: id or file of the machine.
        workload: the benchmark, such as "write_lat"; without it each point of a trace runs with
            the workload and the options that the trace tells.
        within: the relative error that is allowed, such as "5 %" or 0.05; without it the usual
            tolerance of claims.
        over: the name of the x axis, such as "qps".
        quantity: what is compared, such as "latency", if that is not clear.
        unit: of `published`, such as "MiB/s", if it is not that of a row.
        folder: from which files that are measured are seen.
        jobs, progress, cache: as of `hcasim.bench`.
        settings: of `hcasim.bench`; beside a trace adapter, host, stack, mtu, switch and
            overrides, and allow_mismatch=True if it was taken on another adapter or link.

    Raises:
        CatalogError: every fault of the request.
    """
    data = opened(published, folder)
    store = usual_store() if cache else None
    if workload is None:
        lone = ("adapter", "host", "stack", "switch", "mtu", "overrides", "allow_mismatch")
        refuse(
            *(
                f"{name}: found beside a trace without workload; allowed: {', '.join(lone)}"
                for name in settings
                if name not in lone
            ),
            ""
            if isinstance(data, Trace)
            else "workload: missing; a curve that is no trace does not tell it",
            name_fault("testbed", testbed),
        )
        assert isinstance(data, Trace)
        mismatch = settings.pop("allow_mismatch", False)
        asked = Experiment.of("", testbed, **settings)
        run = runner(jobs=jobs, progress=progress, store=store)
        return _repeated(data, asked, within, mismatch, run)
    known = find_workload(workload)
    refuse("" if known else unknown_workload(workload))
    assert known is not None
    refuse("" if over in AXES else f"over: found {over!r}; allowed: {', '.join(AXES)}")
    read = read_published(data, known.name, over, known.fields, quantity, unit)
    allowed = share(within, read.field)
    asked = Experiment.of(workload, testbed, **{**settings, over: list(read.values)})
    found = run_benchmark(asked.benchmark(), jobs=jobs, progress=progress, store=store)
    return compared(found.curve, read, allowed, over)


def _repeated(
    trace: Trace, asked: Experiment, within: str | float | None, mismatch: bool, run: Run
) -> Agreement:
    """Simulate each point of a trace as it was measured."""
    base, machine = find_base(asked, any(map(is_mpi, trace.points)))
    if not mismatch and (differ := [*mismatches(trace.header, machine)]):
        hint = "the trace was taken on another machine; see also allow_mismatch=True"
        refuse(*differ, hint)
    gathered = gather({"published": trace}, base, machine)
    if not gathered.observations:
        refuse("published: no point of the trace can be simulated", *gathered.notes)
    notes = [*gathered.notes, *(one for one in trace.header.notes if one == LOOPBACK)]
    if device := software(trace.header):
        notes.append(f"{device} is software; the model is one of adapters")
    simulated = Objective(gathered.observations, (), run).simulated([{}])[0].tolist()
    points = [
        Compared.of(one.id, float(one.published), value, one.unit, share(within, one.field))
        for one, value in zip(gathered.observations, simulated, strict=True)
    ]
    places = [(one.curve, one.size) for one in gathered.observations]
    named = f"{trace.header.tool.name} on {machine.id}, {machine.adapter.id}"
    return Agreement(named, "point", points, places, "measured", tuple(notes))


def compared(curve: Curve, published: Published, allowed: float, over: str = "") -> Agreement:
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
    points = []
    for x, value in published.values.items():
        simulated = published.factor * result(rows[x], published.field)
        points.append(Compared.of(axis.label(x), value, simulated, published.unit, allowed))
    what = title(published.field).partition(" (")[0].lower()
    places = [("", x) for x in published.values]
    return Agreement(f"{curve.name} on {where}, {what}", axis.title, points, places)
