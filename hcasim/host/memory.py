"""Memory: a controller for each socket or one for all, with what joins them and caches."""

from __future__ import annotations

from typing import Final

from hcasim.catalog import Host as Description
from hcasim.engine import Rate, SerialServer, Simulator
from hcasim.host.cache import ProcessorCache
from hcasim.host.copying import Copies

SOCKET_BITS: Final = 40
"""An address holds above so many bits the number of the socket whose memory it is in.

That of a GPU is as of one socket more.
"""


WRITTEN: Final = 1 << 39
"""The bit of addresses of what a processor writes just before a device reads it."""


class Channel(SerialServer):
    """Moves bytes at a bandwidth in B/s, one transfer after the other; the path adds a latency."""

    __slots__ = ("_times", "_watchers", "latency", "rate")

    def __init__(self, sim: Simulator, name: str, bandwidth: int) -> None:
        super().__init__(sim, name)
        self.latency = 0
        self.rate = Rate.from_bandwidth(bandwidth)
        self._times: dict[int, int] = {}
        self._watchers = sim.watchers

    @property
    def channels(self) -> tuple[Channel, ...]:
        return (self,)

    def transfer(self, size: int) -> int:
        duration = self._times.get(size)
        if duration is None:
            duration = self._times[size] = self.rate.time(size)
        start = self.sim.now
        if self.free_at > start:
            start = self.free_at
        self.free_at = end = start + duration
        self.busy_ps += duration
        if self._watchers:
            for watcher in self._watchers:
                watcher.work(self.name, "transfer", start, end, size)
        return end


class FarPath:
    """What bytes pass between a socket and the memory of another: controller and interconnect."""

    __slots__ = ("channels", "latency")

    def __init__(self, latency: int, *channels: Channel) -> None:
        self.latency = latency
        self.channels = channels

    def transfer(self, size: int) -> int:
        last = 0
        for channel in self.channels:
            end = channel.transfer(size)
            if end > last:
                last = end
        return last


Path = Channel | FarPath
"""What bytes pass between a socket and memory: of its own, the memory controller alone."""


class Memory:
    """The memory of a host, its caches and its copies.

    Where sockets have a memory controller each, what leaves one passes its own link of the
    interconnect. Otherwise one controller serves all. The memory of a GPU is farther away than that
    of a socket by half of what reads take longer.
    """

    def __init__(self, sim: Simulator, description: Description, name: str) -> None:
        joined, bandwidth = description.interconnect, description.memory.bandwidth
        sockets = range(description.sockets)
        self.caches = [ProcessorCache(description.cache) for _ in sockets]
        self.copies = Copies(sim)
        self.links: list[Channel] = []
        self._latency = 0
        self._paths: dict[tuple[int, bool], list[Path]] = {}
        gpu = description.gpu
        self._gpu: dict[bool, Path] = {}
        self.homes = description.sockets + (gpu is not None)
        if gpu is not None:
            away = (gpu.read_latency - description.memory.read_latency) // 2
            ways = ("reads", gpu.read_bandwidth), ("writes", gpu.write_bandwidth)
            for to, (way, rate) in enumerate(ways):
                channel = Channel(sim, f"{name}.gpu.{way}", rate)
                sim.resources.serves(channel.name, channel)
                self._gpu[bool(to)] = FarPath(away, channel)
        if joined is None:
            self.controllers = [Channel(sim, f"{name}.memory", bandwidth)]
        else:
            self.controllers = [Channel(sim, f"{name}.memory{n}", bandwidth) for n in sockets]
            names = [f"{name}.interconnect{n}" for n in sockets]
            self.links = [Channel(sim, link, joined.bandwidth) for link in names]
            self._latency = joined.latency
        for channel in (*self.controllers, *self.links):
            sim.resources.serves(channel.name, channel)
        sim.resources.settle(self.copies.advance)

    def paths(self, socket: int, *, away: bool) -> list[Path]:
        """The ways from the memory of each socket, and of a GPU, to one, or ``away`` from it."""
        found = self._paths.get((socket, away))
        if found is None:
            found = self._paths[socket, away] = self._between(socket, away=away)
            if self._gpu:
                found.append(self._gpu[away])
        return found

    def between(self, one: int, other: int) -> int:
        """How far a socket is from another, in ps."""
        return self._latency if one != other else 0

    def _between(self, socket: int, *, away: bool) -> list[Path]:
        if not self.links:
            return [self.controllers[0] for _ in self.caches]
        return [
            controller
            if home == socket
            else FarPath(self._latency, controller, self.links[socket if away else home])
            for home, controller in enumerate(self.controllers)
        ]
