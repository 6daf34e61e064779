"""A trace of whatever format: what processes have done, to be done again."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Generator, Sequence
from functools import cached_property
from itertools import count
from typing import Any, Final

from hcasim.apps.replay.collectives import Collectives
from hcasim.apps.replay.operations import ANY, Followers, Kind, Ranks
from hcasim.apps.replay.text import refuse
from hcasim.engine import Event
from hcasim.mpi import ANY_SOURCE, ANY_TAG, MPIError
from hcasim.mpi.messages import MAX_SECONDS, MAX_TAG

RATE: Final = 1e9
"""Operations a second of a processor, where a trace counts what is computed."""
_PS: Final = 1e-12
"""Seconds."""
_TIMES: Final = 100
"""How often progress is told."""

Progress = Callable[[int, int], object]
Steps = Generator[Event, Any, None]
Main = Callable[[Any], Steps]


class Trace:
    """What the processes of a program have done.

    Messages are posted when all that they require is done, and any number of them may be under
    way. A process computes when there is nothing to post, and between two calculations it looks
    once for messages. Threads (`cpu` of GOAL) compute at the same time, but all calls are made by
    one of them, and only when a calculation of some thread has ended. A collective begins when
    there is nothing to post; until it ends, the process does nothing else.

    Parameters:
        name: of the file.
        form: its format.
        ranks: the operations of each.
        places: of the operations of each rank, as messages show them before a line.
        collectives: of the trace, if there are any.
    """

    def __init__(
        self,
        name: str,
        form: str,
        ranks: Ranks,
        places: Sequence[str],
        collectives: Collectives | None = None,
    ) -> None:
        self.name, self.form, self.operations, self.places = name, form, ranks, places
        self.collectives = collectives
        self.ranks = len(ranks)
        self.actions = sum(map(len, ranks))
        self.counted = any(one.counted for one in ranks)
        """Whether it counts what is computed, instead of saying how long that takes."""

    def __repr__(self) -> str:
        return f"Trace({self.name!r}, {self.form}, ranks={self.ranks}, actions={self.actions})"

    def where(self, rank: int, one: int) -> str:
        """The place of an operation, as messages show it."""
        return f"{self.places[rank]}{self.operations[rank].lines[one]}"

    def program(self, progress: Progress | None = None, rate: float = RATE) -> Main:
        """Return a program for at least as many processes as the trace has; others do nothing.

        It can be run once.

        Parameters:
            progress: is called from time to time with the number of operations done and of all.
            rate: operations a second, where a trace counts what is computed instead of its time.

        Raises:
            CatalogError: it would take too long to compute something at this rate.
        """
        for rank, operations in enumerate(self.operations):
            most = max(operations.amounts, default=0.0)
            if most / rate > MAX_SECONDS:
                place = self.where(rank, operations.amounts.index(most))
                least = f"{most / MAX_SECONDS:.6g} op/s, so that {place} ends within"
                refuse("rate", f"found {rate:.6g} op/s; allowed: at least {least} {MAX_SECONDS} s")
        numbers, every = count(1), max(1, self.actions // _TIMES)

        def tell() -> None:
            done = next(numbers)
            if progress is not None and (not done % every or done == self.actions):
                progress(done, self.actions)

        def main(comm: Any) -> Steps:
            if comm.size < self.ranks:
                needed = f"{comm.size} processes; needed: {self.ranks}, as {self.name} has"
                raise MPIError("MPI_ERR_ARG", needed)
            if comm.rank < self.ranks:
                yield from _Run(self, comm, tell, rate).run()

        return main

    @cached_property
    def tags(self) -> dict[int, int]:
        """Tags of MPI, by those of the file; without those of which they are the same."""
        found = {tag for one in self.operations for tag in one.tags if tag != ANY}
        larger = max(found, default=0) > MAX_TAG
        return {ANY: ANY_TAG} | ({tag: n for n, tag in enumerate(sorted(found))} if larger else {})

    @cached_property
    def rooms(self) -> dict[tuple[int, int, int], int]:
        """Bytes of the longest message that a receive may take, by its source, rank and tag."""
        found: dict[tuple[int, int, int], int] = {}
        for rank, one in enumerate(self.operations):
            columns = zip(one.kinds, one.sizes, one.peers, one.tags, strict=True)
            for kind, size, peer, tag in columns:
                if kind == Kind.SEND:
                    for channel in ((a, peer, b) for a in (rank, ANY) for b in (tag, ANY)):
                        found[channel] = max(size, found.get(channel, 0))
        return found


class _Run:
    """One rank that does each operation as soon as all is done that it requires."""

    def __init__(self, trace: Trace, comm: Any, tell: Callable[[], None], rate: float) -> None:
        self._trace, self._comm, self._tell, self._rate = trace, comm, tell, rate
        self._operations = trace.operations[comm.rank]
        self._groups: dict[int, Any] = {}
        self._missing = array("q", bytes(8 * len(self._operations)))
        for later in self._operations.later:
            self._missing[later] += 1
        self._followers = Followers(self._operations)
        self._left = len(self._operations)
        # What can be done now; free calculations by thread, with what is left of the first.
        self._messages: deque[int] = deque()
        self._collectives: deque[int] = deque()
        self._calculations: dict[int, deque[int]] = {}
        self._remaining: dict[int, int] = {}
        self._pending: dict[int, Any] = {}
        self._free([one for one, missing in enumerate(self._missing) if not missing])

    def _collective(self, one: int) -> Steps:
        collectives = self._trace.collectives
        assert collectives is not None
        number, place = collectives.place(self._comm.rank, one)
        if number not in self._groups:
            self._groups[number] = self._comm.subgroup(collectives.groups[number], number)
        yield from collectives.run(self._groups[number], number, place)

    def _duration(self, one: int) -> int:
        amount = self._operations.amounts[one]
        picoseconds: int = self._operations.sizes[one]
        return round(amount / (_PS * self._rate)) if amount else picoseconds

    def _free(self, ready: list[int]) -> None:
        kinds = self._operations.kinds
        # Sends first and calculations last, as in LogGOPSim.
        for one in sorted((one for one in ready if kinds[one] != Kind.CALC), key=kinds.__getitem__):
            (self._collectives if kinds[one] == Kind.COLL else self._messages).append(one)
        for one in ready:
            if kinds[one] == Kind.CALC:
                thread = self._operations.threads[one]
                self._calculations.setdefault(thread, deque()).append(one)

    def _satisfy(self, one: int, begun: bool) -> None:
        ready = []
        for later in self._followers.of(one, begun):
            self._missing[later] -= 1
            if not self._missing[later]:
                ready.append(later)
        self._free(ready)

    def _ended(self, one: int) -> None:
        self._left -= 1
        self._tell()
        self._satisfy(one, begun=False)

    def _post(self, one: int) -> Steps:
        operations, comm = self._operations, self._comm
        size, peer, tag = operations.sizes[one], operations.peers[one], operations.tags[one]
        mpi_tag = self._trace.tags.get(tag, tag)
        if operations.kinds[one] == Kind.SEND:
            pending = yield from comm.isend(size, peer, mpi_tag)
        else:
            source = ANY_SOURCE if peer == ANY else peer
            # Messages may come in another order than the receives of the file.
            room = max(size, self._trace.rooms.get((peer, comm.rank, tag), 0))
            pending = yield from comm.irecv(room, source, mpi_tag)
        self._pending[one] = pending
        self._satisfy(one, begun=True)

    def _harvest(self) -> Generator[Event, Any, bool]:
        """End what is done; return whether anything is."""
        done = [(one, pending) for one, pending in self._pending.items() if pending.done]
        for one, _ in done:
            del self._pending[one]
        for one, pending in done:
            yield from pending.wait()
            self._ended(one)
        return bool(done)

    def run(self) -> Steps:
        """Post, compute, and wait when nothing else can be done."""
        while self._left:
            while self._messages:
                yield from self._post(self._messages.popleft())
            if (yield from self._harvest()):
                continue
            if self._collectives:
                one = self._collectives.popleft()
                self._satisfy(one, begun=True)
                yield from self._collective(one)
                self._ended(one)
            elif any(self._calculations.values()):
                took_time = yield from self._compute()
                while took_time and self._pending:
                    # Notice messages that have come in.
                    yield from next(iter(self._pending.values())).test()
                    took_time = yield from self._harvest()
            else:
                yield from self._comm.waitany([*self._pending.values()])

    def _compute(self) -> Generator[Event, Any, bool]:
        """Compute in all threads until one of them ends; return whether that took time."""
        busy = {thread: some for thread, some in self._calculations.items() if some}
        for thread, some in busy.items():
            if thread not in self._remaining:
                self._remaining[thread] = self._duration(some[0])
                self._satisfy(some[0], begun=True)
        piece = min(self._remaining[thread] for thread in busy)
        if piece:
            yield from self._comm.compute(piece * _PS)
        for thread, some in busy.items():
            self._remaining[thread] -= piece
            if not self._remaining[thread]:
                del self._remaining[thread]
                self._ended(some.popleft())
        return piece > 0
