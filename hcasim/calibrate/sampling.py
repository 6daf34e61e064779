"""Values that the data allow: what a question to a fitted machine is asked for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hcasim.calibrate.confidence import Around
from hcasim.calibrate.intervals import Side
from hcasim.calibrate.loss import Array

GRID = 400
"""Places of a profile between which its density is taken as even."""


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
    reaches = np.linspace(-below.limit, above.limit, GRID)
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
    drawn = np.interp(shares, np.cumsum(density) / density.sum(), reaches)
    return np.array([(below if one < 0 else above).place(abs(one)) for one in drawn])


def _room(place: Array, direction: Array) -> tuple[float, float]:
    """Return how far one may go back and forth before a parameter is at a bound."""
    moving = np.abs(direction) > 1e-9
    ends = np.stack([-place[moving], 1 - place[moving]]) / direction[moving]
    return float(ends.min(axis=0).max()), float(ends.max(axis=0).min())
