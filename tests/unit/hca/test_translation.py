"""Keys protect memory, and every page that a transfer touches is looked up."""

import pytest

from hcasim.engine import Simulator
from hcasim.hca import Access, Region
from hcasim.hca.translation import TranslationTables
from tests.rig import WRITE, Rig, machine, succeeded

PAGE = 4096
MISS = 500_000


def tables() -> tuple[Simulator, TranslationTables]:
    sim = Simulator()
    return sim, TranslationTables(sim, machine().adapter)


def region(of: TranslationTables, pages: int = 4) -> Region:
    return of.register(1, PAGE, pages * PAGE, Access.LOCAL_WRITE | Access.REMOTE_READ)


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


def test_pages_of_two_regions_have_entries_of_their_own() -> None:
    sim, tpt = tables()
    for held in (region(tpt), region(tpt)):
        for page in range(4):
            tpt.translate(held, held.address + page * PAGE, 8, int)
            sim.run()
    assert (tpt.mpt.misses, tpt.mtt.misses) == (2, 8)


def test_a_region_that_begins_inside_a_page_reaches_into_one_more() -> None:
    _, tpt = tables()
    tpt.register(1, PAGE + 1, PAGE, Access.LOCAL_WRITE)
    assert region(tpt).first_mtt == 2


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


def test_a_long_message_misses_once_for_each_page() -> None:
    rig = Rig()
    a, b = rig.peers
    qp, _ = rig.connect(a, b)
    pages = 16
    assert succeeded(rig.exchange(qp, a, a.request(WRITE, b, pages * PAGE)))
    # Each packet of 1 KiB is translated at both ends.
    assert rig.counter("mpt_access_cnt") == rig.counter("mtt_access_cnt") == 2 * pages * 4
    assert rig.counter("mtt_miss_cnt") >= 2 * pages
    before = rig.counter("mtt_miss_cnt")
    assert succeeded(rig.exchange(qp, a, a.request(WRITE, b, pages * PAGE)))
    assert rig.counter("mtt_miss_cnt") == before
