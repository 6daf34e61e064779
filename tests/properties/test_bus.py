"""Laws of both buses, for any device, any host and any traffic.

The closed forms are written from the specifications, not from the package: they are the analytic
twin that the simulation must equal when nobody competes, and can never beat when somebody does.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import floor
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hcasim.bus import Bus, PcieBus, connect
from hcasim.catalog import Host, PcieDevice, PcixDevice
from hcasim.catalog.host import Chipset, Memory, PcixBridge
from hcasim.engine import CreditPool, Simulator

Device = PcieDevice | PcixDevice
WIRE_PS = 1000
"""A signal's way across the link, each way."""

payloads = st.sampled_from([128, 256, 512, 1024, 2048, 4096])
pcie_devices = st.builds(
    PcieDevice,
    generation=st.integers(1, 5),
    lanes=st.sampled_from([1, 2, 4, 8, 12, 16]),
    max_payload=payloads,
    max_read_request=payloads,
    read_tags=st.integers(1, 32),
    address_bits=st.sampled_from([32, 64]),
    dllp_tlps_per_ack=st.integers(1, 8),
    dllp_tlps_per_update=st.integers(1, 8),
)
pcix_devices = st.builds(
    PcixDevice,
    width_bits=st.sampled_from([32, 64]),
    clock=st.sampled_from([33_333_333, 66_666_667, 100_000_000, 133_333_333]),
    mmrbc=st.sampled_from([512, 1024, 2048, 4096]),
    outstanding_splits=st.sampled_from([1, 2, 3, 4, 8]),
    write_burst=st.integers(1, 32).map(lambda n: 128 * n),
)
devices = st.one_of(pcie_devices, pcix_devices)


@st.composite
def hosts(draw: st.DrawFn, bandwidth: int | None = None) -> Host:
    read_latency = draw(st.integers(0, 1_000_000))
    return Host(
        id="any",
        title="Any host",
        cpus=1,
        # Reads take at least as long as writes, so what is read late is seen late.
        memory=Memory(
            read_latency=read_latency,
            write_latency=draw(st.integers(0, read_latency)),
            bandwidth=bandwidth or draw(st.integers(10**9, 10**11)),
        ),
        chipset=Chipset(
            completion=draw(st.sampled_from([64, 128, 256])),
            short_read=draw(st.sampled_from([0, 0, 64, 300, 4096])),
            mmio_latency=draw(st.integers(0, 300_000)),
            posted_header_credits=draw(st.integers(1, 127)),
            posted_data_credits=draw(st.integers(256, 2047)),
            nonposted_header_credits=draw(st.integers(1, 127)),
        ),
        pcix_bridge=PcixBridge(
            latency=draw(st.integers(0, 400_000)),
            completion_burst=draw(st.integers(1, 32).map(lambda n: 128 * n)),
            streaming=draw(st.booleans()),
            buffer=BUFFER,
        ),
    )


BUFFER = 4096
addresses = st.integers(0, 8191)
sizes = st.integers(1, 8192)


@dataclass(frozen=True)
class Operation:
    """What is asked of the bus, and when."""

    kind: str
    address: int
    size: int
    time: int = 0


operations = st.builds(
    Operation,
    st.sampled_from(["read", "write", "mmio_write", "mmio_read"]),
    addresses,
    sizes,
    st.integers(0, 4_000_000),
)
traffic = st.lists(operations, max_size=12)


def make(device: Device, host: Host) -> Bus:
    return connect(Simulator(), device, host, "bus")


def width(operation: Operation) -> int:
    """Bytes of an operation: a register has 1 to 8."""
    return 1 + operation.size % 8 if operation.kind.startswith("mmio") else operation.size


