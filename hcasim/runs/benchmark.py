"""One benchmark on one machine, over message sizes, queue pairs and reuse of buffers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from time import perf_counter
from typing import TYPE_CHECKING, Any

from hcasim.catalog import CatalogError, Machine, one_of, resolve
from hcasim.runs.axis import AXES, Axis, varying
from hcasim.runs.caches import cache_use
from hcasim.runs.curve import Curve, html_table
from hcasim.runs.pool import Job, Progress, run_job, run_jobs, with_swept
from hcasim.runs.quantities import band_fields
from hcasim.runs.settings import build_options, find_faults, find_workload, unknown_workload
from hcasim.runs.sizes import PERTURBATION, netpipe_ladder, perturbed

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from hcasim.engine import Listener
    from hcasim.workloads import Options, Workload


@dataclass(frozen=True)
class Benchmark:
    """The result of one benchmark.

    Parameters:
        workload: its name.
        title: its title.
        machine: what it ran on.
        options: settings of the first point.
        curve: the results, point by point.
        counters: the adapters' counters, summed over the points.
        breakdowns: where the time went and how the caches fared, point by point; empty unless it
            was asked for.
        wall_seconds: time that the simulation took.
    """

    workload: str
    title: str
    machine: Machine
    options: Options
    curve: Curve
    counters: Mapping[str, int]
    breakdowns: tuple[Mapping[str, Any], ...]
    wall_seconds: float

    @property
    def axes(self) -> tuple[Axis, ...]:
        """What tells the points apart: the size, if it means something, and what else varies."""
        workload = find_workload(self.workload)
        sized = workload is None or "size" in workload.options
        others = [axis for axis in varying(self.curve.rows) if axis.name != "size"]
        return (*([AXES["size"]] if sized else []), *others)

    @property
    def points(self) -> tuple[dict[str, int], ...]:
        """The value of each of `axes`, point by point."""
        return tuple({axis.name: row[axis.name] for axis in self.axes} for row in self.curve.rows)

    @property
    def fields(self) -> tuple[str, ...]:
        """What the benchmark is about; rows may hold details beside it."""
        workload = find_workload(self.workload)
        measured = workload.fields if workload is not None else self.curve.fields
        known = [part for name in measured for part in (name, *band_fields(name))]
        return tuple(name for name in known if self.curve.rows and name in self.curve.rows[0])

    def to_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        breakdown: Mapping[str, Any] = {}
        if len(self.breakdowns) == 1:
            (breakdown,) = self.breakdowns
        elif self.breakdowns:
            named = zip(self.points, self.breakdowns, strict=True)
            key = "sizes" if all(list(point) == ["size"] for point in self.points) else "points"
            breakdown = {key: [{**point, **one} for point, one in named]}
        return {
            "workload": self.workload,
            "testbed": self.machine.id,
            "adapter": self.machine.adapter.id,
            "firmware_mode": self.machine.adapter.firmware_mode,
            "overrides": dict(self.machine.overrides),
            "rows": [dict(row) for row in self.curve.rows],
            "counters": dict(self.counters),
            "breakdown": dict(breakdown),
            "wall_seconds": round(self.wall_seconds, 6),
        }

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a table; needs pandas."""
        return self.curve.to_pandas()

    def plot(self) -> Figure:
        """Draw what was measured over what varies."""
        from hcasim.runs.graphs import draw_benchmark

        return draw_benchmark(self)

    def lines(self) -> dict[str, list[Mapping[str, Any]]]:
        """The rows by what else varies than the x axis, in words."""
        others = [axis for axis in varying(self.curve.rows) if axis.name != self.curve.axis]
        columns: dict[str, list[Mapping[str, Any]]] = {}
        for row in self.curve.rows:
            label = ", ".join(f"{axis.title} {axis.label(row[axis.name])}" for axis in others)
            columns.setdefault(label or self.curve.label, []).append(row)
        return columns

    def _repr_html_(self) -> str:
        curves = [
            Curve(label, label, tuple(rows), axis=self.curve.axis)
            for label, rows in self.lines().items()
        ]
        return html_table(curves, self.fields[0])


