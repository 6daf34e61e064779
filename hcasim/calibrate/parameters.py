"""What a calibration may change: the free entries of a fit, with their bounds."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hcasim.calibrate.entries import entry_faults, quantity_at
from hcasim.calibrate.loss import Array
from hcasim.catalog import CatalogError, Fit, FittedValue
from hcasim.catalog.fields import Leaf
from hcasim.ground.errors import display
from hcasim.ground.units import FREQUENCY, RATE, TIME

DIGITS = 5
"""To so many digits of the distance of the bounds a rate is given; a time to one digit less."""
NANOSECOND = 1000
"""In ps. No time is given less closely."""


@dataclass(frozen=True)
class FreeParameter:
    """One number that a calibration may choose, in base units.

    Parameters:
        path: its entry in the fit, such as "adapters.mt25208.send.latency".
        paths: all that it sets: its own and those tied to it.
        low, high: its bounds.
        start: where the search sets out.
        leaf: its type and unit.
        multiple: its values are multiples of this.
    """

    path: str
    paths: tuple[str, ...]
    low: int
    high: int
    start: int
    leaf: Leaf
    multiple: int = 1

    @property
    def width(self) -> int:
        """Distance of the bounds."""
        return self.high - self.low

    @property
    def stepped(self) -> bool:
        """Whether it is a number, such as entries of a cache, whose effect may have steps."""
        return self.leaf.unit is not TIME

    @property
    def grain(self) -> int:
        """What a result is rounded to: of a time a decimal part, about a thousandth of the bounds
        but no more than 1 ns, of a rate or frequency a ten thousandth, else the unit itself."""
        if self.leaf.unit is TIME:
            return min(self._part(DIGITS - 1), NANOSECOND)
        return self._part(DIGITS) if self.leaf.unit in (RATE, FREQUENCY) else self.step

    def _part(self, digits: int) -> int:
        """The decimal part of the distance of the bounds that leaves it so many digits."""
        return int(self.step * 10 ** max(0, len(str(self.width // self.step)) - digits))

    @property
    def step(self) -> int:
        """Smallest change of the value."""
        return math.lcm(self.leaf.step or 1, self.multiple)

    def snap(self, value: float) -> int:
        """Return the nearest whole number of steps."""
        return self.step * round(value / self.step)

    def rounded(self, value: float) -> int:
        """Return the value of a result: a whole number of grains, within the bounds."""
        return self.clip(self.grain * round(value / self.grain))

    def clip(self, value: int) -> int:
        """Return the nearest value within the bounds."""
        return min(max(value, self.low), self.high)

    def alone(self, path: str) -> FreeParameter:
        """Return the same without the tie: it sets one path only."""
        return replace(self, path=path, paths=(path,))


def free_parameters(fit: Fit) -> tuple[FreeParameter, ...]:
    """Return the free parameters of a fit, in its order.

    Raises:
        CatalogError: every entry without bounds, with bounds that are none, or with a path that
            names no parameter.
    """
    faults: list[str] = []
    free: list[FreeParameter] = []
    where = f"{display(fit.file)}: entries"
    for path, entry in fit.entries.items():
        leaf = quantity_at(path)
        if isinstance(leaf, str):
            faults.append(f"{where}.{path}: {leaf}")
        elif not entry.tied_to:
            # Its value will be another one.
            bare = entry.model_copy(update={"value": None, "interval": None, "samples": ()})
            found = [f"{where}.{path}.{fault}" for fault in entry_faults(leaf, bare)]
            if entry.bounds is None:
                ends = [leaf.raw(one) for one in (0, 2 * (leaf.step or 10**6))]
                allowed = f"the range to search, such as {json.dumps(ends)}"
                found.append(f"{where}.{path}.bounds: missing; allowed: {allowed}")
            faults += found
            if not found:
                tied = [name for name, one in fit.entries.items() if one.tied_to == path]
                free.append(_free((path, *tied), entry, leaf))
    if not (free or faults):
        faults.append(f"{where}: found none with a value; nothing can be fitted")
    faults += [f"{where}.{fault}" for fault in _mixed(free)]
    if faults:
        raise CatalogError(faults)
    return tuple(free)


def _free(paths: tuple[str, ...], entry: FittedValue, leaf: Leaf) -> FreeParameter:
    low, high = (int(leaf.read(end)) for end in entry.bounds or ())
    step = leaf.step or 1
    start = step * ((low + high) // (2 * step))
    if entry.start is not None:
        start = int(leaf.read(entry.start))
    return FreeParameter(paths[0], paths, low, high, start, leaf, entry.multiple)


def _mixed(free: list[FreeParameter]) -> Iterator[str]:
    for one in free:
        for path in one.paths[1:]:
            leaf = quantity_at(path)
            if isinstance(leaf, Leaf) and leaf.unit is not one.leaf.unit:
                yield f"{path}.tied_to: found {one.path!r}, which has another unit"


class Space:
    """Places: free parameters in widths of their bounds, which makes all of one size.

    Values are in base units by path.
    """

    def __init__(self, free: Sequence[FreeParameter]) -> None:
        self.free = tuple(free)
        self.lows: Array = np.array([one.low for one in free], dtype=float)
        self.widths: Array = np.array([one.width for one in free], dtype=float)

    def place(self, values: Mapping[str, int]) -> Array:
        """Return the place of values."""
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

    def settings(self, values: Mapping[str, int]) -> dict[str, int]:
        """Return the value of each path, tied ones included."""
        return {path: values[one.path] for one in self.free for path in one.paths}
