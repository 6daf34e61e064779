"""Laws of both buses, for any device, any host and any traffic."""

from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hcasim.bus import Bus, PcieBus
from hcasim.catalog import Host, PcieDevice, PcixDevice
from hcasim.engine import CreditPool
from tests.buses import (
    WIRE_PS,
    Device,
    Operation,
    addresses,
    alone,
    byte_of,
    cut,
    devices,
    hosts,
    in_one_piece,
    make,
    operations,
    pcie_alone,
    pcie_devices,
    pcix_burst,
    pcix_bursts,
    pcix_clocks,
    pcix_devices,
    run,
    sizes,
    traffic,
    whole,
    width,
)


@given(pcie_devices, hosts(), traffic)
def test_the_link_carries_every_byte_once_with_its_headers_and_dllps(
    device: PcieDevice, host: Host, plan: list[Operation]
) -> None:
    bus = make(device, host)
    run(bus, plan)
    request = 8 + (12 if device.address_bits == 32 else 16)
    completion = min(host.root_port.completion, device.max_payload)
    up = down = up_tlps = down_tlps = finite_up = finite_down = 0
    for operation in plan:
        address, size = operation.address, width(operation)
        if operation.kind == "write":
            tlps = len(cut(address, size, device.max_payload))
            up += size + tlps * request
            up_tlps += tlps
            finite_up += tlps
        elif operation.kind == "read":
            for piece in cut(address, size, device.max_read_request):
                tlps = len(cut(address, piece, completion))
                up += request
                up_tlps += 1
                finite_up += 1
                down += piece + 20 * tlps
                down_tlps += tlps
                address += piece
        else:
            down += size + request
            down_tlps += 1
            finite_down += 1
    counters = bus.counters()
    assert counters["pcie_upstream_tlps"] == up_tlps
    assert counters["pcie_downstream_tlps"] == down_tlps
    reads = [operation for operation in plan if operation.kind == "read"]
    writes = [operation for operation in plan if operation.kind == "write"]
    assert counters["bus_read_bytes"] == sum(operation.size for operation in reads)
    assert counters["bus_write_bytes"] == sum(operation.size for operation in writes)
    assert counters["bus_writes"] == len(writes)
    assert counters["bus_mmio_writes"] == len(plan) - len(reads) - len(writes)
    for direction, size, tlps in (("upstream", up, up_tlps), ("downstream", down, down_tlps)):
        dllps = counters[f"pcie_{direction}_dllps"]
        exact = (size + 8 * dllps) * byte_of(device)
        assert abs(bus.sim.resources.busy_ps()[f"bus.{direction}"] - exact) <= tlps + dllps
    # One DLLP of each kind per so many packets.
    acks, updates = device.dllp_tlps_per_ack, device.dllp_tlps_per_update
    assert counters["pcie_downstream_dllps"] == up_tlps // acks + finite_up // updates
    assert counters["pcie_upstream_dllps"] == down_tlps // acks + finite_down // updates


def overtaking(device: PcieDevice, host: Host, limit: int) -> Bus:
    """A bus on which completions of reads up to a limit may overtake others."""
    port = host.root_port.model_copy(update={"short_read": limit})
    return make(device, host.model_copy(update={"root_port": port}))


@given(pcie_devices, hosts(), traffic, st.sampled_from([1, 64, 256, 4096]))
def test_overtaking_moves_no_byte_twice_and_none_not_at_all(
    device: PcieDevice, host: Host, plan: list[Operation], short_read: int
) -> None:
    quick, in_order = (overtaking(device, host, limit) for limit in (short_read, 0))
    for bus in (quick, in_order):
        run(bus, plan)
    assert quick.counters() == in_order.counters()
    assert quick.sim.resources.busy_ps() == in_order.sim.resources.busy_ps()


@given(
    pcie_devices,
    hosts(bandwidth=10**12),
    st.lists(st.tuples(addresses, sizes), max_size=8),
    st.integers(1, 128),
)
def test_a_read_that_may_overtake_is_never_later_and_never_earlier_than_alone(
    device: PcieDevice, host: Host, before: list[tuple[int, int]], size: int
) -> None:
    plan = [*(Operation("read", *read) for read in before), Operation("read", 0, size)]
    quick, in_order = (run(overtaking(device, host, limit), plan)[-1] for limit in (128, 0))
    # Acks and updates of the others may be due before it or after it.
    alone_but_for_dllps = pcie_alone(
        device.model_copy(update={"dllp_tlps_per_ack": 8, "dllp_tlps_per_update": 8}),
        host,
        plan[-1],
    )
    assert alone_but_for_dllps <= quick <= in_order


