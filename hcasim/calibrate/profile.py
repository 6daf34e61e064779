"""Intervals by the profile of the likelihood, simulated: how far each parameter may go."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hcasim.calibrate.confidence import NORMAL_95
from hcasim.calibrate.entries import Verdict
from hcasim.calibrate.linear import HIDDEN, METHODS, Around, correlated, with_ends
from hcasim.calibrate.loss import Array
from hcasim.calibrate.report import FitReport

ROUNDS = 8
"""Most steps towards one end of a profile."""
FARTHER = 4.0
"""How many times as far a step may go at most as the one before."""
BRACKET = 0.1
"""Steps between two places keep this share of their distance from both."""
NEAR = 0.2
"""An end is found if the cost is this close to what it should be, in parts of its rise."""
WORTH = 0.1
"""Rise of the cost from which on the other parameters are moved again, in parts of the wanted."""


@dataclass
class _Side:
    """The search for one end of a profile, in widths of the bounds.

    `way` is how all parameters move while this one moves by its width; `tried` are the places, by
    how far this one had moved.
    """

    column: int
    sign: int
    reach: float
    limit: float
    way: Array
    earlier: tuple[float, float] = (0.0, 0.0)
    below: tuple[float, float] = (0.0, 0.0)
    above: tuple[float, float] | None = None
    done: bool = False
    tried: dict[float, Array] = field(default_factory=dict)

    def place(self, end: float) -> Array:
        """Return where all parameters are at an end, between the places that were tried."""
        reaches = sorted(self.tried)
        columns = np.array([self.tried[one] for one in reaches]).T
        return np.array([np.interp(end, reaches, column) for column in columns])


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
    and by a least-squares step if the simulated residuals say that it matters. Steps aim at the
    rise of the cost as at that of a parabola. A parameter whose interval reaches a bound on the
    way, its own or that of another which lets it go no farther, is not identified: what else has
    to move, and would be noticed alone, is what it is combined with.
    """
    space = Around(report)
    local, start = report.local, space.start
    rise = NORMAL_95**2 / 2 * space.scale
    floor = local.loss.cost(local.residuals)
    sides = []
    for n in range(len(start)):
        deviation = math.sqrt(space.spread[n, n])
        for sign in (-1, 1):
            limit = start[n] if sign < 0 else 1 - start[n]
            if deviation > 0:
                way = sign * space.spread[:, n] / space.spread[n, n]
                reach = min(NORMAL_95 * deviation, limit)
                sides.append(_Side(n, sign, reach, limit, way, tried={0.0: start}))
    for _ in range(ROUNDS):
        open_ = [side for side in sides if not side.done and side.limit > 0]
        if not open_:
            break
        tried = [np.clip(start + side.reach * side.way, 0, 1) for side in open_]
        costs, places = _profile_costs(space, tried, [side.column for side in open_], rise)
        for side, cost, place in zip(open_, costs, places, strict=True):
            side.way = (place - start) / side.reach
            side.tried[side.reach] = place
            _advance(side, cost - floor, rise)
    ends = {}
    for n, one in enumerate(report.parameters):
        pair = [_end(side, rise) for side in sides if side.column == n]
        if len(pair) == 2:
            middle = float(one.value)
            width = one.parameter.width
            ends[one.path] = (middle - pair[0] * width, middle + pair[1] * width)
    turns = [side.place(_end(side, rise)) for side in sides]
    found = with_ends(_judged(report, space, sides, rise), ends, METHODS["profile"])
    return Profile(
        correlated(found, space), np.array(turns).reshape(len(turns), len(start)), space.cheaper
    )


def _judged(report: FitReport, space: Around, sides: Sequence[_Side], rise: float) -> FitReport:
    """Return a report that calls nothing identified whose interval reaches a bound on the way."""
    noticed = space.noticed()
    partners: dict[int, set[int]] = {}
    open_: dict[int, set[int]] = {}
    for side in sides:
        n, end = side.column, _end(side, rise)
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


def _advance(side: _Side, gained: float, rise: float) -> None:
    if gained < rise:
        if side.reach > side.below[0]:
            side.earlier, side.below = side.below, (side.reach, gained)
    elif side.above is None or side.reach < side.above[0]:
        side.above = (side.reach, gained)
    if abs(gained / rise - 1) < NEAR or (side.reach >= side.limit and gained < rise):
        side.done = True
        return
    side.reach = _aim(side, rise)
    if side.above is not None:
        margin = BRACKET * (side.above[0] - side.below[0])
        side.reach = min(max(side.reach, side.below[0] + margin), side.above[0] - margin)


def _aim(side: _Side, rise: float) -> float:
    """Return where the cost should have risen enough, by the last two places around or before.

    A profile is nearly a parabola, whose square root is straight.
    """
    (near, low), (far, high) = (
        (side.earlier, side.below) if side.above is None else (side.below, side.above)
    )
    roots = math.sqrt(max(low, 0.0)), math.sqrt(max(high, 0.0))
    if side.above is None:
        most = min(FARTHER * side.reach, side.limit)
        if roots[1] <= roots[0]:
            return most
    else:
        most = far
    return min(near + (far - near) * (math.sqrt(rise) - roots[0]) / (roots[1] - roots[0]), most)


def _end(side: _Side, rise: float) -> float:
    """Return where the cost has risen enough, between the places that were tried."""
    if side.limit <= 0:
        return 0.0
    if side.above is None and side.below[0] >= side.limit:
        return side.limit
    return _aim(side, rise)


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
