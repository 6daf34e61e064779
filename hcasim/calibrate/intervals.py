"""Intervals beyond the first order: by profile of the likelihood, and by bootstrap."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hcasim.calibrate.confidence import NORMAL_95
from hcasim.calibrate.local import Local
from hcasim.calibrate.parameters import FreeParameter, settings
from hcasim.calibrate.report import FitReport

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

KINDS = ("profile", "bootstrap", "linear")
METHODS = {
    "profile": (
        "Intervals: 95 %, by profile likelihood: each end is where the simulated cost, the other",
        "parameters following, is 1.92 above that of the fit (scaled as the errors are).",
    ),
    "bootstrap": (
        "Intervals: 95 %, by bootstrap: quantiles of fits to resampled medians, with the model",
        "taken as straight around the fit.",
    ),
    "linear": ("Intervals: 95 %, from the errors of the observations, to first order.",),
}
ROUNDS = 3
"""Most steps towards one end of a profile."""
NEAR = 0.2
"""An end is found if the cost is this close to what it should be, in parts of its rise."""
WORTH = 0.1
"""Rise of the cost from which on the other parameters are moved again, in parts of the wanted."""
TRIES = 1000
"""Fits of a bootstrap."""


@dataclass
class _Side:
    """The search for one end of a profile, in widths of the bounds."""

    column: int
    sign: int
    reach: float
    limit: float
    below: tuple[float, float] = (0.0, 0.0)
    above: tuple[float, float] | None = None
    done: bool = False


def with_profile(report: FitReport) -> FitReport:
    """Return a report whose intervals come from profiles of the likelihood.

    Along each identified parameter the others first move as they are correlated with it, then by
    one more least-squares step if the simulated residuals say that it matters. Steps aim at the
    rise of the cost as at that of a parabola.
    """
    import numpy as np

    space = _Space(report)
    local, start = report.local, space.start
    usual, bend = local.loss.seen_moments(local.residuals, space.spare)
    rise = NORMAL_95**2 / 2 * usual / bend
    floor = local.loss.cost(local.residuals)
    covariance = local.confidence.covariance
    sides = []
    for n, one in enumerate(report.parameters):
        deviation = math.sqrt(covariance[n, n])
        for sign in (-1, 1):
            limit = start[n] if sign < 0 else 1 - start[n]
            if one.verdict.identified and deviation > 0:
                sides.append(_Side(n, sign, min(NORMAL_95 * deviation, limit), limit))
    for _ in range(ROUNDS):
        open_ = [side for side in sides if not side.done and side.limit > 0]
        if not open_:
            break
        places = [
            np.clip(
                start
                + side.sign
                * side.reach
                * covariance[:, side.column]
                / covariance[side.column, side.column],
                0,
                1,
            )
            for side in open_
        ]
        costs = _profile_costs(space, places, [side.column for side in open_], rise)
        for side, cost in zip(open_, costs, strict=True):
            _advance(side, cost - floor, rise)
    ends = {}
    for n, one in enumerate(report.parameters):
        pair = [_end(side, rise) for side in sides if side.column == n]
        if len(pair) == 2:
            middle = float(one.value)
            width = one.parameter.width
            ends[one.path] = (middle - pair[0] * width, middle + pair[1] * width)
    return _with_ends(report, ends, METHODS["profile"])


def _advance(side: _Side, gained: float, rise: float) -> None:
    if gained < rise:
        side.below = max(side.below, (side.reach, gained))
    elif side.above is None or side.reach < side.above[0]:
        side.above = (side.reach, gained)
    if abs(gained / rise - 1) < NEAR or (side.reach >= side.limit and gained < rise):
        side.done = True
        return
    # A profile is nearly a parabola; where it is not, at most twice or half as far.
    factor = math.sqrt(rise / gained) if gained > 0 else 2.0
    side.reach = min(side.reach * min(max(factor, 0.5), 2.0), side.limit)


def _end(side: _Side, rise: float) -> float:
    """Return where the cost has risen enough, between the places that were tried."""
    if side.limit <= 0:
        return 0.0
    near, low = side.below
    if side.above is None:
        if low <= 0 or near >= side.limit:
            return near
        return min(near * math.sqrt(rise / low), side.limit)
    far, high = side.above
    # The square root of a parabola is straight.
    roots = math.sqrt(max(low, 0.0)), math.sqrt(high)
    return near + (far - near) * (math.sqrt(rise) - roots[0]) / (roots[1] - roots[0])


class _Space:
    """The free parameters as numbers from 0 to 1, and the model over them."""

    def __init__(self, report: FitReport) -> None:
        import numpy as np

        self.local: Local = report.local
        self.free: tuple[FreeParameter, ...] = tuple(one.parameter for one in report.parameters)
        self.lows = np.array([one.low for one in self.free], dtype=float)
        self.widths = np.array([one.width for one in self.free], dtype=float)
        values = np.array([one.value for one in report.parameters], dtype=float)
        self.start: Array = (values - self.lows) / self.widths
        scales = self.local.objective.scales()
        self.slopes: Array = self.local.slopes * self.widths / scales[:, None]
        directions = self.local.confidence.undetermined.shape[1]
        self.spare = len(scales) - len(self.free) + directions

    def residuals(self, places: Sequence[Array]) -> list[Array]:
        """Simulate several places at once."""
        objective = self.local.objective
        points: list[Mapping[str, int]] = []
        for place in places:
            values = self.lows + place * self.widths
            chosen = {
                one.path: one.clip(one.snap(v)) for one, v in zip(self.free, values, strict=True)
            }
            points.append(settings(chosen, self.free))
        objective.simulated(points)
        return [objective.residuals(point) for point in points]


def _profile_costs(
    space: _Space, places: Sequence[Array], columns: Sequence[int], rise: float
) -> list[float]:
    """Return the cost at places, the parameters beside the one in question adjusted."""
    import numpy as np
    from scipy.optimize import lsq_linear

    loss = space.local.loss
    found = space.residuals(places)
    costs = [loss.cost(one) for one in found]
    again: dict[int, Array] = {}
    for n, (place, residuals, column) in enumerate(zip(places, found, columns, strict=True)):
        others = [m for m in range(len(place)) if m != column]
        if not others:
            continue
        slope, _ = loss.influence(residuals)
        # Weights that make the step of a robust loss one of least squares.
        weight = np.sqrt(np.divide(slope, residuals, out=np.ones_like(slope), where=residuals != 0))
        matrix, target = space.slopes[:, others] * weight[:, None], -residuals * weight
        low, high = -place[others], 1 - place[others]
        step = lsq_linear(matrix, target, bounds=(low - 1e-12, high + 1e-12)).x
        before, after = target @ target, np.sum((matrix @ step - target) ** 2)
        if 0.5 * (before - after) > WORTH * rise:
            moved = place.copy()
            moved[others] += step
            again[n] = np.clip(moved, 0, 1)
    for n, residuals in zip(again, space.residuals(list(again.values())), strict=True):
        costs[n] = min(costs[n], loss.cost(residuals))
    return costs


def with_bootstrap(report: FitReport, draws: Array) -> tuple[FitReport, Array]:
    """Return a report whose intervals come from fits to what might as well have been measured.

    Parameters:
        report: to first order.
        draws: tries by observations: what each is off, in its tolerances.

    Returns:
        The report, and the fitted values as tries by parameters, in base units.
    """
    import numpy as np
    from scipy.optimize import least_squares

    space = _Space(report)
    loss, slopes, start = space.local.loss, space.slopes, space.start
    inflation = space.local.confidence.inflation
    inside = np.clip(start, 1e-9, 1 - 1e-9)
    fits = []
    for draw in draws:
        errors = space.local.residuals - inflation * draw
        fits.append(
            least_squares(
                lambda x, errors=errors: errors + slopes @ (x - start),
                inside,
                jac=lambda x: slopes,
                bounds=(np.zeros(len(start)), np.ones(len(start))),
                **loss.least_squares(),
            ).x
        )
    values = space.lows + np.array(fits) * space.widths
    ends = {}
    for n, one in enumerate(report.parameters):
        if one.verdict.identified:
            low, high = np.quantile(values[:, n], [0.025, 0.975])
            ends[one.path] = (min(float(low), one.value), max(float(high), one.value))
    return _with_ends(report, ends, METHODS["bootstrap"]), values


def sampled(report: FitReport, rng: np.random.Generator, count: int) -> Array:
    """Draw values that the data allow: normal around the fit, and anything that they do not see.

    Parameters:
        report: to first order.
        rng: source of chance.
        count: how many.

    Returns:
        Draws by parameters, in base units, within the bounds.
    """
    import numpy as np

    space = _Space(report)
    found = space.local.confidence
    places = rng.multivariate_normal(space.start, found.covariance, count, method="eigh")
    places = np.clip(places, 0, 1)
    for place in places:
        for direction in found.undetermined.T:
            # How far one may go either way before a parameter is at a bound.
            moving = np.abs(direction) > 1e-9
            ends = np.stack([-place[moving], 1 - place[moving]]) / direction[moving]
            place += direction * rng.uniform(ends.min(axis=0).max(), ends.max(axis=0).min())
    values: Array = space.lows + np.clip(places, 0, 1) * space.widths
    return values


def _with_ends(
    report: FitReport, ends: Mapping[str, tuple[float, float]], method: tuple[str, ...]
) -> FitReport:
    return replace(
        report,
        parameters=tuple(
            replace(one, ends=ends[one.path]) if one.path in ends else one
            for one in report.parameters
        ),
        method=method,
    )
