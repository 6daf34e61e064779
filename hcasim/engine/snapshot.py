"""The state of a simulated machine as a list of numbers, and how to write them back."""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Iterable, Iterator
from enum import Enum
from fractions import Fraction
from random import Random
from typing import Any, ClassVar, Final, Protocol

from simpy.core import Environment
from simpy.events import Event

from hcasim.engine.clock import Onlooker, Simulator
from hcasim.engine.server import Rate

_PACKAGE: Final = "hcasim."
_DESCRIPTIONS: Final = "hcasim.catalog."
_COMPILED_CLOSURE: Final = "__mypyc_env__"
_PLAIN: Final = frozenset({bool, str, bytes, float, type(None), Fraction})
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

Doings = list[tuple[int, ...]]
"""What is done to contents, one after the other, each as numbers."""


class Replayed(Protocol):
    """Contents that are not numbers, which what is looked up and brought in changes.

    Attributes:
        log: what has been done, while somebody wants to know; else None.
        counts: names of the numbers that count it, which `repeat` does not change.
    """

    log: Doings | None
    counts: ClassVar[tuple[str, ...]]

    def foresee(self, doings: Doings, steps: Doings, most: int) -> int:
        """Periods, of at most so many, in which what is done would turn out as it says.

        In each, all numbers are by `steps` more than in the one before. Nothing changes.
        """

    def repeat(self, doings: Doings, steps: Doings, count: int) -> None:
        """Do it in so many periods, all of which have been foreseen."""


def later(doings: Doings, steps: Doings, periods: int) -> Doings:
    """What is done so many periods later."""
    return [
        tuple([a + periods * b for a, b in zip(done, by, strict=True)])
        for done, by in zip(doings, steps, strict=True)
    ]


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

    __slots__ = ("of",)

    def __init__(self, of: dict[Any, Any]) -> None:
        self.of = of