def prepare(
    workload: str,
    testbed: str,
    *,
    sizes: str | int | Sequence[int] | None = None,
    adapter: str | None = None,
    firmware_mode: str | None = None,
    overrides: Mapping[str, str] | None = None,
    mtu: int | None = None,
    switch: bool = True,
    explain: bool = False,
    perturbation: int | None = None,
    options: Mapping[str, Any] | None = None,
) -> list[Job]:
    """Check a benchmark and return its points: each size with each other value that varies.

    Parameters:
        workload: its name, such as "write_lat".
        testbed: id of the testbed.
        sizes: message sizes in bytes, or as text such as "8", "4K,64K" or "4..1M"; the
            workload's usual size without it; for netpipe those of NetPIPE.
        adapter: id of an adapter instead of the testbed's default.
        firmware_mode: of the adapter instead of its usual one, such as "memfree".
        overrides: what-if settings by path, such as {"adapter.bus.lanes": "4"}.
        mtu: in bytes instead of the testbed's.
        switch: False connects two hosts back to back.
        explain: also record where the time goes.
        perturbation: for netpipe, also measure sizes by so many bytes below and above each; 3
            without `sizes`, 0 with them.
        options: further settings by name, such as {"window": 16}; of "qps" and "reuse" also
            several, as a sequence or as text such as "1..128" or "100,50,0".

    Raises:
        CatalogError: every fault of the request.
    """
    from hcasim.workloads import WORKLOADS

    faults: list[str] = []
    found = find_workload(workload)
    if found is None:
        faults.append(unknown_workload(workload))
    given = {name: value for name, value in (options or {}).items() if name not in AXES}
    swept = _swept({"size": sizes, **(options or {})}, faults)
    if found is not None:
        faults += _perturb(found, swept, perturbation)
    machine = None
    try:
        machine = resolve(
            testbed,
            adapter=adapter,
            overrides=overrides,
            mtu=mtu,
            switch=switch,
            firmware_mode=firmware_mode,
        )
    except CatalogError as error:
        faults += error.faults
        # The limits of the machine as it is tell more faults in the same run.
        with suppress(CatalogError):
            machine = resolve(testbed, adapter=adapter)
    if found is not None:
        faults += find_faults(found, machine, swept, given)
        if explain and "explain" not in found.options:
            able = [name for name, one in WORKLOADS.items() if "explain" in one.options]
            faults.append(f"explain: {found.name} has no stages; allowed: {one_of(able)}")
    if faults or found is None or machine is None:
        raise CatalogError(faults)
    combined = product(*swept.values())
    chosen = (dict(zip(swept, values, strict=True)) for values in combined)
    settings = [replace(build_options(found, {**given, **one}), explain=explain) for one in chosen]
    return [Job(found.name, machine, one) for one in settings]


def bench(
    workload: str,
    testbed: str,
    *,
    sizes: str | int | Sequence[int] | None = None,
    adapter: str | None = None,
    firmware_mode: str | None = None,
    overrides: Mapping[str, str] | None = None,
    mtu: int | None = None,
    switch: bool = True,
    explain: bool = False,
    perturbation: int | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
    **options: Any,
) -> Benchmark:
    """Run a benchmark.

    Parameters:
        workload, testbed, sizes, adapter, firmware_mode, overrides, mtu, switch, explain,
            perturbation: as for `prepare`.
        jobs: processes to use; all processors if None.
        progress: is told how many points are done.
        options: further settings, such as window=16, mode="striping" or qps=[1, 128].

    Raises:
        CatalogError: every fault of the request.
    """
    prepared = prepare(
        workload,
        testbed,
        sizes=sizes,
        adapter=adapter,
        firmware_mode=firmware_mode,
        overrides=overrides,
        mtu=mtu,
        switch=switch,
        explain=explain,
        perturbation=perturbation,
        options=options,
    )
    return run_benchmark(prepared, jobs=jobs, progress=progress)


def run_benchmark(
    prepared: Sequence[Job],
    *,
    jobs: int | None = 1,
    progress: Progress | None = None,
    listener: Listener | None = None,
) -> Benchmark:
    """Run the points that `prepare` returned.

    Parameters:
        prepared: the points.
        jobs: processes to use; all processors if None.
        progress: is told how many points are done.
        listener: told what happens in the blocks; then all points run in this process.
    """
    started = perf_counter()
    if listener is None:
        points = run_jobs(prepared, workers=jobs, progress=progress)
    else:
        points = {job: run_job(job, listener) for job in prepared}
    first = prepared[0]
    counters: Counter[str] = Counter()
    for job in prepared:
        counters.update(points[job].counters)
    workload = find_workload(first.workload)
    assert workload is not None
    used = [axis.name for axis in varying([vars(job.options) for job in prepared])]
    rows = tuple(with_swept(points[job].row, job, used) for job in prepared)
    return Benchmark(
        workload=first.workload,
        title=workload.title,
        machine=first.machine,
        options=first.options,
        curve=Curve(
            first.workload,
            workload.title,
            rows,
            {"adapter": first.machine.adapter.id, "workload": first.workload},
            axis=used[0] if used else "size",
        ),
        counters=counters,
        breakdowns=tuple(
            {**points[job].breakdown, "caches": cache_use(job.machine, points[job].counters)}
            for job in prepared
            if job.options.explain
        ),
        wall_seconds=perf_counter() - started,
    )


def _perturb(
    workload: Workload, swept: dict[str, tuple[int, ...]], perturbation: int | None
) -> Iterator[str]:
    """Complete the sizes of a workload that runs NetPIPE's, or say why that cannot be."""
    if perturbation is not None and not workload.ladder:
        yield f"perturbation: {workload.name} has no such option; netpipe has it"
    elif perturbation is not None and perturbation < 0:
        yield f"perturbation: found {perturbation}; allowed: 0 or more"
    elif workload.ladder and "size" not in swept:
        swept["size"] = netpipe_ladder(PERTURBATION if perturbation is None else perturbation)
    elif perturbation:
        swept["size"] = perturbed(swept["size"], perturbation)


def _swept(given: Mapping[str, Any], faults: list[str]) -> dict[str, tuple[int, ...]]:
    """Read the values of what may vary, as far as it was given."""
    swept: dict[str, tuple[int, ...]] = {}
    for name, axis in AXES.items():
        if given.get(name) is None:
            continue
        try:
            swept[name] = axis.values(given[name])
        except ValueError as error:
            faults += [f"{name}: {line}" for line in str(error).splitlines()]
    return swept
