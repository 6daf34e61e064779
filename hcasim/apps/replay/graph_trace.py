"""Replays schedules: what is required of others runs as soon as those are done."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from typing import Any, Final

from hcasim.apps.replay.collectives import Collectives
from hcasim.apps.replay.graph import ANY, CALC, COLL, SEND, Operations, Ranks
from hcasim.apps.replay.overlapped import Overlapping, replay_overlapped
from hcasim.apps.replay.trace import Communicator, Counter, Pending, Steps, Trace
from hcasim.engine import Event
from hcasim.mpi import ANY_SOURCE, ANY_TAG, MPIError
from hcasim.mpi.messages import MAX_TAG

_PS: Final = 1e-12
"""Seconds."""


class GraphTrace(Trace):
    """A schedule.

    Messages are posted when all that they require is done, and any number of them may be under
    way. A process computes when there is nothing to post, and between two calculations it looks
    once for messages. Threads (`cpu` of GOAL) compute at the same time, but all calls are made by
    one of them, and only when a calculation of some thread has ended. The number of an adapter
    (`nic`) has no meaning, except on a LogGP machine. A collective begins when there is nothing to
    post; until it ends, the process does nothing else.

    Parameters:
        name: of the file.
        form: of the file.
        ranks: the operations of each.
        collectives: of them, if there are any.
    """

    def __init__(
        self, name: str, form: str, ranks: Ranks, collectives: Collectives | None = None
    ) -> None:
        super().__init__(name, form, len(ranks), sum(map(len, ranks)))
        self._ranks = ranks
        self.collectives = collectives
        self.counted = any(operations.counted for operations in ranks)
        self._tags = _small_tags(ranks)
        self._room: dict[tuple[int, int, int], int] = {}
        for rank, operations in enumerate(ranks):
            for kind, size, peer, tag in zip(
                operations.kinds, operations.sizes, operations.peers, operations.tags, strict=True
            ):
                if kind == SEND:
                    for channel in {
                        (source, peer, some) for source in (rank, ANY) for some in (tag, ANY)
                    }:
                        self._room[channel] = max(size, self._room.get(channel, 0))

    def operations(self, rank: int) -> Operations:
        """The operations of a rank."""
        return self._ranks[rank]

    def tag(self, tag: int) -> int:
        """The tag of a message, by that of the file, which may be larger than MPI allows."""
        return self._tags.get(tag, tag)

    def peer(self, peer: int) -> int:
        """The rank that a message comes from, or any."""
        return ANY_SOURCE if peer == ANY else peer

    def room(self, source: int, dest: int, tag: int) -> int:
        """Bytes of the longest message that a receive may have to take."""
        return self._room.get((source, dest, tag), 0)

    def replay(self, comm: Communicator, counter: Counter, rate: float) -> Steps:
        """Run the operations of one rank to their end."""
        if isinstance(comm, Overlapping):
            if self.collectives is not None:
                needed = "needed: a machine with an MPI library, as its traces have collectives"
                raise MPIError("MPI_ERR_ARG", f"found {self.form} on a LogGP machine; {needed}")
            yield from replay_overlapped(self, comm, counter)
        else:
            yield from _Run(self, comm, counter, rate).run()


def _small_tags(ranks: Ranks) -> dict[int, int]:
    """Other tags, if those of a file are larger than MPI's."""
    if max((max(one.tags, default=0) for one in ranks), default=0) <= MAX_TAG:
        return {ANY: ANY_TAG}
    found = sorted({tag for one in ranks for tag in one.tags if tag != ANY})
    return {tag: number for number, tag in enumerate(found)} | {ANY: ANY_TAG}


