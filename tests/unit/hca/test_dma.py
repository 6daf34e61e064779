"""How far the translation of packets runs ahead of reading them."""

from collections import deque

import pytest

from hcasim.bus import Storage
from hcasim.engine import Action, CreditPool, Simulator
from hcasim.fabric import Opcode
from hcasim.fabric.packet import Packet, Route
from hcasim.hca import Access, Region
from hcasim.hca.dma import ReadStream
from hcasim.hca.icm import Icm
from hcasim.hca.local_memory import LocalMemory
from hcasim.hca.translation import TranslationTables
from tests.rig import machine
from tests.unit.hca.test_icm import FakeStorage

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
    return sim, bus, tables, ReadStream(Buffer(sim), bus, local, tables, prefetch), region


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
        assert sorted(bus.asked) == list(range(translated))
        bus.waiting.popleft().act()
        sim.run()
    assert not bus.waiting


@pytest.mark.pure
def test_one_packet_is_read_after_the_other_without_prefetching() -> None:
    sim, bus, _, reads, region = stream(0)
    for page in (5, 3, 5, 9):
        reads.add(Packet(Opcode.RDMA_WRITE, Route(1), 1, 0, 64), region, page * PAGE)
    for _ in range(4):
        sim.run()
        bus.waiting.popleft().act()
    assert bus.asked == [5, 3, 5, 9]
