"""PCI Express against numbers worked out by hand from the Base Specification.

A TLP has STP and END (1 byte each), a sequence number (2) and an LCRC (4) around its header: 3
double words for a completion or a request with a 32-bit address, 4 with a 64-bit address. A DLLP
has 6 bytes and 2 of framing. 8b/10b leaves 250 MB/s of a lane of 2.5 GT/s; a skip ordered set of
4 symbols after 1538 leaves 1538/1542 = 0.99741 of that.
"""

from collections.abc import Callable
from itertools import pairwise

import pytest

from hcasim.bus import PcieBus
from hcasim.bus.pcie_link import ps_per_byte

Make = Callable[..., PcieBus]
BYTE_PS = 500 * 1542 / 1538
"""Of 8 lanes of generation 1."""
PROPAGATION_PS = 1000


def test_a_lane_carries_what_its_line_code_leaves() -> None:
    speeds = [(1, 249.351), (2, 498.703), (3, 984.615), (4, 1969.231), (5, 3938.462)]
    for generation, MB_per_second in speeds:
        for lanes in (1, 4, 8, 16):
            found = 1e6 / ps_per_byte(generation, lanes)
            assert found == pytest.approx(MB_per_second * lanes, rel=1e-5, abs=0)


@pytest.mark.parametrize(
    ("address", "size", "tlps"), [(0, 512, 4), (64, 256, 3), (64, 64, 1), (64, 128, 2), (96, 32, 1)]
)
def test_completions_may_be_longer_than_the_boundary_at_which_they_end(
    pcie: Make, address: int, size: int, tlps: int
) -> None:
    # With a boundary of 64 bytes they begin where the read does.
    from_the_start = -(-(address % 64 + size) // 128)
    for boundary, expected in (({}, tlps), ({"completion_boundary": 64}, from_the_start)):
        bus = pcie({"completion": 128, **boundary}, max_payload=128)
        bus.read(address, size, lambda: None)
        bus.sim.run()
        assert bus.counters()["pcie_downstream_tlps"] == expected


def test_a_gap_behind_each_packet_keeps_the_next_one_waiting_and_not_itself(pcie: Make) -> None:
    plain, gap = pcie(), pcie(packet_gap=50_000)
    for bus in (plain, gap):
        assert (
            end(bus, lambda done, bus=bus: bus.write(0, 64, done))
            == round(84 * BYTE_PS) + PROPAGATION_PS
        )
    plain, gap = pcie(), pcie(packet_gap=50_000)
    times = []
    for bus in (plain, gap):
        bus.write(0, 64)
        bus.write(0, 64)
        times.append(end(bus, lambda done, bus=bus: bus.read(0, 64, done)))
    assert times[1] - times[0] == 2 * 50_000
    gap = pcie(packet_gap=50_000)
    done: list[int] = []
    for _ in range(2):
        gap.read(0, 4, lambda: done.append(gap.sim.now))
    gap.sim.run()
    assert done[1] - done[0] == round(20 * BYTE_PS) + 50_000


def end(bus: PcieBus, start: Callable[[Callable[[], None]], None]) -> int:
    done: list[int] = []
    start(lambda: done.append(int(bus.sim.now)))
    bus.sim.run()
    assert len(done) == 1
    return done[0]


def test_a_tag_is_free_for_the_next_request_when_its_last_completion_is_here(pcie: Make) -> None:
    bus = pcie(read_tags=1)
    once = end(bus, lambda done: bus.read(0, 512, done))
    bus = pcie(read_tags=1)
    assert end(bus, lambda done: bus.read(0, 3 * 512, done)) == 3 * once


def test_reads_wait_for_credits_of_requests(pcie: Make) -> None:
    bus = pcie({"nonposted_header_credits": 1}, read_tags=8)
    bus.read(0, 512, lambda: None)
    bus.read(512, 64, lambda: None)
    bus.sim.run()
    assert bus.sim.resources.waiting_ps()["bus.nonposted"] > 0


def test_posted_credits_stop_the_writes_that_memory_cannot_take(pcie: Make) -> None:
    bus = pcie({"posted_data_credits": 8})  # one payload of 128 bytes
    ends: list[int] = []
    for number in range(20):
        bus.write(128 * number, 128, lambda: ends.append(int(bus.sim.now)))
    bus.sim.run()
    # Across the link, into memory at 10 GB/s, and the update back.
    cycle = round(148 * BYTE_PS) + PROPAGATION_PS + 12_800 + PROPAGATION_PS
    assert {later - earlier for earlier, later in pairwise(ends)} == {cycle}
    assert bus.sim.resources.waiting_ps()["bus.posted_data"] > 0


def test_a_read_stays_behind_writes_that_wait_for_headers_while_others_wait_for_data(
    pcie: Make,
) -> None:
    bus = pcie(max_payload=256)
    seen: list[str] = []
    for number in range(8):
        bus.write(2048 * number, 2048, None, lambda number=number: seen.append(f"write {number}"))
    assert bus.posted_headers.waiting
    assert bus.posted_data.waiting
    bus.read(0, 8, lambda: seen.append("read"))
    bus.sim.run()
    assert seen == [*(f"write {number}" for number in range(8)), "read"]


LONG = 512
COMPLETION = round(84 * BYTE_PS)
DLLPS = 2 * round(8 * BYTE_PS)
"""Ack and UpdateFC before the completion of each request."""


def arrivals(bus: PcieBus, *sizes: int) -> list[int]:
    """Read one after the other at once; when each is here, in ps after what the first takes."""
    ends: dict[int, int] = {}
    for number, size in enumerate(sizes):
        bus.read(4096 * number, size, lambda number=number: ends.setdefault(number, bus.sim.now))
    bus.sim.run()
    return [int(ends[number]) for number in range(len(sizes))]


def test_in_order_a_short_read_waits_for_the_long_ones_before_it(pcie: Make) -> None:
    long, *_, short = arrivals(pcie(), LONG, LONG, LONG, 64)
    assert short == long + 2 * (DLLPS + round(8 * 84 * BYTE_PS)) + DLLPS + COMPLETION


def test_only_reads_up_to_the_limit_overtake(pcie: Make) -> None:
    for size in (64, 65, 300):
        in_order = arrivals(pcie(), LONG, LONG, size)
        assert arrivals(pcie({"short_read": size - 1}), LONG, LONG, size) == in_order
        assert arrivals(pcie({"short_read": size}), LONG, LONG, size)[-1] < in_order[-1]


def test_short_reads_keep_their_order_among_themselves(pcie: Make) -> None:
    times = arrivals(pcie({"short_read": 64}), LONG, LONG, 64, 64, 64)[2:]
    assert [later - earlier for earlier, later in pairwise(times)] == [DLLPS + COMPLETION] * 2


def test_the_short_end_of_a_long_read_overtakes_nothing(pcie: Make) -> None:
    for size in (LONG + 8, 2 * LONG + 64):
        in_order = arrivals(pcie(), LONG, size)
        assert arrivals(pcie({"short_read": 64}), LONG, size) == in_order


def test_a_descriptor_is_asked_for_ahead_of_data_that_waits_for_a_tag(pcie: Make) -> None:
    bus = pcie(read_tags=1)
    order: list[str] = []
    bus.read(0, 64, order.append, "first")
    bus.read(4096, 64, order.append, "data")
    bus.fetch(8192, 1024, order.append, "long descriptor")
    bus.fetch(16384, 64, order.append, "descriptor")
    bus.sim.run()
    assert order == ["first", "long descriptor", "descriptor", "data"]


@pytest.mark.parametrize("verb", ["read", "fetch"])
def test_a_read_of_two_requests_is_complete_when_both_are(pcie: Make, verb: str) -> None:
    """The cache answers one sooner than memory the other, whichever was asked for first."""
    for cached in (0, LONG):
        bus = pcie(cache={"ddio": 4096}, memory={"dram_latency": 380_000})
        begin = end(bus, lambda done, bus=bus, at=cached: bus.write(at, LONG, None, done))
        taken = end(bus, lambda done, bus=bus: getattr(bus, verb)(0, 2 * LONG, done)) - begin
        requests = 1 if cached else 2
        assert taken == (
            requests * round(20 * BYTE_PS)
            + PROPAGATION_PS
            + 400_000
            + DLLPS
            + round(8 * 84 * BYTE_PS)
            + PROPAGATION_PS
        )
        assert bus.tags.available == bus.tags.capacity


def test_nothing_leaves_while_a_bus_is_held_but_what_was_on_its_way(pcie: Make) -> None:
    def written(bus: PcieBus, holds: int) -> tuple[int, int]:
        done: list[int] = []
        bus.write(0, 64, None, lambda: done.append(bus.sim.now))
        for _ in range(holds):
            until = bus.hold(200_000)
            assert until > bus.sim.now + 200_000
        bus.write(0, 64, None, lambda: done.append(bus.sim.now))
        bus.sim.run()
        return done[0], done[1]

    (early, late), (first, behind) = written(pcie(), 0), written(pcie(), 2)
    assert (first, behind) == (early, late + 2 * 200_000)
