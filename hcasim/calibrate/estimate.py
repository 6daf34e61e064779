"""A fitted parameter with its uncertainty, and a published number beside the model's."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hcasim.calibrate.entries import Verdict
from hcasim.calibrate.objective import NORMAL_95
from hcasim.calibrate.observation import Observation
from hcasim.calibrate.parameters import FreeParameter


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
class Residual:
    """A published number beside what a model gives.

    Parameters:
        observation: what was published.
        simulated: in its unit.
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
        """What was published, with its rounding, what is simulated, with two digits more, and the
        error, in the cells of a table."""
        one = self.observation
        exponent = one.published.as_tuple().exponent
        assert isinstance(exponent, int)
        return (
            f"{one.published} ± {one.reach:.3g} {one.unit}",
            f"{self.simulated:.{max(0, 2 - exponent)}f} {one.unit}",
            f"{100 * self.error:+.2f} %",
        )

    @property
    def ids(self) -> str:
        """The statements of this number."""
        return ", ".join((self.observation.id, *self.observation.repeats))

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
