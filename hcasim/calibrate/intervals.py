"""The model around a fit, and intervals by it: by the profile of the likelihood, to first order,
and by bootstrap."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hcasim.calibrate.confidence import NORMAL_95, correlations
from hcasim.calibrate.entries import Verdict
from hcasim.calibrate.loss import Array, straight_fit
from hcasim.calibrate.parameters import Space, settings
from hcasim.calibrate.report import FitReport, Local

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
HIDDEN = 3.0
"""A parameter that can go so many times as far as alone, its partners making up for it, is known
only together with those that are at a bound then. (Of two, a correlation of 0.94.)"""
TRIES = 1000
"""Fits of a bootstrap."""
ROUNDS = 8
"""Most steps towards one end of a profile, and most between two places around it."""
FARTHER = 4.0
"""How many times as far a step may go at most as the one before."""
NEAR = 0.2
"""An end is found if the cost is this close to what it should be, in parts of its rise."""
WORTH = 0.1
"""Rise of the cost from which on the other parameters are moved again, in parts of the wanted."""
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

    def noticed(self) -> Array:
        """Return the moves that the data would notice, were they made alone: 1.96 deviations."""
        strengths = np.linalg.norm(self.slopes, axis=0)
        found: Array = NORMAL_95 * math.sqrt(self.scale) / np.maximum(strengths, 1e-300)
        return found

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


def correlated(report: FitReport, space: Around) -> FitReport:
    """Return a report with correlations over all moves, also those that the data do not notice."""
    found = correlations(space.spread)
    paths = [one.path for one in space.free]
    parameters = tuple(
        replace(one, correlation=dict(zip(paths, map(float, row), strict=True)))
        for one, row in zip(report.parameters, found, strict=True)
    )
    return replace(report, parameters=parameters)


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
    space = Around(report)
    noticed = space.noticed()
    reaches = NORMAL_95 * np.sqrt(np.diag(space.spread))
    judged = []
    for n, one in enumerate(report.parameters):
        (low, high), allowed = one.interval, one.parameter
        ends = [low <= allowed.low, high >= allowed.high]
        verdict = one.verdict
        hidden = reaches[n] > HIDDEN * noticed[n]
        if verdict.identified and (hidden or any(ends)):
            known = "" if all(ends) or not any(ends) else ("above" if ends[0] else "below")
            follow = np.abs(space.spread[n]) / space.spread[n, n] * reaches[n] >= noticed
            others = [m for m in np.flatnonzero(follow & hidden).tolist() if m != n]
            verdict = Verdict(False, tuple(space.free[m].path for m in others), known)
        judged.append(replace(one, verdict=verdict))
    found = replace(report, parameters=tuple(judged), method=METHODS["linear"])
    return correlated(found, space)


def with_bootstrap(report: FitReport, draws: Array) -> FitReport:
    """Return a report whose intervals come from fits to what might as well have been measured.

    Parameters:
        report: to first order, or with verdicts of profiles.
        draws: tries by observations: what each is off, in its tolerances.
    """
    space = Around(report)
    inflation = space.local.confidence.inflation
    fits = [
        straight_fit(
            space.local.residuals - inflation * draw, space.slopes, space.start, space.local.loss
        )
        for draw in draws
    ]
    values = space.lows + np.array(fits) * space.widths
    ends = {}
    for n, one in enumerate(report.parameters):
        # A straight model is none for a number whose effect has steps.
        if one.verdict.identified and not one.parameter.stepped:
            low, high = np.quantile(values[:, n], [0.025, 0.975])
            ends[one.path] = (min(float(low), one.value), max(float(high), one.value))
    return with_ends(report, ends, METHODS["bootstrap"])


def with_ends(
    report: FitReport, ends: Mapping[str, tuple[float, float]], method: tuple[str, ...]
) -> FitReport:
    """Return a report with other ends of some intervals.

    Parameters:
        report: of a fit.
        ends: in base units, by path; what is not in it keeps its own.
        method: what a table says of them, by lines.
    """
    found = (replace(one, ends=ends.get(one.path, one.ends)) for one in report.parameters)
    return replace(report, parameters=tuple(found), method=method)


@dataclass
class _Side:
    """The search for one end of a profile, in widths of the bounds.

    `way` is how all parameters move while this one moves by its width; `tried` are the rises of
    the cost and the places, by how far this one had moved.
    """

    column: int
    sign: int
    limit: float
    way: Array
    tried: dict[float, tuple[float, Array]] = field(default_factory=dict)

    def place(self, end: float) -> Array:
        """Return where all parameters are at an end, between the places that were tried."""
        reaches = sorted(self.tried)
        columns = np.array([self.tried[one][1] for one in reaches]).T
        return np.array([np.interp(end, reaches, column) for column in columns])

    def end(self, rise: float) -> float:
        """Return where the cost has risen enough; a profile is nearly a parabola."""
        if self.limit <= 0:
            return 0.0
        roots = {one: math.sqrt(max(gain, 0.0)) for one, (gain, _) in self.tried.items()}
        wanted = math.sqrt(rise)
        high = min((one for one in roots if roots[one] >= wanted), default=None)
        low = max(one for one in roots if roots[one] < wanted and one < (high or math.inf))
        if high is None:
            beyond = low * wanted / roots[low] if roots[low] else math.inf
            return self.limit if low >= self.limit else min(beyond, self.limit)
        return low + (high - low) * (wanted - roots[low]) / (roots[high] - roots[low])


_Step = Callable[[Sequence[_Side], Sequence[float]], None]
"""Simulates a step of each of several sides, by how far."""


@dataclass(frozen=True)
class Profile:
    """What profiles of the likelihood have found.

    Parameters:
        report: with their intervals and verdicts.
        ends: where each profile ended, as ends by parameters in widths of the bounds.
        cheaper: a place that meets the data better than the fit, by path in base units, if a
            profile has come upon one.
    """

    report: FitReport
    ends: Array
    cheaper: Mapping[str, int] | None = None


def profiled(report: FitReport) -> Profile:
    """Follow the profile of the likelihood of each parameter, and judge what it shows.

    The others first move as they are correlated with it, further on as they have moved so far,
    and by a least-squares step if the simulated residuals say that it matters. The end, where the
    cost has risen enough, is a root of Brent's method, unless the first step has met it. A
    parameter whose interval reaches a bound on the way, its own or that of another which lets it go
    no farther, is not identified: what else has to move, and would be noticed alone, is what it is
    combined with.
    """
    space = Around(report)
    local, start = report.local, space.start
    rise = NORMAL_95**2 / 2 * space.scale
    floor = local.loss.cost(local.residuals)
    sides = []
    for n in range(len(start)):
        for sign in (-1, 1):
            limit = start[n] if sign < 0 else 1 - start[n]
            if space.spread[n, n] > 0:
                way = sign * space.spread[:, n] / space.spread[n, n]
                sides.append(_Side(n, sign, limit, way, {0.0: (0.0, start)}))

    def step(several: Sequence[_Side], reaches: Sequence[float]) -> None:
        places = [np.clip(start + r * s.way, 0, 1) for s, r in zip(several, reaches, strict=True)]
        found = _profile_costs(space, places, [side.column for side in several], rise)
        for side, reach, cost, place in zip(several, reaches, *found, strict=True):
            side.way = (place - start) / reach
            side.tried[reach] = cost - floor, place

    open_ = [side for side in sides if side.limit > 0]
    deviations = np.sqrt(np.diag(space.spread))
    step(open_, [min(NORMAL_95 * deviations[one.column], one.limit) for one in open_])
    for side in open_:
        _follow(side, rise, step)
    ends = {}
    for n, one in enumerate(report.parameters):
        pair = [side.end(rise) for side in sides if side.column == n]
        if pair:
            width = one.parameter.width
            ends[one.path] = (one.value - pair[0] * width, one.value + pair[1] * width)
    turns = [side.place(side.end(rise)) for side in sides]
    found = with_ends(_judged(report, space, sides, rise), ends, METHODS["profile"])
    return Profile(
        correlated(found, space), np.array(turns).reshape(len(turns), len(start)), space.cheaper
    )


def _follow(side: _Side, rise: float, step: _Step) -> None:
    """Go on to where the cost has risen enough, or to the limit, and look between what is known."""
    from scipy.optimize import brentq

    def excess(reach: float) -> float:
        if reach not in side.tried:
            step([side], [reach])
        gain = side.tried[reach][0]
        near = abs(gain / rise - 1) < NEAR
        return 0.0 if near else math.sqrt(max(gain, 0.0)) - math.sqrt(rise)

    reach, low = max(side.tried), 0.0
    for _ in range(ROUNDS):
        if excess(reach) >= 0 or reach >= side.limit:
            break
        low, gain = reach, side.tried[reach][0]
        farther = FARTHER if gain <= 0 else min(FARTHER, (1 + NEAR) * math.sqrt(rise / gain))
        reach = min(farther * reach, side.limit)
    if excess(reach) > 0:
        brentq(excess, low, reach, xtol=NEAR / 10 * reach, maxiter=ROUNDS, disp=False)


def _judged(report: FitReport, space: Around, sides: Sequence[_Side], rise: float) -> FitReport:
    """Return a report that calls nothing identified whose interval reaches a bound on the way."""
    noticed = space.noticed()
    partners: dict[int, set[int]] = {}
    open_: dict[int, set[int]] = {}
    for side in sides:
        n, end = side.column, side.end(rise)
        change = side.place(end) - space.start
        grain = report.parameters[n].parameter.grain / space.widths[n]
        room = np.where(change < 0, space.start, 1 - space.start)
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
            paths = tuple(space.free[m].path for m in together)
            known = "" if len(open_[n]) == 2 else ("above" if -1 in open_[n] else "below")
            verdict = Verdict(False, paths, known)
        judged.append(replace(one, verdict=verdict))
    return replace(report, parameters=tuple(judged))


def _profile_costs(
    space: Around, places: Sequence[Array], columns: Sequence[int], rise: float
) -> tuple[list[float], list[Array]]:
    """Return costs and places with the parameters beside the one in question adjusted."""
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
    ended = list(places)
    for n, residuals in zip(again, space.residuals(list(again.values())), strict=True):
        if loss.cost(residuals) < costs[n]:
            costs[n], ended[n] = loss.cost(residuals), again[n]
    return costs, ended
