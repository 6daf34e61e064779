"""One direction of a link: packets in turn, at its rate, as far as the receive buffer has room."""

from __future__ import annotations

from bisect import bisect_left
from typing import ClassVar, Final

from hcasim.catalog import Link
from hcasim.engine import Action, CreditPool, Rate, Simulator
from hcasim.engine.changes import Changes
from hcasim.fabric.arbitration import RoundRobin
from hcasim.fabric.medium import medium
from hcasim.fabric.packet import Holder, Packet

PACKET: Final = "packet"
"""What those who watch are told that a link does."""

_FEW: Final = 8
"""Flow control packets that may become due before the next packet is sent."""
NEVER: Final = 1 << 60
"""A time in ps that does not come."""


class Receiver:
    """What a transmitter delivers to, with a buffer for packets until they leave."""

    buffer: Holder

    def receive(self, packet: Packet, head_at: int, tail_at: int) -> None:
        """Expect a packet, in order of arrival; its first and last byte arrive at these times."""
        raise NotImplementedError


class _Waiting(Action):
    """A packet for which the far end has no room yet, and whether it passes another meanwhile."""

    __slots__ = ("_packet", "_passes", "_transmitter")

    def __init__(self, transmitter: Transmitter, packet: Packet, passes: bool) -> None:
        self._transmitter = transmitter
        self._packet = packet
        self._passes = passes

    def act(self) -> None:
        self._transmitter.unblock(self._packet, self._passes)


