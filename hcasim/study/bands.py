"""Bands: what a result is over samples of machines, on which nobody has published all values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

from hcasim.catalog import CatalogError, Machine
from hcasim.catalog.section import CHOSEN, SET
from hcasim.ground.errors import refuse, written
from hcasim.ground.quantities import band_fields, measured
from hcasim.runs.benchmark import Benchmark
from hcasim.runs.executor import Progress, run_points
from hcasim.runs.experiment import Experiment
from hcasim.runs.machine import each_machine_once
from hcasim.study.sensitivity.factor import Factor, find_factors, settings_of

USUAL = 50
"""Samples unless the user says otherwise."""
MOST = 10_000
SEED = 1
_CERTAIN = ("error_percent",)
"""Results that say how exact the simulation is, not what the machine does."""
_WHOLE = (
    "uncertainty: found with a machine of Python, whose values cannot be drawn; "
    "allowed: testbeds by id or file"
)

Points = list[Any]
"""Of a benchmark, or the launch of a program."""


class Drawn(NamedTuple):
    """Experiments on samples of their machines: what was drawn, the values of each sample by path,
    in base units, and of each sample that all machines can be the points of each experiment."""

    factors: Mapping[str, Factor]
    values: tuple[Mapping[str, int], ...]
    points: tuple[tuple[Points, ...], ...]


def samples_fault(found: object) -> str:
    """Say what is wrong with a number of samples, if anything is."""
    fits = isinstance(found, int) and not isinstance(found, bool) and 2 <= found <= MOST
    return (
        ""
        if fits or found is None
        else f"uncertainty: found {written(found)}; allowed: 2 to {MOST}"
    )


def draw(asked: Sequence[Experiment], samples: int, seed: int = SEED) -> Drawn:
    """Draw what nobody has published, from its interval or plausible range, half of it below its
    value and half above.

    The ranges are those of `hcasim sensitivity`; a sample is one of a Latin hypercube (M. D. McKay,
    R. J. Beckman and W. J. Conover, Technometrics 21, 1979), the same for all machines. What the
    user has set stays.

    Parameters:
        asked: whose values.
        samples: how many.
        seed: of the draws.

    Raises:
        CatalogError: too few samples, or too many; a machine of Python, whose values cannot be
            drawn; or fewer than two samples that all machines can be.
    """
    from scipy.stats.qmc import LatinHypercube

    whole = any(isinstance(one.testbed, Machine) for one in asked)
    refuse(samples_fault(samples), _WHOLE if whole else "")
    with each_machine_once():
        machines = [one.machine() for one in asked]
        every: dict[object, tuple[Machine, Experiment]] = {}
        for machine, one in zip(machines, asked, strict=True):
            every.setdefault((machine.parts, *one.settings, *one.overrides), (machine, one))
        kinds = [*every.values()]
        found = find_factors([machine for machine, _ in kinds]).factors
        possible = [_possible(one, kinds) for one in found.values() if not _given(one, kinds)]
        factors = {one.path: one for one in possible if one.low < one.high}
        rows: Iterable[Any] = [()] * samples
        if factors:
            rows = LatinHypercube(len(factors), seed=seed).random(samples)
        values = tuple(
            {one.path: one.at(share) for one, share in zip(factors.values(), row, strict=True)}
            for row in rows
        )
        points: list[tuple[Points, ...]] = []
        for sample in values:
            with suppress(CatalogError):
                under = (settings_of(machine, sample, factors) for machine in machines)
                made = (a.under(own).points() for a, own in zip(asked, under, strict=True))
                points.append(tuple(made))
    if len(points) < 2:
        few = f"found {samples}, of which {len(points)} can be machines"
        raise CatalogError([f"uncertainty: {few}; allowed: more samples"])
    return Drawn(factors, values, tuple(points))


def _given(one: Factor, kinds: Iterable[tuple[Machine, Experiment]]) -> bool:
    """Whether the user has said what it is to be."""
    return any(
        parameter.path in settings and parameter.source in (SET, CHOSEN)
        for machine, _ in kinds
        if (settings := settings_of(machine, {one.path: one.base}, {one.path: one}))
        for parameter in machine.parameters
    )


def _possible(one: Factor, kinds: Iterable[tuple[Machine, Experiment]]) -> Factor:
    """Return a factor with those ends only that all machines can have."""

    def fault(value: int) -> str:
        for machine, asked in kinds:
            if settings := settings_of(machine, {one.path: value}, {one.path: one}):
                try:
                    asked.under(settings).points()
                except CatalogError as error:
                    return str(error)
        return ""

    return one.within(fault)[0]


def band(values: Sequence[float], base: float) -> tuple[float, float]:
    """Return the quantiles of 5 and 95 % over samples, widened to what no sample was drawn for.

    Between them lie 90 % of all further samples on average (R. J. Hyndman and Y. Fan, Sample
    Quantiles in Statistical Packages, 1996, definition 6), if there are 19 samples or more.

    Parameters:
        values: what the samples give.
        base: what the values as they are give.
    """
    import numpy as np

    low, high = np.quantile(values, (0.05, 0.95), method="weibull").tolist()
    return min(low, base), max(high, base)


def banded(row: Mapping[str, Any], samples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a row with the 5 and 95 % quantiles over samples as the ends of each number."""
    fields = {*measured(row)} - {*_CERTAIN}
    found: dict[str, Any] = {}
    for name, value in row.items():
        found.setdefault(name, value)
        values = [one[name] for one in samples if isinstance(one.get(name), int | float)]
        if name in fields and isinstance(value, int | float) and len(values) > 1:
            found |= zip(band_fields(name), band(values, value), strict=True)
    return found


def with_bands(
    result: Benchmark,
    samples: Sequence[Points],
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Benchmark:
    """Return a benchmark whose rows end with the `band` of each number over samples, each of which
    has the points of the benchmark in its order."""
    found = run_points((job for one in samples for job in one), workers=jobs, progress=progress)
    rows = []
    for number, row in enumerate(result.curve.rows):
        own = {name: row[name] for name in result.fields}
        others = [found[one[number]].row for one in samples]
        rows.append({**row, **{n: v for n, v in banded(own, others).items() if n not in own}})
    return replace(result, curve=replace(result.curve, rows=tuple(rows)))
