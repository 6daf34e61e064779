"""The state of a simulated machine: what a period leaves equal, and what it advances."""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Iterable, Iterator
from enum import Enum
from fractions import Fraction
from random import Random
from typing import Any, ClassVar, Final

from simpy.core import Environment
from simpy.events import Event

from hcasim.engine.cache import Replayed
from hcasim.engine.changes import (
    ADDRESS,
    ALIKE,
    COUNT,
    DECLARED,
    LINE,
    MIXED,
    SAME,
    SLIP,
    TIME,
    UNSEEN,
    WRAP,
    Changes,
)
from hcasim.engine.clock import Onlooker, Simulator
from hcasim.engine.server import Rate

_PACKAGE: Final = "hcasim."
_DESCRIPTIONS: Final = "hcasim.catalog."
_COMPILED_CLOSURE: Final = "__mypyc_env__"
_PLAIN: Final = frozenset({bool, str, bytes, float, type(None), Fraction})
_NEVER: Final = 1 << 59
"""Later times stand for never."""
_DUE: Final = -1


# Programs and their events do not change but by actions to come, which are other ones then; what
# chance decides changes numbers too.
_UNCHANGED: Final = (type, Enum, Simulator, Event, Environment, Iterator, Rate, Random)

# Events of programs are others in each lap.
_PROGRAMS: Final = (Event, Iterator)

# How an object is looked at.
_UNKNOWN: Final = 0
_BLOCK: Final = 1
_OPAQUE: Final = 2
_LIST: Final = 3
_DICT: Final = 4
_METHOD: Final = 5
_FUNCTION: Final = 6
_SET: Final = 7
_CONTENT: Final = 8
_NAMED: Final = 9


class _Tuple:
    """A tuple on the way, and where it is to be put again if a number in it changes."""

    __slots__ = ("content", "holder", "key", "whole")

    def __init__(self, whole: tuple[Any, ...], holder: Any, key: Any) -> None:
        self.whole = whole
        self.holder = holder
        self.key = key
        self.content: list[Any] | None = None


class _Keys:
    """The keys of a dictionary."""

    def __init__(self, of: dict[Any, Any]) -> None:
        self.of = of


