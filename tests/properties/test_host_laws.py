"""What holds for copies and DMA that share the memory of a host, whatever they do."""

from collections.abc import Generator
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.catalog import Host as Description
from hcasim.engine import Call, Event, Simulator
from hcasim.host import Host
from hcasim.host.cache import BLOCK
from hcasim.host.copying import CHUNK
from hcasim.host.memory import SOCKET_BITS
from tests.handed import Told
from tests.hosts import GB, round_host
from tests.twin import copy_time

pytestmark = pytest.mark.pure


@st.composite
def hosts(draw: st.DrawFn, joined: bool = False, ddio: bool = False) -> Description:
    """Two sockets with a core or two each."""
    rate = st.integers(GB // 2, 10 * GB)
    size = 4096 * draw(st.integers(1, 16))
    read_latency = draw(st.integers(0, 500_000))
    cache = {"size": size, "hit_bandwidth": draw(rate), "miss_bandwidth": draw(rate)}
    memory = {"read_latency": read_latency, "write_latency": 0, "bandwidth": draw(rate)}
    more = {"latency": draw(st.integers(0, 10**5)), "bandwidth": draw(rate)} if joined else None
    return round_host(
        cpus=draw(st.integers(2, 4)),
        sockets=2,
        cache=cache | {"ddio": draw(st.integers(0, size)) if ddio else 0},
        memory=memory,
        **({} if more is None else {"interconnect": more}),
    )


@dataclass(frozen=True)
class Move:
    """A copy by a core, or a read or write by a device."""

    agent: str
    time: int
    size: int
    source: int
    destination: int


addresses = st.builds(
    lambda socket, page, offset: (socket << SOCKET_BITS) + 4096 * page + offset,
    st.integers(0, 1),
    st.integers(0, 30),
    st.integers(0, 4095),
)
moves = st.builds(
    Move,
    st.sampled_from(["0", "1", "read", "write"]),
    st.integers(0, 30_000_000),
    st.integers(1, 20_000),
    addresses,
    addresses,
)


class Run:
    """A host in which all moves have been made; of each core one after the other."""

    def __init__(self, described: Description, plan: list[Move], looks: tuple[int, ...] = ()):
        sim = Simulator()
        self.host = host = Host(sim, described, "node")
        self.attached = host.attach()
        self.took: dict[Move, int] = {}
        for agent in ("0", "1"):
            sim.process(self._core(int(agent), [one for one in plan if one.agent == agent]))
        for one in plan:
            if one.agent in ("read", "write"):
                sim.call_at(one.time, self._device, one)
        for time in looks:
            sim.call_at(time, sim.resources.busy_ps)
        sim.run()
        self.busy = self.attached.sim.resources.busy_ps()
        self.end = int(sim.now)

    def _core(self, number: int, copies: list[Move]) -> Generator[Event, None, None]:
        sim = self.host.sim
        for one in copies:
            yield sim.timeout(one.time)
            began = sim.now
            yield self.host.cores[number].copy(one.size, one.source, one.destination)
            self.took[one] = sim.now - began

    def _device(self, one: Move) -> None:
        now = self.host.sim.now
        if one.agent == "read":

            def fetched(last: int, *_: object) -> None:
                self.took[one] = last - now
                self.host.sim.call_at(last, int)

            self.attached.read(now, one.source, one.size, Told(fetched=fetched))
        else:

            def visible() -> None:
                self.took[one] = self.host.sim.now - now

            told = Told(taken=lambda _: None)
            self.attached.write(now, one.destination, one.size, Call(visible, ()), told)


plans = st.lists(moves, min_size=1, max_size=8, unique=True)


def slack(described: Description, plan: list[Move]) -> int:
    """Each chunk of a copy is rounded up to a picosecond, on each of what it passes."""
    return 4 * sum(1 + one.size // CHUNK for one in plan)


@given(hosts(), st.integers(1, 200_000), st.booleans())
def test_a_copy_alone_takes_the_closed_form(described: Description, size: int, again: bool) -> None:
    first = Move("0", 0, size, 0, 1 << 30)
    plan = [first, Move("0", 1, size, 0, 1 << 30)] if again else [first]
    found = Run(described, plan).took[plan[-1]]
    blocks = 2 * (-(-size // BLOCK))
    if again and blocks > described.cache.size // BLOCK >= blocks // 2 + 1:
        return  # which of the two ends is left depends on the order in which they were used
    fits = again and blocks <= described.cache.size // BLOCK
    closed = copy_time(described, size, 0 if fits else 2 * size)
    assert closed - 1 <= found <= closed + 2 * (1 + size // CHUNK)


@given(hosts(joined=True), plans)
def test_no_more_passes_a_controller_or_a_link_than_its_bandwidth(
    described: Description, plan: list[Move]
) -> None:
    run = Run(described, plan)
    for name, busy in run.busy.items():
        assert busy <= run.end, name


@given(hosts(), plans)
def test_every_byte_that_misses_passes_the_memory_once(
    described: Description, plan: list[Move]
) -> None:
    run = Run(described, plan)
    by_devices = sum(one.size for one in plan if one.agent in ("read", "write"))
    copied = sum(one.size for one in plan if one.agent in ("0", "1"))
    per_byte = Fraction(10**12, described.memory.bandwidth)
    low, high = by_devices * per_byte, (by_devices + 2 * copied) * per_byte
    assert low - len(plan) <= run.busy["node.memory"] <= high + slack(described, plan) + len(plan)


@given(hosts(joined=True), plans)
def test_company_never_helps(described: Description, plan: list[Move]) -> None:
    # Buffers of their own, because what one has left in a cache does help the next.
    apart = [
        replace(one, source=one.source + (n << 24), destination=one.destination + (n << 24))
        for n, one in enumerate(plan, 1)
    ]
    together = Run(described, apart).took
    for one in apart:
        assert together[one] >= Run(described, [one]).took[one]


@given(hosts(joined=True, ddio=True), plans, st.lists(st.integers(0, 50_000_000), max_size=6))
def test_looking_at_a_run_does_not_change_it(
    described: Description, plan: list[Move], looks: list[int]
) -> None:
    seen, unseen = Run(described, plan, tuple(looks)), Run(described, plan)
    assert (seen.took, seen.busy) == (unseen.took, unseen.busy)


@given(hosts(ddio=True), plans)
def test_what_devices_place_in_the_cache_never_costs_more_memory(
    described: Description, plan: list[Move]
) -> None:
    # Whole blocks, because a block that leaves is written whole.
    aligned = [
        Move(
            one.agent,
            one.time,
            -(-one.size // BLOCK) * 256,
            one.source & -256,
            one.destination & -256,
        )
        for one in plan
    ]
    without = described.model_copy(update={"cache": described.cache.model_copy(update={"ddio": 0})})
    room = slack(described, aligned)
    placed, written = Run(described, aligned), Run(without, aligned)
    assert placed.busy["node.memory"] <= written.busy["node.memory"] + room
