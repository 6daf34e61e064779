"""Reading numbers off simulated curves, as a claim says which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hcasim.papers.claim import Claim, Measure
from hcasim.papers.experiment import Scenario
from hcasim.runs.curve import Curve
from hcasim.runs.quantities import BEST, FIELDS, UNITS
from hcasim.workloads.options import AXES


@dataclass(frozen=True)
class Reading:
    """What one point gives.

    Parameters:
        left: of the series, in the unit of the claim if it is one of the quantity.
        right: of the series to compare with; NaN if there is none.
        where: the point in words, empty if a measure reads only one.
    """

    left: float
    right: float
    where: str = ""

    @property
    def ratio(self) -> float:
        """The series relative to the other."""
        return self.left / self.right


@dataclass(frozen=True)
class Reader:
    """Reads numbers off the curves for one claim.

    Parameters:
        scenario: the scenario that the claim belongs to.
        curves: by series and scenario, such as "liu2004/fig06:pcie".
        claim: says what is measured and in which unit.
    """

    scenario: Scenario
    curves: Mapping[str, Curve]
    claim: Claim

    def readings(self, measure: Measure) -> list[Reading]:
        """Return the points that a measure selects, in the order of the x axis.

        Raises:
            ValueError: two series of which each point is wanted share none.
        """
        left = self._points(measure.series, measure)
        right = self._points(measure.against, measure) if measure.against else {}
        if measure.select != "all":
            at = measure.at if measure.against_at is None else measure.against_at
            other = self._one(right, measure, at) if measure.against else float("nan")
            return [Reading(self._one(left, measure, measure.at), other)]
        shared = [x for x in left if x in right or measure.against is None]
        axis = AXES[self._curve(measure.series[0]).axis]
        if not shared:
            raise ValueError(f"{self.claim.id}: the two series share no {axis.name}")
        label = axis.label
        return [Reading(left[x], right.get(x, float("nan")), f" at {label(x)}") for x in shared]

    def _curve(self, name: str) -> Curve:
        return self.curves[self.scenario.qualified(name)]

    def _points(self, names: tuple[str, ...], measure: Measure) -> dict[int, float]:
        """The best value over the named series, by x."""
        quantity = self.claim.quantity
        field, best = FIELDS[quantity], BEST[quantity]
        factor = UNITS[quantity].get(self.claim.unit, 1.0)
        points: dict[int, float] = {}
        for curve in map(self._curve, names):
            for row in curve.rows:
                x, value = row[curve.axis], row[field] * factor
                if measure.covers(x):
                    points[x] = best(points.get(x, value), value)
        return dict(sorted(points.items()))

    def _one(self, points: dict[int, float], measure: Measure, at: int | None) -> float:
        if at is not None:
            return points[at]
        if measure.select == "smallest":
            return points[min(points)]
        if measure.select == "largest":
            return points[max(points)]
        return BEST[self.claim.quantity](points.values())
