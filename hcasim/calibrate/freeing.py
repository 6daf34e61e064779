"""Freeing parameters of a machine by their what-if paths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    for text in wanted:
        path, equals, bounds = (part.strip() for part in text.partition("="))
        where = f"--free {path}"
        name = path_in_fit(machine, path)
        if name in entries:
            faults.append(f"{where}: found twice")
        if path in settings:
            faults.append(f"{where}: found with --set {path}; leave one out")
        try:
            entries[name] = _Freed(machine, settings, path, name).entry(bounds if equals else None)
        except UnitError as error:
            faults.append(f"{where}: {error}")
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


class _Freed:
    """A parameter of a machine with other settings that becomes free.

    Raises:
        UnitError: why it cannot be fitted.
    """

    def __init__(self, machine: Machine, settings: Mapping[str, str], path: str, name: str) -> None:
        known = {one.path: one for one in machine.parameters}
        leaf: Leaf | str = "not a parameter of a part; it is chosen with an option of its own"
        if path in known and name != path:
            leaf = quantity_at(name)
        elif path not in known:
            # What --set says of an unknown path is true here, too.
            leaf = _contradictions(machine, {path: "?"})[0].removeprefix(f"--set {path}: ")
        if path in (BUS, BUS_KIND):
            paths = (one for one in known if one.startswith(f"{BUS}."))
            inside = next(
                p for p in paths if isinstance(quantity_at(path_in_fit(machine, p)), Leaf)
            )
            leaf = f"not a quantity; allowed: parameters inside it, such as {inside}"
        if isinstance(leaf, str):
            raise UnitError(path, said=leaf)
        value = known[path].value
        assert isinstance(value, int)
        self.machine, self.settings, self.path = machine, settings, path
        self.leaf, self.value, self.step = leaf, value, _step(leaf, path, known)

    def entry(self, bounds: str | None) -> FittedValue:
        """Return the entry of the fit with bounds as given, or those of `RULE`."""
        leaf, step = self.leaf, self.step
        low, high = self._usual() if bounds is None else self._given(bounds)
        low, high = step * -(-low // step), step * (high // step)
        if not low < high:
            found = f"found {leaf.format(low)} to {leaf.format(high)}"
            multiples = f", multiples of {step}" if step > (leaf.step or 1) else ""
            raise UnitError(found, f"a lower and a higher value{multiples}", said=found)
        start = self.value if low <= self.value <= high else step * ((low + high) // (2 * step))
        return FittedValue(
            value=leaf.raw(start),
            bounds=(leaf.raw(low), leaf.raw(high)),
            start=leaf.raw(start),
            multiple=step,
        )

    def _given(self, text: str) -> tuple[int, int]:
        leaf, step = self.leaf, self.step
        low, dots, high = text.partition("..")
        if not (dots and low.strip() and high.strip()):
            usual = "..".join(map(leaf.format, (self.value, FACTOR * (self.value or step))))
            raise UnitError(text, f"LOW..HIGH, such as {usual}")
        return int(leaf.read_argument(low.strip())), int(leaf.read_argument(high.strip()))

    def _usual(self) -> tuple[int, int]:
        leaf, value, step = self.leaf, self.value, self.step
        low = 0 if leaf.unit is TIME else step * -(-value // (FACTOR * step))
        high = FACTOR * value or (NOTHING if leaf.unit is TIME else 0)
        low = max(low, leaf.low or 0)
        if leaf.high is not None:
            high = min(high, leaf.high)
        low, high = self._allowed(low), self._allowed(high)
        if not low < high:
            said = f"has the value {leaf.format(value)}; bounds are needed: =LOW..HIGH"
            raise UnitError(value, said=said)
        return low, high

    def _allowed(self, end: int) -> int:
        """Return an end of the bounds, or what the machine allows on the way to it."""
        step = self.step
        good, bad = self.value // step, end // step
        if self._fits(bad * step):
            return end
        while abs(bad - good) > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if self._fits(middle * step) else (good, middle)
        return good * step

    def _fits(self, value: int) -> bool:
        tried = {**self.settings, self.path: self.leaf.format(value)}
        return allows(self.machine, tried)


def _step(leaf: Leaf, path: str, known: Mapping[str, Parameter[Value]]) -> int:
    """Return what values are multiples of: the entries of a cache fill its sets."""
    section, _, name = path.rpartition(".")
    parts = [known.get(f"{section}.{one}") for one in ("ways", "line", "entry")]
    if name != "entries" or None in parts:
        return leaf.step or 1
    ways, line, entry = (one.value for one in parts if one is not None)
    return int(ways) * int(line) // int(entry)


def _contradictions(machine: Machine, settings: Mapping[str, str]) -> list[str]:
    """Say what is wrong with a machine of other settings."""
    try:
        resolve(
            machine.id,
            adapter=machine.adapter.id,
            overrides=settings,
            switch=machine.switch.id if machine.switch is not None else False,
            stack=machine.stack.id,
            host=machine.host.id,
        )
    except CatalogError as error:
        return [*error.faults]
    return []


def allows(machine: Machine, settings: Mapping[str, str]) -> bool:
    """Whether a machine may have other settings."""
    return not _contradictions(machine, settings)


def _bound_faults(
    machine: Machine, free: Iterable[FreeParameter], settings: Mapping[str, str]
) -> Iterator[str]:
    """Say which bounds make the machine contradict itself, before the search finds out."""
    starts = prefixes_of(machine)
    for one in free:
        (path,) = renamed(one.path, starts)
        for value in dict.fromkeys((one.low, one.high, one.clip(one.low + one.step))):
            text = one.leaf.format(value)
            for fault in _contradictions(machine, {**settings, path: text}):
                own = fault.removeprefix(f"--set {path}: ")
                yield f"--free {path}: at {text}: {own}; narrower bounds may mend it"
