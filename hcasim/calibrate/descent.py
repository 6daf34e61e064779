"""The search for the best values within bounds: least squares, by its slopes and by looking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hcasim.calibrate.loss import LINEAR, LOSSES, Array, Loss
from hcasim.calibrate.objective import Objective, split
from hcasim.calibrate.parameters import FreeParameter, Space
from hcasim.runs.executor import OutOfTime

ROUNDS = 50
"""Most steps of a search before it is given up."""
PLACES = 16
"""Values of a number that is no time, such as the entries of a cache, that are tried before a
search: its effect may be flat here and steep there, where slopes do not find the way."""
JUMPS = 6
"""Most straight models whose best places are tried before a search goes on in steps."""
KEPT = 0.5
"""The part of what a straight model promised that its best place must keep for another one."""
NOTHING = 0.005
"""A promise of a lower cost that means nothing: a tenth of a standard deviation."""
FAINT = 0.3
"""A move across all of the bounds that changes the observations by fewer deviations is not made:
it would lead to a bound for nothing."""
INSIDE = 1e-3
"""How far from the bounds the second search sets out, in widths of the bounds."""


@dataclass(frozen=True)
class Search:
    """How a fit is searched for.

    Parameters:
        loss: how an error weighs.
        step: steps that are shorter end the search, in widths of the bounds; by default a tenth
            of what the results are rounded to.
        gain: steps that lower the cost by a smaller share end it, too.
        thorough: search again from where the first search ended, even if that is not a bound;
            else look around first: try numbers that are no times over their range, go to where
            straight models are met best, and leave what the data do not tell as it was.
        begin: where to set out instead of at the start, in base units by path.
    """

    loss: Loss = LINEAR
    step: float | None = None
    gain: float = 1e-12
    thorough: bool = True
    begin: Mapping[str, int] | None = None


USUAL = Search()
"""The search of a fit to published numbers: to the last digit that is written."""
TRACES = Search(loss=LOSSES["soft_l1"], step=1e-4, gain=1e-3, thorough=False)
"""The search of a fit to traces: a fraction of what their noise can tell."""


@dataclass(frozen=True)
class Solution:
    """Where a search ended.

    Parameters:
        values: of the free parameters by path, in base units, rounded.
        residuals: relative errors in tolerances before the rounding.
        converged: whether the search ended by itself.
    """

    values: dict[str, int]
    residuals: Array
    converged: bool


def searched(
    objective: Objective, parameters: Sequence[FreeParameter], how: Search = USUAL
) -> Solution:
    """Search for the values of parameters that meet the observations best."""
    place = _Places(objective, parameters, how)
    # dogbox strides along bounds, where trf creeps in steps that whole picoseconds hide; but it
    # can be caught in a corner if the data do not determine everything, out of which trf finds.
    try:
        if not how.thorough:
            if how.begin is None:
                place.scan()
            if place.settled():
                return Solution(place.rounded(place.best), place.errors, True)
        strides = place.descend(place.best, "dogbox")
        inside = strides.x.clip(INSIDE, 1 - INSIDE)
        ended = not how.thorough and strides.status > 0 and bool((inside == strides.x).all())
        settles = strides if ended else place.descend(inside, "trf")
    except OutOfTime as error:
        if place.errors.size:
            best = place.rounded(place.best)
            found = ", ".join(f"{one.path} {one.leaf.format(best[one.path])}" for one in place.free)
            error.add_note(f"the best so far, which is no fit: {found}")
        raise
    result = min(strides, settles, key=lambda one: one.cost)
    return Solution(place.rounded(result.x), place.residuals(result.x), bool(result.status > 0))


class _Places(Space):
    """The model over places; `best` is the cheapest so far, where a search sets out."""

    def __init__(self, objective: Objective, free: Sequence[FreeParameter], how: Search) -> None:
        super().__init__(free)
        self.objective, self.how = objective, how
        self.best = self.place(how.begin or {one.path: one.start for one in free})
        self.errors: Array = np.zeros(0)
        self._lowest = float("inf")

    def residuals(self, x: Array) -> Array:
        """Return the residuals at a place, and keep it if it is the best."""
        found = self.objective.residuals(self._point(x))
        cost = self.how.loss.cost(found)
        if cost < self._lowest:
            self.best, self.errors, self._lowest = x.copy(), found, cost
        return found

    def descend(self, start: Array, method: str) -> Any:
        """Follow the slopes from a place, by a method of SciPy's least squares."""
        from scipy.optimize import least_squares

        # The search ends when its steps are below what the result is rounded to.
        finest = min(one.grain / one.width for one in self.free)
        return least_squares(
            self.residuals,
            start,
            jac=lambda x: self._slopes(x, range(len(self.free))),
            bounds=(np.zeros(len(self.free)), np.ones(len(self.free))),
            method=method,
            x_scale=1.0,
            xtol=0.1 * finest if self.how.step is None else self.how.step,
            ftol=self.how.gain,
            gtol=1e-12,
            max_nfev=ROUNDS,
            **self.how.loss.least_squares(),
        )

    def scan(self) -> None:
        """Look for each number that may act in steps over its range, then closer around the best.

        The others, whose effects are smooth, follow at each value by their slopes: what a miss
        costs and how many there are make up for each other.
        """
        smooth = [n for n, one in enumerate(self.free) if not one.stepped]
        count = min(PLACES, max(PLACES // 2, 2 * PLACES // (1 + len(smooth))))
        for column, one in enumerate(self.free):
            if not one.stepped:
                continue
            values = _spread(one, count)
            places = self._column(column, values)
            if smooth:
                self._try([self._followed(place, smooth)[0] for place in places])
            known = sorted({*values, self.best[column]})
            at = known.index(self.best[column])
            near, far = known[max(at - 1, 0)], known[min(at + 1, len(known) - 1)]
            self._column(column, [near + (far - near) * n / (PLACES - 1) for n in range(PLACES)])

    def settled(self) -> bool:
        """Go to where a model that is straight from the best place on is met best, and again.

        Returns:
            Whether it ended where a straight model promises nothing more.
        """
        for _ in range(JUMPS):
            self.residuals(self.best)
            before = self._lowest
            place, cost = self._followed(self.best, range(len(self.free)))
            if before - cost <= max(NOTHING, self.how.gain * before):
                return True
            self.residuals(place)
            if before - self._lowest < KEPT * (before - cost):
                break
        return False

    def _column(self, column: int, values: Sequence[float]) -> list[Array]:
        """Try several values of one parameter, the others as they are at the best place."""
        places = []
        for value in values:
            place = self.best.copy()
            place[column] = value
            places.append(place)
        self._try(places)
        return places

    def _try(self, places: Sequence[Array]) -> None:
        self.objective.simulated([self._point(place) for place in places])
        for place in places:
            self.residuals(place)

    def _followed(self, place: Array, columns: Sequence[int]) -> tuple[Array, float]:
        """Return a place with some parameters where a straight model is met best, and its cost.

        Moves that change hardly anything are not made.
        """
        from scipy.optimize import least_squares

        residuals, slopes = self.residuals(place), self._slopes(place, columns)
        start, moved = place[columns], place.copy()
        found = least_squares(
            lambda x: residuals + slopes @ (x - start),
            np.clip(start, 1e-9, 1 - 1e-9),
            jac=lambda x: slopes,
            bounds=(np.zeros(len(start)), np.ones(len(start))),
            **self.how.loss.least_squares(),
        )
        noticed, _ = split(slopes, FAINT)
        moved[columns] = np.clip(start + noticed @ noticed.T @ (found.x - start), 0, 1)
        return moved, self.how.loss.cost(residuals + slopes @ (moved[columns] - start))

    def _point(self, x: Array) -> Mapping[str, int]:
        return self.settings(self.values(x) if self.how.thorough else self.rounded(x))

    def _slopes(self, x: Array, columns: Sequence[int]) -> Array:
        """Return how the residuals change with some parameters, per width of the bounds."""
        chosen = [self.free[n] for n in columns]
        found = self.objective.slopes(self._point(x), chosen, central=False)
        slopes: Array = found * self.widths[columns] / self.objective.scales[:, None]
        if self.how.thorough:
            return slopes
        noticed, _ = split(slopes, FAINT)
        return slopes @ noticed @ noticed.T


def _spread(one: FreeParameter, count: int) -> list[float]:
    """Return places over the range of a parameter, evenly in its logarithm if that is possible."""
    if one.low <= 0:
        return [n / (count - 1) for n in range(count)]
    values = np.geomspace(one.low, one.high, count)
    return [float(value) for value in np.clip((values - one.low) / one.width, 0, 1)]
