"""Work queue entries (WQEs), and how far the adapter has got with each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Final

from hcasim.catalog.adapter import Wqe
from hcasim.catalog.adapter import WqeCache as CacheDescription
from hcasim.engine import SetAssociativeCache
from hcasim.engine.changes import Changes, declare
from hcasim.fabric.packet import Opcode, Route
from hcasim.fabric.payload import Transfer
from hcasim.hca.completion_queue import End, WCStatus
from hcasim.hca.translation import Region

DOORBELL_SIZE: Final = 8
GRANULE: Final = 64
"""Bytes of a work request that the processor writes to BlueFlame registers at once."""
LONG: Final = 128
"""Packets of the shortest message in which a period is looked for."""
CHECKPOINT: Final = 16
"""Packets from one checkpoint of such a message to the next."""

# Bound once, because compiled code looks members of enumerations up each time.
_FETCH_ADD: Final = Opcode.FETCH_ADD
_COMPARE_SWAP: Final = Opcode.COMPARE_SWAP
_READ: Final = Opcode.RDMA_READ_REQUEST
_SEND: Final = Opcode.SEND


@dataclass(slots=True, eq=False)
class Piece:
    """A piece of the memory of a message, and its region once the adapter has looked it up."""

    address: int
    length: int
    key: int
    region: Region | None = None


Pieces = Sequence[Piece]


def cut(pieces: Pieces, first: int, length: int) -> list[Piece]:
    """The pieces of so many bytes of a message, from its ``first`` on."""
    found = []
    for one in pieces:
        taken = min(one.length - first, length)
        if first < one.length and taken > 0:
            found.append(Piece(one.address + first, taken, one.key, one.region))
            length -= taken
        first = max(0, first - one.length)
    return found


@dataclass(slots=True, eq=False)
class Extras:
    """What few requests ask for beside.

    Attributes:
        pieces: its memory, if that is more than one piece.
        immediate: what the receiver finds in its completion, or None.
        invalidates: the key that becomes invalid, or 0.
        fenced: whether it waits until reads and atomics before it have been answered.
        solicited: whether the receiver wants an event for it.
        dc_key: of the target, over the dynamically connected transport.
        pages: entries of the list of pages that a registration enters into the tables.
    """

    pieces: Pieces | None = None
    immediate: int | None = None
    invalidates: int = 0
    fenced: bool = False
    solicited: bool = False
    dc_key: int = 0
    pages: int = 0


PLAIN: Final = Extras()
"""Those of any other request."""


class SendWqe:
    """A WQE of a send queue.

    It is no dataclass, whose constructors are not compiled.

    Attributes:
        size: bytes of the entry, which lies in ``slot`` of its ring.
        carried: whether the doorbell has brought it, so that it need not be fetched.
        posted: its number among the requests of its queue pair, counted from 1.
        operation: its number among all requests of a run, by which it can be followed.
        awaits_response: whether it completes with a response that carries data.
        segment: bytes of data in each of its packets but the last.
        region: local memory, once the adapter has looked it up, or what is registered.
        fault: the error with which it completes when its turn comes, or None.
        first_psn, packets: of the request, or of a read's response, once execution has begun.
        sent, received: packets of the request handed to the port, and of the response here, so far.
        resumes_at: its first packet, or that of a read's response, that is sent again.
        repairs: the entry of which it sends that packet alone, or None.
        burst_sent: bytes of it that are sent in this turn, while others wait for theirs.
        in_cqe: whether the data that has come back is in its completion.
        data: the bytes of a message inside the entry, if they are known.
        transfer: the bytes of any other message that is sent, if they are known.
        responded: whether it has been answered and may complete in its turn.
    """

    __slots__ = (
        "address",
        "awaits_response",
        "burst_sent",
        "carried",
        "compare_add",
        "data",
        "extras",
        "fault",
        "first_psn",
        "in_cqe",
        "inline",
        "is_atomic",
        "key",
        "length",
        "opcode",
        "operation",
        "packets",
        "posted",
        "received",
        "region",
        "remote_address",
        "remote_key",
        "remote_qkey",
        "remote_qpn",
        "repairs",
        "responded",
        "resumes_at",
        "route",
        "segment",
        "sent",
        "signaled",
        "size",
        "slot",
        "swap",
        "transfer",
        "wr_id",
    )

    def __init__(
        self,
        opcode: Opcode,
        wr_id: int,
        length: int,
        address: int = 0,
        key: int = 0,
        remote_address: int = 0,
        remote_key: int = 0,
        inline: bool = False,
        signaled: bool = True,
        posted: int = 0,
        operation: int = 0,
        size: int = 0,
        slot: int = 0,
        carried: bool = False,
        region: Region | None = None,
        extras: Extras = PLAIN,
    ) -> None:
        self.opcode = opcode
        self.wr_id = wr_id
        self.length = length
        self.address = address
        self.key = key
        self.remote_address = remote_address
        self.remote_key = remote_key
        self.inline = inline
        self.signaled = signaled
        self.posted = posted
        self.operation = operation
        self.size = size
        self.slot = slot
        self.carried = carried
        self.region = region
        self.extras = extras
        self.compare_add = self.swap = 0
        self.route: Route | None = None
        self.remote_qpn = self.remote_qkey = 0
        self.fault: WCStatus | None = None
        self.first_psn = -1
        self.segment = self.packets = 0
        self.sent = self.burst_sent = self.received = self.resumes_at = 0
        self.repairs: SendWqe | None = None
        self.in_cqe = self.responded = False
        self.data: bytes | None = None
        self.transfer: Transfer | None = None
        self.is_atomic = opcode is _FETCH_ADD or opcode is _COMPARE_SWAP
        self.awaits_response = self.is_atomic or opcode is _READ

    def reset(self, packet: int = 0) -> None:
        """Forget what has come of it from a packet on, to be sent again under the same numbers."""
        self.sent = self.burst_sent = 0
        self.resumes_at = packet
        self.received = packet if self.awaits_response else 0
        self.responded = False
        self.fault = None

    def ends(self) -> dict[str, int]:
        ends = {"sent": self.request_packets, "received": self.packets}
        if self.region is not None:
            for name, packets in (("sent", self.sent), ("received", self.received)):
                address = self.address + packets * self.segment
                alike = (self.region.alike_until(address) - address) // self.segment
                ends[name] = min(ends[name], packets + alike)
        return ends

    @property
    def request_packets(self) -> int:
        return 1 if self.awaits_response else self.packets


class ReceiveWqe:
    """A WQE of a receive queue, its number ``posted`` counted from 1.

    Attributes:
        signaled: whether success makes a completion queue entry; a fault always does.
        pieces: its memory, if that is more than one piece.
        region: the buffer's region once the adapter has looked it up.
        received: bytes of the message so far, which are in the completion if ``in_cqe``.
        data: those bytes, if they are known.
        end: what the end of its message has told beside, if anything.
    """

    def __init__(
        self,
        wr_id: int,
        posted: int,
        address: int,
        length: int,
        key: int,
        signaled: bool = True,
        pieces: Pieces | None = None,
    ) -> None:
        self.wr_id = wr_id
        self.posted = posted
        self.address = address
        self.length = length
        self.key = key
        self.signaled = signaled
        self.pieces = pieces
        self.region: Region | None = None
        self.received = 0
        self.in_cqe = False
        self.data: bytes | None = None
        self.end: End | None = None

    def ends(self) -> dict[str, int]:
        end = self.length
        if self.region is not None:
            address = self.address + self.received
            end = min(end, self.received + self.region.alike_until(address) - address)
        return {"received": end}


declare(SendWqe, counts="sent received wr_id operation posted slot first_psn", unseen="data")
declare(ReceiveWqe, counts="received wr_id posted", unseen="data")


class WqeCache:
    """Which entries of requests that await a response have not had to leave the chip.

    Attributes:
        service: occupancy of a receiving unit by a response that had to wait for its entry, in ps.
    """

    changes: ClassVar[Changes] = Changes(counts="misses")

    def __init__(self, description: CacheDescription) -> None:
        self.misses = 0
        self.service = description.service
        entries = description.entries
        self._cache = SetAssociativeCache(entries, entries, description.policy)

    def add(self, qpn: int, wqe: SendWqe) -> None:
        self._cache.fill(_name(qpn, wqe))

    def held(self, qpn: int, wqe: SendWqe) -> bool:
        """Look up the entry of a request whose response is here; count it if it is not here."""
        key = _name(qpn, wqe)
        if self._cache.touch(key):
            return True
        self.misses += 1
        self._cache.fill(key)
        return False

    def drop(self, qpn: int, wqe: SendWqe) -> None:
        self._cache.discard(_name(qpn, wqe))


def _name(qpn: int, wqe: SendWqe) -> int:
    return wqe.posted << 24 | qpn


@dataclass(frozen=True, slots=True)
class EntryLayout:
    """How entries of send queues are made up of segments, in bytes, and lie in their ring.

    A packed ring is made of strides, of which an entry takes as many as it needs, and any other of
    equal slots, whose sizes are multiples of ``stride``.
    """

    stride: int
    packed: bool
    control: int = 16
    remote_address: int = 16
    data: int = 16
    atomic: int = 16
    inline_header: int = 4
    datagram: int = 48

    def size(self, opcode: Opcode, inline: int, datagram: bool = False, pieces: int = 1) -> int:
        """Bytes of an entry with so many bytes inline; below 0 it points to pieces of data."""
        size = self._ahead(opcode, datagram)
        if opcode is _FETCH_ADD or opcode is _COMPARE_SWAP:
            size += self.atomic
        size += self.data * max(1, pieces) if inline < 0 else self.inline_header + inline
        return -(-size // self.stride) * self.stride

    def inline_within(self, room: int, opcode: Opcode, datagram: bool = False) -> int:
        """The longest message inside an entry of ``room`` bytes; 0 if there is none."""
        return max(0, room - self._ahead(opcode, datagram) - self.inline_header)

    def _ahead(self, opcode: Opcode, datagram: bool) -> int:
        size = self.control + (self.datagram if datagram else 0)
        return size if opcode is _SEND else size + self.remote_address

    def room(self, max_inline: int, pieces: int = 1) -> int:
        """Bytes of a slot that holds any entry: a power of two, as in Linux, mthca_qp.c."""
        fixed = self.control + self.remote_address
        data = max(self.atomic + self.data, self.data * pieces)
        largest = fixed + max(data, self.inline_header + max_inline)
        room = self.stride
        while room < largest:
            room *= 2
        return room

    def receive(self, pieces: int) -> int:
        """Bytes of a slot of a receive queue: a power of two of segments."""
        room = self.stride
        while room < self.data * pieces:
            room *= 2
        return room

    def ring(self, max_send_wr: int, max_inline: int, pieces: int = 1) -> tuple[int, int]:
        """(entries, stride) of a ring that holds so many requests.

        Source: rdma-core providers/mlx5/verbs.c, mlx5_calc_sq_size, for packed rings.
        """
        room = self.room(max_inline, pieces)
        if not self.packed:
            return max_send_wr, room
        size = 1 << (max_send_wr * room - 1).bit_length()
        return size // self.stride, self.stride

    def place(self, slot: int, size: int, ring_slots: int) -> tuple[int, int]:
        """(slot of an entry, the next free one) in a ring whose next free slot is ``slot``.

        An entry is not broken at the end of the ring: what is left there is passed over.
        """
        if not self.packed:
            return slot, slot + 1
        count = size // self.stride
        left = ring_slots - slot % ring_slots
        first = slot if count <= left else slot + left
        return first, first + count


@cache
def entry_layout(description: Wqe) -> EntryLayout:
    """The layout of an adapter's entries."""
    segments = {"control", "remote_address", "data", "atomic", "inline_header", "datagram"}
    told = description.model_dump(include=segments, exclude_none=True)
    return EntryLayout(description.stride, bool(description.packed), **told)
