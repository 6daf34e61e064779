"""Machines on the same samples of what nobody has published, for bands of each and of ratios."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hcasim.catalog import CatalogError, Machine
from hcasim.runs.point import Point
from hcasim.study.comparison.side import Request
from hcasim.study.uncertainty.draws import draw


@dataclass(frozen=True)
class Sampled:
    """Points of sides on samples of their machines.

    Parameters:
        drawn: paths of what was drawn.
        sides: of each side the points of each sample; both sides have the same samples.
    """

    drawn: tuple[str, ...]
    sides: tuple[tuple[Sequence[Point], ...], ...]


def sample(sides: Sequence[Request], workload: str, count: int) -> Sampled:
    """Draw samples of the machines of sides; those that are no machine on one are left out of all.

    Parameters:
        sides: what to sample.
        workload: the benchmark.
        count: samples.

    Raises:
        CatalogError: a machine of Python, whose values cannot be drawn.
    """
    faults = [
        "uncertainty: found with a machine of Python, whose values cannot be drawn; "
        "allowed: testbeds by id or file"
        for one in sides
        if isinstance(one.testbed, Machine)
    ]
    if faults:
        raise CatalogError(faults[:1])
    machines = [one.points(workload)[0].machine for one in sides]
    draws = draw(
        [(machine, _building(one, workload)) for machine, one in zip(machines, sides, strict=True)],
        count,
    )
    every = []
    for settings in zip(*(draws.settings(machine) for machine in machines), strict=True):
        try:
            every.append(
                [one.under(own).points(workload) for one, own in zip(sides, settings, strict=True)]
            )
        except CatalogError:
            continue
    by_side = tuple(tuple(one[place] for one in every) for place in range(len(sides)))
    return Sampled(tuple(draws.factors), by_side)


def _building(side: Request, workload: str) -> Callable[[Mapping[str, str]], object]:
    return lambda settings: side.under(settings).points(workload)
