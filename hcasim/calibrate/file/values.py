"""What a calibration file says of each fitted value must agree with itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hcasim.calibrate.intervals.identifiability import partners
from hcasim.calibrate.paths import quantity_at
from hcasim.catalog import Fit, FittedValue, nearest
from hcasim.catalog.fields import Leaf
from hcasim.ground.units import UnitError


def value_faults(where: str, fit: Fit) -> Iterator[str]:
    """Say which fitted values are no parameters, not allowed, or contradict themselves.

    Parameters:
        where: the file.
        fit: what it holds.
    """
    for path, entry in fit.entries.items():
        leaf = quantity_at(path)
        if isinstance(leaf, str):
            yield f"{where}: {path}: {leaf}"
        elif entry.tied_to:
            # Its numbers are those of its leader, where their faults are said.
            try:
                leaf.read(entry.value)
            except UnitError as error:
                yield f"{where}: {path}.tied_to: {error}"
        else:
            for fault in _entry_faults(leaf, entry):
                yield f"{where}: {path}.{fault}"


def name_clashes(where: str, fit: Fit, samples: Mapping[str, Any] | None) -> Iterator[str]:
    """Say which names elsewhere are of none of the fitted values.

    Parameters:
        where: the file.
        fit: all that was fitted, each of a known name.
        samples: by path, if there are any.
    """
    for path, entry in fit.entries.items():
        for partner in partners(entry.verdict):
            if partner not in fit.entries:
                close = nearest(partner, fit.entries)
                yield f"{where}: {path}.verdict: found {partner!r}, which is not fitted{close}"
    if samples is None:
        return
    strange = [path for path in samples if path not in fit.entries]
    for path in strange:
        close = nearest(path, [one for one in fit.entries if one not in samples])
        yield f"{where}: samples.{path}: found, but the file has no value of it{close}"
    missing = [path for path in fit.entries if path not in samples]
    if missing and not strange:
        yield f"{where}: samples: found none of {', '.join(missing)}; allowed: some of each value"


def sample_faults(where: str, fit: Fit, samples: Mapping[str, Any]) -> Iterator[str]:
    """Say which samples are nothing that was allowed.

    Parameters:
        where: the file.
        fit: what it holds.
        samples: by path.
    """
    lengths: dict[str, int] = {}
    for path, values in samples.items():
        fault = _list_fault(values)
        if fault is None:
            lengths[path] = len(values)
            leaf, entry = quantity_at(path), fit.entries.get(path)
            if entry is not None and isinstance(leaf, Leaf):
                fault = _sample_fault(leaf, entry, values)
        if fault is not None:
            yield f"{where}: samples.{path}: {fault}"
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{count} of {path}" for path, count in lengths.items())
        yield f"{where}: samples: found {found}; allowed: as many for each value"


def _entry_faults(leaf: Leaf, entry: FittedValue) -> Iterator[str]:
    numbers: dict[str, list[int]] = {}
    raws: dict[str, tuple[object, ...]] = {
        "value": (entry.value,),
        "interval": entry.interval or (),
        "bounds": entry.bounds or (),
        "start": () if entry.start is None else (entry.start,),
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
    outside = [key for key in ("value", "start") if not _within(numbers.get(key, []), bounds)]
    for key in outside:
        yield f"{key}: found {raws[key][0]!r}; allowed: {_range(leaf, bounds)}, as its bounds say"
    if not interval:
        return
    found = f"interval: found {_range(leaf, interval)}; allowed:"
    if interval[0] > interval[1]:
        yield f"{found} the lower end before the higher one"
    elif not _within(interval, bounds):
        yield f"{found} within {_range(leaf, bounds)}, as its bounds say"
    elif "value" not in outside and not _within(value, interval):
        yield f"{found} an interval that holds the value, {leaf.format(value[0])}"


def _within(values: list[int], ends: list[int]) -> bool:
    """Whether values lie between two ends, as far as both are known."""
    return not (values and ends) or ends[0] <= min(values) <= max(values) <= ends[1]


def _range(leaf: Leaf, ends: list[int]) -> str:
    return f"{leaf.format(ends[0])} to {leaf.format(ends[1])}"


def _list_fault(values: object) -> str | None:
    if isinstance(values, list) and values:
        wrong = [one for one in values if type(one) is not int]
        return f"found {wrong[0]!r}; allowed: a list of whole numbers" if wrong else None
    return f"found {values!r}; allowed: a list of whole numbers"


def _sample_fault(leaf: Leaf, entry: FittedValue, values: list[int]) -> str | None:
    try:
        for one in dict.fromkeys(values):
            leaf.read(one if leaf.unit is None else leaf.format(one))
    except UnitError as error:
        return str(error)
    try:
        bounds = [int(leaf.read(one)) for one in entry.bounds or ()]
    except UnitError:
        return None  # said of the value
    outside = [one for one in values if not _within([one], bounds)]
    if not outside or bounds[0] >= bounds[1]:
        return None
    found = f"{outside[0]} ({leaf.format(outside[0])})" if leaf.unit else str(outside[0])
    return f"found {found}; allowed: {_range(leaf, bounds)}, as its bounds say"
