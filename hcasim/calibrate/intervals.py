"""Intervals of a fit, by the profile of the likelihood or to first order, and samples of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hcasim.calibrate.confidence import Around, correlations
from hcasim.calibrate.entries import Verdict
from hcasim.calibrate.estimate import Estimate
from hcasim.calibrate.loss import Array
from hcasim.calibrate.objective import NORMAL_95
from hcasim.calibrate.report import FitReport

METHODS = {
    "profile": (
        "Intervals: 95 %, by profile likelihood: each end is where the simulated cost, the other",
        "parameters following, is 1.92 above that of the fit (scaled as the errors are).",
    ),
    "linear": ("Intervals: 95 %, from the errors of the observations, to first order.",),
}
GRID = 400
"""Places of a profile between which its density is taken as even."""
HIDDEN = 3.0
"""A parameter that can go so many times as far as alone, its partners making up for it, is known
only together with those that are at a bound then. (Of two, a correlation of 0.94.)"""
ROUNDS = 8
"""Most steps towards one end of a profile, and most between two places around it."""
FARTHER = 4.0
"""How many times as far a step may go at most as the one before."""
NEAR = 0.2
"""An end is found if the cost is this close to what it should be, in parts of its rise."""
CLOSE = 0.05
"""Between two places that are this close, in parts of their distance, an end is interpolated."""
AWAY = 0.3
"""How far from both the next place is at least: the cost may be even and then rise at once."""
WORTH = 0.1
"""Rise of the cost from which on the other parameters are moved again, in parts of the wanted."""


def unfinished(report: FitReport) -> FitReport:
    """Return a report of a search that was cut off, which tells nothing of any parameter."""
    nothing = Verdict(False, ended=False)
    found = (replace(one, verdict=nothing, deviation=math.inf) for one in report.parameters)
    return replace(report, parameters=tuple(found))


def with_linear(report: FitReport) -> FitReport:
    """Return a report with intervals to first order.

    What reaches a bound is not identified; nor is what its partners hide, for a straight model
    does not see how far they can make up for it.
    """
    around = report.around
    noticed = around.noticed()
    reaches = NORMAL_95 * np.sqrt(np.diag(around.spread))
    judged = []
    for n, one in enumerate(report.parameters):
        (low, high), allowed = one.interval, one.parameter
        ends = [low <= allowed.low, high >= allowed.high]
        hidden = reaches[n] > HIDDEN * noticed[n]
        if one.verdict.identified and (hidden or any(ends)):
            follow = np.abs(around.spread[n]) / around.spread[n, n] * reaches[n] >= noticed
            others = [m for m in np.flatnonzero(follow & hidden).tolist() if m != n]
            one = replace(one, verdict=_open(around, others, *ends))
        judged.append(one)
    return _with(report, judged, "linear")


def _open(around: Around, partners: Sequence[int], below: bool, above: bool) -> Verdict:
    """Return the verdict on a parameter whose interval ends at its bounds below or above."""
    known = "" if below == above else ("above" if below else "below")
    return Verdict(False, tuple(around.free[m].path for m in partners), known)


def _with(report: FitReport, parameters: Sequence[Estimate], method: str) -> FitReport:
    """Return a report of these parameters, correlated over all moves, also those that the data do
    not notice."""
    found = correlations(report.around.spread)
    paths = [one.path for one in parameters]
    correlated = tuple(
        replace(one, correlation=dict(zip(paths, map(float, row), strict=True)))
        for one, row in zip(parameters, found, strict=True)
    )
    return replace(report, parameters=correlated, method=METHODS[method])


@dataclass
class Side:
    """The profile of a parameter to one side, in widths of the bounds.

    `way` is how all parameters move while this one moves by its width; it is `stiff` once moving
    the others besides has not helped; `tried` are the rises of the cost and the places, by how far
    this one had moved.
    """

    column: int
    sign: int
    limit: float
    way: Array
    tried: dict[float, tuple[float, Array]] = field(default_factory=dict)
    stiff: bool = False

    def place(self, end: float) -> Array:
        """Return where all parameters are at an end, between the places that were tried."""
        reaches = sorted(self.tried)
        columns = np.array([self.tried[one][1] for one in reaches]).T
        return np.array([np.interp(end, reaches, column) for column in columns])

    def end(self, rise: float) -> float:
        """Return where the cost has risen enough; a profile is nearly a parabola."""
        if self.limit <= 0:
            return 0.0
        roots = self.roots()
        wanted = math.sqrt(rise)
        high = min((one for one in roots if roots[one] >= wanted), default=None)
        low = max(one for one in roots if roots[one] < wanted and one < (high or math.inf))
        if high is None:
            beyond = low * wanted / roots[low] if roots[low] else math.inf
            return self.limit if low >= self.limit else min(beyond, self.limit)
        return low + (high - low) * (wanted - roots[low]) / (roots[high] - roots[low])

    def roots(self) -> dict[float, float]:
        """Return the square roots of the rises, which are nearly straight."""
        return {one: math.sqrt(max(gain, 0.0)) for one, (gain, _) in self.tried.items()}


_Step = Callable[[Sequence[Side], Sequence[float]], None]
"""Simulates a step of each of several sides, by how far."""


def profiled(report: FitReport) -> tuple[FitReport, list[Side]]:
    """Follow the profile of the likelihood of each parameter, and judge what it shows.

    The others first move as they are correlated with it, further on as they have moved so far,
    and by a least-squares step if the simulated residuals say that it matters. The end, where the
    cost has risen enough, is looked for between two places unless the first step has met it. A
    parameter whose interval reaches a bound on the way, its own or that of another which lets it go
    no farther, is not identified: what else has to move, and would be noticed alone, is what it is
    combined with.

    Returns:
        The report with intervals and verdicts, and the profiles.
    """
    around = report.around
    start, spread = around.start, around.spread
    rise = NORMAL_95**2 / 2 * around.confidence.scale
    sides = []
    for n in range(len(start)):
        for sign in (-1, 1):
            limit = start[n] if sign < 0 else 1 - start[n]
            if spread[n, n] > 0:
                way = sign * spread[:, n] / spread[n, n]
                sides.append(Side(n, sign, limit, way, {0.0: (0.0, start)}))

    def step(several: Sequence[Side], reaches: Sequence[float]) -> None:
        places = [np.clip(start + r * s.way, 0, 1) for s, r in zip(several, reaches, strict=True)]
        found = _profile_costs(around, places, several, rise)
        for side, reach, cost, place in zip(several, reaches, *found, strict=True):
            side.tried[reach] = cost - around.floor, place
            # Beyond the end the others may have gone where they do not go before it.
            if cost - around.floor <= rise * (1 + NEAR):
                side.way = (place - start) / reach

    open_ = [side for side in sides if side.limit > 0]
    deviations = np.sqrt(np.diag(spread))
    # What is hardly known may be anywhere: only its limit says that nothing stops it on the way.
    firsts = [NORMAL_95 * deviations[one.column] for one in open_]
    step(
        open_, [r if 2 * r < one.limit else one.limit for r, one in zip(firsts, open_, strict=True)]
    )
    for side in open_:
        _follow(side, rise, step)
    parameters = []
    for n, one in enumerate(_judged(report, sides, rise)):
        pair = [side.end(rise) for side in sides if side.column == n]
        if pair:
            width = one.parameter.width
            one = replace(one, ends=(one.value - pair[0] * width, one.value + pair[1] * width))
        parameters.append(one)
    return _with(report, parameters, "profile"), sides


def _follow(side: Side, rise: float, step: _Step) -> None:
    """Go on to where the cost has risen enough, or to the limit, and look between what is known."""
    wanted = math.sqrt(rise)

    def root(reach: float) -> float:
        """Return the square root of the rise; just the wanted one if it is near it."""
        if reach not in side.tried:
            step([side], [reach])
        gain = side.tried[reach][0]
        return wanted if abs(gain / rise - 1) < NEAR else math.sqrt(max(gain, 0.0))

    low, high = 0.0, max(side.tried)
    for _ in range(ROUNDS):
        if root(high) >= wanted or high >= side.limit:
            break
        low, found = high, root(high)
        farther = min(FARTHER, (1 + NEAR) * wanted / found) if found else FARTHER
        high = min(farther * high, side.limit)
    for _ in range(2 * ROUNDS):
        if root(high) <= wanted or root(low) == wanted or high - low < CLOSE * high:
            break
        share = (wanted - root(low)) / (root(high) - root(low))
        middle = low + (high - low) * min(max(share, AWAY), 1 - AWAY)
        low, high = (low, middle) if root(middle) >= wanted else (middle, high)


def _judged(report: FitReport, sides: Sequence[Side], rise: float) -> list[Estimate]:
    """Call nothing identified whose interval reaches a bound on the way."""
    around = report.around
    noticed = around.noticed()
    partners: dict[int, set[int]] = {}
    open_: dict[int, set[int]] = {}
    for side in sides:
        n, end = side.column, side.end(rise)
        change = side.place(end) - around.start
        grain = around.free[n].grain / around.widths[n]
        room = np.where(change < 0, around.start, 1 - around.start)
        stopped = np.abs(change) > (1 - NEAR) * room
        moves = np.abs(change) >= noticed
        own = end > side.limit - grain
        # What goes hardly farther than it could alone owes its end to no partner.
        hidden = end > HIDDEN * noticed[n]
        if own or (hidden and np.delete(stopped & moves, n).any()):
            open_.setdefault(n, set()).add(side.sign)
            partners.setdefault(n, set()).update(np.flatnonzero(moves).tolist() if hidden else ())
    judged = []
    for n, one in enumerate(report.parameters):
        verdict = Verdict(True)
        if n in open_:
            together = sorted(m for m in partners[n] - {n} if m in open_)
            verdict = _open(around, together, -1 in open_[n], 1 in open_[n])
        judged.append(replace(one, verdict=verdict))
    return judged


def _profile_costs(
    around: Around, places: Sequence[Array], sides: Sequence[Side], rise: float
) -> tuple[list[float], list[Array]]:
    """Return costs and places with the parameters beside the one in question adjusted."""
    from scipy.optimize import lsq_linear

    loss = around.loss
    found = around.residuals(places)
    costs = [loss.cost(one) for one in found]
    again: dict[int, Array] = {}
    for n, (place, residuals, side) in enumerate(zip(places, found, sides, strict=True)):
        others = [m for m in range(len(place)) if m != side.column]
        if not others or side.stiff:
            continue
        slope, _ = loss.influence(residuals)
        # Weights that make the step of a robust loss one of least squares.
        weight = np.sqrt(np.divide(slope, residuals, out=np.ones_like(slope), where=residuals != 0))
        matrix, target = around.slopes[:, others] * weight[:, None], -residuals * weight
        low, high = -place[others], 1 - place[others]
        step = lsq_linear(matrix, target, bounds=(low - 1e-12, high + 1e-12)).x
        before, after = target @ target, np.sum((matrix @ step - target) ** 2)
        if 0.5 * (before - after) > WORTH * rise:
            moved = place.copy()
            moved[others] += step
            again[n] = np.clip(moved, 0, 1)
    ended = list(places)
    for n, residuals in zip(again, around.residuals(list(again.values())), strict=True):
        sides[n].stiff = loss.cost(residuals) >= costs[n]
        if not sides[n].stiff:
            costs[n], ended[n] = loss.cost(residuals), again[n]
    return costs, ended


def drawn(
    around: Around, rng: np.random.Generator, count: int, profiles: Sequence[Side] = ()
) -> Array:
    """Draw values that the data allow, in base units: draws by parameters.

    They are normal around the fit and anything that the data do not see. With profiles one
    parameter after the other is drawn as likely as the cost along its profile makes it, and the
    others follow: where the model is straight that is the same.
    """
    places = np.tile(around.start, (count, 1))
    covariance, columns = around.confidence.covariance, dict.fromkeys(s.column for s in profiles)
    parts = np.array_split(np.arange(count), max(1, len(columns)))
    for part, column in zip(parts, columns or (None,), strict=True):
        rest = covariance
        if column is not None:
            sides = [side for side in profiles if side.column == column]
            places[part] = _along(sides, around.confidence.scale, rng, len(part))
            if covariance[column, column] > 0:
                moved = covariance[column]
                rest = covariance - np.outer(moved, moved) / covariance[column, column]
        zero = np.zeros(len(around.start))
        places[part] += rng.multivariate_normal(zero, rest, len(part), method="eigh")
    places = rng.permutation(np.clip(places, 0, 1))
    for place in places:
        for direction in around.confidence.undetermined.T:
            place += direction * rng.uniform(*_room(place, direction))
    values: Array = around.lows + np.clip(places, 0, 1) * around.widths
    return values


def _along(sides: Sequence[Side], scale: float, rng: np.random.Generator, count: int) -> Array:
    """Draw places along a profile with the density exp(-rise of the cost)."""
    below, above = sides
    # Five deviations hold all but a millionth.
    reaches = np.linspace(-below.end(12.5 * scale), above.end(12.5 * scale), GRID)
    rises = np.empty(GRID)
    for side, some in ((below, reaches < 0), (above, reaches >= 0)):
        roots = side.roots()
        known = sorted(roots)
        far = np.abs(reaches[some])
        root = np.interp(far, known, [roots[one] for one in known])
        # Beyond what was simulated the cost goes on as a parabola does.
        steep = roots[known[-1]] / known[-1] if known[-1] else 0.0
        rises[some] = (root + steep * np.maximum(far - known[-1], 0)) ** 2
    density = np.exp(-(rises - rises.min()) / scale)
    # One draw from each of equal parts of the whole.
    shares = (np.arange(count) + rng.uniform(size=count)) / count
    chosen = np.interp(shares, np.cumsum(density) / density.sum(), reaches)
    return np.array([(below if one < 0 else above).place(abs(one)) for one in chosen])


def _room(place: Array, direction: Array) -> tuple[float, float]:
    """Return how far one may go back and forth before a parameter is at a bound."""
    moving = np.abs(direction) > 1e-9
    ends = np.stack([-place[moving], 1 - place[moving]]) / direction[moving]
    return float(ends.min(axis=0).max()), float(ends.max(axis=0).min())
