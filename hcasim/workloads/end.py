"""What the processes of benchmarks share: their loops' base, operations, and places in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from itertools import count, repeat
from random import Random
from typing import Any

from hcasim.cluster import Node
from hcasim.engine import Event, Simulator
from hcasim.verbs import (
    CQ,
    DCI,
    DCT,
    GRH_SIZE,
    MR,
    PD,
    QP,
    SGE,
    SRQ,
    Context,
    QPType,
    RecvWR,
    SendWR,
    WROpcode,
)
from hcasim.verbs import Access as MemoryAccess
from hcasim.verbs.context import VerbsError
from hcasim.verbs.requests import WIRE
from hcasim.workloads.options import Access, Options

ALL_ACCESS = (
    MemoryAccess.LOCAL_WRITE
    | MemoryAccess.REMOTE_WRITE
    | MemoryAccess.REMOTE_READ
    | MemoryAccess.REMOTE_ATOMIC
)
Steps = Generator[Event, object, None]
OPCODES: dict[str, WROpcode] = {
    "write": WROpcode.RDMA_WRITE,
    "send": WROpcode.SEND,
    "read": WROpcode.RDMA_READ,
}
ATOMICS = {
    "fetch_add": WROpcode.ATOMIC_FETCH_AND_ADD,
    "cmp_swap": WROpcode.ATOMIC_CMP_AND_SWP,
}
SENDERS = {"RC": QPType.RC, "UC": QPType.UC, "UD": QPType.UD, "DC": QPType.DCI}
"""What sends over each service."""
KEY = 1
"""What initiators of the dynamically connected transport name."""
ANSWERED = (WROpcode.RDMA_READ, *ATOMICS.values())
"""Operations whose data comes back."""
SEED = 1
"""Of what is drawn."""
LINE = 64
"""Bytes of a cache line, on which messages begin unless a tool says otherwise."""
ENTRIES = 128
"""Of a queue, unless a program says otherwise."""
HELD = 1 << 16
"""Pages of a region of which the adapter has the translations at the start, if there is room."""


def join(one: QP, other: QP) -> None:
    """Connect two queue pairs with each other."""
    one.connect(other)
    other.connect(one)


def request(
    opcode: WROpcode, near: MR, place: int, size: int, far: MR, there: int, **how: Any
) -> SendWR:
    """A request that moves bytes between a place in a memory here and one at the peer."""
    sge = SGE(near.addr + place, size, near.lkey)
    return SendWR(opcode, (sge,), remote_addr=far.addr + there, rkey=far.rkey, **how)


def receive(memory: MR, place: int, size: int, **how: Any) -> RecvWR:
    """A receive into a place in a memory."""
    return RecvWR((SGE(memory.addr + place, size, memory.lkey),), **how)


def rate_columns(per_second: float, size: int) -> dict[str, float]:
    """Columns of a row, from messages a second."""
    return {"bandwidth_MBps": per_second * size / 1e6, "rate_Mps": per_second / 1e6}


def hold(memory: MR, page_size: int, parts: Sequence[tuple[int, int]] = ()) -> None:
    """Have a region's translations as after a run of minutes: the caches are full.

    The last pages were used last: of places that are drawn uniformly as many are found as there is
    room for, of those that follow each other the first ones only if there is room for all. Parts in
    use are (offset, bytes), all equally long; without them it is all of the region.
    """
    pages = [
        range(memory.addr + offset, memory.addr + offset + length, page_size)[: -HELD - 1 : -1]
        for offset, length in parts or [(0, memory.length)]
    ]
    for addresses in zip(*pages, strict=True):
        for address in addresses:
            memory.hold(address, 1)


def stride(size: int) -> int:
    """Bytes from one message to the next behind it."""
    return -(-size // LINE) * LINE


def places(region: int, size: int, access: Access, seed: int, align: int = LINE) -> Iterator[int]:
    """The offsets in a region of one message after another, for ever.

    They follow each other, again from the start at the end, or are drawn, as multiples of `align`.
    """
    if access == "sequential":
        step = stride(size)
        number = max(1, region // step)
        return (turn % number * step for turn in count())
    draw, number = Random(seed).random, (region - size) // align + 1
    return (int(draw() * number) * align for _ in repeat(None))


def inline_limit(context: Context, options: Options, opcode: WROpcode) -> int:
    """The longest message that goes into the work request itself.

    What perftest takes in its latency tests, 220, 236 and 188 B (perftest_parameters.h,
    DEF_INLINE_WRITE, DEF_INLINE_SEND_RC_UC and DEF_INLINE_SEND_UD), is what fits into 256 B.
    """
    if opcode not in (WROpcode.RDMA_WRITE, WROpcode.SEND) or options.memory == "gpu":
        return 0
    if options.inline:
        return options.size
    if options.inline_size >= 0:
        return options.inline_size
    return context.blueflame_inline(WIRE[opcode], SENDERS[options.connection])


class Program:
    """A process of a benchmark: its loop, with a processor and a protection domain of its own.

    A node with fewer processors has it share one.
    """

    def __init__(self, sim: Simulator, home: Node, core: int, options: Options) -> None:
        self.sim, self.options, self.home = sim, options, home
        self.context = Context(sim, home, core % len(home.cores))
        self.pd = PD(self.context)

    def memory(self, size: int) -> MR:
        """Register memory in the pages that the options say, for all operations."""
        how: dict[str, Any] = {"page_size": self.options.page_size, "memory": self.options.memory}
        return self.pd.reg_mr(size, ALL_ACCESS, **how)


class Endpoint(Program, ABC):
    """A process of a pair, with buffers, a completion queue of some entries and queue pairs.

    Attributes:
        room: bytes that a receive buffer has for a message.
        places: offsets in its region, one message after the other; none without a region.
        qps: its queue pairs, which send.
        targets: what is sent to in their place, if they are initiators.
        receivers: where receives of each queue pair are posted.
        numbers: of its queue pairs and targets, by those of the adapter.
    """

    def __init__(
        self,
        sim: Simulator,
        home: Node,
        core: int,
        options: Options,
        opcode: WROpcode,
        entries: int,
        depths: tuple[int, int] = (ENTRIES, ENTRIES),
    ) -> None:
        super().__init__(sim, home, core, options)
        self.opcode = opcode
        self.cq = CQ(self.context, entries)
        self.room = options.size + GRH_SIZE * (options.connection == "UD")
        self.places: Iterator[int] | None = None
        if options.region:
            self.places = places(options.region, options.size, options.access, SEED)
        self.register()
        limit = inline_limit(self.context, options, opcode)
        self.inline = 0 < options.size <= limit
        how: dict[str, Any] = {"max_inline_data": limit, "max_send_wr": depths[0]}
        self.qps: list[QP] = []
        self.targets: list[DCT] = []
        self.receivers: list[QP | SRQ] = []
        for _ in range(options.qps):
            if options.connection == "DC":
                queue = SRQ(self.pd, max_wr=depths[1])
                self.qps.append(DCI(self.pd, self.cq, **how))
                self.targets.append(DCT(self.pd, self.cq, queue, KEY))
                self.receivers.append(queue)
            else:
                how |= {"max_recv_wr": depths[1], "qp_type": SENDERS[options.connection]}
                self.qps.append(QP(self.pd, self.cq, self.cq, **how))
                self.receivers.append(self.qps[-1])
        every = *enumerate(self.qps), *enumerate(self.targets)
        self.numbers = {qp.qp_num: number for number, qp in every}
        self._to: list[tuple[int, int]] = []

    @abstractmethod
    def register(self) -> None:
        """Register its buffers."""

    def activate(self, other: Endpoint, rnr_timer_ps: int = 10_000_000) -> None:
        """Make its queue pairs ready to send to those of another process, each to one.

        Parameters:
            rnr_timer_ps: pause that it asks for when it has no receive for a message.
        """
        for target in self.targets:
            target.activate(min_rnr_timer_ps=rnr_timer_ps)
        for mine, theirs in zip(self.qps, other.targets or other.qps, strict=True):
            if mine.qp_type in (QPType.UD, QPType.DCI):
                for name in ("rate_limit", "sl"):
                    if getattr(self.options, name):
                        raise VerbsError(
                            "EINVAL", f"{name} of {self.options.connection}; allowed: of RC, UC"
                        )
                mine.activate()
            else:
                how = {"static_rate": self.options.rate_limit, "min_rnr_timer_ps": rnr_timer_ps}
                mine.connect(theirs, service_level=self.options.sl, **how)
            self._to.append((theirs.lid, theirs.qp_num))

    def request(
        self, number: int, near: MR, place: int, far: MR, there: int, signaled: bool = True
    ) -> SendWR:
        """A message over a queue pair, between places in a memory here and one at the peer."""
        dlid, remote_qpn = self._to[number]
        found = request(self.opcode, near, place, self.options.size, far, there, compare_add=1)
        found.inline, found.signaled = self.inline, signaled
        found.dlid, found.remote_qpn = dlid, remote_qpn
        found.dc_key = KEY if self.targets else 0
        return found
