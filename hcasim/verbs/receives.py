"""Receive queues as a process sees them: a queue pair's own, and those that several share."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import ClassVar

from hcasim.engine import Event
from hcasim.engine.changes import Changes
from hcasim.hca import Completion, ReceiveWqe
from hcasim.hca.events import EventType
from hcasim.hca.qp.queues import ReceiveQueue
from hcasim.hca.wqe import DOORBELL_SIZE, entry_layout
from hcasim.verbs.context import Context, VerbsError
from hcasim.verbs.events import AsyncEvent
from hcasim.verbs.memory import PD
from hcasim.verbs.requests import RecvWR, memory_of


class Receives:
    """What a process has posted to a receive queue and not seen completed.

    Args:
        post: hands an entry that the adapter has been told of to its queue.
    """

    changes: ClassVar[Changes] = Changes(counts="_posted retired")

    def __init__(
        self,
        context: Context,
        queue: ReceiveQueue,
        limits: tuple[int, int],
        post: Callable[[ReceiveWqe], None],
    ) -> None:
        self.queue = queue
        self.retired = 0
        self._context = context
        self._max_wr, self._max_sge = limits
        self._posted = 0
        self._post = post

    def post_list(self, wrs: Sequence[RecvWR]) -> Generator[Event, object, None]:
        context = self._context
        context.sim.unrun.run()
        wqes = self._entries(wrs)
        yield context.core.work(context.costs.receiving(len(wqes)))
        context.node.bus.mmio_write(DOORBELL_SIZE, context.adapter.ring, _arrive, self._post, wqes)

    @property
    def posted(self) -> int:
        return self._posted

    @property
    def outstanding(self) -> int:
        return self._posted - self.retired

    def begin_anew(self, queue: ReceiveQueue, post: Callable[[ReceiveWqe], None]) -> None:
        """Forget what has been posted, as the queue is another one now."""
        self.retired, self.queue, self._post = self._posted, queue, post

    def prepost(self, wr: RecvWR) -> None:
        """Post a request in no time, as while a program sets itself up."""
        _arrive(self._post, self._entries((wr,)))

    def fill(self, count: int, request: Callable[[int], RecvWR]) -> None:
        """Have so many requests, by number from 0, in an empty queue, posted long ago.

        They cost nothing before messages take them: what the adapter holds of a queue is on it.
        """
        if self._posted:
            raise VerbsError("EINVAL", "the receive queue has been used before")
        self._check(count)
        self._posted = count

        def entry(number: int) -> ReceiveWqe:
            return _entry(request(number), number + 1)

        # A map, because compiled code makes all of a generator expression at once.
        self.queue.fill(map(entry, range(count)), count)

    def _check(self, count: int) -> None:
        outstanding = self.outstanding
        if outstanding + count > self._max_wr:
            raise VerbsError(
                "ENOMEM", f"the receive queue is full: {outstanding} requests are outstanding"
            )

    def _entries(self, wrs: Sequence[RecvWR]) -> list[ReceiveWqe]:
        self._check(len(wrs))
        for wr in wrs:
            if len(wr.sg_list) > self._max_sge:
                found, most = len(wr.sg_list), self._max_sge
                raise VerbsError("EINVAL", f"{found} pieces of memory; allowed: up to {most}")
        first, self._posted = self._posted + 1, self._posted + len(wrs)
        return [_entry(wr, first + ahead) for ahead, wr in enumerate(wrs)]


def _arrive(post: Callable[[ReceiveWqe], None], wqes: Sequence[ReceiveWqe]) -> None:
    for wqe in wqes:
        post(wqe)


def _entry(wr: RecvWR, posted: int) -> ReceiveWqe:
    address, length, key, pieces = memory_of(wr.sg_list)
    return ReceiveWqe(wr.wr_id, posted, address, length, key, wr.signaled, pieces=pieces)


class SRQ:
    """A shared receive queue, from which messages of several queue pairs take entries in turn.

    Args:
        max_wr: entries.
        max_sge: pieces of memory of an entry.
        srq_limit: as long as it is not 0, the process hears of SRQ_LIMIT_REACHED when fewer
            entries are left; the limit is 0 then (ibv_modify_srq).

    Raises:
        VerbsError: ``EINVAL`` for a limit of the adapter; ``EOPNOTSUPP`` over iWARP.
    """

    def __init__(self, pd: PD, *, max_wr: int = 128, max_sge: int = 1, srq_limit: int = 0) -> None:
        self.context = context = pd.context
        limits = context.adapter.description.limits
        for what, value, low, high in (
            ("max_wr", max_wr, 1, limits.max_wr),
            ("max_sge", max_sge, 1, limits.max_sge),
        ):
            if not low <= value <= high:
                raise VerbsError("EINVAL", f"{what} is {value}; allowed: {low} to {high}")
        self.pd = pd
        self.max_wr = max_wr
        self.max_sge = max_sge
        stride = entry_layout(context.adapter.description.wqe).receive(max_sge)
        address = context.node.allocate(max_wr * stride, written=True)
        self.queue = context.adapter.create_srq(max_wr, stride, address)
        self.queue.on_limit = self._limit_reached
        self.receives = Receives(context, self.queue, (max_wr, max_sge), self.queue.post)
        self.modify(srq_limit)

    def modify(self, srq_limit: int) -> None:
        """Arm the limit, or disarm it by 0; ``EINVAL`` for more than the queue holds."""
        if not 0 <= srq_limit <= self.max_wr:
            raise VerbsError("EINVAL", f"srq_limit is {srq_limit}; allowed: 0 to {self.max_wr}")
        self.queue.limit = srq_limit

    @property
    def srq_limit(self) -> int:
        return self.queue.limit

    def post_recv(self, wr: RecvWR) -> Generator[Event, object, None]:
        """Post a request and ring the doorbell; ``ENOMEM`` if the queue is full."""
        return self.context.made(self.receives.post_list((wr,)), "srq.post_recv")

    def post_recv_list(self, wrs: Sequence[RecvWR]) -> Generator[Event, object, None]:
        """Post requests with one doorbell, all or none."""
        return self.context.made(self.receives.post_list(wrs), "srq.post_recv_list")

    def prepost_recv(self, wr: RecvWR) -> None:
        """Post a request in no time, as while a program sets itself up."""
        self.receives.prepost(wr)

    def retire(self, completion: Completion) -> None:
        """Entries come back in any order."""
        self.receives.retired += 1

    def _limit_reached(self) -> None:
        self.context.events.put(AsyncEvent(EventType.SRQ_LIMIT_REACHED, self))
