"""Closed forms for one small RDMA write that meets nobody on its way.

They are written from the protocol's steps, numbers of the specifications and the machine's
description alone and share no code with the simulator.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from hcasim.catalog import EthernetLink, Host, IwarpProtocol, Machine, PcieDevice
from tests.buses import WIRE_PS, Operation, alone, byte_of, memory_time, pcix_burst
from tests.buses import whole as nearest

DATA_RATES = {
    "SDR": 8,
    "DDR": 16,
    "QDR": 32,
    "FDR10": 40,
    "FDR": Fraction(600, 11),
    "EDR": 100,
    "HDR": 200,
    "NDR": 400,
}
"""Gbit/s of data that four lanes carry, as each speed is sold; FDR's is 54.54."""
SKIPS = Fraction(4480 + 4, 4480)
DOORBELL = 8
PREAMBLE = 8
GAP = 12
WRITE_REQUEST = 8 + 8 + 16


def ceil(size: int, unit: int) -> int:
    return -(-size // unit)


def link_byte(speed: str, width: int) -> Fraction:
    """Time in ps of a byte on an InfiniBand link."""
    return Fraction(8000) * 4 / (DATA_RATES[speed] * width) * SKIPS


def whole(byte: Fraction) -> Callable[[int], int]:
    """How long so many bytes take in whole ps, if one takes this time."""
    return lambda size: nearest(size * byte)


class Bus:
    """The adapter's bus, as long as one operation has it to itself.

    DLLPs that follow a packet back are on their way while the adapter thinks, so they delay
    nothing; those that precede a completion do.
    """

    def __init__(self, machine: Machine) -> None:
        self.device, self.host = machine.adapter.bus, machine.host

    def doorbell(self, at: int) -> int:
        return at + alone(self.device, self.host, Operation("mmio_write", 0, DOORBELL - 1))

    def read(self, at: int, size: int) -> int:
        """A read of one request."""
        return at + alone(self.device, self.host, Operation("read", 0, size))

    def write(self, at: int, size: int) -> int:
        """Until it is visible."""
        if isinstance(self.device, PcieDevice):
            header = 8 + (12 if self.device.address_bits == 32 else 16)
            size_on_bus = size + ceil(size, self.device.max_payload) * header
            at += whole(byte_of(self.device))(size_on_bus) + WIRE_PS
        else:
            at += pcix_burst(self.device, 0, size) + self.host.pcix_bridge.latency
        return at + max(memory_time(self.host, size), self.host.memory.write_latency)


@dataclass(frozen=True)
class Times:
    """What can be seen of a write, in ps after the call that posts it.

    Attributes:
        seen: the target's processor has noticed the data.
        completed: the completion entry is visible at the initiator.
    """

    seen: int
    completed: int


def way(machine: Machine, size: int, switches: int = 1) -> int:
    """From a packet's first byte on the link to its last byte at the far adapter, in ps."""
    link = machine.link
    if isinstance(link, EthernetLink):
        rate = whole(Fraction(8000, link.gigabits))
        # Nobody waits for the gap behind a frame.
        serialisation = rate(size + PREAMBLE + GAP) - rate(GAP)
    else:
        serialisation = whole(link_byte(link.speed, link.width))(size + 2)
    flight = link.cable_length * link.propagation // 1000
    if machine.switch is None:
        return serialisation + flight
    # Cut through: a switch delays the packet, but it is serialised once.
    hops = switches * machine.switch.latency
    if switches > 1:
        trunk = machine.trunks[""]
        hops += (switches - 1) * (trunk.cable_length * trunk.propagation // 1000)
    return serialisation + 2 * flight + hops


def request_and_answer(machine: Machine, size: int) -> tuple[int, int]:
    """Bytes of the packets of a small write and of its acknowledgement."""
    protocol = machine.adapter.protocol
    if not isinstance(protocol, IwarpProtocol):
        return 26 + 16 + ceil(size, 4) * 4, 26 + 4
    ip_and_tcp = 20 + 20 + (12 if protocol.timestamps else 0)
    fpdu = ceil(2 + 14 + size, 4) * 4 + 4
    markers = 4 * ceil(fpdu, 508) if protocol.markers else 0
    return 14 + ip_and_tcp + fpdu + markers + 4, max(64, 14 + ip_and_tcp + 4)


def small_write(machine: Machine, size: int, *, inline: bool = False, switches: int = 1) -> Times:
    """A write of one packet and one bus request, with every context on chip and idle buses."""
    adapter, stack = machine.adapter, machine.stack
    bus = Bus(machine)
    entry = WRITE_REQUEST + (4 + size if inline else 16)
    entry = ceil(entry, adapter.wqe.stride) * adapter.wqe.stride
    now = bus.doorbell(stack.post_send) + adapter.doorbell.latency
    now = bus.read(now, entry) + adapter.send.wqe_service + adapter.send.packet_service
    if not inline:
        now = bus.read(now, size)
    request, answer = request_and_answer(machine, size)
    now += adapter.send.latency + way(machine, request, switches)
    now += adapter.receive.packet_service + adapter.receive.latency
    seen = bus.write(now, size) + stack.poll_memory
    now += adapter.ack.latency + way(machine, answer, switches)
    now += adapter.receive.packet_service + adapter.receive.latency + adapter.completion.latency
    return Times(seen, bus.write(now, adapter.cqe.size))


def copy_time(host: Host, size: int, missed: int) -> Fraction:
    """Time in ps of a copy by a core of a host with one memory controller, which is otherwise idle.

    Args:
        missed: of the bytes read and the bytes written, those that are not in the cache.
    """
    by_core = Fraction(2 * size - missed, 2 * host.cache.hit_bandwidth)
    by_core += Fraction(missed, 2 * host.cache.miss_bandwidth)
    return 10**12 * max(by_core, Fraction(missed, host.memory.bandwidth))
