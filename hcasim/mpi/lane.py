"""A queue pair to another process."""

from __future__ import annotations

from collections import deque
from typing import Any, Final

from hcasim.catalog.mpi import Mpi
from hcasim.engine import Probe
from hcasim.mpi.message import MpiPacket, Poster, Steps, Todo, Way
from hcasim.mpi.path import OWN, Mark
from hcasim.verbs import CQ, QP, SendWR

DEPTH: Final = 200
"""Entries of the send queue (MVAPICH2, vapi_param.c: rdma_default_max_wqe, 200 of them used)."""
FEWEST_SPARE: Final = 8


def spare(library: Mpi) -> int:
    """Receives for packets that only give credits back, of which so many may be under way."""
    least: int = library.queue.receives // (library.queue.credit_return + 1)
    if library.ring is not None:
        least += library.ring.slots // (library.ring.credit_return + 1)
    return max(FEWEST_SPARE, least)


def tell_post(probe: Probe, operation: int, what: MpiPacket | str) -> None:
    """Tell that an operation has begun to carry a packet, or what a word says."""
    if isinstance(what, MpiPacket):
        what.operation = operation
        probe.event(f"post {what.kind.value}", operation, what)
    else:
        probe.event(f"post {what}", operation)


class Lane:
    """One queue pair of a connection, over a port of the adapter, from 0.

    Attributes:
        received: deals with a packet in its receive queue.
        moderation: requests of which one asks for a completion.
        receives: packets that may wait there, as far as the adapter takes so many.
    """

    received: Todo

    def __init__(self, way: Way, library: Mpi, cq: CQ, port: int) -> None:
        process = way.process
        self.way = way
        limits, stack = process.context.adapter.description.limits, process.context.stack
        self.max_inline = min(library.queue.inline, limits.max_inline, stack.max_inline)
        self._probe: Probe = process.context.probe
        self.receives = min(library.queue.receives, limits.max_wr - spare(library))
        self._depth = min(DEPTH, limits.max_wr)
        self.moderation = library.eager.moderation
        self.hold(self._depth)
        self.qp = QP(
            process.pd,
            cq,
            cq,
            max_send_wr=self._depth,
            max_recv_wr=self.receives + spare(library),
            max_inline_data=self.max_inline,
            port_num=port + 1,
        )
        self._posted: deque[tuple[Poster | None, Any, int, Mark | None, bool]] = deque()
        self._silent = 0

    def hold(self, places: int) -> None:
        """Ask for completions so often that never all of so many places wait for one."""
        self.moderation = max(1, min(self.moderation, places // 2))

    def post(
        self, wr: SendWR, poster: Poster | None, what: MpiPacket | str, awaited: bool = False
    ) -> Steps:
        while len(self._posted) >= self._depth:
            yield from self.way.process.drain()
        process = self.way.process
        mark = None if process.path is None else process.path.mark(process.context.sim.now)
        self._silent += 1
        wr.signaled = awaited or self._silent >= self.moderation
        if wr.signaled:
            self._silent = 0
        operation = yield from self.qp.post_send(wr)
        self._posted.append((poster, what, operation, mark, wr.signaled))
        if self._probe.listeners:
            tell_post(self._probe, operation, what)

    @property
    def oldest(self) -> int:
        return self._posted[0][2]

    def completed(self) -> None:
        """A completion is that of the requests without one before it, too."""
        path, signaled = self.way.process.path, False
        while not signaled:
            poster, what, _, mark, signaled = self._posted.popleft()
            if signaled and path is not None and mark is not None:
                path.adopt(mark, OWN)
            if poster is not None:
                poster.completed(what)
