"""What a calibration file says of each fitted value must agree with itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hcasim.calibrate.paths import quantity_at
from hcasim.calibrate.verdict import partners
from hcasim.catalog import FittedValue, nearest
from hcasim.catalog.fields import Leaf
from hcasim.ground.units import UnitError

_OF_TRACES = ("interval", "bounds", "start", "verdict", "samples")
"""What each value of a fit to traces has."""


def value_faults(where: str, table: Mapping[str, Any], whole: Mapping[str, Any]) -> Iterator[str]:
    """Say which fitted values are no parameters, not allowed, or contradict themselves.

    Parameters:
        where: the file.
        table: what is sound of its form.
        whole: all that it holds.
    """
    entries = {
        path: FittedValue.model_construct(**one) for path, one in table.get("entries", {}).items()
    }
    leaves = {path: quantity_at(path) for path in entries}
    for path, entry in entries.items():
        leaf, prefix = leaves[path], f"{where}: entries.{path}"
        if isinstance(leaf, str):
            yield f"{prefix}: {leaf}"
        elif entry.tied_to:
            # Its numbers are those of its leader, where their faults are said.
            leader = entries.get(entry.tied_to)
            try:
                leaf.read(leader.value if leader else entry.value)
            except UnitError as error:
                yield f"{prefix}.tied_to: {error}"
        else:
            for fault in _entry_faults(leaf, entry):
                yield f"{prefix}.{fault}"
            # What is left of a faulty entry lacks what the fault was said of.
            if "made" in whole and table["entries"][path] == whole["entries"][path]:
                yield from (f"{prefix}.{k}: missing" for k in _OF_TRACES if not getattr(entry, k))
    # A value with a wrong name is missed elsewhere, too.
    if not any(isinstance(leaf, str) for leaf in leaves.values()):
        for path, entry in entries.items():
            for partner in partners(entry.verdict):
                if partner not in whole["entries"]:
                    found = f"found {partner!r}, which is not fitted{nearest(partner, entries)}"
                    yield f"{where}: entries.{path}.verdict: {found}"
    counts = {path: len(one.samples) for path, one in entries.items() if one.samples}
    if len(set(counts.values())) > 1:
        found = ", ".join(f"{count} of {path}" for path, count in counts.items())
        yield f"{where}: entries: found samples: {found}; allowed: as many of each"


def _entry_faults(leaf: Leaf, entry: FittedValue) -> Iterator[str]:
    numbers: dict[str, list[int]] = {}
    raws: dict[str, tuple[object, ...]] = {
        "value": () if entry.value is None else (entry.value,),
        "interval": entry.interval or (),
        "bounds": entry.bounds or (),
        "start": () if entry.start is None else (entry.start,),
        "samples": tuple(
            one if leaf.unit is None else leaf.format(one) for one in dict.fromkeys(entry.samples)
        ),
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
