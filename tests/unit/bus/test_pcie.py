"""PCI Express against numbers worked out by hand from the Base Specification.

A TLP has STP and END (1 byte each), a sequence number (2) and an LCRC (4) around its header: 3
double words for a completion or a request with a 32-bit address, 4 with a 64-bit address. A DLLP
has 6 bytes and 2 of framing. 8b/10b leaves 250 MB/s of a lane of 2.5 GT/s; a skip ordered set of
4 symbols after 1538 leaves 1538/1542 = 0.99741 of that.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import count, pairwise

import pytest

from hcasim.bus import PcieBus
from hcasim.bus.pcie_link import memory_header, ps_per_byte

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


def test_rates_are_exact_fractions() -> None:
    assert ps_per_byte(1, 8) == Fraction(500 * 1542, 1538)
    assert ps_per_byte(3, 1) == Fraction(1000 * 130, 128)


def test_a_memory_header_has_three_or_four_double_words() -> None:
    assert (memory_header(32), memory_header(64)) == (12, 16)


def wire_bytes(bus: PcieBus, direction: str) -> int:
    """Bytes that one direction has carried, from the time it took."""
    return round(bus.sim.resources.busy_ps()[f"bus.{direction}"] / BYTE_PS)


@pytest.mark.parametrize(
    ("address", "size", "bits", "tlps", "wire"),
    [
        (0, 128, 32, 1, 148),
        (0, 128, 64, 1, 152),
        (0, 1, 32, 1, 21),
        (0, 512, 32, 4, 592),
        (64, 128, 32, 2, 168),
        (100, 300, 32, 4, 380),
        (127, 2, 64, 2, 50),
    ],
)
def test_a_write_is_cut_at_the_largest_payload(
    pcie: Make, address: int, size: int, bits: int, tlps: int, wire: int
) -> None:
    bus = pcie(address_bits=bits)
    bus.write(address, size)
    bus.sim.run()
    assert bus.counters()["pcie_upstream_tlps"] == tlps
    assert wire_bytes(bus, "upstream") == wire
    # An Ack and an UpdateFC of 8 bytes for each.
    assert bus.counters()["pcie_downstream_dllps"] == 2 * tlps
    assert wire_bytes(bus, "downstream") == 16 * tlps


@pytest.mark.parametrize(
    ("address", "size", "requests", "completions"),
    [
        (0, 512, 1, 8),
        (0, 513, 2, 9),
        (48, 512, 2, 9),  # 464 bytes from 0x30: 16 + 7 x 64; then 48
        (63, 2, 1, 2),
        (511, 2, 2, 2),
        (0, 64, 1, 1),
        (0, 4, 1, 1),
        (32, 64, 1, 2),
    ],
)
def test_a_read_is_cut_at_the_request_limit_and_completed_at_the_completion_boundary(
    pcie: Make, address: int, size: int, requests: int, completions: int
) -> None:
    bus = pcie()
    done: list[int] = []
    bus.read(address, size, lambda: done.append(bus.sim.now))
    bus.sim.run()
    assert len(done) == 1
    counters = bus.counters()
    assert counters["bus_read_requests"] == counters["pcie_upstream_tlps"] == requests
    assert counters["pcie_downstream_tlps"] == completions
    # Completion headers have 12 bytes; each request is answered by an Ack and an UpdateFC.
    assert wire_bytes(bus, "downstream") == size + 20 * completions + 16 * requests
    # Requests with 32-bit addresses; an Ack for each completion, whose credits are infinite.
    assert wire_bytes(bus, "upstream") == 20 * requests + 8 * completions
    assert counters["pcie_upstream_dllps"] == completions


@pytest.mark.parametrize(
    ("completion", "payload", "tlps"), [(64, 128, 8), (128, 128, 4), (256, 128, 4), (256, 512, 2)]
)
def test_a_completion_is_no_longer_than_the_largest_payload(
    pcie: Make, completion: int, payload: int, tlps: int
) -> None:
    bus = pcie({"completion": completion}, max_payload=payload)
    bus.read(0, 512, lambda: None)
    bus.sim.run()
    assert bus.counters()["pcie_downstream_tlps"] == tlps


@pytest.mark.parametrize(
    ("address", "size", "tlps"), [(0, 512, 4), (64, 256, 3), (64, 64, 1), (64, 128, 2), (96, 32, 1)]
)
def test_completions_may_be_longer_than_the_boundary_at_which_they_end(
    pcie: Make, address: int, size: int, tlps: int
) -> None:
    bus = pcie({"completion": 128}, max_payload=128)
    bus.read(address, size, lambda: None)
    bus.sim.run()
    assert bus.counters()["pcie_downstream_tlps"] == tlps
    # With a boundary of 64 bytes they begin where the read does.
    bus = pcie({"completion": 128, "completion_boundary": 64}, max_payload=128)
    bus.read(address, size, lambda: None)
    bus.sim.run()
    expected = -(-(address % 64 + size) // 128)
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


def test_fewer_acks_and_updates_leave_the_other_direction_free(pcie: Make) -> None:
    bus = pcie(dllp_tlps_per_ack=4, dllp_tlps_per_update=3)
    for _ in range(3):
        bus.write(0, 512)
    bus.sim.run()
    assert bus.counters()["pcie_downstream_dllps"] == 12 // 4 + 12 // 3


def end(bus: PcieBus, start: Callable[[Callable[[], None]], None]) -> int:
    done: list[int] = []
    start(lambda: done.append(int(bus.sim.now)))
    bus.sim.run()
    assert len(done) == 1
    return done[0]


def test_a_small_write_is_visible_after_wire_and_memory(pcie: Make) -> None:
    bus = pcie()
    sent = round(28 * BYTE_PS) + PROPAGATION_PS  # 8 + 12 + 8
    assert end(bus, lambda done: bus.write(0, 8, done)) == sent
    bus = pcie()
    assert end(bus, lambda done: bus.write(0, 8, None, done)) == sent + 100_000


def test_a_small_read_takes_request_memory_and_completion(pcie: Make) -> None:
    bus = pcie()
    request, completion = round(20 * BYTE_PS), round(84 * BYTE_PS)
    dllps = 2 * round(8 * BYTE_PS)
    assert end(bus, lambda done: bus.read(0, 64, done)) == (
        request + PROPAGATION_PS + 400_000 + dllps + completion + PROPAGATION_PS
    )


def test_a_register_is_written_across_the_link(pcie: Make) -> None:
    bus = pcie()
    write = round(28 * BYTE_PS) + PROPAGATION_PS
    assert end(bus, lambda done: bus.mmio_write(8, done)) == 50_000 + write


def stream(
    bus: PcieBus, start: Callable[[int, Callable[[], None]], None], size: int, total: int = 400
) -> float:
    """MB/s of operations of which 16 are always under way."""
    ends: list[int] = []
    numbers: Iterator[int] = count()

    def go() -> None:
        number = next(numbers)
        if number < total:
            start(number * size, finished)

    def finished() -> None:
        ends.append(int(bus.sim.now))
        go()

    for _ in range(16):
        go()
    bus.sim.run()
    return 1e6 * size * (total // 2) / (ends[-1] - ends[-1 - total // 2])


@pytest.mark.parametrize(
    ("bits", "payload", "MB_per_second"),
    [(32, 128, 1725.2), (64, 128, 1679.8), (32, 256, 1850.3)],
)
def test_writes_one_way_reach_payload_over_payload_and_headers(
    pcie: Make, bits: int, payload: int, MB_per_second: float
) -> None:
    # 128/148 x 2000 x 0.99741 and so on.
    bus = pcie(address_bits=bits, max_payload=payload)
    rate = stream(bus, lambda address, done: bus.write(address, 4096, done), 4096)
    assert rate == pytest.approx(MB_per_second, rel=1e-4, abs=0)


@pytest.mark.parametrize(("completion", "MB_per_second"), [(64, 1484.5), (128, 1679.8)])
def test_reads_one_way_reach_completions_less_an_ack_and_an_update_per_request(
    pcie: Make, completion: int, MB_per_second: float
) -> None:
    # 512/(8 x 84 + 16) x 2000 x 0.99741, and 512/(4 x 148 + 16) with completions of 128 bytes.
    bus = pcie({"completion": completion})
    rate = stream(bus, lambda address, done: bus.read(address, 512, done), 512)
    assert rate == pytest.approx(MB_per_second, rel=1e-4, abs=0)


def test_one_tag_means_one_round_trip_per_request(pcie: Make) -> None:
    single = pcie()
    round_trip = end(single, lambda done: single.read(0, 512, done))
    bus = pcie(read_tags=1)
    rate = stream(bus, lambda address, done: bus.read(address, 512, done), 512)
    assert rate == pytest.approx(1e6 * 512 / round_trip, rel=1e-3, abs=0)


def test_a_tag_is_free_for_the_next_request_when_its_last_completion_is_here(pcie: Make) -> None:
    bus = pcie(read_tags=1)
    once = end(bus, lambda done: bus.read(0, 512, done))
    bus = pcie(read_tags=1)
    assert end(bus, lambda done: bus.read(0, 3 * 512, done)) == 3 * once


def test_few_nonposted_credits_bind_where_many_tags_do_not(pcie: Make) -> None:
    # The credit is held from the request to the start of the completion.
    bus = pcie({"nonposted_header_credits": 1}, read_tags=8)
    rate = stream(bus, lambda address, done: bus.read(address, 64, done), 64)
    held = 400_000 + PROPAGATION_PS + 20 * BYTE_PS
    assert rate == pytest.approx(1e6 * 64 / held, rel=2e-2, abs=0)
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


@pytest.mark.parametrize("payload", [128, 256, 512, 1024])
def test_the_bursts_of_a_long_write_overlap(pcie: Make, payload: int) -> None:
    bus = pcie(max_payload=payload)
    rate = stream(bus, lambda address, done: bus.write(address, 16384, done), 16384)
    assert rate == pytest.approx(payload / (payload + 20) * 2000 * 1538 / 1542, rel=1e-3, abs=0)


def test_the_bus_counts_what_it_was_asked_for(pcie: Make) -> None:
    bus = pcie()
    bus.read(10, 1000, lambda: None)
    bus.write(20, 300)
    bus.mmio_write(8, lambda: None)
    bus.sim.run()
    counters = bus.counters()
    assert counters["bus_read_bytes"] == 1000
    assert (counters["bus_writes"], counters["bus_write_bytes"]) == (1, 300)
    assert counters["bus_mmio_writes"] == 1


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


def test_a_short_read_overtakes_all_but_the_completion_on_its_way(pcie: Make) -> None:
    for before in (1, 2, 3):
        *_, alone = arrivals(pcie(), 64)
        *long, short = arrivals(pcie({"short_read": 64}), *[LONG] * before, 64)
        # Its request leaves behind the others' and their completions have begun by then.
        requests = before * round(20 * BYTE_PS)
        # The memory itself delivers in order, 10 GB/s.
        fetched = round(20 * BYTE_PS) + PROPAGATION_PS + 400_000 + before * 51_200 + 6_400
        latest = max(alone + requests + COMPLETION, fetched + 1)
        assert alone + requests <= short <= latest
        assert short < long[0]


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


def test_what_is_overtaken_and_asked_for_later_leaves_later(pcie: Make) -> None:
    """The link carries every completion once, so what comes next finds it taken for as long."""

    def last(short_read: int) -> tuple[int, int]:
        bus = pcie({"short_read": short_read})
        ends = arrivals(bus, LONG, LONG, 64, LONG)
        return ends[-1], bus.sim.resources.busy_ps()["bus.downstream"]

    assert last(64) == last(0)


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
        bus = pcie(cache={"read_latency": 20_000, "ddio": 4096})
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
