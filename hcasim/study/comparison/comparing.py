"""The question how two machines, or two results, compare."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any

from hcasim.calibrate.file.bands import band
from hcasim.catalog import CatalogError
from hcasim.ground.errors import flag_fault, refuse, settings_fault
from hcasim.runs.executor import Progress, on_scheduler, run_points
from hcasim.runs.experiment import Experiment
from hcasim.runs.machine import each_machine_once
from hcasim.runs.point import Point
from hcasim.runs.store import usual_store
from hcasim.study.comparison.comparison import Comparison
from hcasim.study.comparison.files import ALLOWED, is_result, read_result
from hcasim.study.comparison.sampled import Sampled, sample
from hcasim.study.comparison.side import Given, Side, requested
from hcasim.study.uncertainty.bands import banded
from hcasim.study.uncertainty.draws import samples_fault
from hcasim.workloads import find_workload, unknown_workload
from hcasim.workloads.options import AXES, varying
from hcasim.workloads.result import Result

Run = Callable[[Iterable[Point]], dict[Point, Result]]
"""Simulates points."""


def compare(
    a: Given,
    b: Given,
    workload: str | None = None,
    *,
    with_a: Mapping[str, Any] | None = None,
    with_b: Mapping[str, Any] | None = None,
    uncertainty: int | None = None,
    jobs: int | None = None,
    scheduler: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    cache: bool = True,
    **settings: Any,
) -> Comparison:
    """Compare two machines, as in `compare("liu2004", "liu2004", with_b={"adapter": "mt23108"})`.

    Parameters:
        a: a testbed by id or file, a machine, what `hcasim.bench` returned, or a JSON file that
            `hcasim bench`, `run` or `sweep` has written: "FILE#NAME" is one of several series,
            "FILE#COLUMN=VALUE,..." one of several machines.
        b: the same.
        workload: the benchmark to run on both; without it, or with results, none is run.
        with_a: settings of the first side only, by name or by path of --set.
        with_b: settings of the second side only.
        uncertainty: also the 5 and 95 % quantiles of what is measured and of the ratio, over so
            many samples of what nobody has published, the same on both sides; see `hcasim.sweep`.
        jobs: processes to use; all processors without it.
        scheduler: address or file of a Dask scheduler whose workers simulate, in place of `jobs`.
        progress: is told how many points are done.
        cache: take what earlier runs have simulated with this code, and keep what is new.
        settings: of both sides: arguments of `hcasim.bench`.

    Raises:
        CatalogError: every fault of the request.
    """
    refuse(
        flag_fault("cache", cache),
        *(settings_fault(one) for one in (with_a, with_b)),
        samples_fault(uncertainty),
    )
    asked: list[Experiment | Side] = []
    faults: list[str] = []
    if workload is not None and find_workload(workload) is None:
        faults.append(unknown_workload(workload))
    for label, given, own in (("a", a, with_a or {}), ("b", b, with_b or {})):
        try:
            if is_result(given):
                if workload is not None or own:
                    faults.append(f"{label}: found a result beside settings; allowed: {ALLOWED}")
                asked.append(read_result(given))
            else:
                asked.append(requested(given, workload or "", settings, own, label))
        except CatalogError as error:
            faults += error.faults
    if asked and all(isinstance(one, Side) for one in asked):
        faults += [
            f"{name}: found with two results, which were measured as they are; leave it out"
            for name, one in settings.items()
            if one not in (None, False, {})
        ]
    if settings.get("explain"):
        faults.append("explain: found with compare; allowed: with why, which explains both sides")
    if uncertainty and (workload is None or any(isinstance(one, Side) for one in asked)):
        faults.append("uncertainty: found without two testbeds and a workload; allowed: with them")
    if faults:
        raise CatalogError(dict.fromkeys(faults))
    run = partial(
        run_points, workers=jobs, progress=progress, store=usual_store() if cache else None
    )
    with each_machine_once(), on_scheduler(scheduler):
        first, second = _measured(asked, workload, run)
        found = Comparison(first, second)
        if uncertainty and workload is not None:
            both = [one for one in asked if isinstance(one, Experiment)]
            return _banded(found, sample(both, uncertainty), run)
        return found


def _places(side: Side, workload: str) -> dict[str, list[int]]:
    """Return where a result was measured: the sizes and what else varies."""
    known = find_workload(workload)
    names = [name for name in AXES if known and name in known.options]
    return {
        name: list(dict.fromkeys(row[name] for row in side.rows))
        for name in names
        if side.rows and all(name in row for row in side.rows)
    }


def _measured(
    asked: list[Experiment | Side],
    workload: str | None,
    run: Run,
) -> list[Side]:
    faults: dict[str, None] = {}
    points = {}
    sides: dict[int, Side] = {n: one for n, one in enumerate(asked) if isinstance(one, Side)}
    # What was measured of one side says what to measure of the other.
    workload = workload or next((one.workload for one in sides.values() if one.workload), None)
    at = _places(next(iter(sides.values())), workload) if sides and workload else {}
    for number, one in enumerate(asked):
        if isinstance(one, Side):
            continue
        try:
            if workload is None:
                sides[number] = Side(one.machine())
            else:
                missing = {name: every for name, every in at.items() if name not in one.options}
                points[number] = replace(one, workload=workload).with_(**missing).benchmark()
        except CatalogError as error:
            faults |= dict.fromkeys(error.faults)
    if faults:
        raise CatalogError(faults)
    if points and workload is not None:
        wanted = dict.fromkeys(point for every in points.values() for point in every)
        found = run(wanted)
        for number, every in points.items():
            axes = [one.name for one in varying([vars(point.options) for point in every])]
            rows = tuple(point.row(found[point], axes) for point in every)
            sides[number] = Side(every[0].machine, workload, rows)
    return [sides[0], sides[1]]


def _banded(plain: Comparison, sampled: Sampled, run: Run) -> Comparison:
    """Return a comparison with bands around what both have measured, and around the ratios."""
    found = run(point for side in sampled.sides for points in side for point in points)
    rows = [[[found[point].row for point in points] for points in side] for side in sampled.sides]
    sides = [
        replace(
            side,
            rows=tuple(
                banded(row, [one[place] for one in own]) for place, row in enumerate(side.rows)
            ),
        )
        for side, own in zip((plain.a, plain.b), rows, strict=True)
    ]
    bands: list[dict[str, tuple[float, float]]] = []
    theirs = [*plain.b.keyed]
    for place, key in enumerate(plain.a.keyed):
        bands.append({})
        if key not in theirs:
            continue
        other = theirs.index(key)
        for name in plain.measured:
            ours = [one[place][name] for one in rows[0]]
            ratios = [
                one[other][name] / mine for mine, one in zip(ours, rows[1], strict=True) if mine
            ]
            base = plain.pairs[place].ratio(name)
            if base is not None and len(ratios) > 1:
                bands[-1][name] = band(ratios, base)
    a, b = sides
    return Comparison(a, b, bands=tuple(bands), drawn=sampled.drawn, samples=len(rows[0]))
