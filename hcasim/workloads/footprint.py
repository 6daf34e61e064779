"""Host memory that connections take: tables of the adapter, queues, and what software adds.

In mode memfree the adapter's tables (ICM) are in host memory, filled a chunk at a time, and at once
as far as the firmware reserves entries. Sources: Linux mthca_main.c, mthca_memfree.c, mthca_mr.c
and mthca_eq.c; rdma-core providers/mthca/{verbs,qp,memfree}.c. pmap, as sur2005 section 4.4 uses
it, sees ``mapped_KiB``. Nothing is simulated; pages for the firmware itself and its auxiliary pages
do not count, as no public source gives their sizes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from hcasim.catalog import Adapter, Machine
from hcasim.catalog.adapter import Tables
from hcasim.catalog.stack import Driver
from hcasim.workloads.result import Result
from hcasim.workloads.run import Run

KIB: Final = 1024
DOORBELL_PAGE: Final = 4096
"""Doorbell records are handed to the adapter in pages of this size, whatever the system's page."""


class Component(NamedTuple):
    """One use of host memory in bytes, also if it comes to nothing.

    What is pinned cannot be swapped out; what is mapped is where pmap sees it.
    """

    name: str
    size: int
    pinned: bool
    mapped: bool


def measure(run: Run) -> Result:
    """Host memory that ``options.qps`` queue pairs of ``options.depth`` entries take."""
    found = footprint(run.machine, run.options.qps, run.options.depth)

    def kib(sizes: Iterable[int]) -> float:
        return sum(sizes) / KIB

    total = kib(one.size for one in found)
    row: dict[str, Any] = {
        "pinned_KiB": kib(one.size for one in found if one.pinned),
        "total_KiB": total,
        "mapped_KiB": kib(one.size for one in found if one.mapped),
    }
    row |= {f"{one.name}_KiB": one.size / KIB for one in found}
    components = [
        {"component": one.name, "KiB": one.size / KIB, "pinned": one.pinned, "mapped": one.mapped}
        for one in found
    ]
    told = {"components": components, "total_KiB": total}
    return run.result(row, lambda: told, counters={})


def footprint(machine: Machine, qps: int, depth: int) -> tuple[Component, ...]:
    """What one process with connected queue pairs takes, at no simulated time.

    The process is the only user of the adapter. It has a completion queue that holds the
    completions of all its work requests, or several where one cannot be as large, and in mode
    memfree it opens the device again when the doorbell records of one opening are used up.

    Parameters:
        qps: reliable connection queue pairs.
        depth: entries of each send queue and of each receive queue.
    """
    adapter, driver = machine.hca, machine.stack.driver
    # The registry asks for both.
    assert driver is not None
    assert adapter.tables is not None
    memfree, page = adapter.firmware_mode == "memfree", driver.page
    entries = 2 * (_power_of_two(depth) if memfree else depth)
    work_queue = _round_up(entries * adapter.wqe.stride, page)
    # One entry stays free, to tell a full queue from an empty one.
    completions = 2 * qps * depth
    cqs = -(-completions // (driver.max_cqe - 1))
    cqes = min(_power_of_two(completions + 1), driver.max_cqe)
    completion_queue = _round_up(cqes * adapter.cqe.size, page)
    events = driver.completion_events, driver.other_events, driver.other_events
    event_queues = [_round_up(count * driver.eqe, page) for count in events]
    devices, records = 1, 0
    if memfree:
        # Send queues share pages with arming of completions, receive queues with consumption.
        pages = -(-(qps + cqs) // (DOORBELL_PAGE // driver.doorbell_record))
        devices = -(-pages // (driver.uarc // DOORBELL_PAGE // 2 - 1))
        records = 2 * pages * _round_up(DOORBELL_PAGE, page)
    buffers = [*((1, size) for size in event_queues), (qps, work_queue), (cqs, completion_queue)]
    tables = _tables(adapter, adapter.tables, driver, qps, cqs, buffers)
    return (
        *(Component(f"icm_{name}", size, True, False) for name, size in tables.items()),
        Component("event_queues", sum(event_queues), pinned=True, mapped=False),
        Component("work_queues", qps * work_queue, pinned=True, mapped=True),
        Component("completion_queues", cqs * completion_queue, pinned=True, mapped=True),
        Component("doorbell_records", records, pinned=True, mapped=True),
        Component("uar_pages", devices * page, pinned=False, mapped=True),
        Component("wr_ids", qps * entries * driver.wr_id, pinned=False, mapped=True),
        Component("process", driver.process, pinned=False, mapped=True),
    )


def _tables(
    adapter: Adapter,
    tables: Tables,
    driver: Driver,
    qps: int,
    cqs: int,
    buffers: list[tuple[int, int]],
) -> dict[str, int]:
    """Bytes of each table of the adapter, as far as it is in host memory.

    Buffers that are registered for queues are (how many, bytes of each).
    """
    memfree = adapter.firmware_mode == "memfree"
    # A buffer's segments are a power of two of neighbours; the buffers lie without gaps.
    segments = sum(
        count * _power_of_two(-(-size // (driver.page * driver.mtt_segment)))
        for count, size in buffers
    )
    chunk, qp = driver.icm_chunk, driver.reserved_qps

    def size(in_host: bool, entry: int, first: int, used: int, reserved: int | None = None) -> int:
        """Bytes of chunks that hold the entries that the firmware keeps filled, and those in use.

        An entry is what is handed out together. The first in use is the number of those that the
        firmware has, which it keeps filled unless it is said how many.
        """
        kept = -(-(first if reserved is None else reserved) * entry // chunk)
        if used:
            end = -(-(first + used) * entry // chunk)
            kept += max(0, end - max(first * entry // chunk, kept))
        return kept * chunk if in_host else 0

    def filled(entries: int, entry: int) -> int:
        """Bytes of a small table, which is filled at once."""
        return _round_up(entries * entry, driver.page) if memfree else 0

    contexts = adapter.in_host(adapter.sqpc) or adapter.in_host(adapter.rqpc)
    cqc, mpt, mtt = adapter.cqc, adapter.mpt, adapter.mtt
    regions, segment = sum(count for count, _ in buffers), driver.mtt_segment * mtt.entry
    return {
        "qpc": size(contexts, max(adapter.sqpc.entry, adapter.rqpc.entry), qp, qps),
        "eqpc": size(memfree, tables.eqpc, qp, qps),
        "rdb": size(memfree, driver.rdb_per_qp * tables.rdb, qp, qps, reserved=0),
        "cqc": size(adapter.in_host(cqc), cqc.entry, driver.reserved_cqs, cqs),
        "srqc": size(memfree, tables.srqc, driver.reserved_srqs, 0),
        "mpt": size(adapter.in_host(mpt), mpt.entry, driver.reserved_mpts, regions),
        "mtt": size(adapter.in_host(mtt), segment, driver.reserved_mtts, segments),
        "mcg": filled(driver.multicast_groups, tables.mgm),
        "eqc": filled(driver.event_contexts, tables.eqc),
    }


def _round_up(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def _power_of_two(count: int) -> int:
    return 1 << (count - 1).bit_length()
