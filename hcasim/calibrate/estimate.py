"""A fitted parameter with what is known of it, and a number beside the fitted model's."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hcasim.calibrate.confidence import NORMAL_95
from hcasim.calibrate.entries import Verdict
from hcasim.calibrate.loss import Array
from hcasim.calibrate.observation import Observation
from hcasim.calibrate.parameters import FreeParameter

ENOUGH = 30.0
"""So many places of equal weight are enough for quantiles of 5 and 95 %."""


@dataclass(frozen=True)
class Estimate:
    """A parameter as it was fitted.

    Parameters:
        parameter: its path, bounds and ties.
        value: in base units.
        deviation: standard deviation in base units; infinite if the data do not determine it.
        verdict: whether they do.
        claims: the observations that determine it.
        correlation: with each parameter, by path.
        ends: of a 95 % interval that was found in another way than to first order, in base units.
    """

    parameter: FreeParameter
    value: int
    deviation: float
    verdict: Verdict
    claims: tuple[str, ...]
    correlation: dict[str, float]
    ends: tuple[float, float] | None = None

    @property
    def path(self) -> str:
        """Its entry in the fit."""
        return self.parameter.path

    @property
    def interval(self) -> tuple[int, int]:
        """95 % interval in base units, within the bounds; the bounds if it is not determined."""
        one = self.parameter
        if math.isinf(self.deviation) and self.ends is None:
            return one.low, one.high
        reach = NORMAL_95 * self.deviation
        below, above = self.ends or (self.value - reach, self.value + reach)
        low = one.grain * math.floor(below / one.grain)
        high = one.grain * math.ceil(above / one.grain)
        return one.clip(low), one.clip(high)

    @property
    def judgement(self) -> str:
        """The verdict in words; it holds for all that the parameter sets, taken as one."""
        return f"{self.verdict}{', given its ties' if len(self.parameter.paths) > 1 else ''}"

    def raw(self, value: int) -> object:
        """Write a value as a file holds it: times in ns, plain numbers as they are."""
        if not self.parameter.stepped and value % 1000 == 0:
            return f"{value // 1000} ns"
        return self.parameter.leaf.raw(value)

    @property
    def raw_interval(self) -> tuple[object, object]:
        """The interval as a file holds it."""
        low, high = self.interval
        return self.raw(low), self.raw(high)

    @property
    def written(self) -> tuple[str, str]:
        """Value and interval in the cells of a table."""
        low, high = self.raw_interval
        return str(self.raw(self.value)), f"{low} to {high}"

    def to_dict(self) -> dict[str, Any]:
        """Return the parameter for JSON."""
        one = self.parameter
        return {
            "path": one.path,
            "value": self.raw(self.value),
            "interval": list(self.raw_interval),
            "bounds": [self.raw(one.low), self.raw(one.high)],
            "start": self.raw(one.start),
            "also_sets": list(one.paths[1:]),
            "verdict": str(self.verdict),
            "claims": list(self.claims),
            "correlation": {path: round(r, 4) for path, r in self.correlation.items()},
        }


@dataclass(frozen=True)
class Samples:
    """Values that the data allow.

    Parameters:
        values: draws by parameters, in base units.
        support: how many places of equal weight they are worth (the effective sample size of
            L. Kish, Survey Sampling, 1965, section 11.7); infinite if they do not come from
            weights.
        cheaper: a place that meets the data better than the fit, by path in base units, if one
            was come upon.
    """

    values: Array
    support: float = math.inf
    cheaper: Mapping[str, int] | None = None

    @property
    def poor(self) -> bool:
        """Whether few places carry the weight, so that bands are rough."""
        return self.support < ENOUGH


@dataclass(frozen=True)
class Residual:
    """A published number beside the fitted model's.

    Parameters:
        observation: what was published.
        simulated: with the rounded parameters.
    """

    observation: Observation
    simulated: float

    @property
    def error(self) -> float:
        """Relative and signed."""
        published = float(self.observation.published)
        return (self.simulated - published) / published

    @property
    def deviations(self) -> float:
        """The error in tolerances."""
        return self.error / self.observation.tolerance

    @property
    def cells(self) -> tuple[str, str, str]:
        """What was published, what is simulated, and the error in the cells of a table."""
        return self.published, self.written, f"{100 * self.error:+.2f} %"

    @property
    def ids(self) -> str:
        """The statements of this number."""
        return ", ".join((self.observation.id, *self.observation.repeats))

    @property
    def published(self) -> str:
        """The number as printed, with its rounding."""
        one = self.observation
        return f"{one.published} ± {one.reach:.3g} {one.unit}"

    @property
    def written(self) -> str:
        """The simulated number, with two digits more than were printed."""
        exponent = self.observation.published.as_tuple().exponent
        assert isinstance(exponent, int)
        return f"{self.simulated:.{max(0, 2 - exponent)}f} {self.observation.unit}"

    def to_dict(self) -> dict[str, Any]:
        """Return the residual for JSON."""
        one = self.observation
        return {
            "id": one.id,
            "repeats": list(one.repeats),
            "statement": one.statement,
            "published": float(one.published),
            "uncertainty": one.reach,
            "unit": one.unit,
            "simulated": self.simulated,
            "error": self.error,
            "tolerance": one.tolerance,
        }


def compared(
    observations: Iterable[Observation], simulated: Iterable[float]
) -> tuple[Residual, ...]:
    """Return observations beside what a model gives for each."""
    pairs = zip(observations, simulated, strict=True)
    return tuple(Residual(one, float(value)) for one, value in pairs)
