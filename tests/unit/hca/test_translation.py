"""Keys protect memory, and every page that a transfer touches is looked up."""

import pytest

from hcasim.engine import Simulator
from hcasim.hca import Access, Region
from hcasim.hca.icm import Icm
from hcasim.hca.local_memory import LocalMemory
from hcasim.hca.translation import TranslationTables
from hcasim.verbs import WROpcode
from tests.rig import FETCH_ADD, READ, WRITE, Rig, extended, joined, machine, succeeded

PAGE = 4096
MISS = 500_000


def tables() -> tuple[Simulator, TranslationTables]:
    """Tables in a host memory that answers after the time of a miss."""
    sim = Simulator()
    adapter = machine(adapter="mt25218", firmware_mode="memfree").adapter
    local = LocalMemory(sim, "local", adapter.memory, 0)
    # Fast enough that only its latency takes time.
    description = adapter.memory.model_copy(update={"latency": MISS, "bandwidth": 10**18})
    host = LocalMemory(sim, "host", description, 0)
    icm = Icm(sim, "hca", adapter, host, local, host.start_read)
    return sim, TranslationTables(adapter, icm)


def region(of: TranslationTables, pages: int = 4, page_size: int = PAGE) -> Region:
    access = Access.LOCAL_WRITE | Access.REMOTE_READ
    return of.register(1, page_size, pages * page_size, access, page_size)


@pytest.mark.parametrize(
    ("offset", "length", "pages"),
    [
        (0, 1, 1),
        (0, PAGE, 1),
        (PAGE - 1, 1, 1),
        (PAGE - 1, 2, 2),
        (0, PAGE + 1, 2),
        (100, 3 * PAGE, 4),
        (0, 4 * PAGE, 4),
        (8, 0, 1),
    ],
)
def test_a_transfer_looks_up_its_region_and_each_page_it_touches(
    offset: int, length: int, pages: int
) -> None:
    sim, tpt = tables()
    held = region(tpt)
    done: list[float] = []
    tpt.translate(held, held.address + offset, length, lambda: done.append(sim.now))
    sim.run()
    assert (tpt.mpt.accesses, tpt.mtt.accesses) == (1, pages)
    assert done == [(1 + pages) * MISS]
    tpt.translate(held, held.address + offset, length, lambda: done.append(sim.now))
    assert done == [(1 + pages) * MISS] * 2
    assert (tpt.mpt.accesses, tpt.mtt.accesses) == (2, 2 * pages)
    assert (tpt.mpt.misses, tpt.mtt.misses) == (1, pages)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, True),
        ({"key": 99}, False),
        ({"pd": 2}, False),
        ({"address": PAGE - 1}, False),
        ({"length": 4 * PAGE}, True),
        ({"length": 4 * PAGE + 1}, False),
        ({"address": 5 * PAGE - 8}, True),
        ({"address": 5 * PAGE - 7}, False),
        ({"needed": Access.REMOTE_READ}, True),
        ({"needed": Access.REMOTE_WRITE}, False),
        ({"needed": Access.REMOTE_READ | Access.REMOTE_WRITE}, False),
    ],
)
def test_an_access_needs_key_domain_range_and_right(change: dict[str, int], found: bool) -> None:
    _, tpt = tables()
    held = region(tpt)
    asked = {"key": held.key, "pd": 1, "address": PAGE, "length": 8, "needed": Access(0)}
    assert (tpt.find(**(asked | change)) is held) is found


def test_contexts_of_queues_may_point_to_translations_without_a_protection_entry() -> None:
    def looked_up(queues: str) -> tuple[int, ...]:
        rig, a, b, qp, _ = joined(machine({"adapter.queues": queues}))
        assert succeeded(rig.exchange(qp, a, a.request(WRITE, b, 64)))
        names = ("mpt_access_cnt", "mpt_miss_cnt", "mtt_access_cnt", "mtt_miss_cnt")
        return tuple(rig.counter(name) for name in names)

    protected, missed, translated, fetched = looked_up("mpt")
    # The request and its completion.
    assert looked_up("mtt") == (protected - 2, missed - 2, translated, fetched)


@pytest.mark.parametrize(("opcode", "looked_up"), [(WRITE, 0), (READ, 1), (FETCH_ADD, 1)])
def test_a_read_needs_what_its_responder_keeps_of_it_beside_the_context(
    opcode: WROpcode, looked_up: int
) -> None:
    base = machine()
    took = []
    for table in (None, base.adapter.rqpc):
        rig, a, b, qp, _ = joined(extended(base, adapter={"rdb": table}))
        assert succeeded(rig.exchange(qp, a, a.request(opcode, b, 8)))
        took.append(rig.sim.now)
    assert rig.counter("rdb_access_cnt") == rig.counter("rdb_miss_cnt") == looked_up
    assert (took[1] > took[0]) == (looked_up > 0)


def test_a_long_message_misses_once_for_each_page() -> None:
    rig, a, b, qp, _ = joined()
    pages = 16
    assert succeeded(rig.exchange(qp, a, a.request(WRITE, b, pages * PAGE)))
    # Each packet of 1 KiB is translated at both ends; besides the request, the completion, and
    # the first packet before the queue pair competes for the port.
    looked_up = 2 * pages * 4 + 3
    assert rig.counter("mpt_access_cnt") == rig.counter("mtt_access_cnt") == looked_up
    # The buffers, the work queue and the completion queue.
    assert rig.counter("mpt_miss_cnt") == 2 + 2
    assert rig.counter("mtt_miss_cnt") == 2 * pages + 2
    assert succeeded(rig.exchange(qp, a, a.request(WRITE, b, pages * PAGE)))
    assert rig.counter("mpt_access_cnt") == 2 * looked_up
    assert rig.counter("mpt_miss_cnt") == 2 + 2
    assert rig.counter("mtt_miss_cnt") == 2 * pages + 2


LENGTH = 1 << 26


@pytest.mark.parametrize(("reach", "entries"), [(None, 2), (LENGTH, 2), (LENGTH - 1, 3)])
def test_a_long_region_looks_up_an_entry_of_a_table_of_tables(
    reach: int | None, entries: int
) -> None:
    rig = Rig(extended(machine(), adapter={"mtt": {"reach": reach}}))
    tables = rig.peers[0].adapter.tables
    region = tables.register(1, 1 << 30, LENGTH, Access.LOCAL_WRITE)
    beyond = tables.register(1, 1 << 34, 4096, Access.LOCAL_WRITE)
    done: list[int] = []
    before = tables.mtt.misses
    # Two pages far apart, so that they share no entry of either table.
    tables.translate(region, region.address, 8, done.append, 1)
    rig.sim.run()
    tables.translate(beyond, beyond.address, 8, done.append, 2)
    rig.sim.run()
    assert done == [1, 2]
    assert tables.mtt.misses - before == entries


def test_neighbouring_blocks_of_a_long_region_share_no_entry() -> None:
    rig = Rig(extended(machine(), adapter={"mtt": {"reach": 4096}}))
    tables = rig.peers[0].adapter.tables
    region = tables.register(1, 1 << 30, LENGTH, Access.LOCAL_WRITE)
    for block in range(4):
        address = region.address + block * 512 * 4096
        before = tables.mtt.misses
        tables.translate(region, address, 8, lambda: None)
        rig.sim.run()
        assert tables.mtt.misses - before == 2
        tables.translate(region, address + 4096, 8, lambda: None)
        rig.sim.run()
        assert tables.mtt.misses - before == 3