class Transmitter(Action):
    """Sends packets of several sources over one direction of a link, in turn.

    Behind each go up to ``between`` bytes of flow-control packets: less behind one that is shorter
    than what the link is updated for.

    Each source has a queue. A packet waits until the receive buffer at the far end has room for it.
    Meanwhile those of other sources that need less room pass it: an arbiter picks only what may be
    sent at once (Mellanox's model of its own switches and adapters, ib_flit_sim, vlarb.cc,
    roundRobinNextRQForVL).
    """

    changes: ClassVar[Changes] = Changes(
        times="_free_at _wake_at",
        unseen="_size _took _place",
        counts="busy_ps packets payload_bytes wire_bytes flow_control_packets _flow_control_debt",
    )

    def __init__(
        self,
        sim: Simulator,
        name: str,
        link: Link,
        arbitration: RoundRobin | None = None,
        between: int = 0,
    ) -> None:
        self.sim = sim
        self.name = name
        self.medium = physics = medium(link)
        self._rate = Rate(physics.ps_per_byte)
        self._around = physics.around
        self._propagation = link.cable_length * link.propagation // 1000 + physics.correction
        self._tail = self._propagation - self._rate.time(physics.gap)
        self._between = between
        self._update = max(1, physics.update)
        # Behind the last packet, in ps.
        self._gap = 0
        self._fcp_time = self._notice = 0
        self.credit_block = physics.block
        # Side by side: the sources that have packets, in order, and those packets.
        self._active: list[int] = []
        self._queues: list[list[Packet]] = []
        sim.resources.queues.append(self._queues)
        self._arbitration = arbitration or RoundRobin()
        self._free_at = 0
        self._wake_at = NEVER
        # Blocks that the packet whose turn it is waits for, and its source; 0 if none does.
        self._blocked = self._blocked_source = 0
        self._passing = False
        # Of the last packet, and how long it took in ps: those behind it are mostly as long.
        self._size = self._took = 0
        # Behind the source that has handed one over last.
        self._place = 0
        self.flow_control_packets = self._flow_control_debt = 0
        self.busy_ps = self.packets = self.payload_bytes = self.wire_bytes = 0
        self.receiver: Receiver | None = None
        self.credits: CreditPool | None = None
        self._announced: CreditPool | None = None
        self._watchers = sim.watchers
        # As those who watch know.
        self._queued = 0

    def phase(self) -> tuple[int, ...]:
        """When due flow control packets have been sent, in ps from now, and what arbitration adds.

        That time counts as long as a few more packets could still hold up the next data.
        """
        done = self._free_at + self._flow_control_debt - self.sim.now
        due = max(done, -_FEW * self._fcp_time)
        return (due, *self._arbitration.ages(self._queues))

    def attach(self, receiver: Receiver, buffer_bytes: int) -> None:
        self.receiver = receiver
        self.credits = CreditPool(
            self.sim, f"{self.name}.credits", max(1, buffer_bytes // self.credit_block)
        )

    @property
    def pools(self) -> list[CreditPool]:
        """The credits of each part of the receive buffer at the far end."""
        assert self.credits is not None
        return [self.credits]

    def lane(self, packet: Packet) -> int:
        """The part of it that a packet takes room of."""
        return 0

    def send(self, source: int, packet: Packet, ready_at: int, holder: Holder) -> None:
        """Queue a packet of one source.

        Args:
            ready_at: earliest time in ps for its first byte, in order for each source.
            holder: told when it leaves.
        """
        packet.ready_at = ready_at
        packet.holder = holder
        active = self._active
        if not active:
            active.append(source)
            self._queues.append([packet])
        elif active[-1] == source:
            self._queues[-1].append(packet)
        else:
            # Sources mostly come in turn.
            place = self._place
            if place >= len(active) or active[place] != source:
                place = bisect_left(active, source)
            self._place = place + 1
            if place < len(active) and active[place] == source:
                self._queues[place].append(packet)
            else:
                active.insert(place, source)
                self._queues.insert(place, [packet])
        if not self._blocked or source != self._blocked_source:
            at = self._free_at
            if ready_at > at:
                at = ready_at
            if at < self._wake_at:
                self._wake_at = at
                self.sim.schedule(at, self)

    def carries(self, credits: CreditPool, packet_bytes: int) -> None:
        """Carry the flow control packets that give these credits of the other end back."""
        self._announced = credits
        self.control_frames(packet_bytes)

    def control_frames(self, frame_bytes: int) -> None:
        """Send packets of flow control of so many bytes on the wire."""
        self._fcp_time = self._rate.time(frame_bytes)
        self._notice = self._propagation + self._fcp_time

    def announce(self, packets: int, at_ps: int) -> int:
        """Send flow control packets; return when the other end knows what they say, in ps.

        They go ahead of the packets that wait for the link, but behind the one under way, also if
        that begins before there is anything to say (`CreditPool.postpone`). If none is due, the
        time is that of one that would be.
        """
        self.flow_control_packets += packets
        self._flow_control_debt += packets * self._fcp_time
        under_way_until = self._free_at - self._gap
        return (at_ps if at_ps > under_way_until else under_way_until) + self._notice

    def act(self) -> None:
        woken_at = self.sim.now
        if woken_at != self._wake_at:
            return
        self._wake_at = NEVER
        if self._blocked:
            self._pass(woken_at)
            return
        active = self._active
        place = 0 if len(active) == 1 else self._choose(woken_at)
        source = active[place]
        queue = self._queues[place]
        packet = queue[0]
        if len(queue) > 1:
            queue.pop(0)
        else:
            active.pop(place)
            self._queues.pop(place)
        self._arbitration.served(source, packet.size)
        credits = self.credits
        assert credits is not None
        needed = -(-packet.size // self.credit_block)
        if credits.take(needed):
            self._transmit(packet)
        else:
            self._blocked = needed
            self._blocked_source = source
            credits.wait(needed, _Waiting(self, packet, passes=False))
            if active:
                self._pass(woken_at)

    def _pass(self, now: int) -> None:
        """Let a packet of another source pass the one whose turn it is, if it needs less room."""
        if self._passing:
            return
        active, queues = self._active, self._queues
        for place in self._arbitration.order(active, queues):
            packet, source = queues[place][0], active[place]
            needed = -(-packet.size // self.credit_block)
            if needed >= self._blocked or source == self._blocked_source:
                continue
            if packet.ready_at > now:
                if packet.ready_at < self._wake_at:
                    self._wake_at = packet.ready_at
                    self.sim.schedule(packet.ready_at, self)
                continue
            self._arbitration.served(source, packet.size)
            del queues[place][0]
            if not queues[place]:
                del active[place], queues[place]
            self._passing = True
            credits = self.credits
            assert credits is not None
            credits.wait_ahead(needed, _Waiting(self, packet, passes=True))
            return

    def _choose(self, now: int) -> int:
        queues = self._queues
        for place in self._arbitration.order(self._active, queues):
            if queues[place][0].ready_at <= now:
                return place
        raise AssertionError(f"{self.name}: no packet is ready")

    def unblock(self, packet: Packet, passes: bool) -> None:
        if passes:
            self._passing = False
        else:
            self._blocked = 0
        self._transmit(packet)

    def _transmit(self, packet: Packet) -> None:
        # Flow control packets have gone out while the link was idle, or go out first.
        debt = self._flow_control_debt
        start = self.sim.now
        if debt:
            self._flow_control_debt = 0
            self.busy_ps += debt
        if self._free_at + debt > start:
            start = self._free_at + debt
        size = packet.size
        left = start + (self._took if size == self._size else self._time(size))
        gap = 0
        if self._between:
            self._gap = gap = self._rate.time(
                self._between * min(size, self._update) // self._update
            )
        self._free_at = end = left + gap
        self.busy_ps += end - start
        self.packets += 1
        self.payload_bytes += packet.payload
        self.wire_bytes += size + self._around
        if self._watchers:
            self._tell(packet, start, left)
        if self._announced is not None:
            self._announced.postpone(start + self._notice, left + self._notice)
        packet.holder.free(packet, end)
        receiver = self.receiver
        assert receiver is not None
        receiver.receive(packet, start + self._propagation, left + self._tail)
        queues = self._queues
        if queues:
            at = NEVER
            for queue in queues:
                ready = queue[0].ready_at
                if ready <= end:
                    at = end
                    break
                if ready < at:
                    at = ready
            if at != self._wake_at:
                self._wake_at = at
                self.sim.schedule(at, self)

    def _tell(self, packet: Packet, start: int, left: int) -> None:
        queued = 0
        for queue in self._queues:
            queued += len(queue)
        for watcher in self._watchers:
            watcher.work(self.name, PACKET, start, left, packet)
            if queued != self._queued:
                watcher.level(f"{self.name} queue", self.sim.now, queued)
        self._queued = queued

    @property
    def propagation_ps(self) -> int:
        return self._propagation

    def backlog(self) -> int:
        """Bytes of the packets that wait."""
        return sum([packet.size for queue in self._queues for packet in queue])

    def serialisation(self, packet: Packet) -> int:
        size = packet.size
        return self._took if size == self._size else self._time(size)

    def _time(self, size: int) -> int:
        self._size = size
        self._took = took = self._rate.time(size + self._around)
        return took
