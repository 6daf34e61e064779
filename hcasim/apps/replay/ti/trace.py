"""Replays time-independent traces: each rank does one action after the other."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from typing import Any

from hcasim.apps.replay.ti.actions import ANY, NAMES, SLEEP, Actions, Counts
from hcasim.apps.replay.trace import RATE, Counter, Main, Progress, Steps, Trace
from hcasim.engine import Event
from hcasim.ground.errors import CatalogError
from hcasim.mpi import ANY_SOURCE, ANY_TAG
from hcasim.mpi.messages import MAX_SECONDS

_Channel = tuple[int, int, int]


class TiTrace(Trace):
    """A time-independent trace.

    Collectives are those of the machine's MPI library, among all ranks. The operations of a
    reduction are computed behind it, as SimGrid does. A `reducescatter` with parts that differ has
    equal ones here, of the same bytes together. Who sleeps computes. What nobody has waited for is
    waited for at the end.

    Parameters:
        name: of the file.
        ranks: the actions of each.
        counts: of collectives that have one for each rank.
        files: of each rank.
    """

    counted = True

    def __init__(self, name: str, ranks: list[Actions], counts: Counts, files: list[str]) -> None:
        super().__init__(name, "ti", len(ranks), sum(map(len, ranks)))
        self._ranks, self._counts, self._files = ranks, counts, files

    def program(self, progress: Progress | None = None, rate: float = RATE) -> Main:
        """Return a program for as many processes as the trace has; others do nothing.

        Raises:
            CatalogError: it would take too long to compute something at this rate.
        """
        main = super().program(progress, rate)
        for rank, actions in enumerate(self._ranks):
            most, one = max(
                (
                    (amount, one)
                    for one, amount in enumerate(actions.amounts)
                    if actions.kinds[one] != SLEEP
                ),
                default=(0.0, 0),
            )
            if most / rate > MAX_SECONDS:
                where = f"{self._files[rank]}:{actions.lines[one]}"
                least = f"{most / MAX_SECONDS:.6g} op/s"
                why = f"so that {where} ends within {MAX_SECONDS} s"
                found = f"rate: found {rate:.6g} op/s; allowed: at least {least}, {why}"
                raise CatalogError([found])
        return main

    def actions_of(self, rank: int) -> Actions:
        """The actions of a rank."""
        return self._ranks[rank]

    def counts_at(self, place: int, number: int) -> list[int]:
        """Bytes for each of so many processes."""
        return self._counts.take(place, number)

    def replay(self, comm: Any, counter: Counter, rate: float) -> Steps:
        """Do the actions of one rank."""
        yield from _Run(self, comm, rate).run(counter)


class _Run:
    """One rank that does its actions."""

    def __init__(self, trace: TiTrace, comm: Any, rate: float) -> None:
        self._trace, self._comm, self._rate = trace, comm, rate
        self._actions = trace.actions_of(comm.rank)
        # None is a request that a test has found done.
        self._open: dict[_Channel, deque[Any]] = {}

    def run(self, counter: Counter) -> Steps:
        steps: list[Callable[[int], Generator[Event, Any, Any]]] = [
            getattr(self, name) for name in NAMES
        ]
        for one, kind in enumerate(self._actions.kinds):
            yield from steps[kind](one)
            counter.count()
        yield from self.waitall(0)

    def _compute(self, operations: float) -> Steps:
        if operations:
            yield from self._comm.compute(operations / self._rate)

    def _counts(self, one: int, lists: int = 1) -> list[int]:
        return self._trace.counts_at(self._actions.others[one], lists * self._trace.ranks)

    def compute(self, one: int) -> Steps:
        yield from self._compute(self._actions.amounts[one])

    def sleep(self, one: int) -> Steps:
        yield from self._comm.compute(self._actions.amounts[one])

    # Messages.

    def _sent(self, one: int) -> tuple[int, int, int]:
        actions = self._actions
        return actions.sizes[one], actions.peers[one], actions.tags[one]

    def _received(self, one: int) -> tuple[int, int, int]:
        size, source, tag = self._sent(one)
        return size, ANY_SOURCE if source == ANY else source, ANY_TAG if tag == ANY else tag

    def send(self, one: int) -> Steps:
        yield from self._comm.send(*self._sent(one))

    def recv(self, one: int) -> Steps:
        yield from self._comm.recv(*self._received(one))

    def isend(self, one: int) -> Steps:
        request = yield from self._comm.isend(*self._sent(one))
        _, dest, tag = self._sent(one)
        self._keep((self._comm.rank, dest, tag), request)

    def irecv(self, one: int) -> Steps:
        request = yield from self._comm.irecv(*self._received(one))
        _, source, tag = self._sent(one)
        self._keep((source, self._comm.rank, tag), request)

    def sendRecv(self, one: int) -> Steps:
        size, dest, source = self._sent(one)
        yield from self._comm.sendrecv(size, dest, self._actions.others[one], source, 0, 0)

    # Requests.

    def _keep(self, channel: _Channel, request: Any) -> None:
        self._open.setdefault(channel, deque()).append(request)

    def _take(self, one: int) -> tuple[_Channel, Any]:
        """The oldest request that a wait or a test is meant for, and where it is kept."""
        actions = self._actions
        source, dest, tag = actions.peers[one], actions.others[one], actions.tags[one]
        for channel in (
            (source, dest, tag),
            (ANY, dest, tag),
            (source, dest, ANY),
            (ANY, dest, ANY),
        ):
            if requests := self._open.get(channel):
                request = requests.popleft()
                if not requests:
                    del self._open[channel]
                return channel, request
        return (source, dest, tag), None

    def wait(self, one: int) -> Steps:
        _, request = self._take(one)
        if request is not None:
            yield from self._comm.wait(request)

    def test(self, one: int) -> Steps:
        channel, request = self._take(one)
        if request is not None:
            done = yield from self._comm.test(request)
            self._keep(channel, None if done else request)

    def waitall(self, one: int) -> Steps:
        requests = [one for some in self._open.values() for one in some if one is not None]
        self._open.clear()
        if requests:
            yield from self._comm.waitall(requests)

    # Collectives.

    def barrier(self, one: int) -> Steps:
        yield from self._comm.barrier()

    def bcast(self, one: int) -> Steps:
        size, root, _ = self._sent(one)
        yield from self._comm.bcast(size, root)

    def reduce(self, one: int) -> Steps:
        size, root, _ = self._sent(one)
        yield from self._comm.reduce(size, size, root=root)
        yield from self.compute(one)

    def allreduce(self, one: int) -> Steps:
        size = self._actions.sizes[one]
        yield from self._comm.allreduce(size, size)
        yield from self.compute(one)

    def alltoall(self, one: int) -> Steps:
        size = self._actions.sizes[one] * self._comm.size
        yield from self._comm.alltoall(size, size)

    def alltoallv(self, one: int) -> Steps:
        counts = self._counts(one, 2)
        sent, received = counts[: self._comm.size], counts[self._comm.size :]
        yield from self._comm.alltoallv(sum(sent), sent, sum(received), received)

    def gather(self, one: int) -> Steps:
        size, root, _ = self._sent(one)
        yield from self._comm.gather(size, size * self._comm.size, root)

    def gatherv(self, one: int) -> Steps:
        size, root, _ = self._sent(one)
        counts = self._counts(one) if root == self._comm.rank else []
        yield from self._comm.gatherv(size, sum(counts), counts, root)

    def allgather(self, one: int) -> Steps:
        size = self._actions.sizes[one]
        yield from self._comm.allgather(size, size * self._comm.size)

    def allgatherv(self, one: int) -> Steps:
        counts = self._counts(one)
        yield from self._comm.allgatherv(counts[self._comm.rank], sum(counts), counts)

    def scatter(self, one: int) -> Steps:
        size, root, _ = self._sent(one)
        yield from self._comm.scatter(size * self._comm.size, size, root)

    def scatterv(self, one: int) -> Steps:
        size, root, _ = self._sent(one)
        counts = self._counts(one) if root == self._comm.rank else []
        yield from self._comm.scatterv(sum(counts), counts, size, root)

    def reducescatter(self, one: int) -> Steps:
        part = -(-self._actions.sizes[one] // self._comm.size)
        yield from self._comm.reduce_scatter(part * self._comm.size, part)
        yield from self.compute(one)
