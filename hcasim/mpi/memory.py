"""Memory of a process: messages are sent from it and received into it, and it stays registered."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from hcasim.catalog.mpi import RegistrationCache as Description
from hcasim.cluster import PAGE, Node
from hcasim.engine import Event
from hcasim.verbs import MR, PD, Access

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ACCESS: Final = Access.LOCAL_WRITE | Access.REMOTE_WRITE | Access.REMOTE_READ
Bytes: TypeAlias = "NDArray[np.uint8]"
"""Contents of a message."""


class Buffer:
    """Memory of a process: its bytes are an array of ``uint8``, or None if only sizes matter."""

    __slots__ = ("address", "data", "size")

    def __init__(self, address: int, size: int, data: Bytes | None = None) -> None:
        self.address = address
        self.size = size
        self.data = data

    def part(self, offset: int, size: int) -> Buffer:
        data = None if self.data is None else self.data[offset : offset + size]
        return Buffer(self.address + offset, size, data)

    def block(self, each: int, first: int, number: int = 1) -> Buffer:
        start, end = min(self.size, first * each), min(self.size, (first + number) * each)
        return self.part(start, end - start)

    def blocks(self, each: int, count: int) -> list[Buffer]:
        return [self.block(each, number) for number in range(count)]

    def take(self, size: int) -> Bytes | None:
        return None if self.data is None else self.data[:size].copy()

    def put(self, data: Bytes | None) -> None:
        if data is not None and self.data is not None:
            self.data[: len(data)] = data


class Heap:
    """The memory of a process on a node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._scratch = Buffer(0, 0)
        self._anonymous = [Buffer(0, 0), Buffer(0, 0)]
        self._temporaries: dict[tuple[int, int], int] = {}
        self._arrays: dict[int, Buffer] = {}

    def allocate(self, size: int, data: Bytes | None = None) -> Buffer:
        return Buffer(self._node.allocate(max(size, 1)), size, data)

    def scratch(self, size: int) -> Buffer:
        if self._scratch.size < size:
            self._scratch = self.allocate(max(size, 2 * self._scratch.size))
        return self._scratch.part(0, size)

    def temporary(self, size: int, number: int, data: Bytes | None = None) -> Buffer:
        """Memory of a collective call, the ``number``-th of this size, as other calls have had."""
        place = self._temporaries.get((size, number))
        if place is None:
            place = self._temporaries[size, number] = self.allocate(size).address
        return Buffer(place, size, data)

    def anonymous(self, size: int, incoming: bool) -> Buffer:
        """The same memory for all messages without contents that come in, or for all others."""
        held = self._anonymous[incoming]
        if held.size < size:
            held = self._anonymous[incoming] = self.allocate(max(size, 2 * held.size))
        return held.part(0, size)

    def placed(self, array: NDArray[Any]) -> Buffer:
        """The memory of a NumPy array, the same whenever it is used; arrays are not freed."""
        start = array.__array_interface__["data"][0]
        found = self._arrays.get(start)
        data = array.reshape(-1).view("uint8")
        if found is None or found.size < data.nbytes:
            found = self.allocate(data.nbytes, data)
            self._arrays[start] = found
        return Buffer(found.address, data.nbytes, data)


@dataclass(slots=True, eq=False)
class Registration:
    """A registered range of pages, and the number of messages that use it now."""

    key: tuple[int, int]
    mr: MR
    first: int
    pages: int
    users: int = 1


class RegistrationCache:
    """Registrations of one process, oldest use first."""

    def __init__(self, pd: PD, description: Description) -> None:
        self._pd = pd
        self._probe = pd.context.probe
        self._description = description
        self._known: OrderedDict[tuple[int, int], Registration] = OrderedDict()
        self._by_start: dict[int, dict[int, Registration]] = {}
        self._pages = 0
        self._to_drop: list[Registration] = []
        self.hits = self.misses = 0

    def acquire(self, buffer: Buffer) -> Generator[Event, object, Registration]:
        core, cost = self._pd.context.core, self._description
        yield core.work(cost.lookup)
        first = buffer.address // PAGE
        pages = (buffer.address + max(buffer.size, 1) - 1) // PAGE - first + 1
        found = self._find(buffer, first, pages)
        self._tell("registration miss" if found is None else "registration hit")
        if found is not None:
            self.hits += 1
            found.users += 1
            self._known.move_to_end(found.key)
            return found
        self.misses += 1
        yield from self._make_room(pages)
        key = (buffer.address, buffer.size) if cost.match == "exact" else (first, pages)
        mr = yield from self._pd.timed_reg_mr(pages * PAGE, _ACCESS, address=first * PAGE)
        self._tell("registration")
        made = Registration(key, mr, first, pages)
        self._known[key] = made
        self._by_start.setdefault(first, {})[pages] = made
        self._pages += pages
        return made

    def _find(self, buffer: Buffer, first: int, pages: int) -> Registration | None:
        match self._description.match:
            case "exact":
                return self._known.get((buffer.address, buffer.size))
            case "start":
                fitting = self._by_start.get(first, {})
                return next((one for own, one in fitting.items() if own >= pages), None)
            case _:
                end = first + pages
                for one in self._known.values():
                    if one.first <= first and end <= one.first + one.pages:
                        return one
                return None

    def _make_room(self, pages: int) -> Generator[Event, object, None]:
        limits = self._description
        for one in list(self._known.values()):
            full = limits.entries and len(self._known) >= limits.entries
            heavy = limits.pages and self._pages + pages > limits.pages
            if not (full or heavy):
                return
            if not one.users:
                yield from self._drop(one)

    def _drop(self, one: Registration) -> Generator[Event, object, None]:
        del self._known[one.key]
        same = self._by_start[one.first]
        if same.get(one.pages) is one:
            del same[one.pages]
        if not same:
            del self._by_start[one.first]
        self._pages -= one.pages
        yield from one.mr.timed_dereg()
        self._tell("deregistration")

    def _tell(self, step: str) -> None:
        if self._probe.listeners:
            self._probe.event(step, 0)

    def release(self, one: Registration) -> None:
        one.users -= 1
        if not self._description.lazy and not one.users:
            self._to_drop.append(one)

    def tidy(self) -> Generator[Event, object, None]:
        while self._to_drop:
            one = self._to_drop.pop()
            if not one.users and self._known.get(one.key) is one:
                yield from self._drop(one)
