"""Sweeps from Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

from hcasim.catalog import Machine
from hcasim.engine import seldom_collected
from hcasim.ground.errors import (
    count_fault,
    flag_fault,
    refuse,
    settings_fault,
    table_fault,
    words_fault,
)
from hcasim.runs.executor import Progress, on_scheduler, run_points
from hcasim.runs.machine import each_machine_once
from hcasim.runs.store import usual_store
from hcasim.study.sweep.plan import Planner, read_plan
from hcasim.study.sweep.samples import Samples
from hcasim.study.sweep.table import Sweep, make_table
from hcasim.study.sweep.trial import Trial
from hcasim.study.uncertainty.draws import samples_fault


def sweep(
    workload: str | Sequence[str],
    testbed: str | PathLike[str] | Machine | Sequence[str | PathLike[str] | Machine],
    *,
    overrides: Mapping[str, Any] | None = None,
    zipped: Iterable[Sequence[str]] = (),
    let: Mapping[str, str] | None = None,
    where: str | None = None,
    uncertainty: int | None = None,
    jobs: int | None = None,
    scheduler: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    cache: bool = True,
    **settings: Any,
) -> Sweep:
    """Measure over any settings, as in `sweep("write_bw", "liu2004", size="4..1M", qps=[1, 8])`.

    Each value of a setting is taken with each of every other. Points that were finished are kept:
    what was stopped goes on where it was.

    Parameters:
        workload: a benchmark, or several.
        testbed: id, file or machine, or several.
        overrides: what-if settings by path, each a value or several: a list, or text such as
            "4,8", "4..64" (by doubling), "0..10+2", "1..1000*10", "100 ns..500 ns/5" (in equal
            parts), or "x0.5,x1,x2", so many times what the description says.
        zipped: groups of names whose values are taken in step, such as [("qps", "window")].
        let: settings that follow from others, such as {"window": "64 * qps"}; times are in
            picoseconds and sizes in bytes there.
        where: what a combination has to fulfil, such as "qps <= window".
        uncertainty: also the 5 and 95 % quantiles of what is measured, over so many samples of
            what nobody has published: fitted values over their intervals, chosen and assumed ones
            between 1/1.5 and 1.5 times theirs; all points have the same samples.
        jobs: processes to use; all processors without it.
        scheduler: address or file of a Dask scheduler whose workers simulate, in place of `jobs`.
        progress: is told how many points are done.
        cache: take what earlier runs have simulated with this code, and keep what is new.
        settings: those of `hcasim.bench` by the same names, each a value or several.

    Raises:
        CatalogError: every fault of the request.
    """
    refuse(
        flag_fault("cache", cache),
        count_fault("jobs", jobs),
        settings_fault(overrides),
        samples_fault(uncertainty),
        table_fault("let", let, "{'window': '64 * qps'}"),
        *_zipped_faults(zipped),
    )
    given = {"workload": workload, "testbed": testbed, **settings, **(overrides or {})}
    plan = read_plan(given, zipped, let, where)
    with on_scheduler(scheduler):
        with each_machine_once(), seldom_collected():
            planner = Planner(plan)
            planned = planner.points()
            samples = Samples(planner, planned, uncertainty) if uncertainty else None
        trials = [Trial(one.point) for one in planned]
        every = [*trials, *samples.all] if samples else trials
        store = usual_store() if cache else None
        found = run_points(every, workers=jobs, progress=progress, store=store)
    table = make_table(plan.axes, planned, [found[trial] for trial in trials])
    return samples.around(table, found) if samples else table


def _zipped_faults(given: object) -> list[str]:
    if not isinstance(given, list | tuple):
        return [f"zipped: found {given!r}; allowed: a list of groups, such as [('qps', 'window')]"]
    return [words_fault("zipped", group) for group in given]
