"""What all ways to control congestion share: a rate, a window, and what is under way."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar, Final

from hcasim.engine import Call
from hcasim.engine.changes import Changes
from hcasim.fabric.link import Transmitter
from hcasim.fabric.packet import Header, Packet, behind
from hcasim.fabric.telemetry import Telemetry
from hcasim.hca.egress import StagingBuffer
from hcasim.hca.qp.congestion.notifications import HeldBack
from hcasim.hca.qp.pacing import FOR_EVER, Pacing
from hcasim.hca.wqe import SendWqe

MEGABIT: Final = 10**6
WHOLE: Final = 10**9
"""What shares are parts of."""


class Gate:
    """What a requester has under way: in its port, whose room others need, and in the network.

    Args:
        room: where its packets are until they leave.
        resume: lets the requester go on.
        window: bytes that may be sent and not acknowledged; 0: any number.
        by_rate: the window is smaller by as much as the rate is below that of the line.
        ahead: packets that may be in the port.

    Attributes:
        acknowledged: bytes of data so far.
        in_flight: bytes of data that are sent and not acknowledged.
        shut: whether the requester waits for it.
    """

    changes: ClassVar[Changes] = Changes(counts="acknowledged", since="_shut_at")

    def __init__(
        self,
        room: StagingBuffer,
        resume: Callable[[], None],
        window: int,
        by_rate: bool,
        ahead: int,
    ) -> None:
        self.acknowledged = self.in_flight = 0
        self.shut = False
        self.resume = resume
        self.window = window
        self._sim = room.sim
        self._room = room
        self._by_rate = by_rate
        self._ahead = ahead
        self._staged = self._shut_at = self._until = 0
        self._sent: deque[tuple[int, int]] = deque()

    @property
    def next_byte(self) -> int:
        """How many bytes of data there were before the next packet."""
        return self.acknowledged + self.in_flight

    @property
    def packets(self) -> int:
        """Sent and not acknowledged."""
        return len(self._sent)

    def whole_trip(self) -> bool:
        """Whether all that had been sent when this last was so has been acknowledged."""
        if self.acknowledged <= self._until:
            return False
        self._until = self.next_byte
        return True

    def passes(self, rate: int, line_rate: int, again: bool) -> bool:
        """Whether the next packet may be handed to the port; one sent again may."""
        if again:
            return True
        if self._staged >= self._ahead:
            return False
        window = self.window
        if not window:
            return True
        if self._by_rate:
            window = max(1, window * rate // line_rate)
        return self.in_flight < window

    def shuts(self) -> None:
        if not self.shut:
            self.shut = True
            self._shut_at = self._sim.now

    def opens(self, held: HeldBack) -> None:
        self.shut = False
        held.hold(self._shut_at, self._sim.now)
        self.resume()

    def sent(self, packet: Packet, control: RateControl) -> None:
        self._staged += 1
        self._room.when_sent(packet, Call(self._left, (packet, control)))
        sent = self._sent
        if not sent or behind(sent[-1][0], packet.psn):
            sent.append((packet.psn, packet.payload))
            self.in_flight += packet.payload

    def _left(self, packet: Packet, control: RateControl) -> None:
        self._staged -= 1
        seen = packet.header(Telemetry)
        if seen is not None:
            seen.left_at = self._sim.now - control.duration(packet)
        control.look()

    def heard(self, psn: int) -> None:
        """All before a packet has been acknowledged."""
        sent = self._sent
        while sent and behind(sent[0][0], psn):
            payload = sent.popleft()[1]
            self.acknowledged += payload
            self.in_flight -= payload

    def went_back(self, psn: int) -> bool:
        """Packets from this on are sent again; return whether the requester has waited."""
        sent = self._sent
        while sent and not behind(sent[-1][0], psn):
            self.in_flight -= sent.pop()[1]
        shut, self.shut = self.shut, False
        return shut


class RateControl(Pacing):
    """Holds the packets of one half of a queue pair back to a rate, and perhaps to a window.

    It acts from the first packet on if it has a ``gate``; otherwise from the first CNP on, until
    the rate is that of the line again. With the window alone its rate is that of the line.

    Args:
        parameters: those of its kind.
        held: told of the time that packets are held back.

    Attributes:
        line_rate: bit/s of the link; a half without a gate is released when its rate is that.
        rate: bit/s.
    """

    changes: ClassVar[Changes] = Changes(times="_waits_until")

    gate: Gate | None = None

    def __init__(
        self,
        link: Transmitter,
        parameters: Any,
        held: HeldBack,
        release: Callable[[], None],
    ) -> None:
        super().__init__(link.sim)
        self._parameters = parameters
        self._held = held
        self._link = link
        self._release = release
        self._waits_until = 0
        self.line_rate = self.rate = int(8 * 10**12 // link.medium.ps_per_byte)

    def notified(self) -> None:
        """A CNP has come."""

    def heard(self, gate: Gate, seen: Telemetry) -> None:
        """An acknowledgement has brought back what a packet has seen on its way."""

    def header(self) -> Telemetry | None:
        """What the next packet is to have, to bring back what it sees."""
        return None

    def go_on(self) -> bool:
        """Bring the rate up to date; return whether the half may be released."""
        return False

    def count(self, packet: Packet) -> None:
        """Note that a packet leaves."""

    def earliest(self, wqe: SendWqe | None) -> int:
        gate = self.gate
        if self.go_on() and gate is None:
            self._release()
        if gate is not None:
            again = wqe is not None and wqe.repairs is not None
            if not gate.passes(self.rate, self.line_rate, again):
                gate.shuts()
                return FOR_EVER
        self._held.hold(self._sim.now, self.next_at)
        self._waits_until = self.next_at
        return self.next_at

    def duration(self, packet: Packet) -> int:
        """How long a packet takes on the link, in ps."""
        return self._link.serialisation(packet)

    def sent(self, packet: Packet) -> None:
        self.go_on()
        self.count(packet)
        duration = self._link.serialisation(packet) * self.line_rate // self.rate
        self.next_at = self._begun_at + duration
        self._begun = False
        if self.gate is not None:
            self.gate.sent(packet, self)

    def look(self) -> None:
        """Let the requester go on if it has waited and need not any more."""
        gate = self.gate
        if gate is None:
            return
        if gate.shut:
            if gate.passes(self.rate, self.line_rate, False):
                gate.opens(self._held)
        elif self.next_at < self._waits_until:
            self._waits_until = self.next_at
            gate.resume()

    # What its requester tells it, if it has a gate.

    def headed(self, headers: tuple[Header, ...]) -> tuple[Header, ...]:
        seen = self.header()
        return headers if seen is None else (seen, *headers)

    def asks(self) -> bool:
        # A window that shrinks may be full of packets that did not.
        return self.gate is not None and self.gate.window > 0

    def acknowledged(self, psn: int, packet: Packet) -> None:
        gate = self.gate
        if gate is None:
            return
        gate.heard(psn)
        seen = packet.header(Telemetry)
        if seen is not None:
            self.heard(gate, seen)
        self.look()

    def went_back(self, psn: int) -> bool:
        self._waits_until = 0
        return self.gate is not None and self.gate.went_back(psn)

    def repairs(self) -> None:
        if self.gate is not None and self.gate.shut:
            self.gate.opens(self._held)
