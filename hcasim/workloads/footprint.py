"""Host memory that connections take: tables of the adapter, queues, and what software adds.

An adapter in the firmware mode memfree has its tables (interconnect context memory, ICM) in host
memory. The driver fills a table on demand, one chunk at a time, and at once as far as the firmware
reserves entries. Sources: Linux mthca_main.c, mthca_memfree.c, mthca_mr.c and mthca_eq.c;
rdma-core providers/mthca/{verbs,qp,memfree}.c.

sur2005 section 4.4 looks at such a process with pmap, which sees ``mapped_KiB``; the tables that
the driver keeps in host memory are in ``pinned_KiB`` and ``total_KiB`` only. Nothing is simulated.

Not counted, as no public source gives their sizes: the pages for the firmware itself and its
auxiliary pages, both in host memory in mode memfree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from hcasim.catalog import Machine
from hcasim.engine import Simulator
from hcasim.verbs.errors import VerbsError
from hcasim.workloads.options import Options
from hcasim.workloads.result import Result

KIB: Final = 1024
DOORBELL_PAGE: Final = 4096
"""Doorbell records are handed to the adapter in pages of this size, whatever the system's page."""


@dataclass(frozen=True)
class Component:
    """One use of host memory.

    Attributes:
        name: what it is for.
        size: bytes.
        pinned: it cannot be swapped out.
        mapped: it is in the address space of the process, where pmap sees it.
    """

    name: str
    size: int
    pinned: bool
    mapped: bool


@dataclass(frozen=True)
class Footprint:
    """What one process and its connections take on one host.

    Attributes:
        components: each use, also those that come to nothing.
    """

    components: tuple[Component, ...]

    @property
    def pinned(self) -> int:
        """Bytes that cannot be swapped out."""
        return sum(one.size for one in self.components if one.pinned)

    @property
    def mapped(self) -> int:
        """Bytes of the process's address space, as pmap counts them."""
        return sum(one.size for one in self.components if one.mapped)

    @property
    def total(self) -> int:
        """Bytes in all, pinned or mapped."""
        return sum(one.size for one in self.components)


