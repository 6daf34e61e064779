"""A shared resource that several requesters compete for, granted one at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import ClassVar

from hcasim.engine.changes import Changes
from hcasim.engine.clock import Action, Simulator


class Arbiter(Action):
    """Grants a resource to one requester at a time: round robin of groups, priority within one.

    Args:
        groups: requesters of each group, numbered through; ``[1, 1, 1]`` is plain round robin of
            three, ``[3]`` plain priority of the lower numbers.
        names: of what each requester does.
        passes: how often in a row a requester that waits is passed by those before it in its
            group; without end if None.
    """

    changes: ClassVar[Changes] = Changes(counts="busy_ps grants", wraps="_passed _next")

    def __init__(
        self,
        sim: Simulator,
        name: str,
        groups: Sequence[int],
        names: Sequence[str] = (),
        passes: int | None = None,
    ) -> None:
        if not groups or min(groups) < 1:
            raise ValueError(f"{name}: an arbiter needs groups of at least one requester each")
        self.sim = sim
        self.name = name
        self.busy_ps = 0
        requesters = sum(groups)
        self.grants = [0] * requesters
        self._queues: list[deque[tuple[int, Action]]] = [deque() for _ in range(requesters)]
        self._granted: Action | None = None
        self._names = names or [f"turn of {one}" for one in range(requesters)]
        numbers = iter(range(requesters))
        self._groups = [[next(numbers) for _ in range(size)] for size in groups]
        self._next = 0
        self._passes = passes
        self._passed = [0] * requesters
        self._waiting = 0
        self._busy = False
        self._watchers = sim.watchers

    def waits(self, but: int) -> bool:
        """Whether any other requester than one waits."""
        return any(queue for number, queue in enumerate(self._queues) if number != but)

    def request(self, requester: int, duration_ps: int, done: Action) -> None:
        if duration_ps < 0:
            raise ValueError(f"{self.name}: a turn cannot last {duration_ps} ps")
        self._queues[requester].append((duration_ps, done))
        self._waiting += 1
        if not self._busy:
            self._grant()

    def _grant(self) -> None:
        requester = self._choose()
        duration, self._granted = self._queues[requester].popleft()
        self._waiting -= 1
        self._busy = True
        self.busy_ps += duration
        self.grants[requester] += 1
        now = self.sim.now
        if self._watchers:
            for watcher in self._watchers:
                watcher.work(self.name, self._names[requester], now, now + duration, "")
        self.sim.schedule(now + duration, self)

    def _choose(self) -> int:
        count = len(self._groups)
        for step in range(count):
            group = (self._next + step) % count
            for requester in self._groups[group]:
                if self._queues[requester]:
                    self._next = (group + 1) % count
                    return requester if self._passes is None else self._patient(group, requester)
        raise AssertionError("nobody waits")

    def _patient(self, group: int, first: int) -> int:
        passed = self._passed
        for requester in self._groups[group]:
            if requester > first and self._queues[requester]:
                if passed[requester] == self._passes:
                    passed[requester] = 0
                    return requester
                passed[requester] += 1
        passed[first] = 0
        return first

    def act(self) -> None:
        """End a turn; what that makes ready competes for the next one."""
        granted = self._granted
        assert granted is not None
        granted.act()
        if self._waiting:
            self._grant()
        else:
            self._busy = False
