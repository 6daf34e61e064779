"""A processor core that runs one thread."""

from __future__ import annotations

from simpy.events import Event, Timeout

from hcasim.engine import Rate, Simulator
from hcasim.host.cache import ProcessorCache
from hcasim.host.copying import Copies, Copy
from hcasim.host.memory import SOCKET_BITS, Memory


class Core:
    """A core owned by one simulated process; its work takes time and nothing preempts it.

    Args:
        socket: the one that it is in.
        caches: of all sockets.
        rates: bytes copied with both ends in the cache, and with neither.

    Attributes:
        busy_ps: time spent in calls so far, in ps; spinning in a poll loop is not counted.
    """

    def __init__(
        self,
        sim: Simulator,
        name: str,
        socket: int,
        memory: Memory,
        caches: list[ProcessorCache],
        copies: Copies,
        rates: tuple[Rate, Rate],
    ) -> None:
        self.sim = sim
        self.name = name
        self.socket = socket
        self.busy_ps = 0
        self._to = memory.paths(socket, away=True)
        self._from = memory.paths(socket, away=False)
        self._cache = caches[socket]
        self._others = [cache for cache in caches if cache is not self._cache]
        self._copies = copies
        self._hit_rate, self._miss_rate = rates

    def work(self, duration_ps: int) -> Timeout:
        """An event to yield: ``duration_ps`` of computing."""
        self.busy_ps += duration_ps
        return self.sim.timeout(duration_ps)

    def copy(self, size: int, source: int, destination: int) -> Event:
        """An event to yield: ``size`` bytes copied by this core from one address to another.

        What is in the cache of the socket costs no memory bandwidth; the rest is a read stream
        from the memory of the source and a write stream to that of the destination. Half of a
        byte's time is its reading, half its writing, each at the rate of a hit or of a miss; the
        copy takes longer if memory is busy or slower. Both ends are in the cache from the start of
        the copy on, as far as they fit.
        """
        if size < 1:
            return self.sim.timeout(0)
        for cache in self._others:
            cache.invalidate(destination, size)
        read = self._cache.access(source, size)
        written = self._cache.access(destination, size)
        missed = read + written
        twice = self._hit_rate.time(2 * size - missed) + self._miss_rate.time(missed)
        copy = Copy(self, self.sim.event(), size, (twice + 1) // 2)
        latency = 0
        path_in, path_out = self._from[source >> SOCKET_BITS], self._to[destination >> SOCKET_BITS]
        for path, part in ((path_in, read), (path_out, written)):
            if part:
                latency = max(latency, path.latency)
                for channel in (path.controller, path.link):
                    if channel is not None:
                        copy.demand(channel, channel.rate.time(part))
        self._copies.begin(copy, latency)
        return copy.done
