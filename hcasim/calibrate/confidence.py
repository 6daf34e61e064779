"""How well the data determine the parameters, to first order around the fit.

A published number was rounded when it was printed: its error is uniform within half a unit of its
last digit, with a standard deviation of that half unit over the square root of three. Of a number
out of a trace its own standard deviation is known. If there are more observations than parameters
and they contradict each other by more than their errors, all errors are taken to be larger by the
ratio (the Birge ratio; of a robust fit, what takes its place).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hcasim.calibrate.entries import Verdict
from hcasim.calibrate.loss import LINEAR, Array, Loss
from hcasim.calibrate.objective import NORMAL_95, Objective, split
from hcasim.calibrate.observation import Observation
from hcasim.calibrate.parameters import FreeParameter, Space

SHARE = 0.01
"""An observation determines a parameter if it moves it by at least this share of what the
strongest one does, each changed by its tolerance."""
PART = 0.05
"""A parameter takes part in a direction from this share of it on."""
UNNOTICED = 0.1
"""Change of the cost, which at 1.92 reaches the end of a 95 % interval, that means nothing."""
ANYWHERE = 0.3
"""Standard deviation of moves that the data do not notice, in widths of the bounds: about that of
an even spread over them."""


@dataclass(frozen=True)
class Confidence:
    """Uncertainty of fitted parameters.

    Parameters:
        deviations: standard deviations in base units; of a parameter that takes part in an
            undetermined direction, that of the rest of it.
        correlation: of each parameter with each.
        undetermined: parameters by directions, in widths of the bounds: moves that the data do
            not notice.
        influences: parameters by observations: whether the observation determines the parameter.
        inflation: how much larger the errors are than expected; 1 if they are not.
        covariance: of the parameters, in widths of the bounds.
        scale: rise of the cost that one half of a squared standard deviation makes; 1 if the
            errors are as large as expected and weigh by their squares.
    """

    deviations: Array
    correlation: Array
    undetermined: Array
    influences: NDArray[np.bool_]
    inflation: float
    covariance: Array
    scale: float


def confidence(
    slopes: Array,
    residuals: Array,
    parameters: Sequence[FreeParameter],
    observations: Sequence[Observation],
    loss: Loss = LINEAR,
) -> Confidence:
    """Propagate the errors of the observations to the parameters.

    Parameters:
        slopes: observations by parameters, per base unit, at the fit.
        residuals: relative errors at the fit, in tolerances.
        parameters, observations: what was fitted, and to what.
        loss: what the fit made small.
    """
    widths = np.array([one.width for one in parameters], dtype=float)
    scales = np.array([float(one.published) * one.tolerance for one in observations])
    sigmas = np.array([one.deviation for one in observations])
    per_width = slopes * widths
    usual, usual_bend = loss.moments()

    def scatter(determined: Array) -> tuple[float, float, float]:
        """Return the variance in expected errors, the inflation and the scale of the cost."""
        spare = len(observations) - determined.shape[1]
        squares, bend = loss.seen_moments(residuals * scales / sigmas, spare)
        variance = squares / bend**2
        return variance, math.sqrt(variance / (usual / usual_bend**2)), squares / bend

    # Errors that are larger than expected hide more moves.
    determined, undetermined = split(per_width / sigmas[:, None])
    _, larger, _ = scatter(determined)
    if larger > 1:
        determined, undetermined = split(per_width / (larger * sigmas[:, None]))
    variance, inflation, scale = scatter(determined)

    # The estimate is the least squares of residuals, which are weighted by tolerance: its
    # response to an error of an observation follows from those weights.
    response = determined @ np.linalg.pinv(per_width @ determined / scales[:, None])
    errors = sigmas / scales
    covariance = variance * (response * errors**2) @ response.T

    strongest = np.max(np.abs(response), axis=1, keepdims=True)
    return Confidence(
        deviations=np.sqrt(np.diag(covariance)) * widths,
        correlation=correlations(covariance),
        undetermined=undetermined,
        influences=(np.abs(response) >= SHARE * strongest) & (strongest > 0),
        inflation=inflation,
        covariance=covariance,
        scale=scale,
    )


def correlations(covariance: Array) -> Array:
    """Return the correlation of each parameter with each; 0 with those that do not move."""
    spread = np.sqrt(np.diag(covariance))
    product = np.outer(spread, spread)
    found: Array = np.divide(covariance, product, out=np.eye(len(spread)), where=product > 0)
    return found


class Around(Space):
    """The model around a fit, over places.

    Parameters:
        objective: simulates further points.
        free: what was fitted.
        values: the fit, in base units by path.
        residuals: at the fit, in tolerances.
        loss: what the fit made small.

    Attributes:
        point: the fit, tied paths included.
        start: its place.
        per_unit: slopes of the observations per base unit.
        slopes: those of the residuals, in tolerances per width of the bounds.
        confidence: to first order.
        spread: covariance of the parameters, where moves that the data do not notice are as wide
            as the bounds allow.
        cheaper: the best place that was simulated, by path in base units, if it meets the data
            better than the fit.
    """

    def __init__(
        self,
        objective: Objective,
        free: Sequence[FreeParameter],
        values: Mapping[str, int],
        residuals: Array,
        loss: Loss,
    ) -> None:
        super().__init__(free)
        self.objective, self.errors, self.loss = objective, residuals, loss
        self.point = self.settings(values)
        self.start = self.place(values)
        self.per_unit = objective.slopes(self.point, free)
        self.slopes: Array = self.per_unit * self.widths / objective.scales[:, None]
        self.cheaper: Mapping[str, int] | None = None
        self._trust(confidence(self.per_unit, residuals, free, objective.observations, loss))

    def _trust(self, found: Confidence) -> None:
        self.confidence = found
        blind = found.undetermined
        self.spread: Array = found.covariance + ANYWHERE**2 * blind @ blind.T
        self.floor = self.loss.cost(self.errors)
        self._best = self.floor - UNNOTICED * found.scale

    def noticed(self) -> Array:
        """Return the moves that the data would notice, were they made alone: 1.96 deviations."""
        strengths = np.linalg.norm(self.slopes, axis=0)
        reach = NORMAL_95 * math.sqrt(self.confidence.scale)
        found: Array = reach / np.maximum(strengths, 1e-300)
        return found

    def residuals(self, places: Sequence[Array]) -> list[Array]:
        """Simulate several places at once."""
        chosen = [self.values(place) for place in places]
        points = [self.settings(one) for one in chosen]
        self.objective.simulated(points)
        found = [self.objective.residuals(point) for point in points]
        for one, errors in zip(chosen, found, strict=True):
            cost = self.loss.cost(errors)
            if cost < self._best:
                self._best, self.cheaper = cost, one
        return found


@dataclass(frozen=True)
class Tie:
    """What happens if a tied parameter is freed.

    Parameters:
        path: the parameter that follows.
        tied_to: the one that it follows.
        direction: the move that the data do not notice, by path: what the others must change by
            if 1 is added to this one; empty if the data tell them apart.
    """

    path: str
    tied_to: str
    direction: Mapping[str, float]

    @property
    def judgement(self) -> str:
        """What the data say about the parameter, were it free, in words."""
        partners = tuple(path for path in self.direction if path != self.path)
        return str(Verdict(False, partners)) if self.direction else "identified if freed"

    @property
    def move(self) -> str:
        """The direction in words."""
        moves = ", ".join(f"{part:+.2f} {path}" for path, part in self.direction.items())
        return moves or "nothing: there is no need to tie it"

    def to_dict(self) -> dict[str, Any]:
        """Return the test for JSON."""
        return {
            "path": self.path,
            "tied_to": self.tied_to,
            "separable": not self.direction,
            "direction": {path: round(part, 4) for path, part in self.direction.items()},
        }


def verdicts(undetermined: Array, parameters: Sequence[FreeParameter]) -> list[Verdict]:
    """Judge each free parameter by the moves that the data miss, as in `Confidence`."""
    # How much of a move of one parameter the data miss, and what of the others would hide it.
    hidden = undetermined @ undetermined.T
    found = []
    for one in range(len(parameters)):
        partners = tuple(
            parameters[other].path
            for other in range(len(parameters))
            if other != one and abs(hidden[one, other]) >= PART
        )
        found.append(Verdict(True) if hidden[one, one] < PART**2 else Verdict(False, partners))
    return found


def examine_ties(around: Around) -> list[Tie]:
    """Free each tied parameter of a fit and look for the move that makes up for it."""
    objective, parameters = around.objective, around.free
    leaders = [one.alone(one.path) for one in parameters]
    followers = [(one.alone(path), one.path) for one in parameters for path in one.paths[1:]]
    if not followers:
        return []
    columns = [*leaders, *(one for one, _ in followers)]
    widths = np.array([one.width for one in columns], dtype=float)
    effects = objective.slopes(around.point, columns) * widths / objective.sigmas[:, None]
    ties = []
    for number, (follower, leader) in enumerate(followers, start=len(leaders)):
        chosen = [*range(len(leaders)), number]
        _, undetermined = split(effects[:, chosen])
        hidden = (undetermined @ undetermined.T)[-1]
        direction = {}
        if hidden[-1] >= PART**2:
            for n, part in zip(reversed(chosen), reversed(hidden / hidden[-1]), strict=True):
                if abs(part) >= PART:
                    direction[columns[n].path] = float(part) * columns[n].width / follower.width
        ties.append(Tie(follower.path, leader, direction))
    return ties