def measure(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Host memory that ``options.qps`` queue pairs of ``options.depth`` entries take."""
    found = footprint(machine, options.qps, options.depth)
    row: dict[str, Any] = {
        "size": options.size,
        "qps": options.qps,
        "pinned_KiB": found.pinned / KIB,
        "total_KiB": found.total / KIB,
        "mapped_KiB": found.mapped / KIB,
    }
    row |= {f"{one.name}_KiB": one.size / KIB for one in found.components}
    breakdown: dict[str, Any] = {}
    if options.explain:
        components = [
            {
                "component": one.name,
                "KiB": one.size / KIB,
                "pinned": one.pinned,
                "mapped": one.mapped,
            }
            for one in found.components
        ]
        breakdown = {"components": components, "total_KiB": found.total / KIB}
    return Result(row, {}, breakdown)


def footprint(machine: Machine, qps: int, depth: int) -> Footprint:
    """What one process with connected queue pairs takes, at no simulated time.

    The process is the only user of the adapter. It has a completion queue that holds the
    completions of all its work requests, or several where one cannot be as large, and in mode
    memfree it opens the device again when the doorbell records of one opening are used up.

    Args:
        machine: a resolved machine.
        qps: reliable connection queue pairs.
        depth: entries of each send queue and of each receive queue.

    Raises:
        VerbsError: ``EINVAL`` for a number of queue pairs or entries that cannot be, ``ENOMEM`` if
            the adapter has not so many queue pairs, ``ENOSYS`` if adapter or stack do not say what
            they need.
    """
    limits = machine.hca.limits
    if qps < 1:
        raise VerbsError("EINVAL", f"qps is {qps}; allowed: 1 or more")
    if not 1 <= depth <= limits.max_wr:
        raise VerbsError("EINVAL", f"depth is {depth}; allowed: 1 to {limits.max_wr}")
    if qps > limits.max_qp:
        raise VerbsError("ENOMEM", f"qps is {qps}; allowed: 1 to {limits.max_qp}")
    queues = _Queues(machine, qps, depth)
    return Footprint((*_tables(machine, queues), *queues.components()))


class _Queues:
    """Queues and records of the process, and the event queues of the driver."""

    def __init__(self, machine: Machine, qps: int, depth: int) -> None:
        adapter, driver = machine.hca, machine.stack.driver
        if driver is None:
            raise VerbsError("ENOSYS", f"{machine.stack.id} does not say what its driver allocates")
        self.driver = driver
        self.qps = qps
        self.memfree = adapter.firmware_mode == "memfree"
        self.entries = 2 * (_power_of_two(depth) if self.memfree else depth)
        self.work_queue = _round_up(self.entries * adapter.wqe.stride, driver.page)
        # One entry stays free, to tell a full queue from an empty one.
        completions = 2 * qps * depth
        self.cqs = -(-completions // (driver.max_cqe - 1))
        cqes = min(_power_of_two(completions + 1), driver.max_cqe)
        self.completion_queue = _round_up(cqes * adapter.cqe.size, driver.page)
        self.event_queues = [
            _round_up(events * driver.eqe, driver.page)
            for events in (driver.completion_events, driver.other_events, driver.other_events)
        ]

    def buffers(self) -> Iterable[tuple[int, int]]:
        """(how many, bytes of each) of the buffers that are registered for queues."""
        yield from ((1, size) for size in self.event_queues)
        yield self.qps, self.work_queue
        yield self.cqs, self.completion_queue

    def components(self) -> Iterable[Component]:
        """What the queues and the process take."""
        driver, devices, records = self.driver, 1, 0
        if self.memfree:
            # Send queues share pages with arming of completions, receive queues with consumption.
            per_page = DOORBELL_PAGE // driver.doorbell_record
            kind = self.qps + self.cqs
            pages = -(-kind // per_page)
            devices = -(-pages // (driver.uarc // DOORBELL_PAGE // 2 - 1))
            records = 2 * pages * _round_up(DOORBELL_PAGE, driver.page)
        yield Component("event_queues", sum(self.event_queues), pinned=True, mapped=False)
        yield Component("work_queues", self.qps * self.work_queue, pinned=True, mapped=True)
        yield Component("completion_queues", self.cqs * self.completion_queue, True, True)
        yield Component("doorbell_records", records, pinned=True, mapped=True)
        yield Component("uar_pages", devices * driver.page, pinned=False, mapped=True)
        yield Component("wr_ids", self.qps * self.entries * driver.wr_id, False, True)
        yield Component("process", driver.process, pinned=False, mapped=True)


@dataclass(frozen=True)
class _Table:
    """A table of the adapter that the driver fills in chunks.

    Attributes:
        entry: bytes of what is handed out together.
        first: number of the first entry that is not the firmware's.
        used: entries in use, from that one on.
        reserved: entries that the firmware keeps filled; those before ``first`` unless given.
    """

    name: str
    in_host: bool
    entry: int
    first: int
    used: int
    reserved: int | None = None

    def chunks(self, chunk: int) -> int:
        """Chunks of ``chunk`` bytes that hold the reserved entries and those in use."""
        reserved = self.first if self.reserved is None else self.reserved
        kept = -(-reserved * self.entry // chunk)
        if not self.used:
            return kept
        start = self.first * self.entry // chunk
        end = -(-(self.first + self.used) * self.entry // chunk)
        return kept + max(0, end - max(start, kept))


def _tables(machine: Machine, queues: _Queues) -> Iterable[Component]:
    """The adapter's tables, as far as they are in host memory."""
    adapter, driver, memfree = machine.hca, queues.driver, queues.memfree
    if adapter.tables is None:
        raise VerbsError("ENOSYS", f"{adapter.id} does not say what tables it has")
    qpc = adapter.in_host(adapter.sqpc) or adapter.in_host(adapter.rqpc)
    qpc_entry = max(adapter.sqpc.entry, adapter.rqpc.entry)
    rdb_entry = driver.rdb_per_qp * adapter.tables.rdb
    segment = driver.mtt_segment * adapter.mtt.entry
    buffers = list(queues.buffers())
    regions = sum(count for count, _ in buffers)
    # A buffer's segments are a power of two of neighbours; the buffers lie without gaps.
    segments = sum(
        count * _power_of_two(-(-size // (driver.page * driver.mtt_segment)))
        for count, size in buffers
    )
    qp, qps = driver.reserved_qps, queues.qps
    mpt, mtt = adapter.in_host(adapter.mpt), adapter.in_host(adapter.mtt)
    for table in (
        _Table("qpc", qpc, qpc_entry, qp, qps),
        _Table("eqpc", memfree, adapter.tables.eqpc, qp, qps),
        _Table("rdb", memfree, rdb_entry, qp, qps, reserved=0),
        _Table(
            "cqc", adapter.in_host(adapter.cqc), adapter.cqc.entry, driver.reserved_cqs, queues.cqs
        ),
        _Table("srqc", memfree, adapter.tables.srqc, driver.reserved_srqs, 0),
        _Table("mpt", mpt, adapter.mpt.entry, driver.reserved_mpts, regions),
        _Table("mtt", mtt, segment, driver.reserved_mtts, segments),
    ):
        size = table.chunks(driver.icm_chunk) * driver.icm_chunk if table.in_host else 0
        yield Component(f"icm_{table.name}", size, pinned=True, mapped=False)
    # These two are small and filled at once.
    for name, entries, entry in (
        ("mcg", driver.multicast_groups, adapter.tables.mgm),
        ("eqc", driver.event_contexts, adapter.tables.eqc),
    ):
        size = _round_up(entries * entry, driver.page) if memfree else 0
        yield Component(f"icm_{name}", size, pinned=True, mapped=False)


def _round_up(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def _power_of_two(count: int) -> int:
    """The smallest power of two that is not less."""
    return 1 << (count - 1).bit_length()
