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
        post: hands entries that the adapter has been told of to its queue.

    Attributes:
        max_wr, max_sge: requests that it holds, and pieces of memory of each.
        posted, retired: how many requests there were so far, and how many have completed.
    """

    changes: ClassVar[Changes] = Changes(counts="posted retired")

    def __init__(
        self,
        context: Context,
        queue: ReceiveQueue,
        limits: tuple[int, int],
        post: Callable[[Sequence[ReceiveWqe]], None],
    ) -> None:
        self.max_wr, self.max_sge = limits
        self.posted = self.retired = 0
        self._context = context
        self._queue, self._post = queue, post

    def reopen(self, queue: ReceiveQueue, post: Callable[[Sequence[ReceiveWqe]], None]) -> None:
        """Go on with an empty queue: nothing that was posted comes back."""
        self._queue, self._post = queue, post
        self.retired = self.posted

    def post_list(self, wrs: Sequence[RecvWR]) -> Generator[Event, object, None]:
        context = self._context
        context.sim.unrun.run()
        fault = self._fault(wrs)
        if fault is not None:
            if not fault.bad_wr:
                raise fault
            wrs = wrs[: fault.bad_wr]
        wqes = self._entries(wrs)
        yield context.core.work(context.costs.receiving(len(wqes)))
        context.store(DOORBELL_SIZE, context.adapter.ring, self._post, wqes)
        if fault is not None:
            raise fault

    def prepost(self, wr: RecvWR) -> None:
        """Post a request in no time, as while a program sets itself up."""
        if (fault := self._fault((wr,))) is not None:
            raise fault
        self._post(self._entries((wr,)))

    def fill(self, count: int, request: Callable[[int], RecvWR]) -> None:
        """Have so many requests, by number from 0, in an empty queue, posted long ago.

        They cost nothing before messages take them: what the adapter holds of a queue is on it.
        """
        if self.posted:
            raise VerbsError("EINVAL", "the receive queue has been used before")
        if count > self.max_wr:
            raise self._full()
        self.posted = count

        def entry(number: int) -> ReceiveWqe:
            return _entry(request(number), number + 1)

        # A map, because compiled code makes all of a generator expression at once.
        self._queue.fill(map(entry, range(count)), count)

    def _full(self, ahead: int = 0) -> VerbsError:
        outstanding = self.posted - self.retired + ahead
        return VerbsError(
            "ENOMEM", f"the receive queue is full: {outstanding} requests are outstanding"
        )

    def _fault(self, wrs: Sequence[RecvWR]) -> VerbsError | None:
        """What is wrong with the first request that cannot be posted, or nothing."""
        room = self.max_wr - self.posted + self.retired
        for ahead, wr in enumerate(wrs):
            if ahead >= room:
                fault = self._full(ahead)
            elif len(wr.sg_list) > self.max_sge:
                found, most = len(wr.sg_list), self.max_sge
                fault = VerbsError("EINVAL", f"{found} pieces of memory; allowed: up to {most}")
            elif (shortest := _shortest(wr)) < 0:
                fault = VerbsError("EINVAL", f"a piece of {shortest} bytes; allowed: from 0 on")
            else:
                continue
            fault.bad_wr = ahead
            return fault
        return None

    def _entries(self, wrs: Sequence[RecvWR]) -> list[ReceiveWqe]:
        first, self.posted = self.posted + 1, self.posted + len(wrs)
        return [_entry(wr, first + ahead) for ahead, wr in enumerate(wrs)]


def _shortest(wr: RecvWR) -> int:
    shortest = 0
    for one in wr.sg_list:
        shortest = min(shortest, one.length)
    return shortest


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
        self.receives = Receives(context, self.queue, (max_wr, max_sge), self.queue.post_list)
        self.modify(srq_limit)

    def modify(self, srq_limit: int) -> None:
        """Arm the limit, or disarm it by 0; ``EINVAL`` for more than the queue holds."""
        if not 0 <= srq_limit <= self.max_wr:
            raise VerbsError("EINVAL", f"srq_limit is {srq_limit}; allowed: 0 to {self.max_wr}")
        self.queue.arm(srq_limit, self._limit_reached)

    @property
    def srq_limit(self) -> int:
        return self.queue.limit

    def post_recv(self, wr: RecvWR) -> Generator[Event, object, None]:
        """Post a request and ring the doorbell; ``ENOMEM`` if the queue is full."""
        return self.context.made(self.receives.post_list((wr,)), "srq.post_recv")

    def post_recv_list(self, wrs: Sequence[RecvWR]) -> Generator[Event, object, None]:
        """Post requests with one doorbell, those before the first that has a fault (``bad_wr``)."""
        return self.context.made(self.receives.post_list(wrs), "srq.post_recv_list")

    def prepost_recv(self, wr: RecvWR) -> None:
        """Post a request in no time, as while a program sets itself up."""
        self.receives.prepost(wr)

    def retire(self, completion: Completion) -> None:
        """Entries come back in any order."""
        self.receives.retired += 1

    def _limit_reached(self) -> None:
        self.context.events.put(AsyncEvent(EventType.SRQ_LIMIT_REACHED, self))