class Snapshot:
    """What everything that can be reached from the actions to come looks like at a time.

    Two snapshots of machines in which the same is under way have equal shapes, whatever the
    numbers. Objects of this package are looked into; descriptions and programs are not, and
    anything unknown makes the snapshot one that cannot be compared.

    Args:
        most: numbers after which it is given up, as one that cannot be compared.
        roots: what belongs to the state beside the actions to come. With some, programs that wait
            for events of one kind are alike; without, they may not have gone on.

    Attributes:
        now: the time in ps.
        numbers: all whole numbers, in the order of the walk.
        shape: all else.
        due: where in the numbers the times of the actions to come are.
        replayed: contents that are told by what was done to them.
        comparable: whether everything was of a kind that is known.
    """

    def __init__(
        self, sim: Simulator, most: int = 1 << 60, roots: Iterable[object] | None = None
    ) -> None:
        self._alike = roots is not None
        self.now = sim.now
        self.numbers: list[int] = []
        self.shape: list[Any] = []
        self.due: list[int] = []
        self.replayed: list[Replayed] = []
        self.comparable = True
        self._sim = sim
        self._places: list[tuple[Any, Any]] = []
        self._tuples: list[_Tuple] = []
        self._seen: dict[int, int] = {}
        # Who has a list, and under which name.
        self._lists: dict[int, tuple[Any, Any]] = {}
        self._stack: list[Any] = []
        # An ordered list is a heap too.
        sim.queue.sort()
        for place, entry in enumerate(sim.queue):
            if not (self._alike and isinstance(entry[2], Onlooker)):
                self._entry(entry, place)
        self._items(None, enumerate(roots or ()))
        while self._stack and self.comparable:
            self._object(self._stack.pop())
            if len(self.numbers) > most:
                self.comparable = False

    def _items(self, holder: Any, items: Any) -> None:
        """Look at what an object, a list or a dictionary holds."""
        numbers, places, shape, seen = self.numbers, self._places, self.shape, self._seen
        for key, value in items:
            kind = type(value)
            if kind is int:
                numbers.append(value)
                places.append((holder, key))
            elif kind in _PLAIN:
                shape.append(value)
            elif kind is tuple:
                self._tuple(value, holder, key)
            else:
                number = seen.get(id(value))
                if number is None:
                    number = seen[id(value)] = len(seen)
                    self._stack.append(value)
                    if kind is list:
                        self._lists[id(value)] = holder, key
                shape.append(number)

    def _entry(self, entry: tuple[int, int, Any], place: int) -> None:
        """Look at an action to come; its serial number says no more than its place."""
        self.due.append(len(self.numbers))
        node = _Tuple(entry, self._sim.queue, place)
        self._tuples.append(node)
        time_ps, _, action = entry
        self._items(node, ((0, time_ps), (2, action)))

    def _tuple(self, whole: tuple[Any, ...], holder: Any, key: Any) -> None:
        self.shape.append(len(whole))
        node = _Tuple(whole, holder, key)
        self._tuples.append(node)
        self._items(node, enumerate(whole))

    def _object(self, value: Any) -> None:
        kind = type(value)
        traits = _known.get(kind)
        if traits is None:
            traits = _known[kind] = _Traits(kind)
        looked_at = traits.looked_at
        if looked_at == _BLOCK:
            self._block(value, kind, traits)
        elif looked_at == _OPAQUE:
            self.shape.append(kind if self._alike and issubclass(kind, _PROGRAMS) else value)
        elif looked_at == _LIST:
            self.shape.append(len(value))
            self._items(value, enumerate(value))
        elif looked_at == _DICT:
            self.shape.append(len(value))
            if value:
                self._items(_Keys(value), zip(value, value, strict=True))
                self._items(value, value.items())
        elif looked_at == _METHOD:
            self.shape.append(value.__name__)
            if type(value.__self__) is not types.ModuleType:
                self._items(None, ((0, value.__self__),))
        elif looked_at == _FUNCTION:
            self.shape.append(value.__code__)
            self._items(None, ((0, cell.cell_contents) for cell in value.__closure__ or ()))
        elif looked_at == _SET:
            self.shape.append(frozenset(value))
        elif looked_at == _CONTENT:
            self.shape.append(id(value))
        else:
            self.comparable = False

    def _block(self, value: Any, kind: type, traits: _Traits) -> None:
        """Look at an object of the model."""
        self.shape.append(kind)
        if traits.replayed:
            self.replayed.append(value)
            self._items(value, [(name, getattr(value, name)) for name in value.counts])
            return
        if traits.lags:
            value.catch_up()
        if traits.names:
            found = [(name, getattr(value, name, _Missing)) for name in traits.names]
            self._items(value, [item for item in found if item[1] is not _Missing])
        own = getattr(value, "__dict__", None)
        if own:
            self._items(value, own.items())

    def attribute(self, index: int) -> tuple[Any, str]:
        """The object that has a number, or its list, as an attribute, and its name, if any has."""
        holder, key = self._places[index]
        if type(holder) is list:
            holder, key = self._lists.get(id(holder), (None, ""))
        return (holder, key) if type(key) is str and not isinstance(holder, dict) else (None, "")

    def wraps(self, index: int) -> bool:
        """Whether a number counts round and round."""
        holder, name = self.attribute(index)
        return hasattr(holder, "wraps") and name in holder.wraps()

    def rounds(self) -> list[tuple[object, str]]:
        """What counts round and round: the blocks and the names of their attributes."""
        found = [self.attribute(index) for index in range(len(self.numbers)) if self.wraps(index)]
        return list({(id(holder), name): (holder, name) for holder, name in found}.values())

    def lapses(self, index: int) -> bool:
        """Whether a number is a time that means nothing any more once it has passed."""
        holder, name = self.attribute(index)
        return hasattr(holder, "lapses") and name in holder.lapses()

    def movable(self, index: int) -> bool:
        """Whether a number may be changed: one in a tuple that is a key may not."""
        holder = self._places[index][0]
        if type(holder) is not _Tuple:
            return holder is not None
        while type(holder) is _Tuple:
            holder = holder.holder
        return holder is not None and type(holder) is not _Keys

    def write(self, changes: dict[int, int]) -> None:
        """Give numbers, by their place in the list, other values."""
        renamed: dict[int, tuple[dict[Any, Any], dict[int, int]]] = {}
        for index, number in changes.items():
            holder, key = self._places[index]
            if type(holder) is _Keys:
                renamed.setdefault(id(holder.of), (holder.of, {}))[1][key] = number
            else:
                _put(holder, key, number)
        # Inner ones come later in the walk.
        for node in reversed(self._tuples):
            if node.content is not None:
                _put(node.holder, node.key, tuple(node.content))
        for held, names in renamed.values():
            items = [(names.get(key, key), value) for key, value in held.items()]
            held.clear()
            held.update(items)
        # Some have been moved behind others.
        self._sim.queue.sort()


def _put(holder: Any, key: Any, value: Any) -> None:
    kind = type(holder)
    if kind is _Tuple:
        if holder.content is None:
            holder.content = list(holder.whole)
        holder.content[key] = value
    elif isinstance(holder, list | deque | dict):
        holder[key] = value
    else:
        setattr(holder, key, value)


class _Missing:
    """What an attribute without a value has."""


class _Traits:
    """What is known of a class.

    Attributes:
        looked_at: how.
        names: of attributes that are not in a dictionary.
        replayed: whether they are told by what was done to them.
        lags: whether they have to catch up.
    """

    __slots__ = ("lags", "looked_at", "names", "replayed")

    def __init__(self, kind: type) -> None:
        names: list[str] = []
        for base in kind.__mro__:
            names.extend(getattr(base, "__mypyc_attrs__", getattr(base, "__slots__", ())))
        self.names = [name for name in dict.fromkeys(names) if name != "__dict__"]
        self.replayed = hasattr(kind, "foresee")
        self.lags = hasattr(kind, "catch_up")
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
    if kind.__module__ == "numpy":
        # Only programs change what messages hold.
        return _CONTENT
    if issubclass(kind, _UNCHANGED) or kind.__module__.startswith(_DESCRIPTIONS):
        return _OPAQUE
    if kind.__module__.startswith(_PACKAGE) and not hasattr(kind, _COMPILED_CLOSURE):
        return _BLOCK
    return _UNKNOWN


_known: dict[type, _Traits] = {}
