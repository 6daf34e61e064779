"""Flow control: how the sender of a link learns that there is room in the receive buffer."""

from __future__ import annotations

from typing import ClassVar, Final

from hcasim.engine import CreditPool
from hcasim.engine.changes import Changes
from hcasim.fabric.link import Receiver, Transmitter
from hcasim.fabric.packet import Holder, Packet

ENDLESS: Final = 1 << 60
"""Bytes of a receive buffer whose sender does not wait for room."""


class ReceiveBuffer(Holder):
    """The accounting of one receive buffer: what is freed becomes credits at the other end.

    The other end, whose packets come in, knows as soon as the news can be there, as over Ethernet
    that pauses: see `hcasim.fabric.medium`.
    """

    def __init__(self, incoming: Transmitter, outgoing: Transmitter, credits: CreditPool) -> None:
        self._outgoing = outgoing
        self._block = incoming.credit_block
        self._credits = credits

    def free(self, packet: Packet, at_ps: int) -> None:
        known_at = self.known_at(packet.payload, at_ps)
        self._credits.release_at(known_at, -(-packet.size // self._block))

    def known_at(self, freed_bytes: int, freed_at: int) -> int:
        """When the other end knows of room that was freed at a time, with so many bytes of data."""
        return freed_at + self._outgoing.propagation_ps


class CreditedBuffer(ReceiveBuffer):
    """One of InfiniBand, whose flow control packets tell of the room.

    One goes for every ``update`` bytes of data freed; what packets without data free is announced
    along with the rest. The room of a packet counts as announced as soon as one could go, so up to
    ``update`` bytes of room are known earlier than they would be.

    Source: InfiniBand Architecture Specification volume 1, 7.9; Mellanox's model of its own
    switches and adapters, ib_flit_sim, obuf.cc, sends them between packets.
    """

    changes: ClassVar[Changes] = Changes(slips="_freed")

    def __init__(self, incoming: Transmitter, outgoing: Transmitter, credits: CreditPool) -> None:
        super().__init__(incoming, outgoing, credits)
        self._freed = 0
        self._update = outgoing.medium.update
        outgoing.carries(self._credits, outgoing.medium.update_size)

    def known_at(self, freed_bytes: int, freed_at: int) -> int:
        freed, update = self._freed + freed_bytes, self._update
        packets = 0
        if freed >= update:
            packets = freed // update
            freed -= packets * update
        self._freed = freed
        return self._outgoing.announce(packets, freed_at)


class DividedBuffer(Holder):
    """A receive buffer with a part for each virtual lane."""

    def __init__(self, incoming: Transmitter, parts: list[ReceiveBuffer]) -> None:
        self._incoming = incoming
        self._parts = parts

    def free(self, packet: Packet, at_ps: int) -> None:
        self._parts[self._incoming.lane(packet)].free(packet, at_ps)


def receive_buffer(incoming: Transmitter, outgoing: Transmitter) -> Holder:
    """The accounting of a receive buffer, by the flow control of its link."""
    kind = CreditedBuffer if outgoing.medium.update else ReceiveBuffer
    parts = [kind(incoming, outgoing, pool) for pool in incoming.pools]
    return parts[0] if len(parts) == 1 else DividedBuffer(incoming, parts)


def connect_ports(
    a: Transmitter,
    a_receiver: Receiver,
    a_buffer: int,
    b: Transmitter,
    b_receiver: Receiver,
    b_buffer: int,
) -> None:
    """Make a link of two transmitters, each of which fills a buffer, in bytes, at the other end."""
    a.attach(b_receiver, b_buffer)
    b.attach(a_receiver, a_buffer)
    a_receiver.buffer = receive_buffer(b, a)
    b_receiver.buffer = receive_buffer(a, b)
