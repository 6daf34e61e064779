"""What a root complex keeps in order, caches and translates, in numbers worked out by hand."""

from typing import Any

import pytest

from hcasim.catalog.host import RootPort
from hcasim.engine import Call, Simulator
from hcasim.host import Host
from hcasim.host.chipset import Chipset
from hcasim.host.root_complex import RootComplex
from tests.handed import Told
from tests.hosts import PORT, round_host
from tests.rig import extended, machine, run

pytestmark = pytest.mark.pure

READ, WRITE, CACHED = 400_000, 100_000, 250_000
PS_PER_BYTE = 100
"""Of memory, at 10 GB/s."""


class Rig:
    """A root complex with memory latencies of 400 and 100 ns, and when its accesses end."""

    def __init__(
        self,
        *,
        lanes: int = 4,
        relaxed: bool = False,
        iommu: dict[str, int] | None = None,
        ddio: int = 0,
        memory: dict[str, int] | None = None,
        **port: Any,
    ) -> None:
        cache, answers = {"ddio": ddio}, {"dram_latency": READ - CACHED} | (memory or {})
        units = {} if iommu is None else {"iommu": {"enabled": True, "page": 4096} | iommu}
        description = round_host(cache=cache, memory=answers, root_port=port, **units)
        self.sim = Simulator()
        self.host = Host(self.sim, description, "host")
        self.complex = self.host.attach(0, description.root_port, lanes=lanes, relaxed=relaxed)
        self.read_at: list[int] = []
        self.visible_at: list[int] = []
        self.freed_at: list[int] = []

    def read(self, address: int = 0, size: int = 64, at: int = 0) -> None:
        told = Told(fetched=lambda *_: self.read_at.append(self.sim.now))
        self.complex.read(at, address, size, told)

    def write(self, address: int = 0, size: int = 64) -> None:
        seen = self.visible_at
        visible = Call(lambda: seen.append(self.sim.now), ())
        told = Told(taken=self.freed_at.append)
        self.complex.write(self.sim.now, address, size, visible, told)

    def run(self) -> "Rig":
        self.sim.run()
        return self


def test_a_host_that_says_no_more_than_latencies_has_the_plain_chipset() -> None:
    plain = Rig()
    description = plain.host.description
    memory = description.memory.model_copy(update={"dram_latency": 0})
    bare = Host(Simulator(), description.model_copy(update={"memory": memory}), "host")
    assert type(bare.attach(0, RootPort(**PORT))) is Chipset
    assert type(plain.complex) is RootComplex
    assert type(plain.host.attach(0)) is Chipset


@pytest.mark.parametrize(("waits", "expected"), [(True, WRITE + READ), (False, READ)])
def test_a_read_behind_a_write_begins_when_that_is_visible(waits: bool, expected: int) -> None:
    rig = Rig(reads_wait=waits)
    rig.write()
    rig.read()
    assert rig.run().read_at == [expected]


def test_room_for_a_write_is_free_when_it_is_visible() -> None:
    rig = Rig()
    rig.write()
    assert rig.run().freed_at == rig.visible_at == [WRITE]
    # A chipset that says no more of itself has room when memory has taken the write.
    rig.complex = rig.host.attach(0)
    rig.write()
    assert rig.run().freed_at[1] == WRITE + 64 * PS_PER_BYTE


def test_memory_answers_only_so_many_reads_at_a_time() -> None:
    rig = Rig(outstanding_reads=2)
    for _ in range(5):
        rig.read()
    assert rig.run().read_at == [READ, READ, 2 * READ, 2 * READ, 3 * READ]


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_lines_share_as_many_places_as_the_link_has_lanes_for(lanes: int) -> None:
    rig = Rig(outstanding_lines=4, lanes=lanes)
    for place in range(lanes):
        rig.read(64 * place)
    rig.read(size=128)
    assert rig.run().read_at == [READ] * lanes + [2 * READ]


def test_reads_and_writes_take_turns_and_hold_their_places_until_they_end() -> None:
    rig = Rig(outstanding_lines=4)
    rig.write(size=256)
    rig.read()
    assert rig.run().read_at == [WRITE + READ]
    # A read keeps its places while it waits for the write before it.
    held = Rig(outstanding_lines=5, reads_wait=True)
    held.write()
    held.read(size=256)
    held.sim.call_at(1, held.write, 0, 256)
    assert held.run().read_at == [WRITE + READ]
    assert held.visible_at == [WRITE, WRITE + READ + WRITE]


def test_a_read_of_more_lines_than_there_are_places_comes_packet_by_packet() -> None:
    rig = Rig(outstanding_lines=8)
    rig.read(0, 1024)
    assert rig.run().read_at == [READ, READ, 2 * READ, 2 * READ]


def test_a_read_of_the_cache_gives_its_place_to_the_next_sooner() -> None:
    rig = Rig(outstanding_reads=1, ddio=4096)
    rig.write()
    rig.run()
    for _ in range(2):
        rig.read(at=WRITE)
    assert rig.run().read_at == [WRITE + CACHED, WRITE + 2 * CACHED]


def test_a_read_that_the_cache_holds_is_answered_by_it() -> None:
    rig = Rig(ddio=4096)
    rig.write()
    rig.run()
    rig.read(at=200_000)
    rig.read(address=8192, at=200_000)
    assert rig.run().read_at == [200_000 + CACHED, 200_000 + READ]


def test_a_cache_that_devices_do_not_write_to_answers_none_of_their_reads() -> None:
    rig = Rig()
    rig.host.memory.caches[0].access(0, 64)
    rig.read()
    assert rig.run().read_at == [READ]


