"""One benchmark on one machine, over message sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from hcasim.catalog import CatalogError, Machine, one_of, resolve
from hcasim.study.curve import Curve
from hcasim.study.points import Job, Log, Progress, run_job, run_jobs
from hcasim.study.settings import build_options, find_faults, find_workload, unknown_workload
from hcasim.study.sizes import parse_sizes

if TYPE_CHECKING:
    import pandas as pd

    from hcasim.workloads import Options


@dataclass(frozen=True)
class Benchmark:
    """The result of one benchmark.

    Parameters:
        workload: its name.
        title: its title.
        machine: what it ran on.
        options: settings of the first size.
        curve: the results over the message size.
        counters: the adapters' counters, summed over the sizes.
        breakdowns: where the time went, by message size; empty unless it was asked for.
        wall_seconds: time that the simulation took.
    """

    workload: str
    title: str
    machine: Machine
    options: Options
    curve: Curve
    counters: Mapping[str, int]
    breakdowns: Mapping[int, Mapping[str, Any]]
    wall_seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        breakdown: Mapping[str, Any] = {}
        if len(self.breakdowns) == 1:
            (breakdown,) = self.breakdowns.values()
        elif self.breakdowns:
            breakdown = {"sizes": [{"size": n, **one} for n, one in self.breakdowns.items()]}
        return {
            "workload": self.workload,
            "testbed": self.machine.id,
            "adapter": self.machine.adapter.id,
            "overrides": dict(self.machine.overrides),
            "rows": [dict(row) for row in self.curve.rows],
            "counters": dict(self.counters),
            "breakdown": dict(breakdown),
            "wall_seconds": round(self.wall_seconds, 6),
        }

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a table; needs pandas."""
        return self.curve.to_pandas()

    def _repr_html_(self) -> str:
        return self.curve._repr_html_()


def prepare(
    workload: str,
    testbed: str,
    *,
    sizes: str | int | Sequence[int] | None = None,
    adapter: str | None = None,
    overrides: Mapping[str, str] | None = None,
    mtu: int | None = None,
    switch: bool = True,
    explain: bool = False,
    options: Mapping[str, Any] | None = None,
) -> list[Job]:
    """Check a benchmark and return its points, one for each size.

    Parameters:
        workload: its name, such as "write_lat".
        testbed: id of the testbed.
        sizes: message sizes in bytes, or as text such as "8", "4K,64K" or "4..1M"; the
            workload's usual size without it.
        adapter: id of an adapter instead of the testbed's default.
        overrides: what-if settings by path, such as {"adapter.bus.lanes": "4"}.
        mtu: largest InfiniBand payload in bytes instead of the testbed's.
        switch: False connects two hosts back to back.
        explain: also record where the time goes.
        options: further settings by name, such as {"window": 16}.

    Raises:
        CatalogError: every fault of the request.
    """
    from hcasim.workloads import WORKLOADS

    faults: list[str] = []
    found = find_workload(workload)
    if found is None:
        faults.append(unknown_workload(workload))
    try:
        chosen = _sizes(sizes)
    except ValueError as error:
        faults += [f"size: {line}" for line in str(error).splitlines()]
        chosen = ()
    machine = None
    try:
        machine = resolve(testbed, adapter=adapter, overrides=overrides, mtu=mtu, switch=switch)
    except CatalogError as error:
        faults += error.faults
        # The limits of the machine as it is tell more faults in the same run.
        with suppress(CatalogError):
            machine = resolve(testbed, adapter=adapter)
    if found is not None:
        chosen = chosen or (found.defaults.size,)
        faults += find_faults(found, machine, chosen, options or {})
        if explain and "explain" not in found.options:
            able = [name for name, one in WORKLOADS.items() if "explain" in one.options]
            faults.append(f"explain: {found.name} has no stages; allowed: {one_of(able)}")
    if faults or found is None or machine is None:
        raise CatalogError(faults)
    settings = [replace(build_options(found, n, options or {}), explain=explain) for n in chosen]
    return [Job(found.name, machine, one) for one in settings]


def bench(
    workload: str,
    testbed: str,
    *,
    sizes: str | int | Sequence[int] | None = None,
    adapter: str | None = None,
    overrides: Mapping[str, str] | None = None,
    mtu: int | None = None,
    switch: bool = True,
    explain: bool = False,
    jobs: int | None = 1,
    progress: Progress | None = None,
    **options: Any,
) -> Benchmark:
    """Run a benchmark.

    Parameters:
        workload, testbed, sizes, adapter, overrides, mtu, switch, explain: as for `prepare`.
        jobs: processes to use; all processors if None.
        progress: is told how many points are done.
        options: further settings, such as window=16 or mode="striping".

    Raises:
        CatalogError: every fault of the request.
    """
    prepared = prepare(
        workload,
        testbed,
        sizes=sizes,
        adapter=adapter,
        overrides=overrides,
        mtu=mtu,
        switch=switch,
        explain=explain,
        options=options,
    )
    return run_benchmark(prepared, jobs=jobs, progress=progress)


def run_benchmark(
    prepared: Sequence[Job],
    *,
    jobs: int | None = 1,
    progress: Progress | None = None,
    log: Log | None = None,
) -> Benchmark:
    """Run the points that `prepare` returned.

    Parameters:
        prepared: the points.
        jobs: processes to use; all processors if None.
        progress: is told how many points are done.
        log: is told each event, as (time in ps, block, event, details); then all points run in
            this process.
    """
    started = perf_counter()
    if log is None:
        points = run_jobs(prepared, workers=jobs, progress=progress)
    else:
        points = {job: run_job(job, log) for job in prepared}
    first = prepared[0]
    counters: Counter[str] = Counter()
    for job in prepared:
        counters.update(points[job].counters)
    workload = find_workload(first.workload)
    assert workload is not None
    return Benchmark(
        workload=first.workload,
        title=workload.title,
        machine=first.machine,
        options=first.options,
        curve=Curve(
            first.workload,
            workload.title,
            tuple(points[job].row for job in prepared),
            {"adapter": first.machine.adapter.id, "workload": first.workload},
        ),
        counters=counters,
        breakdowns={
            job.options.size: points[job].breakdown for job in prepared if points[job].breakdown
        },
        wall_seconds=perf_counter() - started,
    )


def _sizes(sizes: str | int | Sequence[int] | None) -> tuple[int, ...]:
    if sizes is None:
        return ()
    if isinstance(sizes, str):
        return parse_sizes(sizes)
    return (sizes,) if isinstance(sizes, int) else tuple(sizes)
