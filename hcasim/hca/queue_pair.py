"""Queue pairs: what the requester and what the responder of a connection owns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final

from hcasim.fabric.packet import PSN_MODULUS, AtomicEth, Header, Opcode, Packet, Reth
from hcasim.hca.completion_queue import CompletionQueue
from hcasim.hca.retry_timer import RetryTimer
from hcasim.hca.rings import Ring
from hcasim.hca.translation import Region
from hcasim.hca.wqe import ReceiveWqe, SendWqe

RETRY_FOR_EVER: Final = 7


class QPType(Enum):
    """Transport service of a queue pair; the names are those of libibverbs.

    RC is acknowledged. UC, unreliable connection, and UD, unreliable datagram, are not: a request
    has ended when its last packet has left, and what finds no receive buffer is dropped without a
    word (InfiniBand Architecture Specification volume 1, 9.8.2 and 9.8.3).
    """

    RC = auto()
    UC = auto()
    UD = auto()

    @property
    def reliable(self) -> bool:
        """Whether requests are acknowledged."""
        return self is QPType.RC


class State(Enum):
    """State of a queue pair."""

    RESET = auto()
    RTS = auto()
    ERR = auto()


@dataclass(slots=True, eq=False)
class ReliableRequester:
    """The requester's half of a reliable connection, the send queue's context (SQPC).

    Attributes:
        ring: memory of the send queue.
        send_queue: entries the adapter has been told of by a doorbell and has not fetched.
        fetched: entries on the chip whose turn has not come.
        fetching: entries on their way to the chip, the first ones of ``send_queue``.
        awaits_entry: whether its turn has come before an entry was on the chip.
        backlogged: whether more than what is being fetched was left when that began to be awaited.
        current: the entry being executed.
        unacknowledged: entries sent, oldest first, whose completion is still due.
        next_psn: sequence number of the next message's first packet.
        since_ack_request: packets sent since one asked for an acknowledgement.
        outstanding_reads: reads and atomics sent that have not been answered.
        max_rd_atomic: of those, how many both ends have agreed to.
        stalled: whether the current entry waits for an earlier read or atomic to end.
        rnr_retry: tries after the receiver was not ready; 7 is for ever.
        rnr_waiting: whether it pauses before the next of them.
        busy_ps: time that a processing unit was at work for it, in ps.
        waited_ps: time that its turn waited for entries, and for earlier reads to end, in ps.
        waits_since: when it began to, if it does, in ps.
    """

    cq: CompletionQueue
    ring: Ring
    send_queue: deque[SendWqe] = field(default_factory=deque)
    fetched: deque[SendWqe] = field(default_factory=deque)
    fetching: int = 0
    awaits_entry: bool = False
    backlogged: bool = False
    current: SendWqe | None = None
    unacknowledged: deque[SendWqe] = field(default_factory=deque)
    next_psn: int = 0
    since_ack_request: int = 0
    outstanding_reads: int = 0
    max_rd_atomic: int = 1
    stalled: bool = False
    busy_ps: int = 0
    waited_ps: int = 0
    waits_since: int = 0
    rnr_retry: int = RETRY_FOR_EVER
    rnr_tries: int = 0
    rnr_waiting: bool = False

    def in_turn_ps(self, now_ps: int) -> int:
        """Time in ps that its entries took one after the other so far, waiting included."""
        waits = now_ps - self.waits_since if self.awaits_entry or self.stalled else 0
        return self.busy_ps + self.waited_ps + waits

    def wraps(self) -> tuple[str, ...]:
        """What counts up to the next packet that asks for an acknowledgement."""
        return ("since_ack_request",)

    @property
    def has_work(self) -> bool:
        """Whether an entry waits for its turn, on the chip or in memory."""
        return bool(self.fetched or self.send_queue)

    def number(self, wqe: SendWqe) -> None:
        """Give a message its sequence numbers, unless it is sent again."""
        if wqe.first_psn < 0:
            wqe.first_psn = self.next_psn
            wqe.packets = 1 if wqe.is_atomic else max(1, -(-wqe.length // wqe.segment))
            self.next_psn = (self.next_psn + wqe.packets) % PSN_MODULUS
        if wqe.awaits_response:
            self.outstanding_reads += 1

    def asks_for_acknowledgement(self, last: bool, interval: int) -> bool:
        """Whether the next packet does: the last of a message, and one of every ``interval``."""
        self.since_ack_request += 1
        if last or self.since_ack_request >= interval:
            self.since_ack_request = 0
            return True
        return False

    def acknowledge(self, psn: int) -> None:
        """Everything up to ``psn`` has been received; what awaits a response still does."""
        for wqe in self.unacknowledged:
            if wqe.awaits_response:
                continue
            if _behind(psn, wqe.first_psn + wqe.packets - 1):
                break
            wqe.responded = True
        self.rnr_tries = 0

    def refuse(self, psn: int) -> SendWqe | None:
        """The entry that ``psn`` belongs to has been refused; those before it were received."""
        for wqe in self.unacknowledged:
            if not _behind(wqe.first_psn + wqe.packets - 1, psn):
                return wqe
            if not wqe.awaits_response:
                wqe.responded = True
        return None

    def awaiting(self, psn: int) -> SendWqe | None:
        """The entry that awaits a response with this sequence number."""
        for wqe in self.unacknowledged:
            if wqe.awaits_response and (psn - wqe.first_psn) % PSN_MODULUS < wqe.packets:
                return wqe
        return None

    def rewind(self, wqe: SendWqe) -> int:
        """Take back an entry and all after it, to send them again; return how many."""
        again = []
        while self.unacknowledged:
            last = self.unacknowledged.pop()
            again.append(last)
            if last.awaits_response and last.sent:
                self.outstanding_reads -= 1
            if last is wqe:
                break
        self.send_queue.extendleft(reversed(self.fetched))
        self.fetched.clear()
        self.fetching = 0
        if self.current is not None and self.current not in again:
            self.send_queue.appendleft(self.current)
        self.current = None
        for taken in again:
            taken.reset()
        self.send_queue.extendleft(again)
        self.since_ack_request = 0
        self.stalled = False
        return len(again)

    def drain(self) -> list[SendWqe]:
        """Give up all that is unfinished, oldest first."""
        if self.current is not None and self.current not in self.unacknowledged:
            self.unacknowledged.append(self.current)
        self.current = None
        drained = [*self.unacknowledged, *self.fetched, *self.send_queue]
        self.unacknowledged.clear()
        self.fetched.clear()
        self.fetching = 0
        self.send_queue.clear()
        self.outstanding_reads = 0
        return drained


class ReceiveQueue:
    """A receive queue: the entries that the adapter has been told of.

    Attributes:
        ring: memory of the queue.
        ready: entries on the chip that no message has taken.
    """

    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.ready = 0
        self._entries: deque[ReceiveWqe] = deque()
        self._settled: Iterator[ReceiveWqe] = iter(())
        self._posted = self._fetched = self._taken = 0

    def post(self, wqe: ReceiveWqe) -> None:
        """Add an entry."""
        self._entries.append(wqe)
        self._posted = wqe.posted

    def fill(self, entries: Iterator[ReceiveWqe], count: int, ahead: int) -> None:
        """Hold entries in an empty queue for long; each is made when a message takes it.

        Args:
            entries: all of them, counted from 1.
            count: how many there are.
            ahead: how many of them the chip holds.
        """
        self._settled = entries
        self._posted = count
        self.ready = self._fetched = min(ahead, count)

    def take(self) -> ReceiveWqe | None:
        """The oldest entry, which belongs to a message from now on; None if there is none."""
        wqe = next(self._settled, None)
        if wqe is None:
            if not self._entries:
                return None
            wqe = self._entries.popleft()
        self._taken = wqe.posted
        return wqe

    def fetch(self, ahead: int, least: int) -> tuple[int, int]:
        """Entries that lie side by side and are to be fetched now: the first, and how many.

        Args:
            ahead: how many may be on the chip, or on their way to it, before messages take them.
            least: how many are worth a fetch while half as many as that are there.
        """
        known = self._fetched - self._taken
        count = min(ahead - known, self._posted - self._fetched)
        if count <= 0 or (count < least and 2 * known >= ahead):
            return 0, 0
        first = self._fetched
        count = min(count, self.ring.entries - first % self.ring.entries)
        self._fetched += count
        return first, count

    def ends(self) -> dict[str, int]:
        """A message that takes an entry is like none before it."""
        return {"_taken": self._taken}

    def drain(self) -> list[ReceiveWqe]:
        """Give up all entries, oldest first."""
        drained = [*self._settled, *self._entries]
        self._entries.clear()
        self.ready = 0
        self._fetched = self._taken = self._posted
        return drained


class Read:
    """A read that the responder answers, packet by packet.

    Attributes:
        region: memory that it reads; None if it reads nothing.
        segment: bytes in each packet of the response but the last.
        sent: packets of the response sent so far.
        accepted_ps: when its turn began to be awaited.
    """

    __slots__ = ("accepted_ps", "header", "qp", "region", "request", "segment", "sent")

    def __init__(
        self, qp: QueuePair, request: Packet, header: Reth, region: Region | None, segment: int
    ) -> None:
        self.qp = qp
        self.request = request
        self.header = header
        self.region = region
        self.segment = segment
        self.sent = 0
        self.accepted_ps = 0

    def ends(self) -> dict[str, int]:
        """What the count of packets may not reach unnoticed: the last one, or a large page."""
        packets = self.packets
        if self.region is not None:
            address = self.header.address + self.sent * self.segment
            alike = (self.region.alike_until(address) - address) // self.segment
            packets = min(packets, self.sent + alike)
        return {"sent": packets}

    @property
    def packets(self) -> int:
        """Packets of the response."""
        return max(1, -(-self.header.length // self.segment))


class Atomic:
    """An atomic that the responder executes on a word of ``region``.

    Attributes:
        accepted_ps: when its turn began to be awaited.
    """

    __slots__ = ("accepted_ps", "header", "qp", "region", "request")

    def __init__(self, qp: QueuePair, request: Packet, header: AtomicEth, region: Region) -> None:
        self.qp = qp
        self.request = request
        self.header = header
        self.region = region
        self.accepted_ps = 0


@dataclass(slots=True, eq=False)
class ReliableResponder:
    """The responder's half of a reliable connection, the receive queue's context (RQPC).

    Attributes:
        receive_queue: where sends find their receive entries.
        rnr_timer_ps: pause that it asks for when no receive entry is there.
        expected_psn: sequence number of the next packet that it accepts.
        msn: messages completed so far, modulo 2 ** 24.
        write_region: memory of the write being received; None if it has no data.
        write_address: where in it the next packet goes.
        receiving: receive entry of the send being received.
        answers: reads, atomics and acknowledgements whose answers keep their order, oldest first.
        busy_ps: time that answers took before they or the next could begin, in ps.
    """

    cq: CompletionQueue
    receive_queue: ReceiveQueue
    rnr_timer_ps: int = 0
    expected_psn: int = 0
    msn: int = 0
    write_region: Region | None = None
    write_address: int = 0
    receiving: ReceiveWqe | None = None
    answers: deque[Packet | Read | Atomic] = field(default_factory=deque)
    busy_ps: int = 0

    def ends(self) -> dict[str, int]:
        """After which number they begin anew, and how far addresses are alike."""
        ends = {"expected_psn": PSN_MODULUS}
        if self.write_region is not None:
            ends["write_address"] = self.write_region.alike_until(self.write_address)
        return ends

    def accept(self, packets: int, last: bool) -> None:
        """Note that packets are in sequence and allowed, and whether they end a message."""
        self.expected_psn = (self.expected_psn + packets) % PSN_MODULUS
        if last:
            self.msn = (self.msn + 1) % PSN_MODULUS


@dataclass(slots=True, eq=False)
class QueuePair:
    """A queue pair: its number, its connection and the two halves of its context.

    Attributes:
        port: index of the adapter port it uses.
        kind: its transport service.
        reliable: whether its requests are acknowledged.
        signals_all: whether each of its requests has a completion.
        size_of: sizes of its packets.
        scheduled: whether it is in line at that port.
        timer: that of its requests, if they are acknowledged.
    """

    qpn: int
    pd: int
    port: int
    requester: ReliableRequester
    responder: ReliableResponder
    size_of: Callable[[Opcode, int, Header | None], int]
    kind: QPType = QPType.RC
    reliable: bool = True
    signals_all: bool = False
    scheduled: bool = False
    state: State = State.RESET
    timer: RetryTimer | None = None
    mtu: int = 0
    remote_lid: int = 0
    remote_qpn: int = 0

    def __str__(self) -> str:
        return f"qp {self.qpn}"

    def answer(
        self,
        opcode: Opcode,
        psn: int,
        header: Header | None,
        payload: int = 0,
        operation: int = 0,
        ack_request: bool = False,
        first: bool = True,
        last: bool = True,
    ) -> Packet:
        """A packet that answers one of the queue pair at the other end."""
        return Packet(
            opcode,
            self.remote_lid,
            self.remote_qpn,
            psn,
            payload,
            header,
            first=first,
            last=last,
            ack_request=ack_request,
            answers=True,
            operation=operation,
            size_of=self.size_of,
        )

    def connect(self, mtu: int, remote_lid: int, remote_qpn: int) -> None:
        """Make it ready to send to and receive from a remote queue pair."""
        self.mtu = mtu
        self.remote_lid = remote_lid
        self.remote_qpn = remote_qpn
        self.state = State.RTS


def _behind(psn: int, other: int) -> bool:
    """Whether ``psn`` comes before ``other`` on the circle of sequence numbers."""
    return (psn - other) % PSN_MODULUS >= PSN_MODULUS // 2
