"""What an algorithm of a collective uses: messages between the ranks of one call, and copies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable
from math import lcm
from typing import Final

from hcasim.engine import Event
from hcasim.mpi.memory import Buffer, Bytes
from hcasim.mpi.message import Recv, Request, Steps
from hcasim.mpi.messages import Messages

Reduction = Callable[[Bytes, Bytes], Bytes]
UNIT: Final = 8
"""Bytes of the longest usual element."""
_STREAM: Final = 2**31
"""Between the tags of two streams; more calls than a program makes."""


def masks(count: int) -> list[int]:
    """The powers of two below a number."""
    return [1 << bit for bit in range((count - 1).bit_length())]


class Group:
    """One call of a collective in one process.

    Its messages have a context of their own, so that they never meet those of the program, and the
    number of the call as tag.

    Attributes:
        unit: bytes that are never divided: 8, or as many as hold whole elements.
    """

    def __init__(self, comm: Messages, tag: int, element: int = 1) -> None:
        self._comm = comm
        self._context = 2 * comm.context + 1
        self._tag = tag
        self.rank = comm.rank
        self.size = comm.size
        self.unit = lcm(UNIT, element)
        # By size, how many there are.
        self._temporaries: Counter[int] = Counter()

    def isend(
        self, buffer: Buffer, dest: int, stream: int = 0
    ) -> Generator[Event, object, Request]:
        tag = self._tag + stream * _STREAM
        return (yield from self._comm.post(buffer, dest, tag, self._context))

    def irecv(self, buffer: Buffer, source: int, stream: int = 0) -> Generator[Event, object, Recv]:
        delivery, tag = self._comm.process.delivery, self._tag + stream * _STREAM
        return (yield from delivery.irecv(buffer, source, tag, self._context))

    def send(self, buffer: Buffer, dest: int) -> Steps:
        request = yield from self.isend(buffer, dest)
        yield from request.wait()

    def recv(self, buffer: Buffer, source: int) -> Steps:
        request = yield from self.irecv(buffer, source)
        yield from request.wait()

    def exchange(self, outgoing: Buffer, dest: int, incoming: Buffer, source: int) -> Steps:
        expected = yield from self.irecv(incoming, source)
        sent = yield from self.isend(outgoing, dest)
        yield from self._comm.waitall((expected, sent))

    def around(self, blocks: list[Buffer], first: int) -> Steps:
        """Pass blocks on to the right until all have come round, the ``first``-th block first."""
        rank, count = self.rank, self.size
        for step in range(count - 1):
            outgoing, incoming = blocks[(first - step) % count], blocks[(first - step - 1) % count]
            yield from self.exchange(outgoing, (rank + 1) % count, incoming, (rank - 1) % count)

    def doubling(self, whole: Buffer, each: int, root: int = 0) -> Steps:
        """Exchange ever more blocks, of ``each`` bytes, with ever farther ranks of a power of two.

        Each process has one of the blocks, counted from the root.
        """
        own = (self.rank - root) % self.size
        for mask in masks(self.size):
            other = own ^ mask
            peer = (other + root) % self.size
            kept, given = own & -mask, other & -mask
            yield from self.exchange(
                whole.block(each, kept, mask), peer, whole.block(each, given, mask), peer
            )

    def shifts(self) -> list[tuple[int, int]]:
        rank, count = self.rank, self.size
        return [((rank + step) % count, (rank - step) % count) for step in range(1, count)]

    def share(self, size: int, count: int) -> int:
        """Bytes of each of so many parts, the last ones of which may have less: whole units."""
        return -(-size // count // self.unit) * self.unit

    def waitall(self, requests: list[Request]) -> Steps:
        yield from self._comm.waitall(requests)

    def waitany(self, requests: list[Request]) -> Generator[Event, object, int]:
        place = yield from self._comm.waitany(requests)
        assert place is not None
        return place

    def nothing(self, *_: object) -> Steps:
        """Return at once, as MPICH and MVAPICH do with nothing to send; assumed to cost a send."""
        process = self._comm.process
        yield process.context.core.work(process.calls.send)
        process.tell("call")

    def copy(self, source: Buffer, to: Buffer) -> Steps:
        if source.size and source.address != to.address:
            process = self._comm.process
            yield process.context.core.copy(source.size, source.address, to.address)
            process.tell("copy")
        to.put(source.take(source.size))

    def turn_right(self, source: Buffer, to: Buffer, by: int) -> Steps:
        """Copy to ``by`` bytes farther on, and what would be behind the end to the beginning."""
        kept = source.size - by
        yield from self.copy(source.part(0, kept), to.part(by, kept))
        yield from self.copy(source.part(kept, by), to.part(0, by))

    def turn_left(self, source: Buffer, to: Buffer, by: int) -> Steps:
        kept = source.size - by
        yield from self.copy(source.part(by, kept), to.part(0, kept))
        yield from self.copy(source.part(0, by), to.part(kept, by))

    def copies(self, pairs: Iterable[tuple[Buffer, Buffer]]) -> Steps:
        pieces = []
        for source, to in pairs:
            if source.size and source.address != to.address:
                pieces.append((source.size, source.address, to.address))
            to.put(source.take(source.size))
        process = self._comm.process
        yield from process.context.core.copies(pieces)
        if pieces:
            process.tell("copy")

    def combine(self, into: Buffer, other: Buffer, operation: Reduction | None) -> Steps:
        """Combine operands into the first; the processor reads both, unless an accelerator does."""
        if not into.size:
            return
        process = self._comm.process
        core, rate = process.context.core, process.combine_rate
        if rate is None:
            yield core.copy(into.size, other.address, into.address)
        else:
            yield core.work(round(into.size / rate * 1e12))
        process.tell("combine")
        if into.data is not None and other.data is not None and operation is not None:
            into.data[:] = operation(into.data, other.data)

    def temporary(self, size: int, like: Buffer) -> Buffer:
        data: Bytes | None = None
        if like.data is not None:
            from numpy import zeros

            data = zeros(size, dtype="uint8")
        number = self._temporaries[size]
        self._temporaries[size] += 1
        return self._comm.process.heap.temporary(size, number, data)
