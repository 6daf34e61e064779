"""Links whose far end pauses the priorities of Ethernet one by one (IEEE 802.1Qbb)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from hcasim.catalog import Link
from hcasim.catalog.classes import PRIORITIES, TrafficClasses, Watchdog
from hcasim.engine import Simulator
from hcasim.engine.changes import Changes
from hcasim.fabric.arbitration import OldestFirst, RoundRobin
from hcasim.fabric.link import NEVER, Transmitter
from hcasim.fabric.packet import Holder, Packet
from hcasim.fabric.wire import GAP, MINIMUM_FRAME, PREAMBLE

_SCALE: Final = 10_000
"""What bytes are multiplied by before they are divided by a weight in percent."""
PAUSE_FRAME: Final = PREAMBLE + MINIMUM_FRAME + GAP
"""Bytes on the wire of a frame that pauses, or lets go on (IEEE 802.1Qbb, 802.3 annex 31D)."""


PAUSE: Final = "pause"
"""What those who watch are told that a frame does to a sender."""


class PauseFrame:
    """What a frame says: that priorities, a bit for each, are to pause, or may go on."""

    __slots__ = ("by", "pause", "priorities")

    def __init__(self, by: str, priorities: int, pause: bool) -> None:
        self.by = by
        self.priorities = priorities
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


class Classes(Unpaused):
    """Classes of priorities go by rank or by weight; in each the sources take turns.

    Among those with weights the one goes that has sent least for its weight since it began: one
    that had nothing to send for a while begins where the others are (Goyal, Vin and Cheng,
    "Start-time fair queueing", SIGCOMM 1996).
    """

    changes: ClassVar[Changes] = Changes(slips="_sent _begun", wraps="_turns")

    def __init__(self, description: TrafficClasses) -> None:
        super().__init__(0, by_age=False)
        self._of = description.of_priorities
        self._weights = description.weights
        # Bytes for its weight, and those of the class that was served last, when it began.
        self._sent = [0] * len(self._weights)
        self._begun = 0
        self._turns = [0] * len(self._weights)

    def order(self, sources: list[int], queues: list[list[Packet]]) -> Sequence[int]:
        paused, of = self.paused, self._of
        found: dict[int, list[int]] = {}
        behind: dict[int, list[int]] = {}
        for place, source in enumerate(sources):
            one = source % PRIORITIES
            if not paused >> one & 1:
                kind = of[one]
                passed = source < self._turns[kind]
                (behind if passed else found).setdefault(kind, []).append(place)
        places: list[int] = []
        for _, kind in sorted([self._rank(kind) for kind in {**found, **behind}]):
            places += found.get(kind, ())
            places += behind.get(kind, ())
        return places

    def _rank(self, kind: int) -> tuple[int, int]:
        return (self._sent[kind] if self._weights[kind] else -1 - kind), kind

    def served(self, source: int, size: int) -> None:
        kind = self._of[source % PRIORITIES]
        self._turns[kind] = source + 1
        weight = self._weights[kind]
        if weight:
            self._begun = begun = max(self._sent[kind], self._begun)
            self._sent[kind] = begun + size * _SCALE // weight


class PriorityTransmitter(Transmitter):
    """Has a queue for each priority of each source, and holds back those that are paused.

    A pause holds until the far end lets the sender go on: it is told again before it runs out.

    Attributes:
        wait_ps: time in which at least one priority was paused, in ps.
        pauses: how often each was.
    """

    changes: ClassVar[Changes] = Changes(counts="pauses _waited_ps", since="_since _each_since")

    def __init__(
        self,
        sim: Simulator,
        name: str,
        link: Link,
        urgent: int = 0,
        order: Unpaused | None = None,
    ) -> None:
        self._order = order or Unpaused(urgent, by_age=False)
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

    @property
    def held(self) -> int:
        """A bit for each priority that is paused and has packets to send."""
        waiting = 0
        for source in self._active:
            waiting |= 1 << source % PRIORITIES
        return waiting & self._order.paused

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
            ready = min([queue[0].ready_at for queue in self._queues])
            self._wake(max(now, self._free_at, ready))


class WatchedTransmitter(PriorityTransmitter):
    """Drops or forwards packets of priorities that are paused for long.

    Attributes:
        storms: how often it began to.
        discarded: packets so far.
    """

    changes: ClassVar[Changes] = Changes(counts="storms discarded _news")

    def __init__(
        self,
        sim: Simulator,
        name: str,
        link: Link,
        watchdog: Watchdog,
        order: Unpaused,
    ) -> None:
        super().__init__(sim, name, link, order=order)
        self._watchdog = watchdog
        self._drops = watchdog.action == "drop"
        # Bits of priorities.
        self._watched = self._stormy = 0
        # Of each priority, how often it was let go on, or paused in a storm.
        self._news = [0] * PRIORITIES
        self.storms = self.discarded = 0

    def send(self, source: int, packet: Packet, ready_at: int, holder: Holder) -> None:
        one = priority(packet)
        if self._drops and self._stormy >> one & 1:
            self._discard(packet, holder)
            return
        super().send(source, packet, ready_at, holder)
        if self._order.paused >> one & 1:
            self._watch(one)

    def pause(self, one: int) -> None:
        if self._stormy >> one & 1:
            self._news[one] += 1
            return
        super().pause(one)
        if any(source % PRIORITIES == one for source in self._active):
            self._watch(one)

    def go_on(self, one: int) -> None:
        self._news[one] += 1
        self._watched &= ~(1 << one)
        if self._stormy >> one & 1:
            at = self.sim.now + self._watchdog.restoration_time
            self.sim.call_at(at, self._restore, one, self._news[one])
        else:
            super().go_on(one)

    def _watch(self, one: int) -> None:
        if not self._watched >> one & 1:
            self._watched |= 1 << one
            at = self.sim.now + self._watchdog.detection_time
            self.sim.call_at(at, self._detect, one, self._news[one])

    def _detect(self, one: int, news: int) -> None:
        if news != self._news[one]:
            return
        self.storms += 1
        if self._watchdog.action == "alert":
            return
        self._stormy |= 1 << one
        lost: list[Packet] = []
        if self._drops:
            for place in reversed(range(len(self._active))):
                if self._active[place] % PRIORITIES == one:
                    lost += self._queues[place]
                    del self._active[place], self._queues[place]
            self._wake_at = NEVER
        super().go_on(one)
        for packet in lost:
            self._discard(packet, packet.holder)

    def _restore(self, one: int, news: int) -> None:
        if news == self._news[one]:
            self._stormy &= ~(1 << one)

    def _discard(self, packet: Packet, holder: Holder) -> None:
        self.discarded += 1
        holder.drop(packet, self.sim.now)
        packet.tell_lost()
