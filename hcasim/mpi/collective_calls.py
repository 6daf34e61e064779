"""The collective calls of a communicator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hcasim.catalog.algorithms import algorithm_fault, choose
from hcasim.mpi.buffer import Buffer
from hcasim.mpi.collectives import ALGORITHMS, Group, Steps
from hcasim.mpi.collectives.alltoall import all_at_once
from hcasim.mpi.errors import MPIError
from hcasim.mpi.messages import Memory, Messages
from hcasim.mpi.process import Process

Operation = Callable[[Any, Any], Any]
_Algorithm = Callable[..., Steps]


class CollectiveCalls(Messages):
    """Collectives; each process of the communicator has to call them in the same order.

    Without ``algorithm`` the stack's rules choose it by size and number of processes.
    Operations are NumPy functions of two arrays, such as ``numpy.add``, taken to be commutative.

    Parameters:
        algorithms: by collective, those to use in place of what the rules say.

    Attributes:
        algorithm: of the last call; none before the first, and of one without data.
    """

    def __init__(
        self,
        process: Process,
        members: Sequence[int],
        context: int,
        algorithms: Mapping[str, str],
    ) -> None:
        super().__init__(process, members, context)
        self._algorithms = algorithms
        self._calls = 0

    def _begin(
        self, collective: str, size: int, algorithm: str, operand: Memory = None
    ) -> tuple[Group, _Algorithm]:
        rules: str = getattr(self.process.library.collectives, collective)
        name = algorithm or self._algorithms.get(collective) or ""
        name = name or choose(collective, rules, size, self.size)
        if fault := algorithm_fault(collective, name):
            raise self.refusal("MPI_ERR_ARG", collective, f"algorithm: {fault}")
        self._calls += 1
        self.process.collective = collective
        empty = not size and collective != "barrier"
        self.algorithm = "" if empty else name
        element = operand.dtype.itemsize if hasattr(operand, "dtype") else 1
        return Group(self, self._calls, element), Group.nothing if empty else ALGORITHMS[
            collective
        ][name]

    def _root(self, root: int) -> None:
        if not 0 <= root < self.size:
            raise MPIError("MPI_ERR_ROOT", f"root is {root}; allowed: 0 to {self.size - 1}")

    def _fits(self, call: str, whole: Buffer, part: Buffer) -> None:
        if whole.size != part.size * self.size:
            raise self.refusal(
                "MPI_ERR_COUNT",
                call,
                f"{whole.size} bytes for {self.size} processes of {part.size} bytes each",
            )

    def _result(self, call: str, own: Memory, result: Memory) -> Buffer:
        """Where a reduction stores elements of the operands."""
        dtype, found = (getattr(memory, "dtype", None) for memory in (own, result))
        if dtype is not None and found is not None and found != dtype:
            wanted = f"found a result of {found}; needed: {dtype}, as the operand is"
            raise self.refusal("MPI_ERR_TYPE", call, wanted)
        return self.target(result, call)

    def _as_long(self, call: str, operand: Buffer, into: Buffer) -> None:
        if into.size != operand.size:
            wanted = (
                f"found a result of {into.size} B; needed: {operand.size} B, as the operand has"
            )
            raise self.refusal("MPI_ERR_COUNT", call, wanted)

    def bcast(self, memory: Memory, root: int = 0, algorithm: str = "") -> Steps:
        """Send what the root has to all."""
        self._root(root)
        at_root = self.rank == root
        buffer = self.buffer(memory) if at_root else self.target(memory, "bcast")
        group, run = self._begin("bcast", buffer.size, algorithm)
        yield from run(group, buffer, root)

    def barrier(self, algorithm: str = "") -> Steps:
        """Wait until all have called it."""
        group, run = self._begin("barrier", 0, algorithm)
        yield from run(group)

    def allgather(self, own: Memory, gathered: Memory, algorithm: str = "") -> Steps:
        """Give all what each has, in the order of ranks."""
        part, whole = self.buffer(own), self.target(gathered, "allgather")
        self._fits("allgather", whole, part)
        group, run = self._begin("allgather", part.size, algorithm)
        yield from run(group, part, whole)

    def alltoall(self, outgoing: Memory, incoming: Memory, algorithm: str = "") -> Steps:
        """Send a part to each and receive one from each, in the order of ranks."""
        out, into = self.buffer(outgoing), self.target(incoming, "alltoall")
        if out.size != into.size or out.size % self.size:
            raise MPIError(
                "MPI_ERR_COUNT", f"{out.size} and {into.size} bytes for {self.size} processes"
            )
        group, run = self._begin("alltoall", out.size // self.size, algorithm)
        yield from run(group, out, into)

    def alltoallv(
        self,
        outgoing: Memory,
        send_counts: Sequence[int],
        incoming: Memory,
        recv_counts: Sequence[int],
    ) -> Steps:
        """Send each so many bytes and receive from each so many, one behind the other.

        Raises:
            MPIError: ``MPI_ERR_COUNT`` for counts of other processes, below 0, or that together are
                more than the buffer.
        """
        out, into = self.buffer(outgoing), self.target(incoming, "alltoallv")
        self._calls += 1
        self.process.collective = "alltoallv"
        group = Group(self, self._calls)
        if len(send_counts) != self.size or len(recv_counts) != self.size:
            raise MPIError("MPI_ERR_COUNT", f"counts for {self.size} processes are needed")
        for buffer, counts, what in ((out, send_counts, "send"), (into, recv_counts, "receive")):
            if min(counts) < 0 or sum(counts) > buffer.size:
                found = f"{list(counts)} bytes to {what}; the buffer has {buffer.size}"
                raise self.refusal("MPI_ERR_COUNT", "alltoallv", found)
        sends, recvs = _starts(send_counts), _starts(recv_counts)
        yield from all_at_once(
            group,
            [out.part(*one) for one in zip(sends, send_counts, strict=True)],
            [into.part(*one) for one in zip(recvs, recv_counts, strict=True)],
        )

    def reduce(
        self,
        own: Memory,
        result: Memory,
        operation: Operation | None = None,
        root: int = 0,
        algorithm: str = "",
    ) -> Steps:
        """Combine what all have at the root."""
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
        self,
        own: Memory,
        result: Memory,
        operation: Operation | None = None,
        algorithm: str = "",
    ) -> Steps:
        """Combine what all have at all."""
        operand, into = self.buffer(own), self._result("allreduce", own, result)
        self._as_long("allreduce", operand, into)
        group, run = self._begin("allreduce", operand.size, algorithm, own)
        yield from group.copy(operand, into)
        yield from run(group, into, _on_bytes(operation, own))

    def reduce_scatter(
        self,
        own: Memory,
        result: Memory,
        operation: Operation | None = None,
        algorithm: str = "",
    ) -> Steps:
        """Combine what all have, and give each an equal part of it."""
        operands, into = self.buffer(own), self._result("reduce_scatter", own, result)
        self._fits("reduce_scatter", operands, into)
        group, run = self._begin("reduce_scatter", operands.size, algorithm, own)
        yield from run(group, operands, into, _on_bytes(operation, own))

    def gather(
        self, own: Memory, gathered: Memory = None, root: int = 0, algorithm: str = ""
    ) -> Steps:
        """Give the root what each has, in the order of ranks."""
        self._root(root)
        part = self.buffer(own)
        whole = self.target(gathered, "gather") if self.rank == root else None
        if whole is not None:
            self._fits("gather", whole, part)
        group, run = self._begin("gather", part.size, algorithm)
        yield from run(group, part, whole, root)

    def scatter(self, parts: Memory, own: Memory, root: int = 0, algorithm: str = "") -> Steps:
        """Give each its part of what the root has, in the order of ranks."""
        self._root(root)
        part = self.target(own, "scatter")
        whole = self.buffer(parts) if self.rank == root else None
        if whole is not None:
            self._fits("scatter", whole, part)
        group, run = self._begin("scatter", part.size, algorithm)
        yield from run(group, whole, part, root)


def _starts(counts: Sequence[int]) -> list[int]:
    starts, at = [], 0
    for number in counts:
        starts.append(at)
        at += number
    return starts


def _on_bytes(operation: Operation | None, like: Memory) -> Operation | None:
    """An operation on elements, the sum unless another is asked for, as one on their bytes."""
    if like is None or isinstance(like, Buffer | int):
        return None
    from numpy import add

    dtype, combine = like.dtype, operation or add
    return lambda one, other: (
        combine(one.view(dtype), other.view(dtype)).astype(dtype).view("uint8")
    )
