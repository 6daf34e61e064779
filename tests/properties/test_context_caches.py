"""Laws of the context caches: what they fetch, what that costs, and where it goes."""

import tracemalloc
from dataclasses import dataclass
from random import Random
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.catalog import Cache
from hcasim.engine import Simulator
from hcasim.hca.context_cache import ContextCache
from hcasim.hca.icm import Waiting
from tests.rig import WRITE, Rig, machine, run

Policy = Literal["lru", "fifo", "random"]
FETCH = 1000
OUTSTANDING = 2
ENTRY = 8
CACHES = ("sqpc", "rqpc", "cqc", "mpt", "mtt")


class Memory:
    """A table whose fetches take a fixed time."""

    owner = "hca0"

    def __init__(self, sim: Simulator) -> None:
        self.sim = sim
        self.icm = self
        self.read_ps = 0
        self.fetched: list[int] = []
        self.written: list[int] = []
        self.under_way = 0

    def fetch(self, table: object, line: int, cache: Waiting) -> None:
        self.fetched.append(line)
        self.read_ps += FETCH
        self.under_way += 1
        assert self.under_way <= OUTSTANDING
        self.sim.call_after(FETCH, self._done, line, cache)

    def _done(self, line: int, cache: Waiting) -> None:
        self.under_way -= 1
        cache.arrived(line)

    def write_back(self, line: int) -> None:
        self.written.append(line)


@dataclass(frozen=True)
class Shape:
    """Lines, ways, entries of a line, and policy."""

    lines: int
    ways: int
    per_line: int
    policy: Policy

    def cache(self, sim: Simulator, memory: Memory, *, written: bool) -> ContextCache:
        description = Cache(
            entries=self.lines * self.per_line,
            entry=ENTRY,
            line=ENTRY * self.per_line,
            ways=self.ways,
            policy=self.policy,
            outstanding=OUTSTANDING,
            location="host",
        )
        return ContextCache(sim, "mtt", description, memory, written=written)


shapes = st.builds(
    lambda sets, ways, per_line, policy: Shape(sets * ways, ways, per_line, policy),
    st.integers(1, 6),
    st.integers(1, 6),
    st.sampled_from([1, 2, 3, 8]),
    st.sampled_from(["lru", "fifo", "random"]),
)
traces = st.lists(st.integers(0, 60), max_size=80)


