"""What tests hand to a part of the simulator, to be told what comes of it."""

from collections.abc import Callable

from hcasim.fabric import Packet
from hcasim.fabric.link import Holder
from hcasim.host.upstream import Transfer


class Told(Transfer):
    """A read or a write that passes on what it is told; what it does not wait for is an error."""

    def __init__(
        self,
        fetched: Callable[[int, int, int], None] | None = None,
        taken: Callable[[int], None] | None = None,
    ) -> None:
        self._fetched = super().fetched if fetched is None else fetched
        self._taken = super().taken if taken is None else taken

    def fetched(self, last_at: int, address: int, size: int) -> None:
        self._fetched(last_at, address, size)

    def taken(self, at_ps: int) -> None:
        self._taken(at_ps)


class Nobody(Holder):
    """Holds no room, so that nothing becomes free when a packet leaves."""

    def free(self, packet: Packet, at_ps: int) -> None:
        pass
