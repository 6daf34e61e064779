"""Parameters that a study varies, and from where to where."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

from pydantic import Field

from hcasim.calibrate.entries import leaf_at, prefixes, renamed
from hcasim.calibrate.file.calibration import Calibration
from hcasim.catalog import Machine, Parameter, Value, list_ids
from hcasim.catalog.algorithms import NAMES
from hcasim.catalog.fields import Leaf
from hcasim.catalog.fits import load_fit
from hcasim.catalog.link import MTUS
from hcasim.catalog.plausible import plausible
from hcasim.catalog.section import CHOSEN, SET, UNPUBLISHED, UNSAID, Evidence
from hcasim.ground.errors import nearest, refuse
from hcasim.ground.units import SIZE, UnitError
from hcasim.runs.document import Form

Origin = Literal["interval", "plausible", "spread", "range"]
VARIED = UNPUBLISHED
"""Kinds of evidence of values that nobody has published; the others stay as they are."""
SPREAD = 1.5
"""By what a value is divided and multiplied that has neither an interval nor a plausible range."""

Part = tuple[str, tuple[str, ...], list[tuple[str, ...]]]
"""A table: its title, columns and rows."""
Ends = tuple[int, int]
Known = Mapping[str, Parameter[Value]]


class Factor(Form):
    """A parameter with the ends between which it is varied, in base units."""

    path: str = Field(description="as a fit names it")
    name: str = Field(description="as --set and --range take it")
    also: tuple[str, ...] = Field(description="paths of those that follow it")
    low: int = Field(description="in base units; the base if there is nothing below")
    base: int = Field(description="in base units")
    high: int = Field(description="in base units; the base if there is nothing above")
    unit: str = Field(description="base unit; empty of a plain number")
    evidence: Evidence
    origin: Origin = Field(description="of the ends")
    meaning: str = Field(description="as its description has it; empty if that says nothing")
    _leaf: Leaf
    _informed: tuple[str, ...] = ()
    _words: tuple[Value, ...] = ()

    @property
    def informed(self) -> tuple[str, ...]:
        """The statements that were in view when it was set."""
        return self._informed

    @property
    def continuous(self) -> bool:
        """Whether any value between the ends makes sense, as of times and rates."""
        return self._leaf.unit not in (None, SIZE)

    @property
    def is_word(self) -> bool:
        """Whether it is a word, or on or off: its values then are places among its choices."""
        return bool(self._words)

    @property
    def is_size(self) -> bool:
        """Whether it is a number of bytes, which may be a limit that messages reach."""
        return self._leaf.unit is SIZE

    @property
    def others(self) -> tuple[int, ...]:
        """The values to try beside its own: both ends, or every other choice."""
        choices = range(len(self._words)) if self._words else (self.low, self.high)
        return tuple(sorted({*choices} - {self.base}))

    def text(self, value: int) -> str:
        """Write a value with its unit."""
        return self._leaf.format(self._words[value] if self._words else value)

    def at(self, share: float) -> int:
        """Return the value at a share of the way from the lower to the upper end; half of a
        plausible range is below the base, however near that is to an end.

        What is no quantity, such as entries of a cache, is at one of three values.
        """
        if not self.continuous:
            levels = sorted({self.low, self.base, self.high})
            return levels[min(int(share * len(levels)), len(levels) - 1)]
        step, low, high = self._leaf.step or 1, self.low, self.high
        if self.origin == "plausible":
            low, high, share = (
                (low, self.base, 2 * share) if share < 0.5 else (self.base, high, 2 * share - 1)
            )
        return step * round((low + share * (high - low)) / step)

    def within(self, fault: Callable[[int], str]) -> tuple[Factor, list[str]]:
        """Return it without the ends that have a fault, and these faults."""
        faults = {end: said for end in {self.low, self.high} - {self.base} if (said := fault(end))}
        low, high = (self.base if end in faults else end for end in (self.low, self.high))
        return self.model_copy(update={"low": low, "high": high}), [*faults.values()]


@dataclass
class Found:
    """What of machines may be varied, by path, and what stays although nobody has published it,
    with the reason."""

    factors: dict[str, Factor] = field(default_factory=dict)
    fixed: dict[str, str] = field(default_factory=dict)


def settings_of(
    machine: Machine, values: Mapping[str, int], factors: Mapping[str, Factor]
) -> dict[str, str]:
    """Return the what-if settings that give a machine values, as far as it has the parameters."""
    starts = _starts(machine)
    return {
        name: factors[path].text(value)
        for path, value in values.items()
        for own in (path, *factors[path].also)
        for name in renamed(own, starts) or renamed(own, [(_own(machine), "")])
    }


def find_factors(
    machines: Sequence[Machine],
    *,
    ranges: Mapping[str, str] | None = None,
    only: Sequence[str] = (),
    spread: float | None = None,
    calibration: Calibration | None = None,
    words: bool = False,
) -> Found:
    """Return the parameters of machines that a study varies.

    Parameters:
        machines: of the study.
        ranges: by path, such as "100 ns..300 ns"; they may be of any parameter that is a number.
        only: patterns of the paths to vary; all without them.
        spread: by what values without an interval are divided and multiplied, in place of their
            plausible ranges.
        calibration: whose intervals come before those of the catalogue.
        words: whether words with a choice, and what is on or off, are varied as well.

    Raises:
        CatalogError: ranges and patterns that fit nothing, and ranges that are none.
    """
    known = _known(machines, calibration)
    fits = [*map(load_fit, list_ids("calibrations")), *([calibration] if calibration else [])]
    entries = [pair for fit in fits for pair in fit.entries.items()]
    # What follows another parameter in a fit.
    ties = {path: one.tied_to for path, one in entries if one.tied_to in known}
    names = Counter(one.path for one in known.values())
    leaves = {path: _leaf(path, machines) for path in known}
    faults: list[str] = []
    given: dict[str, Ends] = {}
    for word, text in (ranges or {}).items():
        try:
            given |= _ends(word, str(text), known, leaves)
        except ValueError as error:
            faults.append(f"range: {word}: {error}")
    chosen = set() if only else {*known}
    for pattern in only:
        own = {p for p, one in known.items() if any(fnmatchcase(n, pattern) for n in (p, one.path))}
        chosen |= own
        if not own:
            close = nearest(pattern, [*names, *known])
            faults.append(f"only: found {pattern!r}, which no parameter matches{close}")
    refuse(*faults)
    found = Found()
    for path, parameter in known.items():
        varied = parameter.evidence in VARIED and path not in ties
        varied &= parameter.source not in (SET, CHOSEN)
        if path not in chosen or not (path in given or varied):
            continue
        kind, low, high = _how_far(parameter, spread)
        leaf, ends = leaves[path], given.get(path) or _usual(parameter, leaves[path], low, high)
        choices = _choices(path, parameter) if words else ()
        if choices:
            leaf, ends = leaf_at(path), (0, len(choices) - 1)
        if isinstance(leaf, str) or isinstance(ends, str):
            found.fixed[path] = str(ends)
            continue
        name = parameter.path if names[parameter.path] == 1 else path
        found.factors[path] = factor = Factor(
            unit=leaf.unit.base if leaf.unit else "",
            path=path,
            name=name,
            also=tuple(n for n, leader in ties.items() if leader == path and n not in given),
            low=ends[0],
            base=choices.index(parameter.value) if choices else parameter.value,
            high=ends[1],
            evidence=parameter.evidence,
            origin="range" if path in given else kind,
            meaning=meaning_of(machines, parameter.path),
        )
        factor._leaf, factor._informed, factor._words = leaf, parameter.informed, choices
    return found


def _known(machines: Iterable[Machine], calibration: Calibration | None) -> Known:
    known: dict[str, Parameter[Value]] = {}
    for machine in machines:
        back = [(setting, start) for start, setting in _starts(machine)]
        for parameter in machine.parameters:
            path = next(iter(renamed(parameter.path, back)), _own(machine) + parameter.path)
            marked = calibration.mark(parameter, path) if calibration else parameter
            # What one machine has set is varied in another, where it is described.
            if path not in known or known[path].source in (SET, CHOSEN):
                known[path] = marked
    return known


def _starts(machine: Machine) -> list[tuple[str, str]]:
    """Return what begins the paths of a description, and of a machine's settings for it.

    What several groups of nodes have alike is one description, and varies in all of them.
    """
    first, *others = machine.groups
    found = prefixes(machine.id, first.adapter.id, first.stack.id, host=first.host.id)
    for one in others:
        parts = {"adapter": one.adapter.id, "host": one.host.id, "stack": one.stack.id}
        found += [(f"{kind}s.{name}.", f"{one.name}.{kind}.") for kind, name in parts.items()]
        found.append((f"testbeds.{machine.id}.link.", f"{one.name}.link."))
    return found


def _own(machine: Machine) -> str:
    """Return what begins the paths of what only this testbed says."""
    return f"testbeds.{machine.id}."


def _leaf(path: str, machines: Iterable[Machine]) -> Leaf | str:
    """Return the leaf of a number, or say why it is none to vary."""
    leaf: Leaf | str = leaf_at(path)
    for machine in machines:
        inner = path.removeprefix(_own(machine))
        if isinstance(leaf, str) and inner != path:
            if inner == "mtu":
                paths = MTUS["infiniband"]
                leaf = paths if machine.mtu in paths.choices else MTUS["ethernet"]
            elif inner.startswith("trunk."):
                leaf = leaf_at(f"{_own(machine)}link.{inner.removeprefix('trunk.')}")
            else:
                leaf = "says how many there are and how they are connected"
    return leaf if isinstance(leaf, str) or leaf.base is int else "is no number"


def _choices(path: str, parameter: Parameter[Value]) -> tuple[Value, ...]:
    """Return what a word that a description says may be, or what is on or off; else nothing."""
    leaf = leaf_at(path)
    if isinstance(leaf, str) or leaf.base is int or parameter.source == UNSAID:
        return ()
    choices = (False, True) if leaf.base is bool else leaf.choices
    head, _, collective = path.rpartition(".")
    if head.endswith(".mpi.collectives"):
        # A value is a rule that chooses among these.
        choices = tuple(dict.fromkeys((parameter.value, *NAMES[collective])))
    return choices if parameter.value in choices and len(choices) > 1 else ()


def _how_far(parameter: Parameter[Value], spread: float | None) -> tuple[Origin, float, float]:
    """Return what the ends of a parameter follow from, and by what multiples of its value."""
    known = plausible(parameter) if spread is None else None
    kind: Origin = "spread" if known is None else "plausible"
    low, high = (1 / (spread or SPREAD), spread or SPREAD) if known is None else known[1:3]
    return ("interval" if parameter.interval is not None else kind), low, high


def _usual(parameter: Parameter[Value], leaf: Leaf | str, low: float, high: float) -> Ends | str:
    """Return the ends of a parameter without a range, or why it has none."""
    base = parameter.value
    if parameter.source == UNSAID:
        return UNSAID
    if isinstance(leaf, str):
        return leaf
    assert isinstance(base, int)
    if parameter.interval is None and base == 0:
        return "is 0, which has no spread"
    ends = parameter.interval or _spread(base, low, high, leaf)
    return "has no other value within its spread" if ends == (base, base) else ends


def _spread(base: int, low_by: float, high_by: float, leaf: Leaf) -> Ends:
    if leaf.choices:
        # As mostly each is twice the one before, the next ones are in reach of a narrow range.
        others = sorted(one for one in leaf.choices if isinstance(one, int))
        least, most = max(low_by, 1 / SPREAD), min(high_by, SPREAD)
        low, high = min(low_by, least**2), max(high_by, most**2)
        near = [one for one in others if base * low <= one <= base * high]
        return min(near, default=base), max(near, default=base)
    step = leaf.step or 1
    if leaf.unit not in (None, SIZE):
        # Three digits.
        ends = [int(float(f"{value:.3g}")) for value in (base * low_by, base * high_by)]
    elif base & (base - 1) == 0 and base > 2:
        # What is a power of two mostly has to be one.
        down, up = (2 ** max(1, round(abs(math.log2(one)))) for one in (low_by, high_by))
        ends = [base // down, base * up]
    else:
        ends = [max(1, math.floor(base * low_by)), math.ceil(base * high_by)]
    low, high = (step * round(one / step) for one in ends)
    low = max(low, leaf.low if leaf.low is not None else low)
    high = min(high, leaf.high if leaf.high is not None else high)
    return min(low, base), max(high, base)


def _ends(word: str, text: str, known: Known, leaves: Mapping[str, Leaf | str]) -> dict[str, Ends]:
    """Return the ends of the parameters that a range is of; a ValueError says why it is none."""
    found = {}
    for path, parameter in known.items():
        if word not in (path, parameter.path):
            continue
        leaf, base = leaves[path], parameter.value
        if isinstance(leaf, str) or not isinstance(base, int):
            raise ValueError("is no number")
        try:
            low, high = (int(leaf.read_argument(end.strip())) for end in text.partition("..")[::2])
        except UnitError as error:
            raise ValueError(f"{error}; a range is LOW..HIGH") from None
        if not low <= base <= high or low == high:
            held = f"two ends around its value, {parameter.text}"
            raise ValueError(f"found {text!r}; allowed: {held}")
        found[path] = low, high
    if not found:
        close = nearest(word, [*(one.path for one in known.values()), *known])
        raise ValueError(f"no parameter of the study; allowed: those that show prints{close}")
    return found


def meaning_of(machines: Iterable[Machine], path: str) -> str:
    """Return what a parameter of machines means, by its path as --set takes it; empty of others."""
    for machine in machines:
        first, *names = path.split(".")
        groups: dict[str, Any] = {one.name: one for one in machine.groups}
        place: Any = groups.get(first) or getattr(machine, first, None)
        for name in names[:-1]:
            place = place.get(name) if isinstance(place, dict) else getattr(place, name, None)
        key = getattr(type(place), "model_fields", {}).get(names[-1]) if names else None
        if key is not None and key.description:
            return str(key.description)
    return ""


def meanings(known: Mapping[str, str]) -> list[Part]:
    """Return a table of what is known of the meaning of parameters; none if nothing is."""
    rows: list[tuple[str, ...]] = [pair for pair in known.items() if pair[1]]
    return [("What the parameters mean", ("Parameter", "Meaning"), rows)] if rows else []
