"""Events: completion channels, and what an adapter tells a process of its own accord."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from hcasim.engine import Event, Simulator
from hcasim.hca.events import EventType

_Told = TypeVar("_Told")


class EventQueue(Generic[_Told]):
    """Events that a process reads in turn, and may wait for in the kernel.

    Args:
        latency_ps: from an event to the process that waits for it: the interrupt, its handler and
            waking the process up.
    """

    def __init__(self, sim: Simulator, latency_ps: int) -> None:
        self._sim = sim
        self._latency = latency_ps
        self._told: deque[_Told] = deque()
        self._waiter: Event | None = None

    def __len__(self) -> int:
        return len(self._told)

    def put(self, told: _Told) -> None:
        """Interrupt the processor, which the process learns of in a while."""
        self._sim.call_after(self._latency, self._arrive, told)

    def _arrive(self, told: _Told) -> None:
        self._told.append(told)
        if self._waiter is not None:
            waiter, self._waiter = self._waiter, None
            waiter.succeed()

    def get(self) -> Generator[Event, object, _Told]:
        """Wait until there is an event, and take it."""
        self._sim.unrun.run()
        while not self._told:
            if self._waiter is None:
                self._waiter = self._sim.event()
            yield self._waiter
        return self._told.popleft()


@dataclass(frozen=True)
class AsyncEvent:
    """An asynchronous event, and the queue pair, queue, context or port that it is about."""

    event_type: EventType
    element: Any
