"""Sweeps: from Python, or by a file of TOML that says what varies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from hcasim.catalog import Machine, read_toml
from hcasim.engine import seldom_collected
from hcasim.ground.errors import (
    Fault,
    count_fault,
    display,
    flag_fault,
    nearest,
    one_of,
    refuse,
    settings_fault,
    table_fault,
    text_fault,
    words_fault,
)
from hcasim.ground.faults import shown
from hcasim.runs.executor import Progress, on_scheduler, run_points
from hcasim.runs.experiment import unexplained
from hcasim.runs.machine import each_machine_once
from hcasim.runs.store import usual_store
from hcasim.study.bands import banded, draw, samples_fault
from hcasim.study.sweep.plan import SETTINGS, read_plan
from hcasim.study.sweep.table import Sweep, Trial, make_table

ENDING = ".toml"
_OTHERS: Mapping[str, tuple[type, str]] = {
    "title": (str, "text"),
    "zip": (list, "lists of names in a list"),
    "where": (str, "text"),
    "set": (dict, "a table"),
    "let": (dict, "a table"),
}
"""Keys of a study beside settings, and what they hold."""


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
            over their plausible ranges; all points have the same samples.
        jobs, scheduler, progress, cache: as of `hcasim.bench`.
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
        "" if where is None else text_fault("where", where, "an expression"),
        unexplained("sweep", settings),
    )
    given = {"workload": workload, "testbed": testbed, **settings, **(overrides or {})}
    plan = read_plan(given, zipped, let, where)
    with on_scheduler(scheduler):
        with each_machine_once(), seldom_collected():
            planned = plan.points()
            drawn = draw([one for one, _ in planned], uncertainty) if uncertainty else None
        points = [point for _, own in planned for point in own]
        # Of each sample the points in the order of the rows.
        samples = [[p for own in one for p in own] for one in (drawn.points if drawn else ())]
        found = run_points(
            (Trial(point) for one in (points, *samples) for point in one),
            workers=jobs,
            progress=progress,
            store=usual_store() if cache else None,
        )
    table = make_table(plan.axes, planned, [found[Trial(point)] for point in points])
    if drawn is None:
        return table
    rows = tuple(
        banded(row, [found[Trial(point)].row for point in own])
        for row, own in zip(table.rows, zip(*samples, strict=True), strict=True)
    )
    return replace(table, rows=rows, drawn=tuple(drawn.factors), samples=len(samples))


def _zipped_faults(given: object) -> list[str]:
    if not isinstance(given, list | tuple):
        return [Fault("zipped", given, "a list of groups, such as [('qps', 'window')]")]
    return [words_fault("zipped", group) for group in given]


def read_study(file: Path) -> dict[str, Any]:
    """Return the arguments of `sweep` that a file holds.

    Parameters:
        file: of TOML with settings by name, those of a machine by path in the table `set`, and
            `zip`, `let` and `where`.

    Raises:
        CatalogError: every fault of its form.
    """
    table, where = read_toml(file), display(file)
    known = (*_OTHERS, *SETTINGS)
    faults = []
    for name, value in table.items():
        kind, allowed = _OTHERS.get(name, (object, "a value or a list"))
        if name not in known:
            allowed = f"{one_of(known)}{nearest(name, known)}"
            faults.append(f"{where}: found the key {name!r}; allowed: {allowed}")
        elif not isinstance(value, kind) or (kind is object and isinstance(value, dict)):
            told = "a table" if isinstance(value, dict) else shown(value)
            faults.append(f"{where}: {name}: found {told}; allowed: {allowed}")
    refuse(*faults)
    groups, lets = table.get("zip", []), dict(_leaves(table.get("let", {})))
    wrong = {name: text for name, text in lets.items() if type(text) not in (str, int, float)}
    refuse(
        *(f"{where}: {one}" for group in groups if (one := words_fault("zip", group))),
        *(f"{where}: let.{n}: found {shown(o)}; allowed: an expression" for n, o in wrong.items()),
    )
    settings = {name: table[name] for name in SETTINGS if name in table}
    return settings | {
        "overrides": dict(_leaves(table.get("set", {}))),
        "zipped": groups,
        "let": {name: str(text) for name, text in lets.items()},
        "where": table.get("where"),
    }


def _leaves(table: object, start: str = "") -> Iterator[tuple[str, Any]]:
    """What a table holds by its path: a dot in a name without quotes is the same as one in it."""
    for name, value in table.items() if isinstance(table, dict) else ():
        if isinstance(value, dict):
            yield from _leaves(value, f"{start}{name}.")
        else:
            yield f"{start}{name}", value
