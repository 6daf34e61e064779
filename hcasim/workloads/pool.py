"""Where the messages of NetPIPE are in memory.

One buffer serves sending and receiving, but it is registered once for each, so the adapter
translates it by two sets of entries. With -I, which benjegerdes2004 section 3.3 uses, the messages
rotate through two pools instead, one for sending and one for receiving, each registered as a
whole. Or they rotate through several buffers, each with registrations of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from hcasim.verbs import MR, PD, Access
from hcasim.workloads.options import Options

POOL = 10_000_000
"""Bytes of each pool that -I rotates through (MEMSIZE in src/netpipe.h)."""

ALIGNMENT = 16 * 1024
"""Boundary in bytes on which each message begins (bufalign in src/netpipe.c)."""

_ACCESS = Access.LOCAL_WRITE | Access.REMOTE_WRITE


def rotation(options: Options) -> int:
    """How many places in memory the messages use in turn.

    With -I a place reaches to the next boundary, a whole one further if it ends on one, and the
    pointer goes back to the start of the pool when less than two places are left (src/netpipe.c:
    len_buf_align, AdvanceSendPtr). Messages of more than half a pool do not rotate.
    """
    if not options.invalidate:
        return options.buffers
    return max(1, -(-POOL // spacing(options.size)) - 1)


def spacing(size: int) -> int:
    """Bytes from one place of -I to the next, for messages of so many bytes."""
    return size + ALIGNMENT - size % ALIGNMENT


@dataclass(frozen=True)
class Place:
    """Where a message is sent from, and where one is received."""

    source: int
    sending: MR
    target: int
    receiving: MR


def places(pd: PD, options: Options) -> list[Place]:
    """Register memory, and return where the messages of one process are, in the order of use."""

    def register(size: int) -> MR:
        return pd.reg_mr(size, _ACCESS, page_size=options.page_size)

    if not options.invalidate:
        pairs = [(register(options.size), register(options.size)) for _ in range(options.buffers)]
        return [Place(one.addr, one, other.addr, other) for one, other in pairs]
    sending, receiving = (register(POOL + ALIGNMENT) for _ in range(2))
    # A pool that is aligned already loses a whole boundary (src/netpipe.c: AlignBuffer).
    source, target = (mr.addr + ALIGNMENT - mr.addr % ALIGNMENT for mr in (sending, receiving))
    offsets = (turn * spacing(options.size) for turn in range(rotation(options)))
    return [Place(source + offset, sending, target + offset, receiving) for offset in offsets]
