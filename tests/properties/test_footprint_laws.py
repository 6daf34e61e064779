"""Laws of host memory and of registration."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.catalog import CatalogError, Machine, resolve
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.verbs import PD, Context
from hcasim.workloads.footprint import Component, footprint

qps = st.one_of(st.integers(1, 300), st.integers(1, 65536))
depths = st.one_of(st.integers(1, 300), st.integers(1, 65535))
modes = st.sampled_from(["mem", "memfree"])
chunks = st.sampled_from([4096, 65536, 262144, 2**20])


@cache
def machine(mode: str, chunk: int = 262144) -> Machine:
    return resolve(
        "liu2004",
        adapter="mt25218",
        overrides={"stack.driver.icm_chunk": str(chunk)},
        firmware_mode=mode,
    )


def sizes(memory: tuple[Component, ...]) -> dict[str, int]:
    return {one.name: one.size for one in memory}


@given(modes, chunks, st.tuples(qps, qps), st.tuples(depths, depths))
def test_no_component_shrinks_with_queue_pairs_or_depth(
    mode: str, chunk: int, counts: tuple[int, int], deep: tuple[int, int]
) -> None:
    on = machine(mode, chunk)
    for pairs in (((n, deep[0]) for n in sorted(counts)), ((counts[0], n) for n in sorted(deep))):
        less, more = (sizes(footprint(on, *pair)) for pair in pairs)
        assert all(less[name] <= more[name] for name in less)


@given(qps, depths)
def test_memfree_takes_at_least_as_much_of_everything(count: int, depth: int) -> None:
    mem, memfree = (sizes(footprint(machine(mode), count, depth)) for mode in ("mem", "memfree"))
    assert all(mem[name] <= memfree[name] for name in mem)


@given(chunks, qps, depths)
def test_tables_are_whole_chunks_and_hold_what_is_in_use(
    chunk: int, count: int, depth: int
) -> None:
    on = machine("memfree", chunk)
    memory = sizes(footprint(on, count, depth))
    driver = on.stack.driver
    for name, entry, kept in (
        ("icm_qpc", on.adapter.sqpc.entry, driver.reserved_qps),
        ("icm_eqpc", on.adapter.tables.eqpc, driver.reserved_qps),
        ("icm_rdb", driver.rdb_per_qp * on.adapter.tables.rdb, 0),
        ("icm_mpt", on.adapter.mpt.entry, driver.reserved_mpts),
    ):
        assert memory[name] % chunk == 0
        assert (kept + count) * entry <= memory[name]
    # No more than the chunk that the reserved entries begin and the one that is not full.
    assert memory["icm_rdb"] < count * 128 + 2 * chunk
    assert memory["icm_qpc"] < (driver.reserved_qps + count) * 256 + chunk


@given(modes, qps, depths)
def test_what_takes_memory_is_pinned_or_mapped(mode: str, count: int, depth: int) -> None:
    memory = footprint(machine(mode), count, depth)
    assert all(one.size == 0 or one.pinned or one.mapped for one in memory)


@given(st.integers(1, 2**33), st.integers(12, 30), st.integers(12, 30))
def test_larger_pages_never_need_more_entries_or_time(length: int, one: int, other: int) -> None:
    spent = []
    for shift in sorted((one, other)):
        sim = Simulator()
        context = Context(sim, Cluster(sim, machine("mem"), 2).nodes[0])
        # Something of odd length before it.
        pd = PD(context)
        pd.reg_mr(3 * 4096 + 1)
        call = pd.timed_reg_mr(length, page_size=1 << shift)
        mr = sim.run(until=sim.process(call))
        assert mr.pages << shift >= length
        assert (mr.pages - 1) << shift < length
        spent.append((mr.pages, int(sim.now)))
    assert spent[1][0] <= spent[0][0]
    assert spent[1][1] <= spent[0][1]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        *(("icm_chunk", "5000"), ("page", "12 KiB"), ("mtt_segment", "7"), ("reserved_qps", "-1")),
        *(("uarc", "8 KiB"), ("max_cqe", "1")),
    ],
)
def test_an_impossible_driver_is_refused(path: str, found: str) -> None:
    with pytest.raises(CatalogError, match=rf"stack\.driver\.{path}: found '?{found}'?; allowed: "):
        resolve("liu2004", overrides={f"stack.driver.{path}": found})
