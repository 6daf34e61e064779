"""Machines on the same samples of what nobody has published, for bands of each and of ratios."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hcasim.catalog import CatalogError, Machine
from hcasim.runs.experiment import Experiment
from hcasim.runs.point import Point
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


def sample(sides: Sequence[Experiment], count: int) -> Sampled:
    """Draw samples of the machines of sides.

    Parameters:
        sides: what to sample.
        count: samples.

    Raises:
        CatalogError: a machine of Python, whose values cannot be drawn, or too few samples can be
            machines.
    """
    faults = [
        "uncertainty: found with a machine of Python, whose values cannot be drawn; "
        "allowed: testbeds by id or file"
        for one in sides
        if isinstance(one.testbed, Machine)
    ]
    if faults:
        raise CatalogError(faults[:1])
    machines = [(one.benchmark()[0].machine, _building(one)) for one in sides]
    draws = draw(machines, count)
    return Sampled(tuple(draws.factors), tuple(zip(*draws.built(machines), strict=True)))


def _building(side: Experiment) -> Callable[[Mapping[str, str]], Sequence[Point]]:
    return lambda settings: side.under(settings).benchmark()
