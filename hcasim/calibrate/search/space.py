"""Places: the free parameters in widths of their bounds, which makes all of one size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hcasim.calibrate.search.loss import Array
from hcasim.calibrate.search.parameters import FreeParameter


class Space:
    """Free parameters as numbers from 0 to 1.

    Parameters:
        free: the parameters.
    """

    def __init__(self, free: Sequence[FreeParameter]) -> None:
        self.free = tuple(free)
        self.lows: Array = np.array([one.low for one in free], dtype=float)
        self.widths: Array = np.array([one.width for one in free], dtype=float)

    def place(self, values: Mapping[str, int]) -> Array:
        """Return the place of values in base units by path."""
        place: Array = (np.array([values[one.path] for one in self.free]) - self.lows) / self.widths
        return place

    def values(self, place: Array) -> dict[str, int]:
        """Return the values of a place, whole numbers of steps within the bounds."""
        values = self.lows + place * self.widths
        return {one.path: one.clip(one.snap(v)) for one, v in zip(self.free, values, strict=True)}

    def rounded(self, place: Array) -> dict[str, int]:
        """Return the values of a place as results are given."""
        values = self.lows + place * self.widths
        return {one.path: one.rounded(v) for one, v in zip(self.free, values, strict=True)}
