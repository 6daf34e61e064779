"""Any device, any host and any traffic of a bus, and what the specifications say of the time.

The closed forms are written from the specifications, not from the package: they are the analytic
twin that the simulation must equal when nobody competes, and can never beat when somebody does.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import floor

from hypothesis import strategies as st

from hcasim.bus import Bus, connect
from hcasim.catalog import Host, PcieDevice, PcixDevice
from hcasim.engine import Simulator
from hcasim.host import Host as Built
from tests.hosts import GB, round_host

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
    return round_host(
        cache={"size": 4096, "hit_bandwidth": 10 * GB, "miss_bandwidth": GB},
        # Reads take at least as long as writes, so what is read late is seen late.
        memory={
            "read_latency": read_latency,
            "write_latency": draw(st.integers(0, read_latency)),
            "bandwidth": bandwidth or draw(st.integers(10**9, 10**11)),
        },
        chipset={"mmio_latency": draw(st.integers(0, 300_000))},
        root_port={
            "completion": draw(st.sampled_from([64, 128, 256])),
            "short_read": draw(st.sampled_from([0, 0, 64, 300, 4096])),
            "posted_header_credits": draw(st.integers(1, 127)),
            "posted_data_credits": draw(st.integers(256, 2047)),
            "nonposted_header_credits": draw(st.integers(1, 127)),
        },
        pcix_bridge={
            "latency": draw(st.integers(0, 400_000)),
            "completion_burst": draw(st.integers(1, 32).map(lambda n: 128 * n)),
            "streaming": draw(st.booleans()),
        },
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
    st.sampled_from(["read", "write", "mmio_write"]),
    addresses,
    sizes,
    st.integers(0, 4_000_000),
)
traffic = st.lists(operations, max_size=12)


def make(device: Device, host: Host) -> Bus:
    return connect(Built(Simulator(), host, "host"), device, "bus")


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
        else:
            bus.mmio_write(width(operation), done)

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


def pcie_byte(generation: int, lanes: int) -> Fraction:
    """Time of a byte in ps."""
    lane = {1: 2.5, 2: 5, 3: 8, 4: 16, 5: 32}[generation]
    symbols = Fraction(10, 8) * Fraction(1542, 1538) if generation < 3 else Fraction(130, 128)
    return Fraction(8000) / (Fraction(lane) * lanes) * symbols


def byte_of(device: PcieDevice) -> Fraction:
    return pcie_byte(device.generation, device.lanes)


def pcie_alone(device: PcieDevice, host: Host, operation: Operation) -> int:
    """Time in ps of one operation on an idle link, cut at nothing."""
    byte = byte_of(device)
    size = width(operation)
    request = 8 + (12 if device.address_bits == 32 else 16)
    if operation.kind == "write":
        return whole((size + request) * byte) + WIRE_PS
    if operation.kind == "mmio_write":
        return host.chipset.mmio_latency + whole((size + request) * byte) + WIRE_PS
    there = whole(request * byte) + WIRE_PS
    completion = min(host.root_port.completion, device.max_payload)
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
    if operation.kind == "mmio_write":
        return host.chipset.mmio_latency + bridge + pcix_burst(device, 0, size)
    total = 0
    for piece in cut(address, size, device.mmrbc):
        total += pcix_clocks(device, 7) + 2 * bridge + host.memory.read_latency
        driven = pcix_bursts(device, address, piece, host.pcix_bridge.burst)
        total += max(driven, memory_time(host, piece))
        address += piece
    return total


def in_one_piece(device: Device, operation: Operation) -> Operation:
    """The operation without what would have to be cut off into a second request or burst."""
    limits = {"mmio_write": 8}
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
