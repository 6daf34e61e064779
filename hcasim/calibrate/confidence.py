"""How well the data determine the parameters, to first order around the fit.

A published number was rounded when it was printed, so that the true one may lie anywhere within
half a unit of its last digit: a uniform error, whose standard deviation is that half unit over
the square root of three. Nothing else is known of the errors of the measurements. Of a number out
of a trace its own standard deviation is known. If there are more observations than parameters and
they contradict each other by more than their errors, all errors are taken to be larger by the
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
from hcasim.calibrate.objective import Objective
from hcasim.calibrate.observation import Observation
from hcasim.calibrate.parameters import FreeParameter

NORMAL_95 = 1.959964
"""Half the width of the interval that holds 95 % of a normal distribution, in sigmas."""
UNDETERMINED = 2 * NORMAL_95
"""A move across all of the bounds that changes the observations by fewer sigmas than this is one
whose 95 % interval is wider than the bounds: the data say nothing about it."""
SHARE = 0.01
"""An observation determines a parameter if it moves it by at least this share of what the
strongest one does, each changed by its tolerance."""

PART = 0.05
"""A parameter takes part in a direction from this share of it on."""


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


def deviations(observations: Sequence[Observation]) -> Array:
    """Return the standard deviation of each observation."""
    return np.array([one.deviation for one in observations])


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
        parameters: what was fitted.
        observations: what it was fitted to.
        loss: what the fit made small.
    """
    widths = np.array([one.width for one in parameters], dtype=float)
    scales = np.array([float(one.published) * one.tolerance for one in observations])
    sigmas = deviations(observations)
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
    influences = (np.abs(response) >= SHARE * strongest) & (strongest > 0)
    return Confidence(
        deviations=np.sqrt(np.diag(covariance)) * widths,
        correlation=correlations(covariance),
        undetermined=undetermined,
        influences=influences,
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


def split(sensitivity: Array) -> tuple[Array, Array]:
    """Divide all moves of the parameters into those that the data notice and those they do not.

    Parameters:
        sensitivity: observations by parameters: sigmas of the observation per width of the bounds.

    Returns:
        Two orthonormal bases, as parameters by directions.
    """
    _, strengths, directions = np.linalg.svd(sensitivity, full_matrices=True)
    strengths = np.pad(strengths, (0, len(directions) - len(strengths)))
    noticed = strengths >= UNDETERMINED
    return directions[noticed].T, directions[~noticed].T


@dataclass(frozen=True)
class Tie:
    """What happens if a tied parameter is freed.

    Parameters:
        path: the parameter that follows.
        leader: the one that it follows.
        direction: the move that the data do not notice, by path: what the others must change by
            if 1 is added to this one; empty if the data tell them apart.
    """

    path: str
    leader: str
    direction: tuple[tuple[str, float], ...]

    @property
    def separable(self) -> bool:
        """Whether the data would determine the parameter without the tie."""
        return not self.direction

    @property
    def judgement(self) -> str:
        """What the data say about the parameter, were it free, in words."""
        partners = tuple(path for path, _ in self.direction if path != self.path)
        return "identified if freed" if self.separable else str(Verdict(False, partners))

    @property
    def move(self) -> str:
        """The direction in words."""
        if self.separable:
            return "nothing: there is no need to tie it"
        return ", ".join(f"{part:+.2f} {path}" for path, part in self.direction)

    def to_dict(self) -> dict[str, Any]:
        """Return the test for JSON."""
        return {
            "path": self.path,
            "tied_to": self.leader,
            "separable": self.separable,
            "direction": {path: round(part, 4) for path, part in self.direction},
        }


def verdicts(undetermined: Array, parameters: Sequence[FreeParameter]) -> list[Verdict]:
    """Judge each free parameter.

    Parameters:
        undetermined: parameters by directions, in widths of the bounds.
        parameters: the free parameters.
    """
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


def examine_ties(
    objective: Objective, point: Mapping[str, int], parameters: Sequence[FreeParameter]
) -> list[Tie]:
    """Free each tied parameter and look for the move that makes up for it.

    Parameters:
        objective: the observations.
        point: the fit, in base units by path.
        parameters: what was fitted; every tie is undone for this test.
    """
    leaders = [one.alone(one.path) for one in parameters]
    followers = [(one.alone(path), one.path) for one in parameters for path in one.paths[1:]]
    if not followers:
        return []
    columns = [*leaders, *(one for one, _ in followers)]
    widths = np.array([one.width for one in columns], dtype=float)
    sigmas = deviations(objective.observations)
    effects = objective.slopes(point, columns) * widths / sigmas[:, None]
    ties = []
    for number, (follower, leader) in enumerate(followers, start=len(leaders)):
        chosen = [*range(len(leaders)), number]
        _, undetermined = split(effects[:, chosen])
        hidden = (undetermined @ undetermined.T)[-1]
        direction: list[tuple[str, float]] = []
        if hidden[-1] >= PART**2:
            parts = hidden / hidden[-1]
            direction = [
                (columns[n].path, float(part) * columns[n].width / follower.width)
                for n, part in zip(reversed(chosen), reversed(parts), strict=True)
                if abs(part) >= PART
            ]
        ties.append(Tie(follower.path, leader, tuple(direction)))
    return ties
