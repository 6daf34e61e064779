"""Completion queues."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator

from hcasim.engine import Event
from hcasim.hca import Completion
from hcasim.hca.translation import Ring
from hcasim.hca.wqe import DOORBELL_SIZE
from hcasim.verbs.context import Context, VerbsError


class CQ:
    """A completion queue of ``cqe`` entries as a process sees it.

    Attributes:
        on_entry: called when there is one more completion.
        retire: what a queue pair does with a completion that was taken, by its number.
    """

    def __init__(self, context: Context, cqe: int) -> None:
        if cqe < 1:
            raise VerbsError("EINVAL", f"a completion queue needs at least 1 entry, not {cqe}")
        self.context = context
        address = context.node.allocate(cqe * context.adapter.description.cqe.size)
        self.queue = context.adapter.create_cq(cqe, address)
        self.retire: dict[int, Callable[[Completion], None]] = {}
        self.on_entry: Callable[[], None] | None = None
        self._event: Event | None = None
        self._empty = True
        self.queue.on_entry = self._entry

    @property
    def used(self) -> tuple[Ring, int]:
        return self.queue.ring, self.queue.produced

    def _entry(self) -> None:
        if self._event is not None:
            event, self._event = self._event, None
            event.succeed()
        if self.on_entry is not None:
            self.on_entry()

    def poll(self, num_entries: int = 1) -> Generator[Event, object, list[Completion]]:
        """Take up to ``num_entries`` completions; an empty list if there are none."""
        return self.context.made(self._poll(num_entries), "cq.poll")

    def _poll(self, num_entries: int) -> Generator[Event, object, list[Completion]]:
        context = self.context
        context.sim.unrun.run()
        entries: deque[Completion] = self.queue.entries
        found: list[Completion] = []
        while True:
            yield context.core.work(context.costs.polling(context.core, bool(entries), self._empty))
            self._empty = not entries
            if self._empty:
                break
            completion = entries.popleft()
            if completion.data is not None:
                region, address, length = completion.data
                region.written(address, length)
            self.retire[completion.qpn](completion)
            found.append(completion)
            if context.stack.cq_doorbell:
                context.store(DOORBELL_SIZE, context.adapter.ring, _consumed)
            if len(found) == num_entries:
                break
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
