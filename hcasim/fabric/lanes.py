"""Links of InfiniBand with virtual lanes, and switches that mark packets of congested ones.

Sources: InfiniBand Architecture Specification volume 1, 7.6 (virtual lanes, arbitration) and annex
A10 (congestion control); of what it leaves open, Mellanox's model of its own switches and adapters,
ib_flit_sim, vlarb.cc: only packets for which there are credits compete.
"""

from __future__ import annotations

from random import Random
from typing import ClassVar, Final

from hcasim.catalog import Link
from hcasim.catalog.subnet import UNLIMITED, CongestionControl, Qos, Share
from hcasim.engine import Action, CreditPool, Probe, Simulator
from hcasim.engine.changes import Changes
from hcasim.fabric.arbitration import RoundRobin
from hcasim.fabric.link import NEVER, Receiver, Transmitter
from hcasim.fabric.packet import Holder, Packet

_LANES: Final = 16
_UNIT: Final = 64
"""Bytes that weights count."""
_LIMIT: Final = 4096
"""Bytes that the limit of high priority counts."""
_PARTS: Final = 16
"""Parts of a receive buffer that thresholds count."""

ONE_LANE: Final = Qos(max_vls=1)


class _Table:
    """An arbitration table, the entry whose turn it is, and what is left of its weight."""

    changes: ClassVar[Changes] = Changes(wraps="_place", slips="_left")

    __slots__ = ("_entries", "_left", "_place", "lanes")

    def __init__(self, entries: tuple[Share, ...]) -> None:
        self._entries = [(one.lane, one.weight) for one in entries if one.weight]
        self.lanes = 0
        for lane, _ in self._entries:
            self.lanes |= 1 << lane
        self._place = 0
        self._left = self._entries[0][1] if self._entries else 0

    def choose(self, able: int) -> int:
        """The lane that sends next, of those that can, of which the table has one at least."""
        while self._left <= 0 or not able >> self._entries[self._place][0] & 1:
            self._place = (self._place + 1) % len(self._entries)
            self._left = self._entries[self._place][1]
        return self._entries[self._place][0]

    def sent(self, size: int) -> None:
        self._left -= -(-size // _UNIT)


class Arbiter:
    """Which lane sends the next packet (7.6.9)."""

    changes: ClassVar[Changes] = Changes(slips="_limit")

    def __init__(self, qos: Qos) -> None:
        self._high, self._low = _Table(qos.high), _Table(qos.low)
        self._usual = NEVER if qos.high_limit == UNLIMITED else max(1, qos.high_limit * _LIMIT)
        self._limit = self._usual

    def choose(self, able: int, sizes: list[int]) -> int:
        """The lane that sends next, and is taken to send a packet of its size, of those that can.

        Args:
            able: a bit for each lane.
        """
        high, low = able & self._high.lanes, able & self._low.lanes
        if high and (self._limit > 0 or not low):
            if self._limit <= 0:
                # Low priority has had its opportunity.
                self._limit = self._usual
            lane = self._high.choose(high)
            self._high.sent(sizes[lane])
            self._limit -= sizes[lane]
            return lane
        lane = self._low.choose(low)
        self._low.sent(sizes[lane])
        self._limit = self._usual
        return lane


class Marking:
    """Marks packets that leave congested lanes of an output of a switch (annex A10).

    Attributes:
        marked: packets so far.
    """

    changes: ClassVar[Changes] = Changes(counts="marked")

    def __init__(
        self, probe: Probe, control: CongestionControl, name: str, room: int, to_adapter: bool
    ) -> None:
        self._probe = probe
        self._limit = room * (_PARTS - control.threshold) // _PARTS
        self._on = control.threshold > 0
        self._least = control.packet_size
        self._every = control.marking_rate + 1
        mask = control.victim_mask
        self._victims = mask == "all" or (mask == "adapters" and to_adapter)
        self._random = Random(f"{control.seed} {name}")
        self.marked = 0

    def leaves(self, packet: Packet, waiting: int, starved: bool) -> None:
        """A packet leaves of a lane with so many bytes, which may have waited for credits."""
        congested = waiting > self._limit and (self._victims or not starved)
        if not congested or not self._on or packet.size < self._least:
            return
        if self._every == 1 or self._random.random() * self._every < 1:
            packet.marked = True
            self.marked += 1
            if self._probe.listeners:
                self._probe.event("mark", 0, packet)
                self._probe.level("marks", self.marked)


class _Room(Action):
    """Has a transmitter look again once a lane has credits for a packet, which it gives back."""

    __slots__ = ("_lane", "_transmitter", "count")

    def __init__(self, transmitter: LaneTransmitter, lane: int, count: int) -> None:
        self._transmitter = transmitter
        self._lane = lane
        self.count = count

    def act(self) -> None:
        self._transmitter.has_room(self._lane, self.count)


class _Nothing(Action):
    """What is done when credits are held that are known to be there."""

    __slots__ = ()

    def act(self) -> None:
        pass


_NOTHING: Final = _Nothing()


class LaneTransmitter(Transmitter):
    """Has a queue for each lane of each source, and credits for each lane.

    Args:
        kind: how sources of a lane take turns, the urgent ones first.
        marking: of outputs that mark packets.
    """

    changes: ClassVar[Changes] = Changes(slips="_waiting _starved")

    def __init__(
        self,
        sim: Simulator,
        name: str,
        link: Link,
        qos: Qos,
        kind: type[RoundRobin] = RoundRobin,
        urgent: int = 0,
        between: int = 0,
        marking: Marking | None = None,
    ) -> None:
        super().__init__(sim, name, link, None, between)
        self._lanes = qos.lanes
        self._number: int = qos.max_vls
        self._arbiter = Arbiter(qos)
        self._turns = [kind(urgent) for _ in range(qos.max_vls)]
        self._pools: list[CreditPool] = []
        self._told: list[CreditPool] = []
        self.marking = marking
        # By lane: bytes that wait here, what waits for credits, and how many it has to use without
        # that for its queue not to be for want of them: they come in bursts.
        self._waiting = [0] * qos.max_vls
        self._awaits: list[_Room | None] = [None] * qos.max_vls
        self._starved = [0] * qos.max_vls

    @property
    def pools(self) -> list[CreditPool]:
        return self._pools

    def lane(self, packet: Packet) -> int:
        return self._lanes[packet.route.service_level]

    def attach(self, receiver: Receiver, buffer_bytes: int) -> None:
        super().attach(receiver, buffer_bytes // self._number)
        assert self.credits is not None
        room, self._pools = self.credits.capacity, [self.credits]
        for lane in range(1, self._number):
            name = f"{self.name}.vl{lane}.credits"
            self._pools.append(CreditPool(self.sim, name, room))

    def carries(self, credits: CreditPool, packet_bytes: int) -> None:
        self._told.append(credits)
        self.control_frames(packet_bytes)

    def send(self, source: int, packet: Packet, ready_at: int, holder: Holder) -> None:
        lane = self.lane(packet)
        self._waiting[lane] += packet.size
        super().send(source * _LANES + lane, packet, ready_at, holder)

    def act(self) -> None:
        now = self.sim.now
        if now != self._wake_at:
            return
        self._wake_at = NEVER
        if now < self._free_at:
            self._wake(self._free_at)
            return
        active, queues = self._active, self._queues
        # By lane: the sources whose packets can leave, the packets, and what others lack.
        sources: list[list[int]] = [[] for _ in self._pools]
        packets: list[list[list[Packet]]] = [[] for _ in self._pools]
        short = [0] * self._number
        first = NEVER
        for source, queue in zip(active, queues, strict=True):
            packet, lane = queue[0], source % _LANES
            needed = -(-packet.size // self.credit_block)
            if packet.ready_at > now:
                first = min(first, packet.ready_at)
            elif needed <= self._pools[lane].available:
                sources[lane].append(source // _LANES)
                packets[lane].append(queue)
            elif not short[lane] or needed < short[lane]:
                short[lane] = needed
        able, places, sizes = 0, [0] * self._number, [0] * self._number
        for lane in range(self._number):
            if sources[lane]:
                able |= 1 << lane
                places[lane] = self._turns[lane].order(sources[lane], packets[lane])[0]
                sizes[lane] = packets[lane][places[lane]][0].size
            elif short[lane]:
                self._starve(lane, short[lane])
        if able:
            lane = self._arbiter.choose(able, sizes)
            self._leave(lane, sources[lane][places[lane]])
        elif first < NEVER:
            self._wake(first)

    def _leave(self, lane: int, source: int) -> None:
        place = self._active.index(source * _LANES + lane)
        packet = self._queues[place].pop(0)
        self._turns[lane].served(source, packet.size)
        if not self._queues[place]:
            del self._active[place], self._queues[place]
        needed = -(-packet.size // self.credit_block)
        if not self._pools[lane].take(needed):
            self._pools[lane].wait_ahead(needed, _NOTHING)
        self._waiting[lane] -= packet.size
        if self.marking is not None:
            self.marking.leaves(packet, self._waiting[lane], self._starved[lane] > 0)
        self._starved[lane] -= needed
        self._transmit(packet)
        left = self._free_at - self._gap
        begun = left - self.serialisation(packet)
        for pool in self._told:
            pool.postpone(begun + self._notice, left + self._notice)

    def _starve(self, lane: int, needed: int) -> None:
        pool, room = self._pools[lane], self._awaits[lane]
        self._starved[lane] = pool.capacity
        if room is None:
            room = self._awaits[lane] = _Room(self, lane, needed)
            pool.wait(needed, room)
        elif needed < room.count:
            # A smaller packet has come; nothing else waits for credits of this lane.
            room.count = needed
            pool.waiting[0] = needed, room

    def has_room(self, lane: int, credits: int) -> None:
        self._pools[lane].release(credits)
        self._awaits[lane] = None
        if self._active:
            self._wake(max(self.sim.now, self._free_at))

    def _wake(self, at: int) -> None:
        """Look again at a time, unless it does so before."""
        if at < self._wake_at:
            self._wake_at = at
            self.sim.schedule(at, self)
