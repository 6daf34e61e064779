"""Everything between two processes: the ways of packets, their order, and what has to wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

from hcasim.catalog.mpi import Mpi
from hcasim.mpi.channels import Channel, EagerRing, Queue, SharedMemory
from hcasim.mpi.delivery import Delivery
from hcasim.mpi.lane import Lane
from hcasim.mpi.message import Incoming, Kind, MpiPacket, Poster, Send, Steps, Worker
from hcasim.mpi.path import MESSAGES
from hcasim.mpi.rendezvous import Rendezvous, choose
from hcasim.mpi.settling import Turns, entries
from hcasim.verbs import CQ, SendWR

_EAGER: Final = (Kind.EAGER, Kind.DATA)
_MATCHED: Final = (Kind.EAGER, Kind.RTS)


class Connection:
    """One end of what joins two processes, and its ``peer`` is the other.

    Attributes:
        shared: whether they are on one node and the library has a way through its memory.
        channels: all ways of packets, in the order that both ends have.
        messages, sent_bytes: sent to the other process so far.
    """

    peer: Connection

    def __init__(
        self, process: Worker, delivery: Delivery, library: Mpi, cq: CQ, shared: bool
    ) -> None:
        self.process = process
        self._delivery = delivery
        self.library = library
        self.shared = shared
        self.lanes: list[Lane] = []
        self._of_lane: list[list[Channel]] = []
        if shared:
            assert library.shared is not None
            self._of_lane.append([SharedMemory(self, library)])
            self.eager_limit = self._waiting_limit = library.shared.eager
        else:
            ports = min(library.rails.ports, process.context.adapter.description.ports)
            for port in range(ports):
                lane = Lane(self, library, cq, port)
                queue = Queue(lane, library)
                ring: list[Channel] = [EagerRing(lane, library)] if library.ring else []
                self.lanes.append(lane)
                self._of_lane.append([*ring, queue])
            self.eager_limit = self._waiting_limit = library.eager.limit
            if library.eager.blocking is not None:
                self._waiting_limit = library.eager.blocking
        self.channels = [channel for channels in self._of_lane for channel in channels]
        self.messages = self.sent_bytes = 0
        self._backlog: deque[tuple[MpiPacket, int]] = deque()
        self._sequence = self._expected = 0
        self._early: dict[int, tuple[MpiPacket, Incoming]] = {}
        self._under_way = 0
        self._announced: deque[Send] = deque()
        self._turn = 0
        # Communicator, rank and tag of the short packet that was sent last.
        self._like: tuple[int, int, int | str] | None = None

    def connect(self, peer: Connection) -> None:
        self.peer = peer
        for mine, theirs in zip(self.lanes, peer.lanes, strict=True):
            mine.qp.connect(theirs.qp)
        for own, other in zip(self.channels, peer.channels, strict=True):
            own.peer = other

    def turns(self) -> Iterator[Turns]:
        """The queues and buffers that are used in turn."""
        for channel in self.channels:
            yield from channel.turns()
        for lane in self.lanes:
            for queue in lane.qp.used:
                yield entries(self.process.context.adapter, queue)

    # Out.

    def wire_size(self, packet: MpiPacket) -> int:
        """Bytes of a packet that is about to be sent, with its header.

        A short packet like the short one before has little of it (MVAPICH2, ch3: header caching).
        """
        header = self.library.header
        if packet.kind not in _EAGER:
            return header.control
        may_be_short = packet.kind is Kind.EAGER and 0 < header.cached_limit >= packet.size
        if not may_be_short:
            return packet.size + header.size
        # The calls of a collective have one tag in the real libraries.
        what = self.process.collective if packet.context % 2 else packet.tag
        like, self._like = self._like, (packet.context, packet.source, what)
        return packet.size + (header.cached if like == self._like else header.size)

    def start(self, send: Send, source: int) -> Steps:
        size = send.buffer.size
        self.messages += 1
        self.sent_bytes += size
        if size <= (self._waiting_limit if send.waits else self.eager_limit):
            yield from self._send_at_once(send, source)
            return
        self._announced.append(send)
        send.source = source
        yield from self.announce()

    def _send_at_once(self, send: Send, source: int) -> Steps:
        """Send a message of one packet, or of several that the receiver puts together."""
        size, piece, zcopy = send.buffer.size, self.piece, self.library.eager.zcopy
        direct = 0 < zcopy <= size and not (send.waits or self.shared)
        if direct:
            send.registration = yield from send.process.registrations.acquire(send.buffer)
        lane = self.next_lane()
        send.unfinished = max(1, -(-size // piece))
        for offset in range(0, max(size, 1), piece):
            part = send.buffer.part(offset, min(piece, size - offset))
            kind = Kind.DATA if offset else Kind.EAGER
            packet = MpiPacket(kind, source, send.tag, send.context, part.size, part, direct, send)
            packet.offset = offset
            yield from self.send(packet, lane)

    def announce(self) -> Steps:
        """Ask the receiver of the next message, as far as the library has several under way."""
        while self._announced and self._under_way < self.library.rendezvous.outstanding:
            self._under_way += 1
            send = self._announced.popleft()
            send.rendezvous = choose(self.library, send.buffer.size, self.shared)
            yield from send.rendezvous.announce(self, send)

    def over(self) -> None:
        self._under_way -= 1
        if self._announced:
            self.process.arrive(self.announce)

    @property
    def piece(self) -> int:
        """The most of a message that a packet carries, on all ways that eager messages take."""
        capacities = [channel.capacity for channel in self.channels]
        return min([one for one in capacities if one >= self.eager_limit] or capacities)

    def divided(self, size: int) -> int:
        return len(self.lanes) if size > self.library.rails.threshold else 1

    def parts(self, size: int) -> list[tuple[int, int, int]]:
        number = self.divided(size)
        if number == 1:
            return [(self.next_lane(), 0, size)]
        share = size // number
        last = number - 1
        return [(n, n * share, share) for n in range(last)] + [
            (last, last * share, size - last * share)
        ]

    def post(self, lane: int, wr: SendWR, poster: Poster | None, what: str) -> Steps:
        yield from self.lanes[lane].post(wr, poster, what, True)

    def next_lane(self) -> int:
        if self.library.rails.small == "first" or self.shared:
            return 0
        self._turn += 1
        return self._turn % len(self.lanes)

    def send(self, packet: MpiPacket, lane: int = 0) -> Steps:
        channel = None if self._backlog else self._choose(packet, lane)
        if channel is None:
            self._backlog.append((packet, lane))
        else:
            yield from self._post(packet, channel)

    def _choose(self, packet: MpiPacket, lane: int) -> Channel | None:
        for channel in self._of_lane[lane]:
            if channel.ready and packet.size <= channel.capacity:
                return channel
        return None

    def _post(self, packet: MpiPacket, channel: Channel) -> Steps:
        packet.sequence = self._sequence
        self._sequence += 1
        self._stamp(packet)
        yield from channel.post(packet)
        copied = self.shared or self.library.eager.done == "copied"
        if copied and not packet.direct and packet.send is not None and packet.kind in _EAGER:
            packet.send.completed()

    def _stamp(self, packet: MpiPacket) -> None:
        packet.credits = tuple(one.owed if one.piggybacks else 0 for one in self.channels)
        for channel in self.channels:
            if channel.piggybacks:
                channel.owed = 0
        process = self.process
        if process.path is not None:
            packet.mark = process.path.mark(process.context.sim.now)

    @property
    def blocked(self) -> bool:
        return bool(self._backlog)

    def flush(self) -> Steps:
        while self._backlog:
            packet, lane = self._backlog[0]
            channel = self._choose(packet, lane)
            if channel is None:
                return
            self._backlog.popleft()
            yield from self._post(packet, channel)

    def awaited(self, packet: MpiPacket) -> bool:
        """Whether a send is done when a request with this packet has completed."""
        if packet.send is None:
            return False
        if packet.kind in _EAGER:
            return packet.direct or self.library.eager.done == "sent"
        return packet.kind is Kind.FIN and packet.recv is not None

    def sent(self, packet: MpiPacket) -> None:
        if packet.send is not None and self.awaited(packet):
            packet.send.completed()

    # In.

    def receive(self, packet: MpiPacket, channel: Incoming) -> Steps:
        packet.way = self
        if packet.mark is not None and self.process.path is not None:
            self.process.path.adopt(packet.mark, MESSAGES)
        for own, number in zip(self.channels, packet.credits, strict=True):
            if number:
                own.give(number)
        if packet.kind is Kind.CREDIT:
            yield from channel.release(packet)
        elif packet.sequence == self._expected:
            yield from self._handle(packet, channel)
            while self._expected in self._early:
                yield from self._handle(*self._early.pop(self._expected))
        else:
            self._early[packet.sequence] = packet, channel
        if self._backlog:
            yield from self.flush()
        if channel.owed > channel.credit_return:
            yield from self._tell(channel)

    def _handle(self, packet: MpiPacket, channel: Incoming) -> Steps:
        self._expected += 1
        process = self.process
        yield process.context.core.work(process.calls.packet)
        if process.context.probe.listeners:
            process.tell(
                "matching" if packet.kind in _MATCHED else f"handle {packet.kind.value}", packet
            )
        match packet.kind:
            case Kind.EAGER | Kind.RTS:
                yield from self._delivery.match(packet, channel)
            case Kind.CTS:
                assert packet.send is not None
                assert isinstance(packet.send.rendezvous, Rendezvous)
                yield from channel.release(packet)
                yield from packet.send.rendezvous.cleared(self, packet.send, packet)
            case Kind.DATA:
                yield from self._delivery.take_data(packet, channel)
            case Kind.FIN:
                yield from channel.release(packet)
                if packet.recv is not None:
                    packet.recv.fetched(packet)
                elif packet.send is not None:
                    packet.send.completed()

    def _tell(self, channel: Incoming) -> Steps:
        if isinstance(channel, Queue) and not channel.piggybacks:
            yield from channel.write_credits()
            return
        packet = MpiPacket(Kind.CREDIT)
        self._stamp(packet)
        yield from self._of_lane[0][-1].post(packet)
