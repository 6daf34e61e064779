"""Communicators that take no time: they count."""

from __future__ import annotations

from collections import Counter, defaultdict
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
        exchanged: bytes that each alltoallv sends to each and receives from each.
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
        return SimpleNamespace(wait=tuple)
        yield

    def recv(self, memory: Any, source: int, tag: int) -> Any:
        return self.irecv(memory, source, tag)

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

    def allreduce(self, own: Any, result: Any) -> Any:
        assert bytes_of(own) == bytes_of(result)
        return self._call("allreduce", bytes_of(own))

    def reduce(self, own: Any, result: Any) -> Any:
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
