"""Freeing parameters of a machine by their what-if paths."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from hcasim.calibrate.objective import prefixes
from hcasim.calibrate.parameters import FreeParameter, free_parameters, leaf_of
from hcasim.catalog import CatalogError, Fit, FittedValue, Machine, Parameter, resolve
from hcasim.catalog.fields import Leaf
from hcasim.catalog.overrides import BUS, BUS_KIND
from hcasim.catalog.units import TIME, UnitError

FACTOR = 10
NOTHING = 10**6
"""Upper bound in ps of a time that the base description has as 0."""
RULE = (
    "Bounds that are not given: times from 0 to 10 times their value in the base description "
    "(1 us if that is 0), other numbers from a tenth to 10 times it, within what is allowed."
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
        name = fit_path(machine.id, machine.adapter.id, path)
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
            low, high = _given(leaf, bounds) if equals else _usual(leaf, value)
        except UnitError as error:
            faults.append(f"{where}: {error}")
            continue
        step = _step(leaf, path, known)
        low, high = step * -(-low // step), step * (high // step)
        if not low < high:
            found = f"found {leaf.format(low)} to {leaf.format(high)}"
            multiples = f", multiples of {step}" if step > (leaf.step or 1) else ""
            faults.append(f"{where}: {found}; allowed: a lower and a higher value{multiples}")
            continue
        start = value if low <= value <= high else step * ((low + high) // (2 * step))
        entries[name] = FittedValue(
            value=_raw(leaf, start),
            bounds=(_raw(leaf, low), _raw(leaf, high)),
            start=_raw(leaf, start),
            multiple=step,
        )
    if not (wanted or faults):
        faults.append("--free: found none; allowed: the paths that show prints, one or more")
    if faults:
        raise CatalogError(faults)
    fit = Fit(f"{machine.id}-{machine.adapter.id}", "", "", Path("--free"), entries)
    _try_bounds(machine, free_parameters(fit), settings)
    return fit


def fit_path(testbed: str, adapter: str, path: str) -> str:
    """Return the entry of a fit that a what-if path of a machine names; the path if there is none.

    Parameters:
        testbed: id of the testbed.
        adapter: id of the adapter.
        path: such as "adapter.send.latency".
    """
    for start, prefix in prefixes(testbed, adapter):
        if path.startswith(prefix):
            return start + path.removeprefix(prefix)
    return path


def _leaf(path: str, name: str, known: Mapping[str, Parameter], machine: Machine) -> Leaf | str:
    if path in known and name != path:
        return leaf_of(name)
    if path in known:
        return "not a parameter of a part; it is chosen with an option of its own"
    if path in (BUS, BUS_KIND):
        return f"not a quantity; allowed: parameters inside it, such as {_first_inside(known, BUS)}"
    # What --set says of an unknown path is true here, too.
    try:
        resolve(
            machine.id,
            adapter=machine.adapter.id,
            overrides={path: "?"},
            switch=machine.switch is not None,
        )
    except CatalogError as error:
        return error.faults[0].removeprefix(f"--set {path}: ")
    raise AssertionError(path)


def _first_inside(known: Mapping[str, Parameter], section: str) -> str:
    return next(path for path in known if path.startswith(f"{section}."))


def _step(leaf: Leaf, path: str, known: Mapping[str, Parameter]) -> int:
    """Return what values are multiples of: the entries of a cache fill its sets."""
    section, _, name = path.rpartition(".")
    parts = [known.get(f"{section}.{one}") for one in ("ways", "line", "entry")]
    if name != "entries" or None in parts:
        return leaf.step or 1
    ways, line, entry = (one.value for one in parts if one is not None)
    return int(ways) * int(line) // int(entry)


def _given(leaf: Leaf, text: str) -> tuple[int, int]:
    low, dots, high = text.partition("..")
    if not (dots and low.strip() and high.strip()):
        example = f"{leaf.format(leaf.step or 1)}..{leaf.format(10 * (leaf.step or 1))}"
        raise UnitError(f"found {text!r}; allowed: LOW..HIGH, such as {example}")
    ends = [leaf.read_argument(one.strip()) for one in (low, high)]
    return int(ends[0]), int(ends[1])


def _usual(leaf: Leaf, value: int) -> tuple[int, int]:
    step = leaf.step or 1
    low = 0 if leaf.unit is TIME else step * -(-value // (FACTOR * step))
    high = FACTOR * value or (NOTHING if leaf.unit is TIME else 0)
    low = max(low, leaf.low or 0)
    if leaf.high is not None:
        high = min(high, leaf.high)
    if not low < high:
        raise UnitError(f"has the value {leaf.format(value)}; bounds are needed: =LOW..HIGH")
    return low, high


def _raw(leaf: Leaf, value: int) -> object:
    return value if leaf.unit is None else leaf.format(value)


def _try_bounds(
    machine: Machine, free: Iterable[FreeParameter], settings: Mapping[str, str]
) -> None:
    """Refuse what makes the machine contradict itself, before the search finds out."""
    faults: list[str] = []
    paths = dict(prefixes(machine.id, machine.adapter.id))
    for one in free:
        (path,) = (
            paths[start] + one.path.removeprefix(start)
            for start in paths
            if one.path.startswith(start)
        )
        inside = one.clip(one.snap(one.low + one.step)), one.clip(one.snap(one.low + one.width / 2))
        for value in dict.fromkeys((one.low, one.high, *inside)):
            changed = {**settings, path: one.leaf.format(value)}
            try:
                resolve(
                    machine.id,
                    adapter=machine.adapter.id,
                    overrides=changed,
                    switch=machine.switch is not None,
                )
            except CatalogError as error:
                faults += [
                    f"--free {path}: at {one.leaf.format(value)}: {fault}" for fault in error.faults
                ]
    if faults:
        raise CatalogError(faults)
