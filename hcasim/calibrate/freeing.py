"""Freeing parameters of a machine by their what-if paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from hcasim.calibrate.entries import path_in_fit, prefixes_of, quantity_at, renamed
from hcasim.calibrate.parameters import FreeParameter, free_parameters
from hcasim.catalog import CatalogError, Fit, FittedValue, Machine, Parameter, Value, resolve
from hcasim.catalog.fields import Leaf
from hcasim.catalog.part import BUS, BUS_KIND
from hcasim.ground.units import TIME, UnitError

FACTOR = 10
NOTHING = 10**6
"""Upper bound in ps of a time that the base description has as 0."""
_TRIED = 8
"""Parts into which bounds are divided, to find a value between them that is not allowed."""
RULE = (
    "Bounds that are not given: times from 0 to 10 times their value in the base description "
    "(1 us if that is 0), other numbers from a tenth to 10 times it, within what the parameter and "
    "the machine allow."
)


def free_fit(machine: Machine, wanted: Sequence[str], settings: Mapping[str, str]) -> Fit:
    """Return a fit of parameters of a machine, which starts from the machine's own values.

    Parameters:
        machine: the base description.
        wanted: what-if paths, each with its bounds or without: "adapter.send.latency=0 ns..2 us".
        settings: what-if settings of the base, which are not free.

    Raises:
        CatalogError: a line for each path that is unknown, not a quantity or given twice, and for
            bounds that are inverted, not allowed, or cannot be made up.
    """
    faults: list[str] = []
    entries: dict[str, FittedValue] = {}
    known = {one.path: one for one in machine.parameters}
    for text in wanted:
        path, equals, bounds = (part.strip() for part in text.partition("="))
        where = f"--free {path}"
        name = path_in_fit(machine, path)
        leaf = _leaf(path, name, known, machine)
        if isinstance(leaf, str):
            faults.append(f"{where}: {leaf}")
            continue
        if name in entries:
            faults.append(f"{where}: found twice")
        if path in settings:
            faults.append(f"{where}: found with --set {path}; leave one out")
        value = known[path].value
        assert isinstance(value, int)
        try:
            step = _step(leaf, path, known)
            fits = partial(_fits, machine, settings, path, leaf)
            if equals:
                low, high = _given(leaf, bounds, partial(_usual, leaf, value, step, fits))
            else:
                low, high = _usual(leaf, value, step, fits)
            low, high = step * -(-low // step), step * (high // step)
            if not low < high:
                found = f"found {leaf.format(low)} to {leaf.format(high)}"
                multiples = f", multiples of {step}" if step > (leaf.step or 1) else ""
                raise UnitError(f"{found}; allowed: a lower and a higher value{multiples}")
        except UnitError as error:
            faults.append(f"{where}: {error}")
            continue
        start = value if low <= value <= high else step * ((low + high) // (2 * step))
        entries[name] = FittedValue(
            value=leaf.raw(start),
            bounds=(leaf.raw(low), leaf.raw(high)),
            start=leaf.raw(start),
            multiple=step,
        )
    if not (wanted or faults):
        faults.append(
            "--free: found none; allowed: the paths that show prints, one or more; "
            "`hcasim sensitivity WORKLOAD --testbed ID` says which matter"
        )
    fit = Fit.at(Path("--free"), {"id": f"{machine.id}-{machine.adapter.id}", "entries": entries})
    if entries:
        faults += _bound_faults(machine, free_parameters(fit), settings)
    if faults:
        raise CatalogError(faults)
    return fit


def _leaf(
    path: str, name: str, known: Mapping[str, Parameter[Value]], machine: Machine
) -> Leaf | str:
    if path in known and name != path:
        return quantity_at(name)
    if path in known:
        return "not a parameter of a part; it is chosen with an option of its own"
    if path in (BUS, BUS_KIND):
        return f"not a quantity; allowed: parameters inside it, such as {_quantity_of_bus(machine)}"
    # What --set says of an unknown path is true here, too.
    return _contradictions(machine, {path: "?"})[0].removeprefix(f"--set {path}: ")


def _quantity_of_bus(machine: Machine) -> str:
    """Return a parameter of the bus that can be fitted."""
    paths = (one.path for one in machine.parameters if one.path.startswith(f"{BUS}."))
    names = ((path, path_in_fit(machine, path)) for path in paths)
    return next(path for path, name in names if isinstance(quantity_at(name), Leaf))


def _step(leaf: Leaf, path: str, known: Mapping[str, Parameter[Value]]) -> int:
    """Return what values are multiples of: the entries of a cache fill its sets."""
    section, _, name = path.rpartition(".")
    parts = [known.get(f"{section}.{one}") for one in ("ways", "line", "entry")]
    if name != "entries" or None in parts:
        return leaf.step or 1
    ways, line, entry = (one.value for one in parts if one is not None)
    return int(ways) * int(line) // int(entry)


def _given(leaf: Leaf, text: str, usual: Callable[[], tuple[int, int]]) -> tuple[int, int]:
    low, dots, high = text.partition("..")
    if not (dots and low.strip() and high.strip()):
        try:
            ends = usual()
        except UnitError:
            ends = leaf.low or 0, (leaf.low or 0) + 10 * (leaf.step or 1)
        example = "..".join(map(leaf.format, ends))
        raise UnitError(f"found {text!r}; allowed: LOW..HIGH, such as {example}")
    return int(leaf.read_argument(low.strip())), int(leaf.read_argument(high.strip()))


def _usual(leaf: Leaf, value: int, step: int, fits: Callable[[int], bool]) -> tuple[int, int]:
    """Return bounds around a value, as `RULE` says."""
    low = 0 if leaf.unit is TIME else step * -(-value // (FACTOR * step))
    high = FACTOR * value or (NOTHING if leaf.unit is TIME else 0)
    low = max(low, leaf.low or 0)
    if leaf.high is not None:
        high = min(high, leaf.high)
    low, high = (_allowed(value, end, step, fits) for end in (low, high))
    if not low < high:
        raise UnitError(f"has the value {leaf.format(value)}; bounds are needed: =LOW..HIGH")
    return low, high


def _allowed(value: int, end: int, step: int, fits: Callable[[int], bool]) -> int:
    """Return an end of the bounds, or what the machine allows on the way to it."""
    good, bad = value // step, end // step
    if fits(bad * step):
        return end
    while abs(bad - good) > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if fits(middle * step) else (good, middle)
    return good * step


def _fits(machine: Machine, settings: Mapping[str, str], path: str, leaf: Leaf, value: int) -> bool:
    return not _contradictions(machine, {**settings, path: leaf.format(value)})


def _contradictions(machine: Machine, settings: Mapping[str, str]) -> list[str]:
    """Say what is wrong with a machine of other settings."""
    try:
        resolve(
            machine.id,
            adapter=machine.adapter.id,
            overrides=settings,
            switch=machine.switch is not None,
            stack=machine.stack.id,
            host=machine.host.id,
        )
    except CatalogError as error:
        return error.faults
    return []


def _bound_faults(
    machine: Machine, free: Iterable[FreeParameter], settings: Mapping[str, str]
) -> Iterator[str]:
    """Say what makes the machine contradict itself, before the search finds out."""
    starts = prefixes_of(machine)
    for one in free:
        (path,) = renamed(one.path, starts)
        parts = [one.low + one.step, *(one.low + one.width * k / _TRIED for k in range(1, _TRIED))]
        inside = [one.clip(one.snap(value)) for value in parts]
        found: list[str] = []
        for number, value in enumerate(dict.fromkeys((one.low, one.high, *inside))):
            if number > 1 and found:
                # What is between bounds that are wrong says nothing new.
                break
            text = one.leaf.format(value)
            told = _contradictions(machine, {**settings, path: text})
            told = [fault.removeprefix(f"--set {path}: ") for fault in told]
            found += [f"at {text}: {fault}; narrower bounds may mend it" for fault in told]
        yield from (f"--free {path}: {fault}" for fault in found)
