"""Links whose far end pauses the priorities of Ethernet one by one (IEEE 802.1Qbb)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from hcasim.catalog import Link
from hcasim.engine import Simulator
from hcasim.engine.changes import Changes
from hcasim.fabric.arbitration import OldestFirst, RoundRobin
from hcasim.fabric.link import NEVER, Transmitter
from hcasim.fabric.packet import Holder, Packet
from hcasim.fabric.wire import GAP, MINIMUM_FRAME, PREAMBLE

PRIORITIES: Final = 8
PAUSE_FRAME: Final = PREAMBLE + MINIMUM_FRAME + GAP
"""Bytes on the wire of a frame that pauses, or lets go on (IEEE 802.1Qbb, 802.3 annex 31D)."""


PAUSE: Final = "pause"
"""What those who watch are told that a frame does to a sender."""


class PauseFrame:
    """What a frame says: that a priority is to pause, or may go on."""

    __slots__ = ("by", "pause", "priority")

    def __init__(self, by: str, priority: int, pause: bool) -> None:
        self.by = by
        self.priority = priority
        self.pause = pause


def priority(packet: Packet) -> int:
    """The priority of a frame: three bits of its VLAN tag, or of a class that it belongs to."""
    return packet.route.service_level % PRIORITIES


class Unpaused(RoundRobin):
    """Sources take turns, each priority of them by itself, but for the priorities that pause.

    With ``by_age`` the packet goes that has waited longest.
    """

    def __init__(self, urgent: int, by_age: bool) -> None:
        super().__init__(urgent * PRIORITIES)
        self.paused = 0
        self._by_age = OldestFirst(urgent * PRIORITIES) if by_age else None

    def order(self, sources: list[int], queues: list[list[Packet]]) -> Sequence[int]:
        by_age = self._by_age
        all_ = super().order(sources, queues) if by_age is None else by_age.order(sources, queues)
        paused = self.paused
        if not paused:
            return all_
        return [place for place in all_ if not paused >> sources[place] % PRIORITIES & 1]


class PriorityTransmitter(Transmitter):
    """Has a queue for each priority of each source, and holds back those that are paused.

    A pause holds until the far end lets the sender go on: it is told again before it runs out.

    Attributes:
        wait_ps: time in which at least one priority was paused, in ps.
        pauses: how often each was.
    """

    changes: ClassVar[Changes] = Changes(counts="pauses _waited_ps", since="_since _each_since")

    def __init__(
        self, sim: Simulator, name: str, link: Link, urgent: int = 0, by_age: bool = False
    ) -> None:
        self._order = Unpaused(urgent, by_age)
        super().__init__(sim, name, link, self._order)
        self.control_frames(PAUSE_FRAME)
        self.pauses = [0] * PRIORITIES
        self._waited_ps = self._since = 0
        self._each_since: dict[int, int] = {}
        sim.resources.keeps_waiting(f"{name}.paused", self)

    @property
    def wait_ps(self) -> int:
        return self._waited_ps + (self.sim.now - self._since if self._order.paused else 0)

    @property
    def paused(self) -> int:
        """A bit for each priority that is paused."""
        return self._order.paused

    def send(self, source: int, packet: Packet, ready_at: int, holder: Holder) -> None:
        super().send(source * PRIORITIES + priority(packet), packet, ready_at, holder)

    def act(self) -> None:
        now = self.sim.now
        if now != self._wake_at:
            return
        if self._order.paused and not self._blocked:
            queues = self._queues
            places = self._order.order(self._active, queues)
            first = min([queues[place][0].ready_at for place in places], default=NEVER)
            if first > now:
                self._wake_at = NEVER
                self._wake(first)
                return
        super().act()

    def _wake(self, at: int) -> None:
        """Look again at a time, unless it does so before."""
        if at < self._wake_at:
            self._wake_at = at
            self.sim.schedule(at, self)

    def hear(self, frame: PauseFrame, at_ps: int) -> None:
        """Tell those who watch of a frame that comes at a time, or has come."""
        for watcher in self._watchers:
            watcher.work(self.name, PAUSE, at_ps, at_ps, frame)

    def pause(self, one: int) -> None:
        """Begin no packet of a priority from now on."""
        self._each_since.setdefault(one, self.sim.now)
        if not self._order.paused:
            self._since = self.sim.now
        self._order.paused |= 1 << one
        self.pauses[one] += 1

    def go_on(self, one: int) -> None:
        """Send packets of a priority again."""
        since = self._each_since.pop(one, self.sim.now)
        for watcher in self._watchers:
            watcher.work(f"{self.name}.paused", f"priority {one}", since, self.sim.now, "paused")
        self._order.paused &= ~(1 << one)
        now = self.sim.now
        if not self._order.paused:
            self._waited_ps += now - self._since
        if self._active and not self._blocked:
            self._wake(max(now, self._free_at))
