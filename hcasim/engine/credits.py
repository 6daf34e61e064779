"""A pool of credits: buffer space, tags, or header slots that a sender must hold."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import ClassVar, Final

from hcasim.engine.changes import Changes
from hcasim.engine.clock import Action, Args, Call, Simulator

_BURST: Final = 100_000
"""Of changes that follow each other within so many ps, the first and the last are told."""

_NEVER: Final = 1 << 60
"""A time in ps that does not come."""


class _Shown:
    """Credits of a pool that are free, and since when in ps: as those who watch know, and now."""

    __slots__ = ("time_ps", "told", "told_at", "value")

    def __init__(self) -> None:
        self.told = self.value = -1
        self.told_at = self.time_ps = -_BURST


class CreditPool(Action):
    """Credits taken in order of request and given back when the far end has freed them.

    Attributes:
        waiting: requests that wait for credits, oldest first.
    """

    changes: ClassVar[Changes] = Changes(
        times="_returns_at _alarm_at", counts="_waited_ps", since="_waiting_since"
    )

    def __init__(self, sim: Simulator, name: str, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"{name}: a credit pool needs at least one credit, not {capacity}")
        self.sim = sim
        self.name = name
        self.capacity = capacity
        # A list, because it is short.
        self.waiting: list[tuple[int, Action]] = []
        self._available = capacity
        self._waited_ps = self._waiting_since = self._ahead = 0
        # In order of time; those whose time has come count as soon as somebody needs them.
        self._returns_at: list[int] = []
        self._counts: list[int] = []
        self._alarm_at = _NEVER
        self._serving = False
        self._watchers = sim.watchers
        self._shown: _Shown | None = None

    @property
    def available(self) -> int:
        """Credits free now; never negative and never above the capacity."""
        self.catch_up()
        return self._available

    @property
    def wait_ps(self) -> int:
        if not self.waiting:
            return self._waited_ps
        return self._waited_ps + self.sim.now - self._waiting_since

    def acquire(self, count: int, function: Callable[[*Args], None], *args: *Args) -> None:
        """Call ``function(*args)`` as soon as ``count`` credits are held, at once if possible.

        With a count of 0 the call only waits for the requests before it.
        """
        if self.take(count):
            function(*args)
        else:
            self.wait(count, Call(function, args))

    def wait(self, count: int, action: Action) -> None:
        """Have ``action`` done when ``count`` credits are held, which could not be had at once."""
        if count > self.capacity:
            raise ValueError(f"{self.name}: {count} credits asked of a pool of {self.capacity}")
        if not self.waiting:
            self._waiting_since = self.sim.now
        self.waiting.append((count, action))
        self._arm()

    def wait_ahead(self, count: int, action: Action) -> None:
        """Likewise, ahead of all that use `wait`; at once if only others need more than is free."""
        if not self.waiting:
            self._waiting_since = self.sim.now
        self.waiting.insert(self._ahead, (count, action))
        self._ahead += 1
        self.catch_up()
        self._serve()
        if self.waiting:
            self._arm()

    def take(self, count: int) -> bool:
        """Hold ``count`` credits if they can be had at once; return whether they are held."""
        if self.waiting:
            return False
        if count > self._available:
            self.catch_up()
            if count > self._available:
                return False
        self._available -= count
        if self._watchers:
            self._tell()
        return True

    def _tell(self) -> None:
        now = self.sim.now
        if self._returns_at and self._returns_at[0] <= now:
            self.catch_up()
        self._show(now, self._available)

    def _show(self, time_ps: int, value: int) -> None:
        shown = self._shown
        if shown is None:
            shown = self._shown = _Shown()
        if time_ps - shown.told_at >= _BURST:
            if shown.value != shown.told:
                for watcher in self._watchers:
                    watcher.level(self.name, shown.time_ps, shown.value)
            if value != shown.value:
                for watcher in self._watchers:
                    watcher.level(self.name, time_ps, value)
            shown.told = value
            shown.told_at = time_ps
        shown.value = value
        shown.time_ps = time_ps

    def _show_returns(self, now: int) -> None:
        value = self._available
        for time_ps, count in zip(self._returns_at, self._counts, strict=True):
            if time_ps > now:
                return
            value += count
            self._show(time_ps, value)

    def release(self, count: int) -> None:
        self._available += count
        if self._available > self.capacity:
            raise ValueError(f"{self.name}: more credits given back than were taken")
        if self.waiting:
            self._serve()

    def release_at(self, time_ps: int, count: int) -> None:
        """Give ``count`` credits back at ``time_ps``; no event is spent unless somebody waits.

        More credits than were taken raise a ValueError when they are needed.
        """
        times = self._returns_at
        place = len(times)
        if place and time_ps < times[-1]:
            place = bisect_right(times, time_ps)
            times.insert(place, time_ps)
            self._counts.insert(place, count)
        else:
            times.append(time_ps)
            self._counts.append(count)
        if not place and self.waiting:
            self._arm()

    def postpone(self, after_ps: int, until_ps: int) -> None:
        """Have credits that come back between two times do so at the later one only."""
        times = self._returns_at
        place = len(times) - 1
        while place >= 0 and times[place] > after_ps:
            if times[place] < until_ps:
                times[place] = until_ps
            place -= 1

    def catch_up(self) -> None:
        now = self.sim.now
        times = self._returns_at
        if not times or times[0] > now:
            return
        counts = self._counts
        if self._watchers:
            self._show_returns(now)
        if len(times) == 1 or times[1] > now:
            times.pop(0)
            available = self._available + counts.pop(0)
        else:
            number = bisect_right(times, now)
            available = self._available + sum(counts[:number])
            del times[:number]
            del counts[:number]
        self._available = available
        if available > self.capacity:
            raise ValueError(f"{self.name}: more credits given back than were taken")

    def _arm(self) -> None:
        times = self._returns_at
        if not times:
            return
        first, now = times[0], self.sim.now
        if first < now:
            first = now
        if first < self._alarm_at:
            self._alarm_at = first
            self.sim.schedule(first, self)

    def act(self) -> None:
        if self._alarm_at != self.sim.now:
            # An earlier return was announced after this alarm was set.
            return
        self._alarm_at = _NEVER
        self.catch_up()
        if self.waiting:
            self._serve()
        if self.waiting:
            self._arm()

    def _serve(self) -> None:
        if self._serving:
            return
        # A loop, because those who give some back at once would nest as deep as many wait.
        self._serving = True
        waiting = self.waiting
        while waiting:
            count, action = waiting[0]
            if count > self._available:
                break
            waiting.pop(0)
            if self._ahead:
                self._ahead -= 1
            self._available -= count
            if self._watchers:
                self._tell()
            if not waiting:
                self._waited_ps += self.sim.now - self._waiting_since
            action.act()
        self._serving = False
