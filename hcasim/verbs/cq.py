"""Completion queues."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator

from hcasim.cluster import PAGE
from hcasim.engine import Event
from hcasim.hca import Completion, WCStatus
from hcasim.hca.events import EventType
from hcasim.hca.translation import Ring
from hcasim.hca.wqe import DOORBELL_SIZE
from hcasim.verbs.context import Context, VerbsError
from hcasim.verbs.events import AsyncEvent, EventQueue


class CompChannel:
    """A completion channel: queues that are armed tell it of entries, and a process may wait."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.events: EventQueue[CQ] = EventQueue(context.sim, context.stack.event)

    def get_cq_event(self) -> Generator[Event, object, CQ]:
        """Wait in the kernel for the next event, and return the queue that it is about.

        The adapter interrupts once for each time that the queue has been armed.
        """
        return self.context.made(self.events.get(), "channel.get_cq_event")


class CQ:
    """A completion queue of ``cqe`` entries as a process sees it.

    When an entry is lost because the queue is full, all that follow are. The process hears of
    CQ_ERR, and the queue pairs that use it are in the state ERR.

    Args:
        channel: told of entries, each time that `req_notify` has armed the queue.

    Raises:
        VerbsError: ``EINVAL`` for a limit of the adapter.

    Attributes:
        on_entry: called when there is one more completion.
        retire: what a queue pair does with a completion that was taken, by its number.
    """

    def __init__(self, context: Context, cqe: int, channel: CompChannel | None = None) -> None:
        self.context = context
        self._check(cqe)
        self.channel = channel
        self.queue = context.adapter.create_cq(cqe, self._room(cqe))
        self.retire: dict[int, Callable[[Completion], None]] = {}
        self.on_entry: Callable[[], None] | None = None
        self._event: Event | None = None
        self._empty = True
        self._armed = self._solicited_only = False
        self._count, self._period_ps = 1, 0
        self._due = self._arming = 0
        self.queue.on_entry = self._entry
        self.queue.on_overrun = self._overrun

    def _check(self, cqe: int) -> None:
        most = self.context.adapter.description.limits.max_cqe
        if not 1 <= cqe <= most:
            raise VerbsError("EINVAL", f"cqe is {cqe}; allowed: 1 to {most}")

    def _room(self, cqe: int) -> int:
        return self.context.node.allocate(cqe * self.context.adapter.description.cqe.size)

    @property
    def cqe(self) -> int:
        return self.queue.depth

    def resize(self, cqe: int) -> None:
        """Have room for another number of entries, in no time; those that are in it stay.

        Raises:
            VerbsError: ``EINVAL`` for fewer than are in it, or a limit of the adapter.
        """
        self._check(cqe)
        found = len(self.queue.entries)
        if cqe < found:
            raise VerbsError("EINVAL", f"cqe is {cqe}, but the queue holds {found} entries")
        self.context.adapter.resize_cq(self.queue, cqe, self._room(cqe))

    def timed_resize(self, cqe: int) -> Generator[Event, object, None]:
        """Resize as `resize` does, in the time that the call takes the processor.

        That is to register the new buffer and to command the adapter, which counts the entries
        when it gets there (Linux, mlx5 cq.c, mlx5_ib_resize_cq; cmd.c, BAD_SIZE_OUTS_CQES_ERR).
        """
        return self.context.made(self._timed_resize(cqe), "cq.timed_resize")

    def _timed_resize(self, cqe: int) -> Generator[Event, object, None]:
        self.context.sim.unrun.run()
        self._check(cqe)
        cost = self.context.stack.registration
        pages = -(-cqe * self.context.adapter.description.cqe.size // PAGE)
        yield self.context.core.work(cost.call + pages * (cost.pin_page + cost.table_entry))
        self.resize(cqe)

    def modify(self, cq_count: int, cq_period_us: int) -> None:
        """Interrupt after so many entries only, or so many us after the first (ibv_modify_cq)."""
        if cq_count < 1 or cq_period_us < 0:
            found = f"cq_count {cq_count} and cq_period {cq_period_us}"
            raise VerbsError("EINVAL", f"{found}; allowed: from 1 and from 0 on")
        self._count, self._period_ps = cq_count, cq_period_us * 10**6

    def req_notify(self, solicited_only: bool = False) -> None:
        """Arm the queue: the next entry is told to its channel, once.

        Entries that are there already are not, so poll behind this (ibv_req_notify_cq).

        Args:
            solicited_only: tell of receives that their senders wanted an event for, and of faults.
        """
        if self.channel is None:
            raise VerbsError("EINVAL", "the completion queue has no channel")
        self._armed, self._solicited_only, self._due = True, solicited_only, 0
        self._arming += 1

    @property
    def used(self) -> tuple[Ring, int]:
        return self.queue.ring, self.queue.produced

    def _overrun(self) -> None:
        self.context.events.put(AsyncEvent(EventType.CQ_ERR, self))
        self.context.adapter.overrun(self.queue)

    def _tell(self) -> None:
        """Interrupt for the last entry, if the queue is armed for such."""
        last = self.queue.entries[-1]
        wanted = last.end.solicited or last.status is not WCStatus.SUCCESS
        if self._solicited_only and not wanted:
            return
        self._due += 1
        if self._due >= self._count:
            self._interrupt()
        elif self._due == 1 and self._period_ps:
            self.context.sim.call_after(self._period_ps, self._expired, self._arming)

    def _expired(self, arming: int) -> None:
        if self._armed and self._due and arming == self._arming:
            self._interrupt()

    def _interrupt(self) -> None:
        self._armed = False
        if self.channel is not None:
            self.channel.events.put(self)

    def _entry(self) -> None:
        if self._armed:
            self._tell()
        if self._event is not None:
            event, self._event = self._event, None
            event.succeed()
        if self.on_entry is not None:
            self.on_entry()

    def poll(self, num_entries: int = 1) -> Generator[Event, object, list[Completion]]:
        """Take up to ``num_entries`` completions; an empty list if there are none."""
        if num_entries < 0:
            raise VerbsError("EINVAL", f"num_entries is {num_entries}; allowed: from 0 on")
        return self.context.made(self._poll(num_entries), "cq.poll")

    def _poll(self, num_entries: int) -> Generator[Event, object, list[Completion]]:
        context = self.context
        context.sim.unrun.run()
        entries: deque[Completion] = self.queue.entries
        found: list[Completion] = []
        while len(found) < num_entries:
            yield context.core.work(context.costs.polling(context.core, bool(entries), self._empty))
            self._empty = not entries
            if self._empty:
                break
            completion = entries.popleft()
            if completion.data is not None:
                region, address, length, data = completion.data
                if data is not None and region.contents is not None:
                    region.contents.write(address, data)
                region.written(address, length)
            self.retire[completion.qpn](completion)
            found.append(completion)
            if context.stack.cq_doorbell:
                context.store(DOORBELL_SIZE, context.adapter.ring, _consumed)
        return found

    def wait(self) -> Generator[Event, object, Completion]:
        """Poll until there is a completion, and return it."""
        return self.context.made(self._wait(), "cq.wait")

    def _wait(self) -> Generator[Event, object, Completion]:
        self.context.sim.unrun.run()
        while True:
            while not self.queue.entries:
                if self._event is None:
                    self._event = self.context.sim.event()
                yield self._event
                self._empty = True
            found = yield from self._poll(1)
            if found:
                return found[0]


def _consumed() -> None:
    """The adapter notes the new consumer index."""
