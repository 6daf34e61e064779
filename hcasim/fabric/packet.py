"""InfiniBand packets and what they weigh on the wire.

Header sizes: InfiniBand Architecture Specification volume 1, chapters 7 and 9.
"""

from __future__ import annotations

from enum import Enum, auto
from fractions import Fraction
from typing import ClassVar, Final, TypeVar

from hcasim.engine import Action
from hcasim.engine.changes import Changes
from hcasim.fabric.payload import Payload

LRH: Final = 8
GRH: Final = 40
"""Bytes of a global route header, and of its room in receive buffers of datagrams."""
BTH: Final = 12
RETH: Final = 16
AETH: Final = 4
ATOMIC_ETH: Final = 28
DETH: Final = 8
DC_KEY: Final = 8
IMMEDIATE: Final = 4
IETH: Final = 4
ICRC: Final = 4
VCRC: Final = 2
FRAME_DELIMITERS: Final = 2
FLOW_CONTROL_PACKET: Final = 6 + FRAME_DELIMITERS
MTUS: Final = (256, 512, 1024, 2048, 4096)

BASE: Final = LRH + BTH + ICRC + VCRC


class Opcode(Enum):
    """Operation of a packet, in InfiniBand's words.

    REGISTER, BIND and INVALIDATE are those of requests which the adapter deals with by itself,
    without any packet; RESPONSE_ACKNOWLEDGE belongs to transports that also acknowledge read
    responses, CONNECT and DISCONNECT to the dynamically connected one, and CNP
    tells of congestion (annex A17).
    """

    SEND = auto()
    RDMA_WRITE = auto()
    RDMA_READ_REQUEST = auto()
    RDMA_READ_RESPONSE = auto()
    ACKNOWLEDGE = auto()
    NAK = auto()
    COMPARE_SWAP = auto()
    FETCH_ADD = auto()
    ATOMIC_ACKNOWLEDGE = auto()
    RESPONSE_ACKNOWLEDGE = auto()
    REGISTER = auto()
    INVALIDATE = auto()
    BIND = auto()
    CONNECT = auto()
    DISCONNECT = auto()
    CNP = auto()


class Syndrome(Enum):
    """What an AETH says (9.7.5.1.1 and 9.7.5.2.8); RNR is "receiver not ready"."""

    ACK = auto()
    RNR_NAK = auto()
    PSN_SEQUENCE_ERROR = auto()
    INVALID_REQUEST = auto()
    REMOTE_ACCESS_ERROR = auto()
    REMOTE_OPERATIONAL_ERROR = auto()


class Header:
    """An extended transport header of so many bytes."""

    __slots__ = ("size",)

    def __init__(self, size: int) -> None:
        self.size = size


_Kind = TypeVar("_Kind", bound=Header)


class Reth(Header):
    """RDMA extended transport header: where a write goes, or what a read asks for."""

    __slots__ = ("address", "length", "rkey")

    def __init__(self, address: int, rkey: int, length: int) -> None:
        self.size = RETH
        self.address = address
        self.rkey = rkey
        self.length = length


class AtomicEth(Header):
    """Atomic extended transport header: a word in remote memory and the operands."""

    __slots__ = ("address", "compare", "rkey", "swap_add")

    def __init__(self, address: int, rkey: int, swap_add: int, compare: int) -> None:
        self.size = ATOMIC_ETH
        self.address = address
        self.rkey = rkey
        self.swap_add = swap_add
        self.compare = compare


class Aeth(Header):
    """ACK extended transport header.

    It grants no end-to-end credits, as a responder may choose by the code for invalid ones
    (9.7.7.2): a send that finds no receive entry meets an RNR NAK. Drivers make adapters do so for
    queue pairs with a shared receive queue (Linux, mthca_qp.c and mlx4/qp.c: the bit RIC). Credits
    would only have held back the first 4 to 10 sends of a connection: with receive entries posted
    ahead, no other send of `send_bw`, `window_bw` and `osu_bw` on liu2004 and val had waited.

    ``msn`` counts the messages that the responder has completed, modulo 2 ** 24; ``rnr_timer_ps``
    is the pause that a receiver which is not ready asks for, and ``original`` the word before an
    atomic (AtomicAckETH), which counts as payload here.
    """

    changes: ClassVar[Changes] = Changes(counts="msn original")

    __slots__ = ("msn", "original", "rnr_timer_ps", "syndrome")

    def __init__(
        self, syndrome: Syndrome, msn: int, rnr_timer_ps: int = 0, original: int = 0
    ) -> None:
        self.size = AETH
        self.syndrome = syndrome
        self.msn = msn
        self.rnr_timer_ps = rnr_timer_ps
        self.original = original


