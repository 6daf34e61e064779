"""A trace of whatever format: what processes have done, to be done again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from itertools import count
from typing import Any, Final

from hcasim.apps.replay.collectives import Collectives
from hcasim.apps.replay.operations import (
    ANY,
    CALC,
    COLL,
    NAMES,
    SEND,
    SENDRECV,
    Followers,
    Operations,
    Ranks,
)
from hcasim.apps.replay.text import Where, refuse
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
        where: places of operations, as messages show them.
        collectives: of the trace, if there are any.
        in_order: whether each process makes the same calls in the order of the file instead.
    """

    def __init__(
        self,
        name: str,
        form: str,
        ranks: Ranks,
        where: Where,
        collectives: Collectives | None = None,
        in_order: bool = False,
    ) -> None:
        self.name, self.form, self.operations, self.where = name, form, ranks, where
        self.collectives, self.in_order = collectives, in_order
        self.ranks = len(ranks)
        self.actions = sum(map(len, ranks))
        self.counted = any(one.counted for one in ranks)
        """Whether it counts what is computed, instead of saying how long that takes."""

    def __repr__(self) -> str:
        return f"Trace({self.name!r}, {self.form}, ranks={self.ranks}, actions={self.actions})"

    def program(self, progress: Progress | None = None, rate: float = RATE) -> Main:
        """Return a program for at least as many processes as the trace has; others do nothing.

        It can be run once.

        Parameters:
            progress: is called from time to time with the number of operations done and of all.
            rate: operations a second, where a trace counts what is computed instead of its time.

        Raises:
            ValueError: a rate that is none.
            CatalogError: it would take too long to compute something at this rate.
        """
        if not 0 < rate < float("inf"):
            raise ValueError(f"rate: found {rate}; allowed: more than 0 operations a second")
        for rank, operations in enumerate(self.operations):
            most = max(operations.amounts, default=0.0)
            if most / rate > MAX_SECONDS:
                place = self.where(rank, operations.lines[operations.amounts.index(most)])
                least = f"{most / MAX_SECONDS:.6g} op/s, so that {place} ends within"
                refuse("rate", f"found {rate:.6g} op/s; allowed: at least {least} {MAX_SECONDS} s")
        numbers, every = count(1), max(1, self.actions // _TIMES)

        def tell() -> None:
            done = next(numbers)
            if progress is not None and (not done % every or done == self.actions):
                progress(done, self.actions)

        if self.in_order:

            def replay(comm: Any) -> Steps:
                yield from _InOrder(self, comm, tell, rate).run()
        else:
            messages = _Messages(self.operations)

            def replay(comm: Any) -> Steps:
                yield from _Graph(self, comm, tell, rate, messages).run()

        def main(comm: Any) -> Steps:
            if comm.size < self.ranks:
                needed = f"{comm.size} processes; needed: {self.ranks}, as {self.name} has"
                raise MPIError("MPI_ERR_ARG", needed)
            if comm.rank < self.ranks:
                yield from replay(comm)

        return main


class _Messages:
    """What messages have, as MPI takes it."""

    def __init__(self, ranks: Ranks) -> None:
        self._tags: dict[int, int] = {ANY: ANY_TAG}
        if max((max(one.tags, default=0) for one in ranks), default=0) > MAX_TAG:
            found = sorted({tag for one in ranks for tag in one.tags if tag != ANY})
            self._tags |= {tag: number for number, tag in enumerate(found)}
        self._room: dict[tuple[int, int, int], int] = {}
        for rank, one in enumerate(ranks):
            for kind, size, peer, tag in zip(
                one.kinds, one.sizes, one.peers, one.tags, strict=True
            ):
                if kind == SEND:
                    for channel in {
                        (source, peer, some) for source in (rank, ANY) for some in (tag, ANY)
                    }:
                        self._room[channel] = max(size, self._room.get(channel, 0))

    def tag(self, tag: int) -> int:
        """The tag of a message, by that of the file, which may be larger than MPI allows."""
        return self._tags.get(tag, tag)

    def room(self, source: int, dest: int, tag: int) -> int:
        """Bytes of the longest message that a receive may have to take."""
        return self._room.get((source, dest, tag), 0)


def _source(peer: int) -> int:
    return ANY_SOURCE if peer == ANY else peer


class _Run:
    """One rank that does its operations."""

    def __init__(self, trace: Trace, comm: Any, tell: Callable[[], None], rate: float) -> None:
        self._comm, self._tell, self._rate = comm, tell, rate
        self._operations: Operations = trace.operations[comm.rank]
        self._all_collectives = trace.collectives
        self._groups: dict[int, Any] = {}

    def _collective(self, one: int) -> Steps:
        number, place = self._operations.tags[one], self._operations.sizes[one]
        collectives = self._all_collectives
        assert collectives is not None
        if number not in self._groups:
            self._groups[number] = self._comm.subgroup(collectives.groups[number], number)
        yield from collectives.run(self._groups[number], number, place)

    def _duration(self, one: int) -> int:
        """Picoseconds of a calculation."""
        amount = self._operations.amounts[one]
        return round(amount / (_PS * self._rate)) if amount else self._operations.sizes[one]


class _InOrder(_Run):
    """One rank that makes one call after the other."""

    def run(self) -> Steps:
        """Do all operations."""
        # A request that a test has found done is gone.
        self._requests: dict[int, Any] = {}
        steps = [getattr(self, f"_{name}") for name in NAMES]
        for one, kind in enumerate(self._operations.kinds):
            yield from steps[kind](one)
            self._tell()

    def _calc(self, one: int) -> Steps:
        if duration_ps := self._duration(one):
            yield from self._comm.compute(duration_ps * _PS)

    def _message(self, one: int) -> tuple[int, int, int]:
        operations = self._operations
        return operations.sizes[one], operations.peers[one], operations.tags[one]

    def _incoming(self, one: int) -> tuple[int, int, int]:
        size, source, tag = self._message(one)
        return size, _source(source), ANY_TAG if tag == ANY else tag

    def _send(self, one: int) -> Steps:
        yield from self._comm.send(*self._message(one))

    def _recv(self, one: int) -> Steps:
        if not (one and self._operations.kinds[one - 1] == SENDRECV):
            yield from self._comm.recv(*self._incoming(one))

    def _isend(self, one: int) -> Steps:
        self._requests[one] = yield from self._comm.isend(*self._message(one))

    def _irecv(self, one: int) -> Steps:
        self._requests[one] = yield from self._comm.irecv(*self._incoming(one))

    def _sendrecv(self, one: int) -> Steps:
        (size, dest, tag), (room, source, _) = self._message(one), self._message(one + 1)
        yield from self._comm.sendrecv(size, dest, room, source, tag, tag)

    def _taken(self, one: int) -> list[Any]:
        """The requests that an operation waits for."""
        first = self._operations.sizes[one]
        numbers = self._operations.earlier[first : first + self._operations.peers[one]]
        return [self._requests.pop(number) for number in numbers if number in self._requests]

    def _wait(self, one: int) -> Steps:
        for request in self._taken(one):
            yield from self._comm.wait(request)

    def _waitall(self, one: int) -> Steps:
        if requests := self._taken(one):
            yield from self._comm.waitall(requests)

    def _test(self, one: int) -> Steps:
        number = self._operations.sizes[one]
        if number in self._requests and (yield from self._comm.test(self._requests[number])):
            del self._requests[number]


class _Graph(_Run):
    """One rank that does each operation as soon as all is done that it requires."""

    def __init__(
        self,
        trace: Trace,
        comm: Any,
        tell: Callable[[], None],
        rate: float,
        messages: _Messages,
    ) -> None:
        super().__init__(trace, comm, tell, rate)
        self._sizes_and_tags = messages
        self._missing = self._operations.missing()
        self._followers = Followers(self._operations)
        self._left = len(self._operations)
        # What can be done now; free calculations by thread, with what is left of the first.
        self._messages: deque[int] = deque()
        self._collectives: deque[int] = deque()
        self._calculations: dict[int, deque[int]] = {}
        self._remaining: dict[int, int] = {}
        self._pending: list[Any] = []
        self._numbers: list[int] = []
        self._free([one for one, missing in enumerate(self._missing) if not missing])

    def _free(self, ready: list[int]) -> None:
        kinds = self._operations.kinds
        # Sends first and calculations last, as in LogGOPSim.
        for one in sorted((one for one in ready if kinds[one] != CALC), key=kinds.__getitem__):
            (self._collectives if kinds[one] == COLL else self._messages).append(one)
        for one in ready:
            if kinds[one] == CALC:
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
        operations, messages, comm = self._operations, self._sizes_and_tags, self._comm
        size, peer, tag = operations.sizes[one], operations.peers[one], operations.tags[one]
        if operations.kinds[one] == SEND:
            pending = yield from comm.isend(size, peer, messages.tag(tag))
        else:
            # Messages may come in another order than the receives of the file.
            room = max(size, messages.room(peer, comm.rank, tag))
            pending = yield from comm.irecv(room, _source(peer), messages.tag(tag))
        self._pending.append(pending)
        self._numbers.append(one)
        self._satisfy(one, begun=True)

    def _harvest(self) -> Generator[Event, Any, bool]:
        """End what is done; return whether anything is."""
        done = [place for place, one in enumerate(self._pending) if one.done]
        ended = [(self._numbers[place], self._pending[place]) for place in done]
        for place in reversed(done):
            del self._pending[place], self._numbers[place]
        for number, pending in ended:
            yield from pending.wait()
            self._ended(number)
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
                if (yield from self._compute()) and self._pending:
                    yield from self._look()
            else:
                yield from self._comm.waitany(self._pending)

    def _look(self) -> Steps:
        """Notice messages that have come in."""
        while self._pending:
            yield from self._pending[0].test()
            if not (yield from self._harvest()):
                return

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
