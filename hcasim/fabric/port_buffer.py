"""The receive buffer of an adapter's port over Ethernet, in parts by priority.

The switch does not know what room there is. With pauses (IEEE 802.1Qbb) each part pauses its
priorities when it is filled above a threshold, and what still comes goes to the room above it;
what finds no room is discarded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from hcasim.catalog.classes import PRIORITIES
from hcasim.catalog.receive import BufferPart
from hcasim.engine import Action
from hcasim.engine.changes import Changes
from hcasim.fabric.flow_control import ENDLESS
from hcasim.fabric.link import Receiver, Transmitter
from hcasim.fabric.packet import Holder, Packet
from hcasim.fabric.priorities import PauseFrame, PriorityTransmitter, priority


class _Part:
    """One part.

    Attributes:
        held: bytes of packets in it, or of those on the link for which there is room in any case.
        late: packets on the link of which that is not known.
        paused: whether its priorities are; ``used`` are those of which packets have been late.
        pauses: frames that have paused them so far.
    """

    changes: ClassVar[Changes] = Changes(slips="held late", counts="pauses", unseen="paused used")

    __slots__ = (
        *("bits", "held", "late", "paused", "pauses", "priorities", "size", "used", "xoff", "xon"),
    )

    def __init__(self, description: BufferPart, pauses: bool) -> None:
        self.size = description.size
        self.xoff = description.xoff if pauses else description.size
        self.xon = description.xon
        self.bits = description.priorities
        self.priorities = [n for n in range(PRIORITIES) if description.priorities >> n & 1]
        self.held = self.late = self.pauses = self.used = 0
        self.paused = False


class _Room(Holder):
    """Takes back what packets have held."""

    def __init__(self, buffer: PortBuffer) -> None:
        self._buffer = buffer

    def free(self, packet: Packet, at_ps: int) -> None:
        self._buffer.leave(packet)


class _Late(Action):
    """A packet of which it shows only when it has come whether there is room."""

    __slots__ = ("_buffer", "_head_at", "_packet")

    def __init__(self, buffer: PortBuffer, packet: Packet, head_at: int) -> None:
        self._buffer = buffer
        self._packet = packet
        self._head_at = head_at

    def act(self) -> None:
        self._buffer.arrived(self._packet, self._head_at)


class PortBuffer(Receiver):
    """Stands before a port, and discards or pauses.

    Args:
        reaction: of the switch that is paused, in ps; None if it is not.

    Attributes:
        discarded: packets so far, which mlx5 counts as rx_discards_phy.
        wait_ps: time in which it has paused, or what it has discarded has taken on the link, in ps.
    """

    changes: ClassVar[Changes] = Changes(counts="discarded _waited_ps", since="_since")

    def __init__(
        self,
        name: str,
        sender: PriorityTransmitter,
        end: Receiver,
        back: Transmitter,
        parts: Sequence[BufferPart],
        reaction: int | None,
    ) -> None:
        assert sender.receiver is not None, f"{sender.name} leads nowhere"
        self._sim = sender.sim
        self._sender = sender
        self._behind = sender.receiver
        self._back = back
        self._reaction = reaction or 0
        self._parts = [_Part(one, reaction is not None) for one in parts]
        by_priority = {n: one for one in self._parts for n in one.priorities}
        self._of = [by_priority[n] for n in range(PRIORITIES)]
        self.discarded = self._waited_ps = self._since = self._pausing = 0
        end.buffer = _Room(self)
        sender.attach(self, ENDLESS)
        sender.sim.resources.keeps_waiting(name, self)

    @property
    def wait_ps(self) -> int:
        return self._waited_ps + (self._sim.now - self._since if self._pausing else 0)

    def receive(self, packet: Packet, head_at: int, tail_at: int) -> None:
        part = self._of[priority(packet)]
        if part.late or part.held + packet.size > part.xoff:
            part.late += 1
            self._sim.schedule(tail_at, _Late(self, packet, head_at))
            return
        part.held += packet.size
        self._behind.receive(packet, head_at, tail_at)

    def arrived(self, packet: Packet, head_at: int) -> None:
        """A packet has come: there is room, perhaps behind a pause, or not."""
        number = priority(packet)
        part = self._of[number]
        part.late -= 1
        part.used |= 1 << number
        if part.held + packet.size > part.size:
            self.discarded += 1
            self._waited_ps += self._sender.serialisation(packet)
            packet.tell_lost()
            return
        part.held += packet.size
        if part.held > part.xoff and not part.paused:
            part.pauses += 1
            self._tell(part, True)
        self._behind.receive(packet, head_at, self._sim.now)

    def leave(self, packet: Packet) -> None:
        """Give back the room of a packet."""
        part = self._of[priority(packet)]
        part.held -= packet.size
        if part.paused and part.held <= part.xon:
            self._tell(part, False)

    def _tell(self, part: _Part, pause: bool) -> None:
        """Send a frame that pauses the priorities of a part, or lets them go on."""
        part.paused = pause
        now = self._sim.now
        if pause:
            if not self._pausing:
                self._since = now
            self._pausing += 1
        else:
            self._pausing -= 1
            if not self._pausing:
                self._waited_ps += now - self._since
        comes_at = self._back.announce(1, now)
        if self._sim.watchers:
            self._sender.hear(PauseFrame(self._back.name, part.bits, pause), comes_at)
        known_at = comes_at + self._reaction
        self._sim.call_at(known_at, self._obey, part.priorities, pause)

    def _obey(self, priorities: list[int], pause: bool) -> None:
        for one in priorities:
            if pause:
                self._sender.pause(one)
            else:
                self._sender.go_on(one)

    @property
    def frames(self) -> int:
        """How often it has paused priorities: each frame is for all of a part."""
        return sum([one.pauses for one in self._parts])

    def pauses(self) -> dict[str, int]:
        """How often the port has paused each priority, and was paused, by the names of ethtool."""
        found = {
            f"tx_prio{n}_pause": one.pauses
            for one in self._parts
            for n in one.priorities
            if one.used >> n & 1
        }
        if isinstance(self._back, PriorityTransmitter):
            found |= {f"rx_prio{n}_pause": times for n, times in enumerate(self._back.pauses)}
        return {name: times for name, times in found.items() if times}
