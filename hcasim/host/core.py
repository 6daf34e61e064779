"""A processor core that runs one thread."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import ClassVar

from hcasim.catalog import Host as Description
from hcasim.engine import Event, Rate, SerialServer, Simulator, Timeout
from hcasim.engine.changes import Changes
from hcasim.host.copying import Copy, in_chunks
from hcasim.host.memory import SOCKET_BITS, Memory


class Core:
    """A core owned by one simulated process; its work takes time and nothing preempts it.

    Attributes:
        busy_ps: time spent in calls so far, in ps; spinning in a poll loop is not counted.
        begun_ps: when it began its last piece of work, in ps.
        drained_ps: when its last doorbell has left it, in ps.
    """

    changes: ClassVar[Changes] = Changes(counts="busy_ps", since="begun_ps", times="drained_ps")

    def __init__(
        self, sim: Simulator, name: str, description: Description, number: int, memory: Memory
    ) -> None:
        self.sim = sim
        self.name = name
        self.busy_ps = 0
        self.begun_ps = 0
        self.drained_ps = 0
        sim.resources.serves(name, self)
        self.socket = number * description.sockets // description.cpus
        self._memory = memory
        self._to = memory.paths(self.socket, away=True)
        self._from = memory.paths(self.socket, away=False)
        self._hit_rate = Rate.from_bandwidth(description.cache.hit_bandwidth)
        self._miss_rate = Rate.from_bandwidth(description.cache.miss_bandwidth)

    def work(self, duration_ps: int) -> Timeout:
        """An event to yield: ``duration_ps`` of computing."""
        self.busy_ps += duration_ps
        self.begun_ps = self.sim.now
        return self.sim.timeout(duration_ps)

    @property
    def full(self) -> bool:
        return self._memory.caches[self.socket].full

    def hold(self, address: int, size: int) -> None:
        self._memory.caches[self.socket].hold(address, size)

    def copy(self, size: int, source: int, destination: int) -> Event:
        """An event to yield: ``size`` bytes copied by this core from one address to another.

        What is in the cache of the socket costs no memory bandwidth; the rest is a read stream
        from the memory of the source and a write stream to that of the destination. Half of a
        byte's time is its reading, half its writing, each at the rate of a hit or of a miss; the
        copy takes longer if memory is busy or slower. Both ends are in the cache from the start of
        the copy on, as far as they fit.
        """
        if size < 1:
            self.begun_ps = self.sim.now
            return self.sim.timeout(0)
        return self._begin(size, *self._use(size, source, destination))

    def _begin(
        self, size: int, duration_ps: int, latency_ps: int, demands: dict[SerialServer, int]
    ) -> Event:
        self.begun_ps = self.sim.now
        done = self.sim.event()
        self._memory.copies.begin(Copy(self, done, size, duration_ps, demands), latency_ps)
        return done

    def copies(self, pieces: Iterable[tuple[int, int, int]]) -> Generator[Event, object, None]:
        """Copy pieces (bytes, source, destination) one after the other.

        What is in the cache takes no event of its own: all pieces up to the next that is not there
        are looked up when the first begins.
        """
        hits = 0
        for size, source, destination in pieces:
            if size < 1:
                continue
            duration, latency, demands = self._use(size, source, destination)
            if not demands:
                hits += in_chunks(size, duration)
                continue
            if hits:
                yield self.work(hits)
                hits = 0
            yield self._begin(size, duration, latency, demands)
        if hits:
            yield self.work(hits)

    def _use(
        self, size: int, source: int, destination: int
    ) -> tuple[int, int, dict[SerialServer, int]]:
        """Have both ends of a copy in the cache of the socket.

        Returns:
            In ps, what it takes the core, how far away the first byte is, and the use of servers.
        """
        self._memory.copies.begun = True
        near = self._memory.caches[self.socket]
        for cache in self._memory.caches:
            if cache is not near:
                cache.invalidate(destination, size)
        missed_in, missed_out = near.access(source, size), near.access(destination, size)
        missed = missed_in + missed_out
        latency = 0
        demands: dict[SerialServer, int] = {}
        if missed:
            way_in = self._from[source >> SOCKET_BITS]
            way_out = self._to[destination >> SOCKET_BITS]
            for part, path in ((missed_in, way_in), (missed_out, way_out)):
                if part:
                    latency = max(latency, path.latency)
                    for channel in path.channels:
                        demands[channel] = demands.get(channel, 0) + channel.rate.time(part)
        twice = self._hit_rate.time(2 * size - missed) + self._miss_rate.time(missed)
        return (twice + 1) // 2, latency, demands
