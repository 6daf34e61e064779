"""The model around a fit, over places of its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hcasim.calibrate.intervals.report import FitReport, Local
from hcasim.calibrate.search.loss import Array
from hcasim.calibrate.search.parameters import settings
from hcasim.calibrate.search.space import Space

UNNOTICED = 0.1
"""Change of the cost, which at 1.92 reaches the end of a 95 % interval, that means nothing."""
ANYWHERE = 0.3
"""Standard deviation of moves that the data do not notice, in widths of the bounds: about that of
an even spread over them."""


class Around(Space):
    """The free parameters as numbers from 0 to 1, and the model over them.

    Attributes:
        start: the fit.
        slopes: of the residuals, in tolerances per width of the bounds.
        spread: covariance of the parameters, where moves that the data do not notice are as wide
            as the bounds allow.
        scale: of the cost, as `Confidence` has it.
        cheaper: the best place that was simulated, by path in base units, if it meets the data
            better than the fit.
    """

    def __init__(self, report: FitReport) -> None:
        super().__init__([one.parameter for one in report.parameters])
        self.local: Local = report.local
        self.start = self.place({one.path: one.value for one in report.parameters})
        scales = self.local.objective.scales()
        self.slopes: Array = self.local.slopes * self.widths / scales[:, None]
        blind = self.local.confidence.undetermined
        self.spread: Array = self.local.confidence.covariance + ANYWHERE**2 * blind @ blind.T
        self.scale = self.local.confidence.scale
        self.cheaper: Mapping[str, int] | None = None
        self._best = self.local.loss.cost(self.local.residuals) - UNNOTICED * self.scale

    def residuals(self, places: Sequence[Array]) -> list[Array]:
        """Simulate several places at once."""
        objective = self.local.objective
        chosen = [self.values(place) for place in places]
        points = [settings(one, self.free) for one in chosen]
        objective.simulated(points)
        found = [objective.residuals(point) for point in points]
        for one, errors in zip(chosen, found, strict=True):
            cost = self.local.loss.cost(errors)
            if cost < self._best:
                self._best, self.cheaper = cost, one
        return found