def test_writes_in_order_are_under_way_only_as_many_lines_at_a_time() -> None:
    ordered, relaxed = Rig(ordered_writes=2), Rig(ordered_writes=2, relaxed=True)
    for rig in (ordered, relaxed):
        for place in range(4):
            rig.write(address=64 * place)
        rig.run()
    assert ordered.visible_at == [WRITE, WRITE, 2 * WRITE, 2 * WRITE]
    assert relaxed.visible_at == [WRITE] * 4


def test_a_write_longer_than_all_that_may_be_under_way_takes_as_many_turns() -> None:
    rig = Rig(ordered_writes=2)
    rig.write(size=512)
    rig.write(size=64)
    assert rig.run().visible_at == [4 * WRITE, 5 * WRITE]


@pytest.mark.parametrize(
    ("address", "size", "later"), [(0, 64, 0), (0, 8, 60_000), (8, 64, 60_000), (64, 128, 0)]
)
def test_a_write_of_a_part_of_a_line_is_visible_later(address: int, size: int, later: int) -> None:
    rig = Rig(memory={"partial_write": 60_000})
    rig.write(address, size)
    assert rig.run().visible_at == [WRITE + later]


def test_a_write_that_finds_the_part_of_devices_full_waits_for_what_leaves_it() -> None:
    rig = Rig(ddio=512)
    for place in (0, 256, 0, 512):
        rig.write(place)
    assert rig.run().visible_at == [WRITE, WRITE, WRITE, WRITE + READ - CACHED]


def test_the_cache_that_takes_writes_completes_a_line_that_it_holds() -> None:
    rig = Rig(memory={"partial_write": 60_000}, ddio=4096)
    rig.write(0, 8)
    rig.run()
    rig.write(0, 8)
    assert rig.run().visible_at == [WRITE + 60_000, WRITE + 60_000 + WRITE]


IOMMU = {"entries": 2, "walks": 2}
WALK = READ
FAR = 8 * 4096
"""Between pages of which different lines of the tables tell."""


def test_a_page_beside_one_that_was_looked_up_is_known_until_the_walks_are_elsewhere() -> None:
    rig = Rig(iommu=IOMMU)

    def walk(page: int) -> int:
        begin = rig.sim.now
        rig.read(4096 * page, at=begin)
        return rig.run().read_at[-1] - begin - READ

    assert [walk(page) for page in (0, 1, 8, 2)] == [WALK, 0, WALK, 0]
    assert [walk(page) for page in (16, 3, 24, 17)] == [WALK, WALK, WALK, WALK]
    rig.read(4096 * 32, at=rig.sim.now)
    assert walk(33) == WALK


def test_a_page_that_is_not_known_is_looked_up_once() -> None:
    rig = Rig(iommu=IOMMU)
    rig.read(0)
    rig.read(4095 - 63)
    assert rig.run().read_at == [WALK + READ] * 2
    rig.read(64, at=rig.sim.now)
    begin = rig.sim.now
    assert rig.run().read_at[-1] == begin + READ
    assert (rig.host.iommu.misses, rig.host.iommu.hits) == (1, 2)


def test_so_many_walks_go_on_at_a_time_and_hits_pass_them() -> None:
    rig = Rig(iommu=IOMMU)
    rig.read(0)
    rig.run()
    begin = rig.sim.now
    for page in (1, 2, 0):
        rig.read(FAR * page, at=begin)
    # Page 0, used longest ago, left for page 2: its turn comes third.
    rig.run()
    walks = [at - begin - READ for at in rig.read_at[1:]]
    assert walks == [WALK, WALK, 2 * WALK]
    off = Rig(iommu=IOMMU | {"enabled": False})
    off.read(0)
    assert off.run().read_at == [READ]


def test_a_read_waits_for_a_write_whose_page_is_looked_up() -> None:
    rig = Rig(iommu=IOMMU, reads_wait=True)
    rig.read(0)
    rig.run()
    begin = rig.sim.now
    rig.write(FAR)
    rig.read(0, at=begin)
    assert rig.run().read_at[-1] == begin + WALK + WRITE + READ


def test_a_read_waits_for_writes_that_wait_for_their_turn() -> None:
    rig = Rig(ordered_writes=1, reads_wait=True)
    for _ in range(3):
        rig.write(0)
    rig.read(0)
    assert rig.run().read_at == [3 * WRITE + READ]


def test_what_it_takes_is_named() -> None:
    rig = Rig(iommu=IOMMU, outstanding_reads=1, ordered_writes=1)
    rig.read(0)
    rig.read(0)
    rig.write(0)
    rig.write(0)
    rig.run()
    busy = rig.complex.sim.resources.busy_ps()
    assert busy["host.iommu_walks"] == WALK // IOMMU["walks"]
    assert rig.complex.sim.resources.waiting_ps() == {
        "host.root_port.ordered_writes": WALK + WRITE,
        "host.root_port.reads": READ,
    }
    assert rig.complex.counters() == {"iommu_hits": 3, "iommu_misses": 1}
    assert Rig().complex.counters() == Rig().complex.sim.resources.waiting_ps() == {}


def test_work_requests_come_from_the_cache_of_the_processor_that_wrote_them() -> None:
    caching = {"cache": {"ddio": 1 << 20}}
    cold, warm = (
        extended(machine(), host={**caching, "memory": {"dram_latency": dram}})
        for dram in (1, 100_000)
    )
    # The work request, and neither the data nor what the adapter reads of its own.
    one, other = (
        run("write_lat", on, size=4096, iters=1, warmup=0).row["latency_us"] for on in (cold, warm)
    )
    assert one - other == pytest.approx(0.1, abs=1e-5)
