"""Buses with round numbers, so that the expected times can be worked out by hand."""

from collections.abc import Callable
from typing import Any

import pytest

from hcasim.bus import PcieBus, PcixBus, connect
from hcasim.catalog import Host as Description
from hcasim.catalog import PcieDevice, PcixDevice
from hcasim.catalog.host import Chipset, Memory, PcixBridge, ProcessorCache, RootPort
from hcasim.engine import Simulator
from hcasim.host import Host

PCIE = PcieDevice(
    generation=1,
    lanes=8,
    max_payload=128,
    max_read_request=512,
    read_tags=8,
    address_bits=32,
    dllp_tlps_per_ack=1,
    dllp_tlps_per_update=1,
)
PCIX = PcixDevice(
    width_bits=64, clock=133_333_333, mmrbc=512, outstanding_splits=2, write_burst=4096
)


def host(cache: dict[str, int] | None = None, **port: int) -> Description:
    """Memory latencies of 400 and 100 ns, 50 ns to a register, 200 ns through the bridge."""
    caches = {"size": 2**20, "hit_bandwidth": 8 * 10**9, "miss_bandwidth": 2 * 10**9, "ddio": 0}
    given = {
        "completion": 64,
        "short_read": 0,
        "posted_header_credits": 32,
        "posted_data_credits": 256,
        "nonposted_header_credits": 32,
    } | port
    return Description(
        id="round",
        title="A host with round numbers",
        cpus=1,
        sockets=1,
        cache=ProcessorCache(**caches | (cache or {})),
        memory=Memory(read_latency=400_000, write_latency=100_000, bandwidth=10**10),
        chipset=Chipset(mmio_latency=50_000),
        root_port=RootPort(**given),
        pcix_bridge=PcixBridge(latency=200_000, completion_burst=512, streaming=True, buffer=4096),
    )


@pytest.fixture
def pcie() -> Callable[..., PcieBus]:
    """Make a PCI Express bus, generation 1, 8 lanes, unless told otherwise."""

    def make(
        port: dict[str, int] | None = None, cache: dict[str, int] | None = None, **device: Any
    ) -> PcieBus:
        given = PcieDevice(**(PCIE.model_dump() | device))
        return connect(Host(Simulator(), host(cache, **port or {}), "host"), given, "bus")

    return make


@pytest.fixture
def pcix() -> Callable[..., PcixBus]:
    """Make a PCI-X bus, 64 bits at 133 MHz, unless told otherwise."""

    def make(**device: Any) -> PcixBus:
        given = PcixDevice(**(PCIX.model_dump() | device))
        return connect(Host(Simulator(), host(), "host"), given, "bus")

    return make
