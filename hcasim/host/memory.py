"""Memory: a controller for each socket, or one for all of them, and what joins them."""

from __future__ import annotations

from hcasim.catalog import Host as Description
from hcasim.engine import Rate, SerialServer, Simulator

SOCKET_BITS = 40
"""An address holds above so many bits the number of the socket whose memory it is in."""


class Channel(SerialServer):
    """Moves bytes at a bandwidth, one transfer after the other.

    Args:
        bandwidth: in B/s.
    """

    __slots__ = ("rate",)

    def __init__(self, sim: Simulator, name: str, bandwidth: int) -> None:
        super().__init__(sim, name)
        self.rate = Rate.from_bandwidth(bandwidth)


class Path:
    """What bytes pass between a socket and the memory that holds them.

    Args:
        controller: of that memory.
        link: of the interconnect, if the memory is another socket's.
        latency: of the interconnect, in ps.
    """

    __slots__ = ("controller", "latency", "link")

    def __init__(self, controller: Channel, link: Channel | None = None, latency: int = 0) -> None:
        self.controller = controller
        self.link = link
        self.latency = latency

    def transfer(self, size: int) -> int:
        """Move ``size`` bytes; return when the last one has passed, in ps."""
        controller, link = self.controller, self.link
        last = controller.reserve(controller.rate.time(size))
        if link is None:
            return last
        return max(last, link.reserve(link.rate.time(size)))


class Memory:
    """The memory of a host.

    Where sockets have a memory controller each, what leaves one passes its own link of the
    interconnect, which is as fast in the other direction. Otherwise one controller serves all.

    Attributes:
        sockets: how many there are.
        controllers: one, or one for each socket.
        latency: of the interconnect, in ps.
        links: the interconnect, by the socket that data leave.
    """

    def __init__(self, sim: Simulator, description: Description, name: str) -> None:
        bandwidth, joined = description.memory.bandwidth, description.interconnect
        self.sockets = description.sockets
        self.latency = 0
        self.links: list[Channel] = []
        if joined is None:
            self.controllers = [Channel(sim, f"{name}.memory", bandwidth)]
            return
        sockets = range(self.sockets)
        self.latency = joined.latency
        self.controllers = [Channel(sim, f"{name}.memory{n}", bandwidth) for n in sockets]
        self.links = [Channel(sim, f"{name}.interconnect{n}", joined.bandwidth) for n in sockets]

    def paths(self, socket: int, *, away: bool) -> list[Path]:
        """The ways from the memory of each socket to one socket, or ``away`` from it."""
        if not self.links:
            return [Path(self.controllers[0])] * self.sockets
        return [
            Path(controller)
            if home == socket
            else Path(controller, self.links[socket if away else home], self.latency)
            for home, controller in enumerate(self.controllers)
        ]

    def busy_ps(self) -> dict[str, int]:
        """Time in ps that each controller and link was in use so far, by name."""
        return {one.name: one.busy_ps for one in (*self.controllers, *self.links)}
