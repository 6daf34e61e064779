"""Communicators that take no time: they count, and see to it that everything is received."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Generator
from types import SimpleNamespace
from typing import Any

from hcasim.apps.nas import Timed
from hcasim.mpi import Buffer


def process() -> Any:
    """What a program asks of a process; memory that nobody writes to, and a clock."""

    def ends() -> SimpleNamespace:
        return SimpleNamespace(messages=0, sent_bytes=0)

    return SimpleNamespace(
        connections=defaultdict(ends),
        itself=ends(),
        heap=SimpleNamespace(allocate=lambda size: Buffer(0, size)),
        sim=SimpleNamespace(now=0),
    )


def bytes_of(memory: Any) -> int:
    if isinstance(memory, Buffer):
        return memory.size
    return memory if isinstance(memory, int) else memory.nbytes


class Counting:
    """Counts messages and calls of collectives; nothing is received, and nobody waits.

    Attributes:
        sizes: of messages, by peer.
        calls: of collectives, by name and bytes.
        computed: seconds of each computing, in the clock of the process, in picoseconds.
    """

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self.process = process()
        self.sizes: Counter[tuple[int, int]] = Counter()
        self.calls: Counter[tuple[str, int]] = Counter()
        self.exchanged: list[tuple[list[int], list[int]]] = []

    def compute(self, seconds: float) -> Any:
        self.process.sim.now += seconds * 1e12
        return ()

    def send(self, memory: Any, dest: int, tag: int = 0) -> Any:
        size = bytes_of(memory)
        way = self.process.itself if dest == self.rank else self.process.connections[dest]
        way.messages += 1
        way.sent_bytes += size
        self.sizes[dest, size] += 1
        return ()

    def irecv(self, memory: Any, source: int, tag: int) -> Any:
        assert 0 <= source < self.size
        return ()

    def recv(self, memory: Any, source: int, tag: int) -> Any:
        return self.irecv(memory, source, tag)

    def wait(self, request: Any) -> Any:
        return ()

    def _call(self, name: str, size: int) -> Any:
        self.calls[name, size] += 1
        return ()

    def Split(self, color: int, key: int = 0) -> Any:
        yield from self._call("split", 16)
        return self

    def barrier(self) -> Any:
        return self._call("barrier", 0)

    def bcast(self, memory: Any) -> Any:
        return self._call("bcast", bytes_of(memory))

    def allreduce(self, own: Any, result: Any, operation: Any = None) -> Any:
        assert bytes_of(own) == bytes_of(result)
        return self._call("allreduce", bytes_of(own))

    def reduce(self, own: Any, result: Any, operation: Any = None) -> Any:
        assert bytes_of(own) == bytes_of(result)
        return self._call("reduce", bytes_of(own))

    def alltoall(self, outgoing: Any, incoming: Any) -> Any:
        assert bytes_of(outgoing) == bytes_of(incoming)
        return self._call("alltoall", bytes_of(outgoing) // self.size)

    def alltoallv(
        self, outgoing: Any, send_counts: list[int], incoming: Any, recv_counts: list[int]
    ) -> Any:
        assert sum(send_counts) <= bytes_of(outgoing)
        assert sum(recv_counts) <= bytes_of(incoming)
        self.exchanged.append((send_counts, recv_counts))
        return self._call("alltoallv", 0)


class Request:
    """A receive that waits."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.size = -1


class Matching(Counting):
    """A send waits for its receive, whatever its size, and a collective for all processes.

    Parameters:
        shared: what all processes of the program have in common.
    """

    def __init__(self, rank: int, size: int, shared: Shared) -> None:
        super().__init__(rank, size)
        self._shared = shared
        self._collectives = 0

    def send(self, memory: Any, dest: int, tag: int = 0) -> Any:
        super().send(memory, dest, tag)
        receives = self._shared.receives[self.rank, dest, tag]
        while not receives:
            yield f"rank {self.rank} sends to {dest}, tag {tag}"
        request = receives.pop(0)
        request.size = bytes_of(memory)
        assert request.size <= request.room
        self._shared.sent += 1

    def irecv(self, memory: Any, source: int, tag: int) -> Any:
        yield from super().irecv(memory, source, tag)
        request = Request(bytes_of(memory))
        self._shared.receives[source, self.rank, tag].append(request)
        return request

    def recv(self, memory: Any, source: int, tag: int) -> Any:
        request = yield from self.irecv(memory, source, tag)
        yield from self.wait(request)

    def wait(self, request: Any) -> Any:
        while request.size < 0:
            yield f"rank {self.rank} waits"

    def _call(self, name: str, size: int) -> Any:
        super()._call(name, size)
        number, self._collectives = self._collectives, self._collectives + 1
        here = self._shared.collectives[number]
        here.append((name, size))
        while len(here) < self.size:
            yield f"rank {self.rank} is in {name}"
        assert len(set(here)) == 1


class Shared:
    """What all processes of a program have in common."""

    def __init__(self) -> None:
        self.receives: defaultdict[tuple[int, int, int], list[Request]] = defaultdict(list)
        self.collectives: defaultdict[int, list[tuple[str, int]]] = defaultdict(list)
        self.sent = 0


def count(main: Any, rank: int, size: int) -> tuple[Counting, Timed]:
    """Run one process of a program alone."""
    comm = Counting(rank, size)
    running = main(comm)
    try:
        next(running)
    except StopIteration as ended:
        return comm, ended.value
    raise AssertionError("a process that only counts has waited")


def count_all(main: Any, size: int) -> list[tuple[Counting, Timed]]:
    """Run all processes, each alone."""
    return [count(main, rank, size) for rank in range(size)]


def match(main: Any, size: int, most: int = 10**9) -> list[Matching]:
    """Run all processes of a program together to its end, or until so many messages are sent.

    A program that could only go on because the library keeps messages ends in an AssertionError.
    """
    shared = Shared()
    comms = [Matching(rank, size, shared) for rank in range(size)]
    left: dict[int, Generator[str, None, Any]] = {one.rank: main(one) for one in comms}
    where: dict[int, str] = {}
    before = -1
    while left and shared.sent < most:
        progress = sum(map(len, shared.receives.values())) + shared.sent
        progress += sum(map(len, shared.collectives.values()))
        assert progress != before, where
        before = progress
        for rank, running in list(left.items()):
            try:
                where[rank] = next(running)
            except StopIteration:
                del left[rank]
                before = -1
    assert left or not any(shared.receives.values())
    return comms