def run(bus: Bus, plan: list[Operation]) -> list[int]:
    """Do all operations at their times; how long each took."""
    took: dict[int, int] = {}

    def start(number: int, operation: Operation) -> None:
        def done() -> None:
            assert number not in took, "called back twice"
            took[number] = int(bus.sim.now) - operation.time

        if operation.kind == "read":
            bus.read(operation.address, operation.size, done)
        elif operation.kind == "write":
            bus.write(operation.address, operation.size, done)
        elif operation.kind == "mmio_write":
            bus.mmio_write(width(operation), done)
        else:
            bus.mmio_read(width(operation), done)

    for number, operation in enumerate(plan):
        bus.sim.call_at(operation.time, start, number, operation)
    bus.sim.run()
    assert len(took) == len(plan), "somebody was forgotten"
    return [took[number] for number in range(len(plan))]


def cut(address: int, size: int, limit: int) -> list[int]:
    """Bytes of each piece, byte by byte."""
    counts: dict[int, int] = {}
    for byte in range(address, address + size):
        counts[byte // limit] = counts.get(byte // limit, 0) + 1
    return list(counts.values())


def whole(exact: Fraction) -> int:
    """The nearest whole picosecond."""
    return floor(exact + Fraction(1, 2))


# The analytic twins.


def pcie_byte(device: PcieDevice) -> Fraction:
    """Time of a byte in ps."""
    lane = {1: 2.5, 2: 5, 3: 8, 4: 16, 5: 32}[device.generation]
    symbols = (
        Fraction(10, 8) * Fraction(1542, 1538) if device.generation < 3 else Fraction(130, 128)
    )
    return Fraction(8000) / (Fraction(lane) * device.lanes) * symbols


def pcie_alone(device: PcieDevice, host: Host, operation: Operation) -> int:
    """Time in ps of one operation on an idle link, cut at nothing."""
    byte = pcie_byte(device)
    size = width(operation)
    request = 8 + (12 if device.address_bits == 32 else 16)
    if operation.kind == "write":
        return whole((size + request) * byte) + WIRE_PS
    if operation.kind == "mmio_write":
        return host.chipset.mmio_latency + whole((size + request) * byte) + WIRE_PS
    there = whole(request * byte) + WIRE_PS
    if operation.kind == "mmio_read":
        return 2 * host.chipset.mmio_latency + there + whole((size + 20) * byte) + WIRE_PS
    completion = min(host.chipset.completion, device.max_payload)
    tlps = len(cut(operation.address, size, completion))
    dllps = (device.dllp_tlps_per_ack == 1) + (device.dllp_tlps_per_update == 1)
    back = dllps * whole(8 * byte) + whole((size + 20 * tlps) * byte) + WIRE_PS
    fetched = memory_time(host, size)
    return there + host.memory.read_latency + max(back, fetched)


def pcix_clocks(device: PcixDevice, clocks: int) -> int:
    return whole(Fraction(clocks * 10**12, device.clock))


def pcix_burst(device: PcixDevice, address: int, size: int) -> int:
    """Address, attribute, 2 of response, data, 2 of turn-around."""
    return pcix_clocks(device, 6 + len(cut(address, size, device.width_bits // 8)))


def pcix_bursts(device: PcixDevice, address: int, size: int, limit: int) -> int:
    total = 0
    for piece in cut(address, size, limit):
        total += pcix_burst(device, address, piece)
        address += piece
    return total


def memory_time(host: Host, size: int) -> int:
    """Time in ps that the memory channels take for ``size`` bytes."""
    return whole(Fraction(size * 10**12, host.memory.bandwidth))


def pcix_alone(device: PcixDevice, host: Host, operation: Operation) -> int:
    """Time in ps of one operation on an idle bus, its read requests one after the other."""
    address, size = operation.address, width(operation)
    bridge = host.pcix_bridge.latency
    if operation.kind == "write":
        end = taken = stored = 0
        held: list[tuple[int, int]] = []
        for piece in cut(address, size, device.write_burst):
            end += pcix_burst(device, address, piece)
            taken = max(taken, end)
            # The bridge keeps what memory has not taken yet.
            while sum(one for free_at, one in held if free_at > taken) + piece > BUFFER:
                taken = min(free_at for free_at, _ in held if free_at > taken)
            stored = max(stored, taken + bridge) + memory_time(host, piece)
            held.append((stored, piece))
            address += piece
        return taken
    register = host.chipset.mmio_latency + bridge
    if operation.kind == "mmio_write":
        return register + pcix_burst(device, 0, size)
    if operation.kind == "mmio_read":
        return 2 * register + pcix_burst(device, 0, size)
    total = 0
    for piece in cut(address, size, device.mmrbc):
        total += pcix_clocks(device, 7) + 2 * bridge + host.memory.read_latency
        driven = pcix_bursts(device, address, piece, host.pcix_bridge.burst)
        total += max(driven, memory_time(host, piece))
        address += piece
    return total


def in_one_piece(device: Device, operation: Operation) -> Operation:
    """The operation without what would have to be cut off into a second request or burst."""
    limits = {"mmio_write": 8, "mmio_read": 8}
    if isinstance(device, PcieDevice):
        limits |= {"read": device.max_read_request, "write": device.max_payload}
    else:
        limits |= {"read": device.mmrbc, "write": device.write_burst}
    limit = limits[operation.kind]
    room = limit - operation.address % limit
    return Operation(operation.kind, operation.address, min(operation.size, room), operation.time)


def alone(device: Device, host: Host, operation: Operation) -> int:
    if isinstance(device, PcieDevice):
        return pcie_alone(device, host, operation)
    return pcix_alone(device, host, operation)


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
    assume(len(pieces) <= host.chipset.posted_header_credits)
    assume(-(-size // 16) + len(pieces) <= host.chipset.posted_data_credits)
    wire = size + len(pieces) * (8 + (12 if device.address_bits == 32 else 16))
    (took,) = run(make(device, host), [Operation("write", address, size)])
    # Each burst of at least one piece is rounded to a whole picosecond.
    assert abs(took - WIRE_PS - wire * pcie_byte(device)) <= Fraction(len(pieces), 2)


@given(pcie_devices, hosts(bandwidth=10**12), addresses, sizes)
def test_a_long_read_takes_one_latency_and_the_longer_of_requests_and_completions(
    device: PcieDevice, host: Host, address: int, size: int
) -> None:
    pieces = cut(address, size, device.max_read_request)
    assume(len(pieces) <= min(device.read_tags, host.chipset.nonposted_header_credits))
    byte = pcie_byte(device)
    request = whole((8 + (12 if device.address_bits == 32 else 16)) * byte)
    completion = min(host.chipset.completion, device.max_payload)
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


@given(devices, hosts(), traffic)
def test_no_operation_beats_its_closed_form(
    device: Device, host: Host, plan: list[Operation]
) -> None:
    plan = [in_one_piece(device, operation) for operation in plan]
    for operation, took in zip(plan, run(make(device, host), plan), strict=True):
        if isinstance(device, PcixDevice) or operation.kind != "read":
            assert took >= alone(device, host, operation)
        else:
            # Acks and updates may fall to the requests of others.
            dllps = 2 * whole(8 * pcie_byte(device))
            assert took >= alone(device, host, operation) - dllps


# Conservation.


@given(pcie_devices, hosts(), traffic)
def test_the_link_carries_every_byte_once_with_its_headers_and_dllps(
    device: PcieDevice, host: Host, plan: list[Operation]
) -> None:
    bus = make(device, host)
    run(bus, plan)
    request = 8 + (12 if device.address_bits == 32 else 16)
    completion = min(host.chipset.completion, device.max_payload)
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
        elif operation.kind == "mmio_write":
            down += size + request
            down_tlps += 1
            finite_down += 1
        else:
            down += request
            down_tlps += 1
            up += size + 20
            up_tlps += 1
    counters = bus.counters()
    assert counters["pcie_upstream_tlps"] == up_tlps
    assert counters["pcie_downstream_tlps"] == down_tlps
    reads = [operation for operation in plan if operation.kind == "read"]
    writes = [operation for operation in plan if operation.kind == "write"]
    assert counters["bus_read_bytes"] == sum(operation.size for operation in reads)
    assert counters["bus_write_bytes"] == sum(operation.size for operation in writes)
    assert counters["bus_writes"] == len(writes)
    for direction, size, tlps in (("upstream", up, up_tlps), ("downstream", down, down_tlps)):
        dllps = counters[f"pcie_{direction}_dllps"]
        exact = (size + 8 * dllps) * pcie_byte(device)
        assert abs(bus.busy_ps()[f"bus.{direction}"] - exact) <= tlps + dllps
    # One DLLP of each kind per so many packets; register reads are too rare to be answered.
    without_reads = all(operation.kind != "mmio_read" for operation in plan)
    if without_reads:
        acks, updates = device.dllp_tlps_per_ack, device.dllp_tlps_per_update
        assert counters["pcie_downstream_dllps"] == up_tlps // acks + finite_up // updates
        assert counters["pcie_upstream_dllps"] == down_tlps // acks + finite_down // updates


@given(pcie_devices, hosts(), traffic, st.sampled_from([1, 64, 256, 4096]))
def test_overtaking_moves_no_byte_twice_and_none_not_at_all(
    device: PcieDevice, host: Host, plan: list[Operation], short_read: int
) -> None:
    def carried(limit: int) -> tuple[dict[str, int], dict[str, int]]:
        chipset = host.chipset.model_copy(update={"short_read": limit})
        bus = make(device, host.model_copy(update={"chipset": chipset}))
        run(bus, plan)
        return bus.counters(), bus.busy_ps()

    assert carried(short_read) == carried(0)


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

    def took(limit: int) -> int:
        chipset = host.chipset.model_copy(update={"short_read": limit})
        bus = make(device, host.model_copy(update={"chipset": chipset}))
        return run(bus, plan)[-1]

    # Acks and updates of the others may be due before it or after it.
    alone_but_for_dllps = pcie_alone(
        device.model_copy(update={"dllp_tlps_per_ack": 8, "dllp_tlps_per_update": 8}),
        host,
        plan[-1],
    )
    assert alone_but_for_dllps <= took(128) <= took(0)


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
    assert bus.busy_ps()["bus.bus"] == held
    counters = bus.counters()
    reads = [operation.size for operation in plan if operation.kind == "read"]
    writes = [operation.size for operation in plan if operation.kind == "write"]
    assert counters["bus_read_bytes"] == sum(reads)
    assert counters["bus_write_bytes"] == sum(writes)


@given(devices, hosts(), traffic)
def test_the_same_traffic_takes_the_same_time_again(
    device: Device, host: Host, plan: list[Operation]
) -> None:
    assert run(make(device, host), plan) == run(make(device, host), plan)


class Watched(CreditPool):
    """A pool whose credits are counted whenever they change."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "available":
            assert 0 <= value <= self.capacity
        super().__setattr__(name, value)


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
        assert not pool.blocked
        bus.sim.call_at(10**12, pool.acquire, pool.capacity, whole_pools.append, pool.name)
    bus.sim.run()
    assert whole_pools == [pool.name for pool in pools]


@given(devices, hosts(), st.integers(1, 512), st.integers(1, 40))
def test_no_more_reads_are_under_way_than_tags_or_splits(
    device: Device, host: Host, size: int, number: int
) -> None:
    if isinstance(device, PcieDevice):
        size = min(size, device.max_read_request)
        limit = min(device.read_tags, host.chipset.nonposted_header_credits)
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
    for number, (address, size, time) in enumerate(plan):

        def note(log: list[tuple[int, int]], number: int = number) -> None:
            log.append((number, int(bus.sim.now)))

        def on_sent(note: Any = note) -> None:
            note(sent)

        def on_visible(note: Any = note) -> None:
            note(visible)

        bus.sim.call_at(time, bus.write, address, size, on_sent, on_visible)
    bus.sim.run()
    expected = list(range(len(plan)))
    assert [number for number, _ in sent] == [number for number, _ in visible] == expected
    assert all(shown >= left for (_, left), (_, shown) in zip(sent, visible, strict=True))


@settings(max_examples=500)
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
