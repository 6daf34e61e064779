"""The path to the tables: its fetches, its victims, and how far translation runs ahead of DMA."""

from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest

from hcasim.bus import Storage
from hcasim.catalog import Adapter, Cache
from hcasim.engine import Action, CreditPool, Simulator
from hcasim.fabric import Opcode
from hcasim.fabric.packet import Packet, Route
from hcasim.hca import Access, Region
from hcasim.hca.context_cache import ContextCache
from hcasim.hca.dma import ReadStream
from hcasim.hca.icm import Icm
from hcasim.hca.local_memory import LocalMemory
from hcasim.hca.translation import TranslationTables
from tests.rig import machine

pytestmark = pytest.mark.pure

LINE = 256


class FakeStorage(Storage):
    """Answers any number of reads at a time after a fixed time, and notes all that it is asked.

    Attributes:
        log: kind, time in ps, address and size of each access.
        most_reads: the most reads that were under way at once.
    """

    def __init__(self, sim: Simulator, latency_ps: int) -> None:
        self.sim = sim
        self.latency_ps = latency_ps
        self.log: list[tuple[str, int, int, int]] = []
        self.reads = self._under_way = self.most_reads = 0

    def start_read(
        self, address: int, size: int, here: Action, issued: Action | None = None
    ) -> None:
        self.log.append(("read", int(self.sim.now), address, size))
        self.reads += 1
        self._under_way += 1
        self.most_reads = max(self.most_reads, self._under_way)
        self.sim.call_after(self.latency_ps, self._done, here)
        if issued is not None:
            issued.act()

    def _done(self, here: Action) -> None:
        self._under_way -= 1
        here.act()

    def start_write(
        self, address: int, size: int, sent: Action | None, visible: Action | None
    ) -> None:
        self.log.append(("write", int(self.sim.now), address, size))
        for action in (sent, visible):
            if action is not None:
                action.act()


def adapter(**icm: int | str) -> Adapter:
    """An adapter whose send contexts are cached one at a time, with changes to its path."""
    on = machine(
        {
            "adapter.sqpc.entries": "1",
            "adapter.sqpc.ways": "1",
            "adapter.sqpc.outstanding": "1024",
            **{f"adapter.icm.{name}": str(value) for name, value in icm.items()},
        },
        adapter="mt25218",
        firmware_mode="memfree",
    )
    return on.adapter


def context_cache(icm: Icm, name: str, described: Cache, *, written: bool) -> ContextCache:
    """A cache of a table behind this path."""
    return ContextCache(icm.sim, name, described, icm.table(described), written=written)


def path(**icm: int | str) -> tuple[Simulator, Icm, FakeStorage, Any]:
    """Tables in a host memory that answers after 400 ns."""
    sim = Simulator()
    described = adapter(**icm)
    host = FakeStorage(sim, 400_000)
    local = LocalMemory(sim, "local", described.memory, described.local_memory_size)
    made = Icm(sim, "hca", described, host, local, host.start_read)
    return sim, made, host, context_cache(made, "sqpc", described.sqpc, written=True)


@pytest.mark.parametrize("outstanding", [1, 2, 3, 7])
def test_all_caches_share_the_fetches_that_may_be_under_way(outstanding: int) -> None:
    sim, icm, host, contexts = path(outstanding=outstanding, victims=64)
    described = adapter()
    others = [
        context_cache(icm, name, described.caches[name], written=False) for name in ("mpt", "cqc")
    ]
    for cache in (contexts, *others):
        for key in range(4):
            cache.access(key, int)
    sim.run()
    assert host.most_reads == outstanding
    assert host.reads == 12
    assert sim.now >= -(-12 // outstanding) * 400_000


def test_a_victim_waits_while_fetches_do() -> None:
    sim, _, host, contexts = path(outstanding=1, victims=64)
    for key in range(5):
        contexts.access(key, int)
    sim.run()
    # Four lines had to leave, and none of them delayed a fetch.
    assert [kind for kind, *_ in host.log] == ["read"] * 5 + ["write"] * 4
    assert [address // LINE for kind, _, address, _ in host.log if kind == "write"] == [0, 1, 2, 3]
    assert {time for kind, time, *_ in host.log if kind == "write"} == {5 * 400_000}


@pytest.mark.parametrize("room", [1, 2, 3])
def test_no_more_victims_wait_than_there_is_room_for(room: int) -> None:
    sim, _, host, contexts = path(outstanding=1, victims=room)
    for key in range(10):
        contexts.access(key, int)
    sim.run()
    written = read = 0
    for kind, *_ in host.log:
        if kind == "read":
            read += 1
        else:
            written += 1
        # When a fetch begins, there is room for its victim.
        assert read - 1 - written <= room
    assert (read, written) == (10, 9)
    # As late as they may: the first leaves when the room is taken.
    assert [kind for kind, *_ in host.log].index("write") == room + 1


def test_a_victim_goes_at_once_when_no_fetch_waits() -> None:
    sim, _, host, contexts = path(latency="70 ns")
    for key in range(3):
        contexts.access(key, int)
        sim.run()
    # What leaves is what came.
    assert host.log == [
        ("read", 0, 0, LINE),
        ("read", 470_000, LINE, LINE),
        ("write", 940_000, 0, LINE),
        ("read", 940_000, 2 * LINE, LINE),
        ("write", 1_410_000, LINE, LINE),
    ]


PAGE = 4096


class BusyBus(Storage):
    """A bus whose requests wait until the test lets the next one out."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.waiting: deque[Action] = deque()

    def start_read(
        self, address: int, size: int, here: Action, issued: Action | None = None
    ) -> None:
        assert issued is not None
        self.asked.append(address // PAGE)
        self.waiting.append(issued)

    def start_write(self, address: int, *_: object) -> None:
        raise AssertionError("nothing is written")


class Buffer:
    """A staging buffer whose packets never get their data."""

    def __init__(self, sim: Simulator) -> None:
        self.sim = sim
        self.room = CreditPool(sim, "requests", 1)

    def complete(self, packet: Packet) -> None:
        raise AssertionError("no data has come")


def stream(prefetch: int) -> tuple[Simulator, BusyBus, TranslationTables, ReadStream, Region]:
    sim, bus = Simulator(), BusyBus()
    adapter = machine(adapter="mt25218", firmware_mode="memfree").adapter
    local = LocalMemory(sim, "local", adapter.memory, 0)
    host = FakeStorage(sim, 1000)
    tables = TranslationTables(adapter, Icm(sim, "hca", adapter, host, local, host.start_read))
    region = tables.register(1, 0, 64 * PAGE, Access.LOCAL_WRITE, PAGE)
    engine = SimpleNamespace(tables=tables, prefetch=prefetch, storage=lambda _: bus)
    return sim, bus, tables, ReadStream(Buffer(sim), engine), region


@pytest.mark.pure
@pytest.mark.parametrize("prefetch", [0, 1, 3, 8])
def test_no_more_packets_are_translated_ahead_than_are_prefetched(prefetch: int) -> None:
    sim, bus, tables, reads, region = stream(prefetch)
    packets = 12
    for number in range(packets):
        packet = Packet(Opcode.RDMA_WRITE, Route(1), 1, number, 64)
        reads.add(packet, region, number * PAGE)
    sim.run()
    for issued in range(packets):
        translated = min(packets, issued + 1 + prefetch)
        assert tables.mtt.misses == tables.mtt.accesses == translated
        assert bus.asked == list(range(translated))
        bus.waiting.popleft().act()
        sim.run()
    assert not bus.waiting
