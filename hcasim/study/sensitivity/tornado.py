"""One at a time: what a result becomes if one parameter alone is at an end of its range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from hcasim.catalog import CatalogError
from hcasim.catalog.loader import each_file_once
from hcasim.study.sensitivity.factor import Factor, Found, settings_of
from hcasim.study.sensitivity.subject import Case, Output, Reading, Run, Subject

Values = Mapping[str, int]
"""Of some factors, by path; the others stay as they are."""
ROUNDS = 6
"""Halvings of the way to where a claim no longer holds: to 1/64 of it."""


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
        turns: the value at which a claim changes from held to missed or back, or None.
        indices: Sobol's, by name (`hcasim.study.sensitivity.sampling.Indices`); empty of a tornado.
    """

    factor: Factor
    output: Output
    base: Reading
    low: Reading
    high: Reading
    turns: int | None = None
    indices: Mapping[str, float] = field(default_factory=dict)

    @property
    def swing(self) -> float:
        """How far the output moves, in its unit."""
        values = (self.base.value, self.low.value, self.high.value)
        return max(values) - min(values)

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
    return base, _with_turns(subject, effects, evaluate)


def _with_turns(subject: Subject, effects: Sequence[Effect], evaluate: Evaluator) -> list[Effect]:
    """Find the value at which a claim changes, of each effect in which it does."""
    # The nearest value that is like the base, and the nearest that is not.
    between: dict[int, tuple[int, int]] = {}
    for place, one in enumerate(effects):
        for reading, end in ((one.low, one.factor.low), (one.high, one.factor.high)):
            if reading.holds != one.base.holds:
                between.setdefault(place, (one.factor.base, end))
    for _ in range(ROUNDS):
        asked = {
            place: middle
            for place, (same, other) in between.items()
            if (middle := _middle(effects[place].factor, same, other)) not in (same, other)
        }
        if not asked:
            break
        answers = evaluate([{effects[place].factor.path: one} for place, one in asked.items()])
        for (place, middle), readings in zip(asked.items(), answers, strict=True):
            one, (same, other) = effects[place], between[place]
            alike = readings[subject.outputs.index(one.output)].holds == one.base.holds
            between[place] = (middle, other) if alike else (same, middle)
    return [
        replace(one, turns=between[place][1]) if place in between else one
        for place, one in enumerate(effects)
    ]


def _middle(factor: Factor, one: int, other: int) -> int:
    return replace(factor, low=one, high=other).at(0.5) if factor.continuous else one
