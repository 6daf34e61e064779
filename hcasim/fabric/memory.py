"""The packet memory of an Ethernet switch: who has how much of it, pauses, drops and marks.

Early drops, like marks, go by the length of a queue, not by its mean over some time.

Sources: IEEE 802.1Qbb (pauses by priority); Choudhury and Hahne, "Dynamic queue length thresholds
for shared-memory packet switches" (IEEE/ACM Transactions on Networking 6(2), 1998); RFC 3168 (ECN);
Floyd and Jacobson, "Random early detection" (1993). What is reserved, shared and headroom is told
apart as in alibaba-edu/High-Precision-Congestion-Control, point-to-point/model/switch-mmu.cc.
"""

from __future__ import annotations

from random import Random
from typing import ClassVar, Final

from hcasim.catalog.testbed import PacketMemory
from hcasim.engine import Action, Probe, Simulator
from hcasim.engine.changes import Changes
from hcasim.fabric.flow_control import ENDLESS
from hcasim.fabric.link import Transmitter
from hcasim.fabric.packet import Holder, Packet
from hcasim.fabric.priorities import PauseFrame, PriorityTransmitter

_SHARE: Final = 10**9
"""What shares are parts of."""


class InputShare:
    """What packets of one priority that came by one input take of the memory, in bytes.

    Attributes:
        held: in what is reserved and shared; ``headroom`` is beyond that.
        paused: whether their sender is paused.
        sender: of the packets.
        back: which sends frames that pause to it.
    """

    changes: ClassVar[Changes] = Changes(slips="held headroom", unseen="paused")

    __slots__ = ("back", "headroom", "held", "paused", "priority", "sender")

    def __init__(
        self, sender: PriorityTransmitter, back: PriorityTransmitter, priority: int
    ) -> None:
        self.sender = sender
        self.back = back
        self.priority = priority
        self.held = self.headroom = 0
        self.paused = False


class OutputQueue:
    """Packets of one priority that wait for one output.

    Attributes:
        length: their bytes, but for those of the packet that leaves; ``longest`` so far.
        coming: bytes on the way into it.
    """

    changes: ClassVar[Changes] = Changes(slips="coming length", counts="longest")

    __slots__ = ("coming", "length", "longest")

    def __init__(self) -> None:
        self.coming = self.length = self.longest = 0


