"""Samples of machines: each value that nobody has published is drawn from where it may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar

from hcasim.catalog import CatalogError, Machine
from hcasim.catalog.provenance import CHOSEN, SET
from hcasim.ground.errors import refuse
from hcasim.study.sensitivity.factor import SPREAD, Factor, find_factors, settings_of

USUAL = 50
"""Samples unless the user says otherwise."""
MOST = 10_000
SEED = 1

T = TypeVar("T")
Build = Callable[[Mapping[str, str]], object]
"""Puts a machine together with what-if settings; raises CatalogError if there can be none."""


@dataclass(frozen=True)
class Draws:
    """Values of parameters; all machines of a study have the same in the same sample.

    Parameters:
        factors: the parameters, by path.
        samples: of each the values, by path, in base units.
    """

    factors: Mapping[str, Factor]
    samples: tuple[Mapping[str, int], ...]

    def settings(self, machine: Machine) -> list[dict[str, str]]:
        """Return the what-if settings that make a machine each sample."""
        return [settings_of(machine, one, self.factors) for one in self.samples]

    def built(
        self, machines: Sequence[tuple[Machine, Callable[[Mapping[str, str]], T]]]
    ) -> list[tuple[T, ...]]:
        """Return of each sample what is built of it for each machine.

        A sample that one of the machines cannot be is left out.

        Raises:
            CatalogError: fewer than two samples are left.
        """
        found: list[tuple[T, ...]] = []
        for every in zip(*(self.settings(machine) for machine, _ in machines), strict=True):
            with suppress(CatalogError):
                built = [build(one) for (_, build), one in zip(machines, every, strict=True)]
                found.append(tuple(built))
        if len(found) < 2:
            most = len(self.samples)
            few = f"found {most}, of which {len(found)} can be machines"
            raise CatalogError([f"uncertainty: {few}; allowed: more samples"])
        return found


def samples_fault(found: object) -> str:
    """Say what is wrong with a number of samples, if anything is."""
    fits = isinstance(found, int) and not isinstance(found, bool) and 2 <= found <= MOST
    return "" if fits or found is None else f"uncertainty: found {found!r}; allowed: 2 to {MOST}"


def draw(machines: Sequence[tuple[Machine, Build]], samples: int, seed: int = SEED) -> Draws:
    """Draw what nobody has published, evenly over its interval or usual spread.

    What was fitted is drawn from its interval, what was chosen or assumed between 1/1.5 and 1.5
    times its value, as `hcasim sensitivity` varies them; all at once and independently, each in as
    many equal parts of its range as there are samples (M. D. McKay, R. J. Beckman and
    W. J. Conover, Technometrics 21, 1979). What the user has set stays.

    Parameters:
        machines: whose values, and what puts each together.
        samples: how many.
        seed: of the draws.

    Raises:
        CatalogError: too few samples, or too many.
    """
    from scipy.stats.qmc import LatinHypercube

    refuse(samples_fault(samples))
    found = find_factors([one for one, _ in machines], ranges={}, only=(), spread=SPREAD).factors
    possible = [_possible(one, machines) for one in found.values() if not _given(one, machines)]
    factors = {one.path: one for one in possible if one.low < one.high}
    if not factors:
        return Draws({}, tuple({} for _ in range(samples)))
    rows = LatinHypercube(len(factors), seed=seed).random(samples)
    return Draws(
        factors,
        tuple(
            {one.path: one.at(share) for one, share in zip(factors.values(), row, strict=True)}
            for row in rows
        ),
    )


def _given(one: Factor, machines: Sequence[tuple[Machine, Build]]) -> bool:
    """Whether the user has said what it is to be."""
    return any(
        parameter.path in settings and parameter.source in (SET, CHOSEN)
        for machine, _ in machines
        if (settings := settings_of(machine, {one.path: one.base}, {one.path: one}))
        for parameter in machine.parameters
    )


def _possible(one: Factor, machines: Sequence[tuple[Machine, Build]]) -> Factor:
    """Return a factor with those ends only that all machines can have."""

    def can_be(value: int) -> bool:
        for machine, build in machines:
            if settings := settings_of(machine, {one.path: value}, {one.path: one}):
                try:
                    build(settings)
                except CatalogError:
                    return False
        return True

    low, high = (end if can_be(end) else one.base for end in (one.low, one.high))
    return replace(one, low=low, high=high)
