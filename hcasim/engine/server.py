"""Resources that serve in order, by arithmetic alone, and how long something is waited for."""

from __future__ import annotations

from fractions import Fraction
from heapq import heapreplace
from typing import ClassVar

from hcasim.engine.changes import Changes
from hcasim.engine.clock import Simulator


class Rate:
    """Time to move bytes at an exact rational speed, rounded to whole picoseconds."""

    __slots__ = ("_denominator", "_half", "_numerator", "ps_per_byte")

    def __init__(self, ps_per_byte: Fraction) -> None:
        if ps_per_byte <= 0:
            raise ValueError(f"a rate needs a positive time per byte, not {ps_per_byte}")
        self.ps_per_byte = ps_per_byte
        self._numerator = ps_per_byte.numerator
        self._denominator = ps_per_byte.denominator
        self._half = self._denominator // 2

    @classmethod
    def from_bandwidth(cls, bytes_per_second: int) -> Rate:
        return cls(Fraction(10**12, bytes_per_second))

    def time(self, size_bytes: int) -> int:
        return (size_bytes * self._numerator + self._half) // self._denominator


class SerialServer:
    """Serves requests one after the other, first come first served.

    A reservation costs no event: it starts at the later of now and the end of the one before.
    """

    changes: ClassVar[Changes] = Changes(times="free_at", counts="busy_ps")

    __slots__ = ("busy_ps", "free_at", "name", "sim")

    def __init__(self, sim: Simulator, name: str) -> None:
        self.sim = sim
        self.name = name
        self.free_at = self.busy_ps = 0

    def reserve(self, duration_ps: int) -> int:
        """Take the server for ``duration_ps`` as soon as it is free; return the end time in ps."""
        if duration_ps < 0:
            raise ValueError(f"{self.name}: a service time cannot be negative: {duration_ps} ps")
        start: int = self.sim.now
        if self.free_at > start:
            start = self.free_at
        self.free_at = end = start + duration_ps
        self.busy_ps += duration_ps
        return end

    def reserve_from(self, arrival_ps: int, duration_ps: int) -> int:
        if duration_ps < 0:
            raise ValueError(f"{self.name}: a service time cannot be negative: {duration_ps} ps")
        start = self.free_at
        if arrival_ps > start:
            start = arrival_ps
        self.free_at = end = start + duration_ps
        self.busy_ps += duration_ps
        return end

    def reserve_each(self, arrival_ps: int, duration_ps: int, period_ps: int, count: int) -> int:
        """Likewise for several, a period apart that is no shorter: none waits for another."""
        end = self.reserve_from(arrival_ps, duration_ps) + (count - 1) * period_ps
        self.free_at = end
        self.busy_ps += (count - 1) * duration_ps
        return end


class ParallelServers:
    """Several servers with one line of requests, each taken by the one that is free first."""

    changes: ClassVar[Changes] = Changes(times="_free_at", counts="_served_ps")

    __slots__ = ("_free_at", "_served_ps", "name", "sim")

    def __init__(self, sim: Simulator, name: str, count: int) -> None:
        self.sim = sim
        self.name = name
        self._free_at = [0] * count
        self._served_ps = 0

    @property
    def busy_ps(self) -> int:
        return self._served_ps // len(self._free_at)

    def reserve(self, duration_ps: int) -> int:
        return self.reserve_from(self.sim.now, duration_ps)

    def reserve_from(self, arrival_ps: int, duration_ps: int) -> int:
        free = self._free_at[0]
        end = (free if free > arrival_ps else arrival_ps) + duration_ps
        if not duration_ps:
            # It holds no server.
            return end
        heapreplace(self._free_at, end)
        self._served_ps += duration_ps
        return end

    def catch_up(self) -> None:
        """Tell those that are free by now, and which is which, no longer apart."""
        now = self.sim.now
        self._free_at = sorted([free if free > now else now for free in self._free_at])


Server = SerialServer | ParallelServers
"""What serves requests by arithmetic: one at a time, or several."""


def servers(sim: Simulator, name: str, count: int) -> Server:
    """So many servers with one line of requests."""
    return SerialServer(sim, name) if count == 1 else ParallelServers(sim, name, count)


class Waits:
    """The time during which at least one waits for the same thing."""

    changes: ClassVar[Changes] = Changes(counts="_sum", since="_since")

    __slots__ = ("_since", "_sum", "name", "sim", "waiting")

    def __init__(self, sim: Simulator, name: str) -> None:
        self.sim = sim
        self.name = name
        self.waiting = self._since = self._sum = 0

    def begin(self) -> None:
        if not self.waiting:
            self._since = self.sim.now
        self.waiting += 1

    def end(self) -> None:
        self.waiting -= 1
        if not self.waiting:
            self._sum += self.sim.now - self._since

    @property
    def wait_ps(self) -> int:
        return self._sum + (self.sim.now - self._since if self.waiting else 0)