class Memory:
    """The memory of one switch.

    Attributes:
        shared: bytes that packets take of what all share; ``most_shared`` so far.
        dropped, marked: packets so far.
        pauses: frames that paused a sender so far.
        marks_above: bytes of a queue above which it marks what leaves it.
        writes: whether its switch writes into packets how full its outputs are.
        reaction: from a frame that pauses to no more packets beginning to leave, in ps.
    """

    changes: ClassVar[Changes] = Changes(slips="shared", counts="most_shared dropped marked pauses")

    def __init__(self, sim: Simulator, description: PacketMemory, name: str, ports: int) -> None:
        self.sim = sim
        self._probe = Probe(sim, name)
        self.pauses_senders = description.pauses
        self.writes = description.telemetry
        self._alpha = description.alpha
        self._reserve = description.reserve
        self._headroom = description.kept
        self._resume = description.resume
        self.reaction = description.reaction
        own = ports * (description.reserve + self._headroom)
        self._size = description.size - own
        self._marking = marking = description.marks
        least = ENDLESS if marking is None else marking.kmin
        early = description.drops_early
        self.marks_above, self._drops_above = (ENDLESS, least) if early else (least, ENDLESS)
        seed = marking.seed if marking is not None else 0
        self._random = Random(f"{seed} {name}")
        self.shared = self.most_shared = self.dropped = self.marked = self.pauses = 0

    def _part(self) -> int:
        """What one input or output queue may take of what is shared, in bytes."""
        return (self._size - self.shared) * self._alpha // _SHARE

    def takes_room(self, head_at: int, tail_at: int) -> int:
        """When a packet takes its room, in ps, whose first and last byte come at these times.

        Where packets are dropped, it is some time between: which of several inputs finds the room
        that a packet has left depends on phases of their clocks, which are never the same for long.
        With equal times, the first input would get all of it.
        """
        if self.pauses_senders:
            return tail_at
        return head_at + int(self._random.random() * (tail_at - head_at))

    def admit(self, share: InputShare, queue: OutputQueue, size: int) -> bool:
        """Take room for a packet; return whether there is any, and it is not dropped early."""
        part = self._part()
        beyond = max(0, share.held + size - self._reserve)
        if self.pauses_senders:
            if beyond > part:
                if share.headroom + size > self._headroom:
                    return False
                share.headroom += size
                beyond = 0
            else:
                share.held += size
        elif (
            queue.length + size > part
            or self.shared + min(size, beyond) > self._size
            or (queue.length > self._drops_above and self._chosen(queue.length))
        ):
            return False
        else:
            share.held += size
        self.shared += min(size, beyond)
        self.most_shared = max(self.most_shared, self.shared)
        queue.length += size
        queue.longest = max(queue.longest, queue.length)
        if share.headroom and not share.paused:
            self._tell(share, True)
        return True

    def discard(self, packet: Packet) -> None:
        """Drop a packet that was not admitted."""
        self.dropped += 1
        if self._probe.listeners:
            self._probe.event("discard", 0, packet)
            self._probe.level("discards", self.dropped)
        packet.tell_lost()

    def leave(self, share: InputShare, queue: OutputQueue, packet: Packet) -> None:
        """Give back the room of a packet."""
        size = packet.size
        queue.length -= size
        from_headroom = min(share.headroom, size)
        share.headroom -= from_headroom
        rest = size - from_headroom
        self.shared -= min(rest, max(0, share.held - self._reserve))
        share.held -= rest
        if share.paused and not share.headroom:
            beyond = max(0, share.held - self._reserve)
            if not beyond or beyond + self._resume <= self._part():
                self._tell(share, False)

    def mark(self, queue: OutputQueue, packet: Packet) -> None:
        """Mark a packet, perhaps, that leaves a long queue."""
        if self._chosen(queue.length):
            packet.marked = True
            self.marked += 1
            if self._probe.listeners:
                self._probe.event("mark", 0, packet)
                self._probe.level("marks", self.marked)

    def _chosen(self, length: int) -> bool:
        """Whether a packet of a queue longer than kmin is marked, or dropped early."""
        marking = self._marking
        assert marking is not None
        if length > marking.kmax:
            return True
        above, width = length - marking.kmin, marking.kmax - marking.kmin
        return self._random.random() * width * _SHARE < above * marking.pmax

    def _tell(self, share: InputShare, pause: bool) -> None:
        """Send a frame that pauses the sender of an input, or lets it go on."""
        share.paused = pause
        sender, back = share.sender, share.back
        comes_at = back.announce(1, self.sim.now)
        known_at = comes_at + self.reaction
        if self._probe.listeners:
            sender.hear(PauseFrame(back.name, 1 << share.priority, pause), comes_at)
        if pause:
            self.pauses += 1
            self.sim.call_at(known_at, sender.pause, share.priority)
        else:
            self.sim.call_at(known_at, sender.go_on, share.priority)


class Lane(Holder):
    """The way of packets from one input to one output in one priority."""

    __slots__ = ("memory", "output", "queue", "share", "source")

    def __init__(
        self,
        memory: Memory,
        share: InputShare,
        queue: OutputQueue,
        source: int,
        output: Transmitter,
    ) -> None:
        self.memory = memory
        self.share = share
        self.queue = queue
        self.source = source
        self.output = output

    def free(self, packet: Packet, at_ps: int) -> None:
        memory, queue = self.memory, self.queue
        memory.leave(self.share, queue, packet)
        if queue.length > memory.marks_above:
            memory.mark(queue, packet)

    def drop(self, packet: Packet, at_ps: int) -> None:
        self.memory.leave(self.share, self.queue, packet)


class Arriving(Action):
    """A packet on its way into the memory, which takes its room when it comes."""

    changes: ClassVar[Changes] = Changes(times="_ready_at")

    __slots__ = ("_lane", "_packet", "_ready_at")

    def __init__(self, lane: Lane, packet: Packet, ready_at: int) -> None:
        self._lane = lane
        self._packet = packet
        self._ready_at = ready_at

    def act(self) -> None:
        lane, packet = self._lane, self._packet
        lane.queue.coming -= packet.size
        if lane.memory.admit(lane.share, lane.queue, packet.size):
            ready_at = max(self._ready_at, lane.memory.sim.now)
            lane.output.send(lane.source, packet, ready_at, lane)
            return
        lane.memory.discard(packet)
