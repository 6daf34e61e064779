"""The registration cache: memory stays registered after a message, for the next one."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Generator
from dataclasses import dataclass
from typing import Final

from hcasim.catalog.mpi import RegistrationCache as Description
from hcasim.cluster import PAGE
from hcasim.engine import Event
from hcasim.mpi.heap import Buffer
from hcasim.verbs import MR, PD, Access

_ACCESS: Final = Access.LOCAL_WRITE | Access.REMOTE_WRITE | Access.REMOTE_READ


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
