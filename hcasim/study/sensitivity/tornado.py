"""One at a time: what a result becomes if one parameter alone is at an end of its range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from hcasim.catalog import CatalogError
from hcasim.catalog.loader import each_file_once
from hcasim.study.sensitivity.factor import Factor, Found, settings_of
from hcasim.study.sensitivity.subject import Case, Output, Reading, Run, Subject

Values = Mapping[str, int]
"""Of some factors, by path; the others stay as they are."""


class Evaluator:
    """Gives what a subject becomes at values of factors, all that is asked at once in parallel.

    Attributes:
        simulated: different points that were needed.
    """

    def __init__(self, subject: Subject, factors: Mapping[str, Factor], run: Run) -> None:
        self.simulated = 0
        self._subject, self._factors, self._run = subject, factors, run

    def fault(self, path: str, value: int) -> str:
        """Say why no machine can have a value; empty if one can."""
        try:
            self._case({path: value})
        except CatalogError as error:
            return error.faults[0]
        return ""

    def __call__(self, every: Sequence[Values]) -> list[list[Reading]]:
        """Return the readings of each output at each of some values."""
        with each_file_once():
            cases = [self._case(values) for values in every]
        found = self._run(dict.fromkeys(job for one in cases for job in one.points))
        self.simulated += len(found)
        return [one.read(found) for one in cases]

    def _case(self, values: Values) -> Case:
        return self._subject.case(lambda machine: settings_of(machine, values, self._factors))


@dataclass(frozen=True)
class Effect:
    """What one parameter does to one output.

    Parameters:
        factor: the parameter.
        output: what it does something to.
        base: with the values of the machine.
        low: with the parameter at its lower end.
        high: with it at its upper end.
        indices: Sobol's, by name (`hcasim.study.sensitivity.sampling.Indices`); empty of a tornado.
    """

    factor: Factor
    output: Output
    base: Reading
    low: Reading
    high: Reading
    indices: Mapping[str, float] = field(default_factory=dict)

    @property
    def swing(self) -> float:
        """How far the output moves, in its unit."""
        values = (self.base.value, self.low.value, self.high.value)
        return max(values) - min(values)

    @property
    def turns(self) -> int | None:
        """The end at which a claim that is held is missed, or the other way round, if there is."""
        for reading, end in ((self.low, self.factor.low), (self.high, self.factor.high)):
            if reading.holds != self.base.holds:
                return end
        return None

    @property
    def elasticity(self) -> float | None:
        """By how many percent the output changes with one percent of the parameter."""
        width = self.factor.high - self.factor.low
        if not (self.base.value and self.factor.base and width):
            return None
        change = (self.high.value - self.low.value) / self.base.value
        return change * self.factor.base / width


def usable(found: Found, evaluator: Evaluator) -> dict[str, Factor]:
    """Return the factors of which the machine can have an end; note the others as fixed."""
    factors = {}
    with each_file_once():
        for path, one in found.factors.items():
            kept, faults = one.within(partial(evaluator.fault, path))
            if kept.low == kept.high:
                found.fixed[path] = faults[0]
            else:
                factors[path] = kept
    return factors


def tornado(
    subject: Subject, factors: Mapping[str, Factor], evaluate: Evaluator
) -> tuple[list[Reading], list[Effect]]:
    """Return the outputs as they are, and what each factor does to each, the largest first."""
    ends = [
        (path, end)
        for path, one in factors.items()
        for end in sorted({one.low, one.high} - {one.base})
    ]
    base, *moved = evaluate([{}, *({path: end} for path, end in ends)])
    at = dict(zip(ends, moved, strict=True))
    effects = []
    for number, output in enumerate(subject.outputs):
        own = [
            Effect(
                factor,
                output,
                base[number],
                at.get((path, factor.low), base)[number],
                at.get((path, factor.high), base)[number],
            )
            for path, factor in factors.items()
        ]
        effects += sorted(own, key=lambda one: (-one.swing, one.factor.path))
    return base, effects
