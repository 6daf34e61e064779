"""Communicators, with the calls of mpi4py; those that take time are generators."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from itertools import accumulate
from typing import Any

from hcasim.catalog.algorithms import algorithm_fault, choose
from hcasim.engine import Event
from hcasim.mpi.collectives import ALGORITHMS, INSTEAD, Group, exchanges, rooted
from hcasim.mpi.memory import Buffer
from hcasim.mpi.message import MPIError, Steps
from hcasim.mpi.messages import Memory, Messages
from hcasim.mpi.process import Process

Operation = Callable[[Any, Any], Any]
_Algorithm = Callable[..., Steps]


class Program:
    """What all communicators of a program have in common, such as algorithms chosen by name."""

    def __init__(self, algorithms: Mapping[str, str]) -> None:
        self.algorithms = algorithms
        self._contexts: dict[tuple[int, int, int], int] = {}

    def context(self, parent: int, serial: int, color: int) -> int:
        return self._contexts.setdefault((parent, serial, color), len(self._contexts) + 1)


class Comm(Messages):
    """A group of processes, as one of them sees it.

    Each process of the group has to call collectives in the same order. Without ``algorithm`` the
    stack's rules choose it by size and number of processes. Operations are NumPy functions of two
    arrays, such as ``numpy.add``, taken to be commutative. Those with a count for each process, in
    bytes, have one algorithm each: gather and scatter are linear, and the allgather is the ring of
    long parts (MPICH2 1.0.3, src/mpi/coll).

    Attributes:
        algorithm: of the last collective; none before the first, and of one without data.
    """

    def __init__(
        self, process: Process, members: Sequence[int], context: int, program: Program
    ) -> None:
        super().__init__(process, members, context)
        self._calls = self._splits = 0
        self._program = program

    def subgroup(self, members: Sequence[int], number: int) -> Comm:
        """Return a communicator of some ranks, which all of them know already; takes no time. The
        number tells it from others, the same for all its members.
        """
        return self._part(members, -1 - number, 0)

    def _part(self, ranks: Sequence[int], serial: int, color: int) -> Comm:
        context = self._program.context(self.context, serial, color)
        return Comm(self.process, [self.members[rank] for rank in ranks], context, self._program)

    def Split(self, color: int, key: int = 0) -> Generator[Event, object, Comm | None]:
        """Make a communicator of those with the same color, if not below 0, by key and rank."""
        from numpy import array, empty

        self._splits += 1
        own = array([color, key], dtype="int64")
        every = empty((self.size, 2), dtype="int64")
        yield from self.allgather(own, every)
        if color < 0:
            return None
        chosen = [rank for rank in range(self.size) if every[rank, 0] == color]
        chosen.sort(key=lambda rank: (every[rank, 1], rank))
        return self._part(chosen, self._splits, color)

    def _begin(
        self, collective: str, size: int, algorithm: str, operand: Memory = None
    ) -> tuple[Group, _Algorithm]:
        rules: str = getattr(self.process.library.collectives, collective)
        name = algorithm or self._program.algorithms.get(collective) or ""
        name = name or choose(collective, rules, size, self.size)
        if fault := algorithm_fault(collective, name):
            raise self.refusal("MPI_ERR_ARG", collective, f"algorithm: {fault}")
        group = self._group(collective, getattr(getattr(operand, "dtype", None), "itemsize", 1))
        if not size and collective != "barrier":
            self.algorithm = ""
            return group, Group.nothing
        if self.size & (self.size - 1):
            name = INSTEAD.get((collective, name), name)
        self.algorithm = name
        return group, ALGORITHMS[collective][name]

    def _group(self, collective: str, element: int = 1) -> Group:
        self._calls += 1
        self.process.collective = collective
        return Group(self, self._calls, element)

    def _root(self, root: int) -> None:
        if not 0 <= root < self.size:
            raise MPIError("MPI_ERR_ROOT", f"root is {root}; allowed: 0 to {self.size - 1}")

    def _fits(self, call: str, whole: Buffer, part: Buffer) -> None:
        if whole.size != part.size * self.size:
            found = f"{whole.size} bytes for {self.size} processes of {part.size} bytes each"
            raise self.refusal("MPI_ERR_COUNT", call, found)

    def _parts(
        self, call: str, whole: Buffer, counts: Sequence[int], words: str = "parts of {} bytes"
    ) -> list[Buffer]:
        if len(counts) != self.size:
            raise MPIError("MPI_ERR_COUNT", f"counts for {self.size} processes are needed")
        if min(counts) < 0 or sum(counts) > whole.size:
            found = f"{words.format(list(counts))}; the buffer has {whole.size}"
            raise self.refusal("MPI_ERR_COUNT", call, found)
        starts = accumulate(counts, initial=0)
        return [whole.part(start, count) for start, count in zip(starts, counts, strict=False)]

    def _own(self, call: str, part: Buffer, counts: Sequence[int]) -> None:
        if part.size != counts[self.rank]:
            found = f"a part of {part.size} B; its count is {counts[self.rank]}"
            raise self.refusal("MPI_ERR_COUNT", call, found)

    def _result(self, call: str, own: Memory, result: Memory) -> Buffer:
        dtype, found = (getattr(memory, "dtype", None) for memory in (own, result))
        if dtype is not None and found is not None and found != dtype:
            wanted = f"found a result of {found}; needed: {dtype}, as the operand is"
            raise self.refusal("MPI_ERR_TYPE", call, wanted)
        return self.target(result, call)

    def _as_long(self, call: str, operand: Buffer, into: Buffer) -> None:
        if into.size != operand.size:
            found = f"found a result of {into.size} B; needed: {operand.size} B"
            raise self.refusal("MPI_ERR_COUNT", call, f"{found}, as the operand has")

    def bcast(self, memory: Memory, root: int = 0, algorithm: str = "") -> Steps:
        self._root(root)
        at_root = self.rank == root
        buffer = self.buffer(memory) if at_root else self.target(memory, "bcast")
        group, run = self._begin("bcast", buffer.size, algorithm)
        yield from run(group, buffer, root)

    def barrier(self, algorithm: str = "") -> Steps:
        group, run = self._begin("barrier", 0, algorithm)
        yield from run(group)

    def allgather(self, own: Memory, gathered: Memory, algorithm: str = "") -> Steps:
        part, whole = self.buffer(own), self.target(gathered, "allgather")
        self._fits("allgather", whole, part)
        group, run = self._begin("allgather", part.size, algorithm)
        yield from run(group, part, whole)

    def alltoall(self, outgoing: Memory, incoming: Memory, algorithm: str = "") -> Steps:
        """Send a part to each and receive one from each, in the order of ranks."""
        out, into = self.buffer(outgoing), self.target(incoming, "alltoall")
        if out.size != into.size or out.size % self.size:
            found = f"{out.size} and {into.size} bytes for {self.size} processes"
            raise MPIError("MPI_ERR_COUNT", found)
        group, run = self._begin("alltoall", out.size // self.size, algorithm)
        yield from run(group, out, into)

    def alltoallv(
        self,
        outgoing: Memory,
        send_counts: Sequence[int],
        incoming: Memory,
        recv_counts: Sequence[int],
    ) -> Steps:
        out, into = self.buffer(outgoing), self.target(incoming, "alltoallv")
        sends = self._parts("alltoallv", out, send_counts, "{} bytes to send")
        recvs = self._parts("alltoallv", into, recv_counts, "{} bytes to receive")
        yield from exchanges.all_at_once(self._group("alltoallv"), sends, recvs)

    def reduce(
        self,
        own: Memory,
        result: Memory,
        operation: Operation | None = None,
        root: int = 0,
        algorithm: str = "",
    ) -> Steps:
        self._root(root)
        operand = self.buffer(own)
        place = self._result("reduce", own, result) if self.rank == root else None
        if place is not None:
            self._as_long("reduce", operand, place)
        group, run = self._begin("reduce", operand.size, algorithm, own)
        into = place or group.temporary(operand.size, operand)
        yield from group.copy(operand, into)
        yield from run(group, into, _on_bytes(operation, own), root)

    def allreduce(
        self, own: Memory, result: Memory, operation: Operation | None = None, algorithm: str = ""
    ) -> Steps:
        operand, into = self.buffer(own), self._result("allreduce", own, result)
        self._as_long("allreduce", operand, into)
        group, run = self._begin("allreduce", operand.size, algorithm, own)
        yield from group.copy(operand, into)
        yield from run(group, into, _on_bytes(operation, own))

    def reduce_scatter(
        self, own: Memory, result: Memory, operation: Operation | None = None, algorithm: str = ""
    ) -> Steps:
        operands, into = self.buffer(own), self._result("reduce_scatter", own, result)
        self._fits("reduce_scatter", operands, into)
        group, run = self._begin("reduce_scatter", operands.size, algorithm, own)
        yield from run(group, operands, into, _on_bytes(operation, own))

    def gather(
        self, own: Memory, gathered: Memory = None, root: int = 0, algorithm: str = ""
    ) -> Steps:
        self._root(root)
        part = self.buffer(own)
        whole = self.target(gathered, "gather") if self.rank == root else None
        if whole is not None:
            self._fits("gather", whole, part)
        group, run = self._begin("gather", part.size, algorithm)
        yield from run(group, part, whole, root)

    def scatter(self, parts: Memory, own: Memory, root: int = 0, algorithm: str = "") -> Steps:
        self._root(root)
        part = self.target(own, "scatter")
        whole = self.buffer(parts) if self.rank == root else None
        if whole is not None:
            self._fits("scatter", whole, part)
        group, run = self._begin("scatter", part.size, algorithm)
        yield from run(group, whole, part, root)

    def gatherv(
        self, own: Memory, gathered: Memory = None, counts: Sequence[int] = (), root: int = 0
    ) -> Steps:
        self._root(root)
        part = self.buffer(own)
        parts = None
        if self.rank == root:
            parts = self._parts("gatherv", self.target(gathered, "gatherv"), counts)
            self._own("gatherv", part, counts)
        yield from rooted.gatherv_linear(self._group("gatherv"), part, parts, root)

    def scatterv(self, parts: Memory, counts: Sequence[int], own: Memory, root: int = 0) -> Steps:
        self._root(root)
        part = self.target(own, "scatterv")
        outgoing = None
        if self.rank == root:
            outgoing = self._parts("scatterv", self.buffer(parts), counts)
            self._own("scatterv", part, counts)
        yield from rooted.scatterv_linear(self._group("scatterv"), outgoing, part, root)

    def allgatherv(self, own: Memory, gathered: Memory, counts: Sequence[int]) -> Steps:
        part = self.buffer(own)
        parts = self._parts("allgatherv", self.target(gathered, "allgatherv"), counts)
        self._own("allgatherv", part, counts)
        yield from exchanges.allgatherv_ring(self._group("allgatherv"), part, parts)


def _on_bytes(operation: Operation | None, like: Memory) -> Operation | None:
    """An operation on elements, the sum unless another is asked for, as one on their bytes."""
    if like is None or isinstance(like, Buffer | int):
        return None
    from numpy import add

    dtype, combine = like.dtype, operation or add
    return lambda one, other: (
        combine(one.view(dtype), other.view(dtype)).astype(dtype).view("uint8")
    )