class _Run:
    """One rank of a schedule that runs."""

    def __init__(
        self, trace: GraphTrace, comm: Communicator, counter: Counter, rate: float
    ) -> None:
        self._trace, self._comm, self._counter, self._rate = trace, comm, counter, rate
        self._operations = operations = trace.operations(comm.rank)
        self._missing = operations.missing()
        self._followers = operations.followers()
        self._left = len(operations)
        # What can be done now; free calculations by thread, with what is left of the first.
        self._messages: deque[int] = deque()
        self._collectives: deque[int] = deque()
        self._groups: dict[int, Any] = {}
        self._calculations: dict[int, deque[int]] = {}
        self._remaining: dict[int, int] = {}
        self._pending: list[Pending] = []
        self._numbers: list[int] = []
        self._free([one for one, count in enumerate(self._missing) if not count])

    # What is ready.

    def _free(self, ready: list[int]) -> None:
        kinds = self._operations.kinds
        # Sends first and calculations last, as in LogGOPSim.
        for one in sorted((one for one in ready if kinds[one] != CALC), key=kinds.__getitem__):
            (self._collectives if kinds[one] == COLL else self._messages).append(one)
        for one in ready:
            if kinds[one] == CALC:
                thread = self._operations.threads[one]
                self._calculations.setdefault(thread, deque()).append(one)

    def _satisfy(self, followers: dict[int, list[int]], one: int) -> None:
        ready = []
        for later in followers.get(one, ()):
            self._missing[later] -= 1
            if not self._missing[later]:
                ready.append(later)
        if ready:
            self._free(ready)

    def _begun(self, one: int) -> None:
        self._satisfy(self._followers.on_begin, one)

    def _ended(self, one: int) -> None:
        self._left -= 1
        self._counter.count()
        self._satisfy(self._followers.on_end, one)

    # Messages.

    def _post(self, one: int) -> Steps:
        operations, trace, comm = self._operations, self._trace, self._comm
        size, peer, tag = operations.sizes[one], operations.peers[one], operations.tags[one]
        if operations.kinds[one] == SEND:
            pending = yield from comm.isend(size, peer, trace.tag(tag))
        else:
            # Messages may come in another order than the receives of the file.
            room = max(size, trace.room(peer, comm.rank, tag))
            pending = yield from comm.irecv(room, trace.peer(peer), trace.tag(tag))
        self._pending.append(pending)
        self._numbers.append(one)
        self._begun(one)

    def _harvest(self) -> Generator[Event, object, bool]:
        """End what is done; return whether anything is."""
        done = [place for place, one in enumerate(self._pending) if one.done]
        if not done:
            return False
        ended = [(self._numbers[place], self._pending[place]) for place in done]
        for place in reversed(done):
            del self._pending[place], self._numbers[place]
        for number, pending in ended:
            yield from pending.wait()
            self._ended(number)
        return True

    def run(self) -> Steps:
        """Post, compute, and wait when nothing else can be done."""
        while self._left:
            while self._messages:
                yield from self._post(self._messages.popleft())
            if (yield from self._harvest()):
                continue
            if self._collectives:
                yield from self._collective(self._collectives.popleft())
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

    def _collective(self, one: int) -> Steps:
        number, place = self._operations.tags[one], self._operations.sizes[one]
        collectives = self._trace.collectives
        assert collectives is not None
        if number not in self._groups:
            self._groups[number] = collectives.group(self._comm, number)
        self._begun(one)
        yield from collectives.run(self._groups[number], number, place)
        self._ended(one)

    def _duration(self, one: int) -> int:
        """Picoseconds of a calculation."""
        size = self._operations.sizes[one]
        return round(size / (_PS * self._rate)) if one in self._operations.counted else size

    def _compute(self) -> Generator[Event, object, bool]:
        """Compute in all threads until one of them ends; return whether that took time."""
        busy = {thread: some for thread, some in self._calculations.items() if some}
        for thread, some in busy.items():
            if thread not in self._remaining:
                self._remaining[thread] = self._duration(some[0])
                self._begun(some[0])
        piece = min(self._remaining[thread] for thread in busy)
        if piece:
            yield from self._comm.compute(piece * _PS)
        for thread, some in busy.items():
            self._remaining[thread] -= piece
            if not self._remaining[thread]:
                del self._remaining[thread]
                self._ended(some.popleft())
        return piece > 0
