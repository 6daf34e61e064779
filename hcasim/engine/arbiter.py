"""A shared resource that several requesters compete for, granted one at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Literal

from hcasim.engine.clock import Simulator

Policy = Literal["round_robin", "priority"]


class Arbiter:
    """Grants a resource to one requester at a time.

    Each requester has a queue of its own, served in order. ``round_robin`` starts the search
    behind the requester that was granted last; ``priority`` prefers the lower number.

    Args:
        requesters: how many requesters there are; they are numbered from 0.

    Attributes:
        busy_ps: time the resource was held so far, in ps.
        grants: grants per requester.
    """

    def __init__(
        self, sim: Simulator, name: str, requesters: int, policy: Policy = "round_robin"
    ) -> None:
        if requesters < 1:
            raise ValueError(f"{name}: an arbiter needs at least one requester")
        self.sim = sim
        self.name = name
        self.policy = policy
        self.busy_ps = 0
        self.grants = [0] * requesters
        self._queues: list[deque[tuple[int, Callable[..., None], tuple[Any, ...]]]] = [
            deque() for _ in range(requesters)
        ]
        self._last = requesters - 1
        self._waiting = 0
        self._busy = False

    def request(
        self, requester: int, duration_ps: int, on_done: Callable[..., None], *args: Any
    ) -> None:
        """Queue a request to hold the resource for ``duration_ps``, then call ``on_done(*args)``."""
        self._queues[requester].append((duration_ps, on_done, args))
        self._waiting += 1
        if not self._busy:
            self._grant()

    def _grant(self) -> None:
        queues = self._queues
        count = len(queues)
        first = self._last + 1 if self.policy == "round_robin" else 0
        for step in range(count):
            requester = (first + step) % count
            if queues[requester]:
                break
        duration, on_done, args = queues[requester].popleft()
        self._waiting -= 1
        self._last = requester
        self._busy = True
        self.busy_ps += duration
        self.grants[requester] += 1
        self.sim.call_after(duration, self._finish, on_done, args)

    def _finish(self, on_done: Callable[..., None], args: tuple[Any, ...]) -> None:
        # What the end of this turn makes ready competes for the next one.
        on_done(*args)
        if self._waiting:
            self._grant()
        else:
            self._busy = False