@given(pcix_devices, hosts(), traffic)
def test_the_shared_bus_is_held_for_exactly_the_phases_of_all_transactions(
    device: PcixDevice, host: Host, plan: list[Operation]
) -> None:
    bus = make(device, host)
    run(bus, plan)
    held = 0
    for operation in plan:
        address, size = operation.address, width(operation)
        if operation.kind == "write":
            held += pcix_bursts(device, address, size, device.write_burst)
        elif operation.kind == "read":
            for piece in cut(address, size, device.mmrbc):
                held += pcix_clocks(device, 7)
                held += pcix_bursts(device, address, piece, host.pcix_bridge.burst)
                address += piece
        else:
            held += pcix_burst(device, 0, size)
    assert bus.sim.resources.busy_ps()["bus.bus"] == held
    counters = bus.counters()
    reads = [operation.size for operation in plan if operation.kind == "read"]
    writes = [operation.size for operation in plan if operation.kind == "write"]
    assert counters["bus_read_bytes"] == sum(reads)
    assert counters["bus_write_bytes"] == sum(writes)
    assert counters["bus_writes"] == len(writes)
    assert counters["bus_mmio_writes"] == len(plan) - len(reads) - len(writes)


class Watched(CreditPool):
    """A pool whose credits are counted whenever they change."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_available":
            assert 0 <= value <= self.capacity
        super().__setattr__(name, value)


@pytest.mark.pure
@given(pcie_devices, hosts(), traffic)
def test_tags_and_credits_are_never_exceeded_and_all_come_back(
    device: PcieDevice, host: Host, plan: list[Operation]
) -> None:
    bus = make(device, host)
    assert isinstance(bus, PcieBus)
    for operation in plan:
        if operation.kind == "read":
            bus.sim.call_at(operation.time, bus.read, operation.address, operation.size, int)
        else:
            bus.sim.call_at(operation.time, bus.write, operation.address, operation.size)
    pools = [bus.tags, bus.posted_headers, bus.posted_data]
    if bus.nonposted is not None:
        pools.append(bus.nonposted)
    for pool in pools:
        pool.__class__ = Watched
    bus.sim.run()
    whole_pools: list[str] = []
    for pool in pools:
        assert not pool.waiting
        bus.sim.call_at(10**12, pool.acquire, pool.capacity, whole_pools.append, pool.name)
    bus.sim.run()
    assert whole_pools == [pool.name for pool in pools]


@given(devices, hosts(), st.integers(1, 512), st.integers(1, 40))
def test_no_more_reads_are_under_way_than_tags_or_splits(
    device: Device, host: Host, size: int, number: int
) -> None:
    if isinstance(device, PcieDevice):
        size = min(size, device.max_read_request)
        limit = min(device.read_tags, host.root_port.nonposted_header_credits)
        # A credit is held until the request has been taken from its buffer.
        held = host.memory.read_latency
    else:
        limit = device.outstanding_splits
        held = host.memory.read_latency + 2 * host.pcix_bridge.latency
    took = run(make(device, host), [Operation("read", 0, size)] * number)
    assert took == sorted(took)
    for index, time in enumerate(took):
        assert time >= held * (index // limit + 1)


# Order.


@given(
    devices,
    hosts(),
    st.lists(st.tuples(addresses, sizes, st.integers(0, 2_000_000)), min_size=1, max_size=12),
)
def test_writes_become_visible_in_the_order_in_which_they_were_made(
    device: Device, host: Host, plan: list[tuple[int, int, int]]
) -> None:
    bus = make(device, host)
    plan.sort(key=lambda write: write[2])
    sent: list[tuple[int, int]] = []
    visible: list[tuple[int, int]] = []

    def note(log: list[tuple[int, int]], number: int) -> None:
        log.append((number, int(bus.sim.now)))

    for number, (address, size, time) in enumerate(plan):
        notes = (partial(note, log, number) for log in (sent, visible))
        bus.sim.call_at(time, bus.write, address, size, *notes)
    bus.sim.run()
    expected = list(range(len(plan)))
    assert [number for number, _ in sent] == [number for number, _ in visible] == expected
    assert all(shown >= left for (_, left), (_, shown) in zip(sent, visible, strict=True))


@given(
    pcie_devices,
    hosts(),
    st.lists(
        # Mostly writes, and long enough to use up both kinds of credits.
        st.tuples(st.sampled_from(["write", "write", "read"]), addresses, st.integers(1, 16384)),
        min_size=1,
        max_size=24,
    ),
)
def test_a_read_never_overtakes_an_earlier_write(
    device: PcieDevice, host: Host, plan: list[tuple[str, int, int]]
) -> None:
    bus = make(device, host)
    seen: set[int] = set()
    for number, (kind, address, size) in enumerate(plan):
        if kind == "write":
            bus.write(address, size, None, lambda number=number: seen.add(number))
        else:
            earlier = {index for index in range(number) if plan[index][0] == "write"}

            def arrived(earlier: set[int] = earlier) -> None:
                assert earlier <= seen

            bus.read(address, size, arrived)
    bus.sim.run()


# Time and size.


@given(
    devices,
    hosts(),
    st.sampled_from(["read", "write"]),
    addresses,
    st.lists(sizes, min_size=2, max_size=6, unique=True).map(sorted),
)
def test_more_bytes_never_take_less_time(
    device: Device, host: Host, kind: str, address: int, sizes: list[int]
) -> None:
    if isinstance(device, PcixDevice):
        device = device.model_copy(update={"outstanding_splits": 1})
    took = [run(make(device, host), [Operation(kind, address, size)])[0] for size in sizes]
    assert all(later >= earlier for earlier, later in pairwise(took))


# Closed forms: taken without competition, and never beaten with it.


@given(devices, hosts(bandwidth=10**12), operations)
def test_an_operation_that_nobody_competes_with_takes_exactly_the_closed_form(
    device: Device, host: Host, operation: Operation
) -> None:
    operation = in_one_piece(device, operation)
    assert run(make(device, host), [operation]) == [alone(device, host, operation)]


@given(pcix_devices, hosts(bandwidth=10**12), operations)
def test_a_long_transfer_with_one_split_at_a_time_takes_exactly_the_sum_of_its_phases(
    device: PcixDevice, host: Host, operation: Operation
) -> None:
    device = device.model_copy(update={"outstanding_splits": 1})
    assert run(make(device, host), [operation]) == [alone(device, host, operation)]


@given(pcie_devices, hosts(bandwidth=10**12), addresses, sizes)
def test_a_long_write_takes_the_time_of_its_bytes_and_headers(
    device: PcieDevice, host: Host, address: int, size: int
) -> None:
    pieces = cut(address, size, device.max_payload)
    assume(len(pieces) <= host.root_port.posted_header_credits)
    assume(-(-size // 16) + len(pieces) <= host.root_port.posted_data_credits)
    wire = size + len(pieces) * (8 + (12 if device.address_bits == 32 else 16))
    (took,) = run(make(device, host), [Operation("write", address, size)])
    # Each burst of at least one piece is rounded to a whole picosecond.
    assert abs(took - WIRE_PS - wire * byte_of(device)) <= Fraction(len(pieces), 2)


@given(pcie_devices, hosts(bandwidth=10**12), addresses, sizes)
def test_a_long_read_takes_one_latency_and_the_longer_of_requests_and_completions(
    device: PcieDevice, host: Host, address: int, size: int
) -> None:
    pieces = cut(address, size, device.max_read_request)
    assume(len(pieces) <= min(device.read_tags, host.root_port.nonposted_header_credits))
    byte = byte_of(device)
    request = whole((8 + (12 if device.address_bits == 32 else 16)) * byte)
    completion = min(host.root_port.completion, device.max_payload)
    free = 0
    for number, piece in enumerate(pieces):
        acks = (number + 1) // device.dllp_tlps_per_ack - number // device.dllp_tlps_per_ack
        updates = (number + 1) // device.dllp_tlps_per_update - (
            number // device.dllp_tlps_per_update
        )
        tlps = len(cut(address, piece, completion))
        ready = (number + 1) * request + WIRE_PS + host.memory.read_latency
        free = max(free, ready) + (acks + updates) * whole(8 * byte)
        free += whole((piece + 20 * tlps) * byte)
        address += piece
    (took,) = run(make(device, host), [Operation("read", address - size, size)])
    assert took == free + WIRE_PS


@given(devices, hosts(), traffic, operations)
def test_competition_never_makes_an_operation_faster(
    device: Device, host: Host, others: list[Operation], operation: Operation
) -> None:
    if isinstance(device, PcixDevice) and operation.kind == "read":
        # The order of a long read's own requests and completions depends on the others.
        operation = in_one_piece(device, operation)
    (free,) = run(
        make(device, host), [Operation(operation.kind, operation.address, operation.size)]
    )
    assert run(make(device, host), [*others, operation])[-1] >= free