class State:
    """The state of everything that can be reached from the actions to come.

    The walk enters objects of this package, whose classes declare how their numbers change, but not
    descriptions and programs. A state with an object of an unknown class, or of more than ``most``
    values, equals no other.

    Args:
        roots: objects that belong to the state beside the actions to come. With roots, programs
            that wait for events of the same class are equal; without, no program may have advanced.
    """

    looks_on: ClassVar[bool] = True

    def __init__(
        self, sim: Simulator, most: int = 1 << 60, roots: Iterable[object] | None = None
    ) -> None:
        self._alike = roots is not None
        self.now = sim.now
        self.replayed: list[Replayed] = []
        self.cyclic: list[tuple[object, str]] = []
        self._sim = sim
        # What has to be equal.
        self._key: list[Any] = []
        self._slips: list[int] = []
        # What may differ, side by side: numbers, kinds, and where they are.
        self._numbers: list[int] = []
        self._kinds: list[int] = []
        self._places: list[tuple[Any, Any]] = []
        # Where times are that go on with the clock.
        self._times: list[tuple[Any, Any]] = []
        self._tuples: list[_Tuple] = []
        self._seen: dict[int, int] = {}
        self._stack: list[tuple[Any, int]] = []
        self._known = True
        self._to_come = sim.to_come()
        for place, entry in enumerate(self._to_come):
            if not (self._alike and isinstance(entry[2], Onlooker)):
                self._entry(entry, place)
        self._items(None, enumerate(roots or ()), SAME)
        while self._stack and self._known:
            value, inherited = self._stack.pop()
            self._object(value, inherited)
            if len(self._key) > most:
                self._known = False
        self.size = len(self._key) + len(self._numbers)

    def _items(self, holder: Any, items: Any, kind: int) -> None:
        for key, value in items:
            self._item(holder, key, value, kind)

    def _item(self, holder: Any, key: Any, value: Any, kind: int) -> None:
        of = type(value)
        if of is int:
            if kind == TIME:
                self._time(holder, key, value)
            elif kind in (SAME, WRAP):
                self._key.append(value)
            elif kind == SLIP:
                self._slips.append(value)
            else:
                self._number(holder, key, value, kind)
        elif of in _PLAIN:
            self._key.append(value)
        elif of is tuple:
            self._key.append(len(value))
            node = _Tuple(value, holder, key)
            self._tuples.append(node)
            # A tuple that is a key cannot change.
            self._items(node, enumerate(value), SAME if type(holder) is _Keys else kind)
        else:
            seen = self._seen
            number = seen.get(id(value))
            if number is None:
                number = seen[id(value)] = len(seen)
                self._stack.append((value, kind))
            self._key.append(number)

    def _time(self, holder: Any, key: Any, value: int) -> None:
        if value > _NEVER:
            self._key.append(_NEVER)
        else:
            self._key.append(max(-1, value - self.now))
            self._times.append((holder, key))

    def _number(self, holder: Any, key: Any, value: int, kind: int) -> None:
        if kind == UNSEEN:
            return
        self._key.append(kind)
        if kind == ADDRESS and not self._alike:
            alike: int = holder.alike() if hasattr(holder, "alike") else ALIKE
            self._key.append(value % alike)
        self._numbers.append(value)
        self._kinds.append(kind)
        self._places.append((holder, key))

    def _entry(self, entry: tuple[int, int, Any], place: int) -> None:
        node = _Tuple(entry, self._to_come, place)
        self._tuples.append(node)
        time_ps, _, action = entry
        self._number(node, 0, time_ps, _DUE)
        self._item(node, 2, action, SAME)

    def _object(self, value: Any, inherited: int) -> None:
        kind = type(value)
        traits = _known.get(kind)
        if traits is None:
            traits = _known[kind] = _Traits(kind)
        looked_at, key = traits.looked_at, self._key
        if looked_at == _BLOCK:
            self._block(value, kind, traits)
        elif looked_at == _OPAQUE:
            key.append(kind if self._alike and issubclass(kind, _PROGRAMS) else value)
        elif looked_at == _LIST:
            key.append(len(value))
            self._items(value, enumerate(value), inherited)
        elif looked_at == _DICT:
            key.append(len(value))
            if value:
                keys = COUNT if inherited in (COUNT, ADDRESS, MIXED) else SAME
                self._items(_Keys(value), zip(value, value, strict=True), keys)
                self._items(value, value.items(), inherited)
        elif looked_at == _METHOD:
            key.append(value.__name__)
            if type(value.__self__) is not types.ModuleType:
                self._item(None, 0, value.__self__, SAME)
        elif looked_at == _FUNCTION:
            key.append(value.__code__)
            self._items(None, ((0, cell.cell_contents) for cell in value.__closure__ or ()), SAME)
        elif looked_at == _NAMED:
            key.append(kind)
            self._items(None, enumerate(value), SAME)
        elif looked_at == _SET:
            key.append(frozenset(value))
        elif looked_at == _CONTENT:
            key.append(id(value))
        else:
            self._known = False

    def _block(self, value: Any, kind: type, traits: _Traits) -> None:
        self._key.append(kind)
        if traits.replayed:
            self.replayed.append(value)
            for name, of in traits.kinds.items():
                self._item(value, name, getattr(value, name), of)
            return
        if traits.lags:
            value.catch_up()
        for name in traits.cyclic:
            self.cyclic.append((value, name))
        for name, of in traits.attributes:
            held = getattr(value, name, _MISSING)
            if held is not _MISSING:
                self._item(value, name, held, of)
        if traits.phase:
            self._key.extend(value.phase())
        own = getattr(value, "__dict__", None)
        if own:
            kinds = traits.kinds
            for name, held in own.items():
                of = kinds.get(name, SAME)
                if of != UNSEEN:
                    self._item(value, name, held, of)

    def slips_from(self, before: State) -> int:
        """How many of the counters that may slip differ from those of an equal state."""
        return sum(a != b for a, b in zip(before._slips, self._slips, strict=True))

    def steps_from(self, before: State) -> list[int] | None:
        """The increase of each number since a state equal but for `slips_from`; None for others."""
        if not (self._known and before._known) or self._key != before._key:
            return None
        period = self.now - before.now
        steps = [b - a for a, b in zip(before._numbers, self._numbers, strict=True)]
        for step, kind in zip(steps, self._kinds, strict=True):
            if not step or step == period or kind in (COUNT, ADDRESS):
                continue
            if kind != MIXED or step % LINE:
                return None
        return steps

    def most(self, steps: list[int], period_ps: int) -> int:
        """Whole periods before a count reaches its end or another event is due; 0 if nothing is."""
        found = never = 1 << 60
        for number, kind, by, (holder, name) in zip(
            self._numbers, self._kinds, steps, self._places, strict=True
        ):
            if kind == _DUE:
                if not by:
                    found = min(found, (number - self.now - 1) // period_ps)
            elif by and hasattr(holder, "ends") and name in (ends := holder.ends()):
                found = min(found, (ends[name] - 1 - number) // by if by > 0 else 0)
        return found if found < never else 0

    def move(self, steps: list[int], period_ps: int, count: int) -> None:
        """Advance all times and counts by so many periods, with the clock."""
        for holder, key in self._times:
            self._put_on(holder, key, count * period_ps)
        renamed: dict[int, tuple[dict[Any, Any], dict[int, int]]] = {}
        for number, by, (holder, key) in zip(self._numbers, steps, self._places, strict=True):
            if not by:
                continue
            if type(holder) is _Keys:
                names = renamed.setdefault(id(holder.of), (holder.of, {}))[1]
                names[key] = number + count * by
            else:
                _put(holder, key, number + count * by)
        # Inner ones come later in the walk.
        for node in reversed(self._tuples):
            if node.content is not None:
                _put(node.holder, node.key, tuple(node.content))
        for held, names in renamed.values():
            items = [(names.get(key, key), value) for key, value in held.items()]
            held.clear()
            held.update(items)
        self._sim.moved(self._to_come, self.now + count * period_ps)

    def _put_on(self, holder: Any, key: Any, by: int) -> None:
        of = type(holder)
        if of is _Tuple:
            number = (holder.content or holder.whole)[key]
        elif isinstance(holder, list | deque | dict):
            number = holder[key]
        else:
            number = getattr(holder, key)
        _put(holder, key, number + by)


def _put(holder: Any, key: Any, value: Any) -> None:
    kind = type(holder)
    if kind is _Tuple:
        if holder.content is None:
            holder.content = list(holder.whole)
        holder.content[key] = value
    elif isinstance(holder, list | deque | dict):
        holder[key] = value
    elif holder is not None:
        setattr(holder, key, value)


_MISSING: Final = object()
"""What an attribute without a value has."""


class _Traits:
    """How objects of a class are looked at: the kinds of their numbers, by attribute, and of
    attributes outside a dictionary; whether what is done to them tells them, whether they have to
    catch up, and whether they have a phase; and which attributes are cyclic counters.
    """

    __slots__ = ("attributes", "cyclic", "kinds", "lags", "looked_at", "phase", "replayed")

    def __init__(self, kind: type) -> None:
        names: list[str] = []
        self.kinds: dict[str, int] = {}
        for base in kind.__mro__:
            names.extend(getattr(base, "__mypyc_attrs__", getattr(base, "__slots__", ())))
            changes = DECLARED.get(base) or vars(base).get("changes")
            if isinstance(changes, Changes):
                self.kinds = changes.kinds | self.kinds
        self.cyclic = [name for name, of in self.kinds.items() if of in (WRAP, SLIP)]
        unseen = {name for name, of in self.kinds.items() if of == UNSEEN}
        self.attributes = [
            (name, self.kinds.get(name, SAME))
            for name in dict.fromkeys(names)
            if name != "__dict__" and name not in unseen
        ]
        self.replayed = hasattr(kind, "predict")
        self.lags = hasattr(kind, "catch_up")
        self.phase = hasattr(kind, "phase")
        self.looked_at = _way(kind)


def _way(kind: type) -> int:
    """How objects of a class are looked at."""
    if kind is list or kind is deque:
        return _LIST
    if issubclass(kind, dict):
        return _DICT
    if kind is types.MethodType or kind is types.BuiltinMethodType:
        return _METHOD
    if kind is types.FunctionType:
        return _FUNCTION
    if kind is set:
        return _SET
    if issubclass(kind, tuple):
        return _NAMED
    if kind.__module__ == "numpy":
        # Only programs change what messages hold.
        return _CONTENT
    # What says of itself that it only looks on is no part of the state.
    if (
        issubclass(kind, _UNCHANGED)
        or getattr(kind, "looks_on", False)
        or kind.__module__.startswith(_DESCRIPTIONS)
    ):
        return _OPAQUE
    if kind.__module__.startswith(_PACKAGE) and not hasattr(kind, _COMPILED_CLOSURE):
        return _BLOCK
    return _UNKNOWN


_known: dict[type, _Traits] = {}
