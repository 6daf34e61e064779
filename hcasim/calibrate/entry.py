"""What is written of one value of a fit must agree with itself."""

from __future__ import annotations

from collections.abc import Iterator

from hcasim.catalog import FittedValue
from hcasim.catalog.fields import Leaf
from hcasim.ground.units import UnitError


def entry_faults(leaf: Leaf, entry: FittedValue) -> Iterator[str]:
    """Say what of an entry is not allowed or contradicts the rest of it: `key: fault`."""
    numbers: dict[str, list[int]] = {}
    raws: dict[str, tuple[object, ...]] = {
        "value": () if entry.value is None else (entry.value,),
        "interval": entry.interval or (),
        "bounds": entry.bounds or (),
        "start": () if entry.start is None else (entry.start,),
        "samples": tuple(map(leaf.raw, dict.fromkeys(entry.samples))),
    }
    for key, raw in raws.items():
        try:
            numbers[key] = [int(leaf.read(one)) for one in raw]
        except UnitError as error:
            yield f"{key}: {error}"
    value, interval, bounds = (numbers.get(key, []) for key in ("value", "interval", "bounds"))
    if bounds and not bounds[0] < bounds[1]:
        yield f"bounds: found {_range(leaf, bounds)}; allowed: a lower and a higher value"
        return
    for key in ("value", "start", "samples"):
        outside = [one for one in numbers.get(key, ()) if not _within([one], bounds)]
        if outside:
            found = raws[key][numbers[key].index(outside[0])]
            yield f"{key}: found {found!r}; allowed: {_range(leaf, bounds)}, as its bounds say"
    if not interval:
        return
    found = f"interval: found {_range(leaf, interval)}; allowed:"
    if interval[0] > interval[1]:
        yield f"{found} the lower end before the higher one"
    elif not _within(interval, bounds):
        yield f"{found} within {_range(leaf, bounds)}, as its bounds say"
    elif _within(value, bounds) and not _within(value, interval):
        yield f"{found} an interval that holds the value, {leaf.format(value[0])}"


def _within(values: list[int], ends: list[int]) -> bool:
    """Whether values lie between two ends, as far as both are known."""
    return not (values and ends) or ends[0] <= min(values) <= max(values) <= ends[1]


def _range(leaf: Leaf, ends: list[int]) -> str:
    return f"{leaf.format(ends[0])} to {leaf.format(ends[1])}"