class Deth(Header):
    """Datagram extended transport header: from which queue pair it comes, and the key it names.

    The port it comes from is in the LRH, or in the addresses of the frame.
    """

    __slots__ = ("qkey", "source_lid", "source_qpn")

    def __init__(self, source_qpn: int, source_lid: int, qkey: int = 0) -> None:
        self.size = DETH
        self.qkey = qkey
        self.source_qpn = source_qpn
        self.source_lid = source_lid


class Dceth(Deth):
    """Header of the dynamically connected transport: from whom, and of which of its connections.

    That of a connect packet brings the key of the target, 8 bytes more.
    """

    changes: ClassVar[Changes] = Changes(counts="session")

    __slots__ = ("key", "session")

    def __init__(
        self, source_qpn: int, source_lid: int, session: int, key: int | None = None
    ) -> None:
        super().__init__(source_qpn, source_lid)
        if key is not None:
            self.size += DC_KEY
        self.session = session
        self.key = key


class Immediate(Header):
    """Immediate data of the last packet of a message (ImmDt, 9.3.6)."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.size = IMMEDIATE
        self.value = value


class Ieth(Header):
    """Invalidate extended transport header: the key that a send makes invalid (9.3.7)."""

    __slots__ = ("rkey",)

    def __init__(self, rkey: int) -> None:
        self.size = IETH
        self.rkey = rkey


def packet_size(opcode: Opcode, payload: int, headers: tuple[Header, ...]) -> int:
    """Bytes of a packet from the LRH to the VCRC, its payload padded to 4 bytes."""
    size = BASE + (payload + 3) // 4 * 4
    for header in headers:
        size += header.size
    return size


class Sizes:
    """How many bytes packets have: from the LRH to the VCRC here, and by other formats elsewhere.

    It is a class, not a function, because compiled code finds methods of classes without a search.
    """

    def size(self, opcode: Opcode, payload: int, headers: tuple[Header, ...] = ()) -> int:
        """Bytes of a packet with ``payload`` bytes of data and InfiniBand's transport headers."""
        return packet_size(opcode, payload, headers)


PLAIN_SIZES: Final = Sizes()

FULL_MEMBER: Final = 0xFFFF
"""Key of the default partition, whose full members may speak with all of it (10.9)."""
MEMBERSHIP: Final = 1 << 15
"""Bit of a partition's key: whether it is that of a full member (10.9.1)."""
INDEX: Final = (1 << 19) - 1
"""Bits of the number of a queue pair that count those of an adapter."""
ANY_GROUP: Final = 0
"""In place of the GID of a multicast group: all groups of a LID."""
MULTICAST_QPN: Final = 0xFFFFFF
"""Where packets go that are for all queue pairs of a group (9.6.1.2)."""

PSN_MODULUS: Final = 1 << 24
"""How many packet sequence numbers there are."""


def behind(psn: int, other: int) -> bool:
    """Whether ``psn`` comes before ``other`` on the circle of sequence numbers."""
    return (psn - other) % PSN_MODULUS >= PSN_MODULUS // 2


class Route:
    """The way of packets: to a port, with a service level, 0 to 15, of a lane or a priority.

    Attributes:
        pkey: key of the partition that they belong to.
        grh: the global route header in front of them, or the IP header in its place, as it is
            written into receive buffers; None without any.
        extra: bytes of a packet that this header takes beside its usual size.
        flow: LID of the port that they come from, and in the low 16 bits the UDP source port over
            Ethernet, 0 if it is the usual one of datagrams.
        mgid: GID of the multicast group that they go to, if ``lid`` is that of a group.
        slower: how many times slower a link on it is than that of the port; None if none is.
    """

    __slots__ = ("extra", "flow", "grh", "lid", "mgid", "pkey", "service_level", "slower")

    def __init__(
        self,
        lid: int,
        service_level: int = 0,
        pkey: int = FULL_MEMBER,
        grh: bytes | None = None,
        extra: int = 0,
        mgid: int = ANY_GROUP,
        slower: Fraction | None = None,
        flow: int = 0,
    ) -> None:
        self.lid = lid
        self.service_level = service_level
        self.pkey = pkey
        self.grh = grh
        self.extra = extra
        self.mgid = mgid
        self.slower = slower
        self.flow = flow

    def within(self, pkey: int) -> Route:
        """The same way in the partition of a key."""
        if pkey == self.pkey:
            return self
        level, mgid = self.service_level, self.mgid
        return Route(self.lid, level, pkey, self.grh, self.extra, mgid, self.slower, self.flow)


