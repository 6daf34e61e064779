"""Collectives with a count for each process, without a choice of algorithms."""

from __future__ import annotations

from collections.abc import Sequence

from hcasim.mpi.buffer import Buffer
from hcasim.mpi.collective_calls import CollectiveCalls
from hcasim.mpi.collectives import Group, Steps
from hcasim.mpi.collectives.vectors import allgatherv_ring, gatherv_linear, scatterv_linear
from hcasim.mpi.errors import MPIError
from hcasim.mpi.messages import Memory


class VectorCalls(CollectiveCalls):
    """Gather and scatter of parts that differ; counts are bytes, one part behind the other.

    Source: MPICH2 1.0.3, src/mpi/coll: gatherv and scatterv are linear, and allgatherv of long
    parts is a ring.
    """

    def gatherv(
        self, own: Memory, gathered: Memory = None, counts: Sequence[int] = (), root: int = 0
    ) -> Steps:
        """Give the root what each has, in the order of ranks.

        Raises:
            MPIError: ``MPI_ERR_COUNT`` at the root for counts that do not fit.
        """
        self._root(root)
        part = self.buffer(own)
        parts = None
        if self.rank == root:
            parts = self._parts("gatherv", self.target(gathered, "gatherv"), counts)
            self._own("gatherv", part, counts)
        yield from gatherv_linear(self._group("gatherv"), part, parts, root)

    def scatterv(self, parts: Memory, counts: Sequence[int], own: Memory, root: int = 0) -> Steps:
        """Give each its part of what the root has, in the order of ranks.

        Raises:
            MPIError: ``MPI_ERR_COUNT`` at the root for counts that do not fit.
        """
        self._root(root)
        part = self.target(own, "scatterv")
        outgoing = None
        if self.rank == root:
            outgoing = self._parts("scatterv", self.buffer(parts), counts)
            self._own("scatterv", part, counts)
        yield from scatterv_linear(self._group("scatterv"), outgoing, part, root)

    def allgatherv(self, own: Memory, gathered: Memory, counts: Sequence[int]) -> Steps:
        """Give all what each has, in the order of ranks.

        Raises:
            MPIError: ``MPI_ERR_COUNT`` for counts that do not fit.
        """
        part = self.buffer(own)
        parts = self._parts("allgatherv", self.target(gathered, "allgatherv"), counts)
        self._own("allgatherv", part, counts)
        yield from allgatherv_ring(self._group("allgatherv"), part, parts)

    def _group(self, call: str) -> Group:
        self._calls += 1
        self.process.collective = call
        return Group(self, self._calls)

    def _parts(self, call: str, whole: Buffer, counts: Sequence[int]) -> list[Buffer]:
        if len(counts) != self.size:
            raise MPIError("MPI_ERR_COUNT", f"counts for {self.size} processes are needed")
        if min(counts) < 0 or sum(counts) > whole.size:
            found = f"parts of {list(counts)} bytes; the buffer has {whole.size}"
            raise self.refusal("MPI_ERR_COUNT", call, found)
        parts, at = [], 0
        for count in counts:
            parts.append(whole.part(at, count))
            at += count
        return parts

    def _own(self, call: str, part: Buffer, counts: Sequence[int]) -> None:
        if part.size != counts[self.rank]:
            found = f"a part of {part.size} B; its count is {counts[self.rank]}"
            raise self.refusal("MPI_ERR_COUNT", call, found)