def reference(shape: Shape, trace: list[int]) -> tuple[list[int], list[int]]:
    """Lines that are fetched and lines that leave, from lists in order of age."""
    sets: list[list[int]] = [[] for _ in range(shape.lines // shape.ways)]
    draw = Random(0)
    fetched, left = [], []
    for key in trace:
        line = key // shape.per_line
        held = sets[line % len(sets)]
        if line in held:
            if shape.policy == "lru":
                held.remove(line)
                held.append(line)
            continue
        fetched.append(line)
        if len(held) == shape.ways:
            victim = draw.choice(held) if shape.policy == "random" else held[0]
            held.remove(victim)
            left.append(victim)
        held.append(line)
    return fetched, left


@pytest.mark.pure
@given(shapes, traces, st.booleans())
def test_a_cache_fetches_and_writes_back_what_a_plain_model_does(
    shape: Shape, trace: list[int], written: bool
) -> None:
    sim = Simulator()
    memory = Memory(sim)
    cache = shape.cache(sim, memory, written=written)
    served: list[int] = []
    for key in trace:
        cache.access(key, served.append, key)
        sim.run()
    size = ENTRY * shape.per_line
    fetched, left = reference(shape, trace)
    assert served == trace
    assert memory.fetched == fetched
    assert memory.written == (left if written else [])
    assert cache.counters() == {
        "mtt_access_cnt": len(trace),
        "mtt_miss_cnt": len(fetched),
        "mtt_wait_ps": len(fetched) * FETCH,
        "mtt_fetch_ps": len(fetched) * FETCH,
        "mtt_fetch_bytes": len(fetched) * size,
        "mtt_writeback_bytes": len(memory.written) * size,
    }


@pytest.mark.pure
@given(shapes, st.lists(st.tuples(st.integers(0, 3 * FETCH), st.integers(0, 60)), max_size=60))
def test_every_look_up_is_served_once_and_after_its_line_is_there(
    shape: Shape, plan: list[tuple[int, int]]
) -> None:
    sim = Simulator()
    memory = Memory(sim)
    cache = shape.cache(sim, memory, written=True)
    asked: dict[int, tuple[int, int]] = {}
    served: dict[int, int] = {}

    def ask(number: int, key: int) -> None:
        asked[number] = int(sim.now), key
        cache.access(key, answer, number)

    def answer(number: int) -> None:
        assert number not in served
        served[number] = int(sim.now)

    for number, (time, key) in enumerate(plan):
        sim.call_at(time, ask, number, key)
    sim.run()
    assert served.keys() == asked.keys()
    waits = [served[number] - asked[number][0] for number in asked]
    # No room for a further fetch is left unused while one waits.
    assert all(wait <= FETCH * -(-len(plan) // OUTSTANDING) for wait in waits)
    assert cache.lookup_wait_ps == sum(waits)
    assert cache.misses == len(memory.fetched) <= cache.accesses == len(plan)
    # Those of one line are served in the order in which they asked.
    order = list(served)
    for line in {key // shape.per_line for _, key in plan}:
        mine = [n for n in order if asked[n][1] // shape.per_line == line]
        assert [asked[n][0] for n in mine] == sorted(asked[n][0] for n in mine)
    # All that came either left or is there.
    assert len(memory.fetched) - len(memory.written) == len(cache._cache) <= shape.lines


# The whole adapter.


ENDLESS = {f"adapter.{name}.{key}": "65536" for name in CACHES for key in ("entries", "ways")}


LATENCIES = ("write_lat", "send_lat", "read_lat", "atomic_lat")


@pytest.mark.parametrize("size", [8, 9000])
@pytest.mark.parametrize(
    ("workload", "qps"),
    [
        *((workload, qps) for workload in LATENCIES for qps in (1, 40)),
        # With several in flight, how they fell into step during the warm-up would show.
        ("window_bw", 1),
        ("window_bw send", 1),
        ("window_bw read", 1),
    ],
)
def test_without_misses_it_does_not_matter_where_the_tables_are(
    workload: str, size: int, qps: int
) -> None:
    size = 8 if workload == "atomic_lat" else size
    rows = []
    for mode in ("mem", "memfree"):
        on = machine(ENDLESS, adapter="mt25218", firmware_mode=mode)
        options = {"size": size, "qps": qps, "iters": 3 * qps, "warmup": 4 * qps}
        rows.append(run(workload, on, exact=True, **options).row)
    assert rows[0] == rows[1]


def test_memory_grows_with_what_is_used_and_not_with_the_tables() -> None:
    def peak(entries: int, pairs: int) -> int:
        changes = {f"adapter.{name}.entries": str(entries) for name in CACHES}
        on = machine(changes, adapter="mt25218")
        tracemalloc.start()
        rig = Rig(on)
        a, b = rig.peers
        qps = [rig.connect(a, b)[0] for _ in range(pairs)]
        for qp in qps:
            rig.exchange(qp, a, a.request(WRITE, b))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    small, large = peak(64, 64), peak(1 << 24, 64)
    assert large < small + 200_000
    # Eight times as many queue pairs take about eight times as much.
    assert 4 * large < peak(1 << 24, 8 * 64) < 12 * large


@pytest.mark.parametrize(
    ("outstanding", "binding", "gain"), [("1", "node0.hca.icm", 2), ("64", "node0.hca.mpt", 1.2)]
)
def test_missing_entries_or_the_path_to_them_are_named(
    outstanding: str, binding: str, gain: float
) -> None:
    slow = {"adapter.icm.outstanding": outstanding, "adapter.icm.latency": "800 ns"}
    slow |= {"adapter.mpt.outstanding": "1", "adapter.sqpc.outstanding": "64"}
    short, roomy = (
        run("scatter", machine(changes), size=64, qps=128, iters=6, warmup=1, explain=True)
        for changes in (slow, slow | {"adapter.mpt.entries": "512"})
    )
    assert short.breakdown["binds"] == binding
    assert gain * roomy.row["latency_us"] < short.row["latency_us"]