class Holder:
    """What holds the room of packets until they leave."""

    __slots__ = ()

    def free(self, packet: Packet, at_ps: int) -> None:
        """Learn that a packet leaves now, its last byte at ``at_ps``."""
        raise NotImplementedError

    def drop(self, packet: Packet, at_ps: int) -> None:
        """Learn that a packet is dropped now, which has waited to leave."""
        self.free(packet, at_ps)


class _Nobody(Holder):
    """Holds nothing: acknowledgements, and what a link repeats, take no room."""

    def free(self, packet: Packet, at_ps: int) -> None:
        pass


NOBODY: Final = _Nobody()


class Sender(Action):
    """What has sent packets, waits for answers to them, and is told of those that are lost."""

    __slots__ = ()

    def lost(self, packet: Packet) -> None:
        raise NotImplementedError


class Packet:
    """One packet on its way.

    Attributes:
        first, last: whether it begins and ends its message.
        answers: whether it goes to the requester of the queue pair, not to the responder.
        operation: number of the operation that waits for it, or 0.
        solicited: whether the receiver of its message wants an event (BTH, 9.2.3).
        size: bytes of the packet by its wire format: from LRH to VCRC in InfiniBand.
        data: what its data is, if that is known.
        gathered: whether its data is in the adapter that sends it.
        marked: whether a switch on its way was congested (ECN, RFC 3168; FECN).
        ready_at: when its first byte may go over the link it waits for, in ps.
        staged_at: when it was handed over to be gathered, in ps; of responses, if somebody listens.
        holder: what holds its room until then.
        sender: told if it is lost, if anybody waits for an answer.
    """

    changes: ClassVar[Changes] = Changes(
        times="ready_at", counts="psn operation", since="staged_at"
    )

    __slots__ = (
        "ack_request",
        "answers",
        "data",
        "first",
        "gathered",
        "headers",
        "holder",
        "last",
        "marked",
        "opcode",
        "operation",
        "payload",
        "psn",
        "qpn",
        "ready_at",
        "route",
        "sender",
        "size",
        "solicited",
        "staged_at",
    )

    holder: Holder
    ready_at: int

    def __init__(
        self,
        opcode: Opcode,
        route: Route,
        qpn: int,
        psn: int,
        payload: int = 0,
        headers: tuple[Header, ...] = (),
        *,
        first: bool = True,
        last: bool = True,
        ack_request: bool = False,
        answers: bool = False,
        operation: int = 0,
        sizes: Sizes = PLAIN_SIZES,
        sender: Sender | None = None,
    ) -> None:
        self.opcode = opcode
        self.route = route
        self.qpn = qpn
        self.psn = psn
        self.payload = payload
        self.headers = headers
        self.first = first
        self.last = last
        self.ack_request = ack_request
        self.answers = answers
        self.operation = operation
        self.size = sizes.size(opcode, payload, headers)
        self.data: Payload | None = None
        self.solicited = False
        self.gathered = self.marked = False
        self.staged_at = 0
        self.sender = sender

    def copy(self, qpn: int) -> Packet:
        """The same for another queue pair, or for another way, with a place of its own."""
        copy = Packet(
            self.opcode,
            self.route,
            qpn,
            self.psn,
            self.payload,
            self.headers,
            first=self.first,
            last=self.last,
            ack_request=self.ack_request,
            answers=self.answers,
            operation=self.operation,
            sender=self.sender,
        )
        copy.size, copy.data, copy.solicited = self.size, self.data, self.solicited
        copy.gathered, copy.staged_at, copy.marked = self.gathered, self.staged_at, self.marked
        return copy

    def tell_lost(self) -> None:
        """Tell who sent it that it does not arrive; who waits for an answer to it gets none."""
        if self.sender is not None:
            self.ack_request = True
            self.sender.lost(self)

    def header(self, kind: type[_Kind]) -> _Kind | None:
        for header in self.headers:
            if isinstance(header, kind):
                return header
        return None

    def ends(self) -> dict[str, int]:
        return {"psn": PSN_MODULUS}

    def __repr__(self) -> str:
        return f"{self.opcode.name} psn={self.psn} {self.payload} B to qp {self.qpn & INDEX}"


class SharedRoom(Holder):
    """The room of a packet whose copies share it: it is free when the last of them has left."""

    changes: ClassVar[Changes] = Changes(times="_until")

    __slots__ = ("_left", "_packet", "_room", "_until")

    def __init__(self, room: Holder, packet: Packet, copies: int) -> None:
        self._room = room
        self._packet = packet
        self._left = copies
        self._until = 0

    def free(self, packet: Packet, at_ps: int) -> None:
        self._until = max(self._until, at_ps)
        self._left -= 1
        if not self._left:
            self._room.free(self._packet, self._until)
