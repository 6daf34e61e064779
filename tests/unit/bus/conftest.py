"""Buses of hosts with round numbers."""

from collections.abc import Callable
from typing import Any

import pytest

from hcasim.bus import PcieBus, PcixBus, connect
from hcasim.catalog import PcieDevice, PcixDevice
from hcasim.engine import Simulator
from hcasim.host import Host
from tests.hosts import round_host

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


@pytest.fixture
def pcie() -> Callable[..., PcieBus]:
    """Make a PCI Express bus, generation 1, 8 lanes, unless told otherwise."""

    def make(
        port: dict[str, int] | None = None,
        cache: dict[str, int] | None = None,
        memory: dict[str, int] | None = None,
        **device: Any,
    ) -> PcieBus:
        described = round_host(cache=cache or {}, memory=memory or {}, root_port=port or {})
        given = PcieDevice(**(PCIE.model_dump() | device))
        return connect(Host(Simulator(), described, "host"), given, "bus")

    return make


@pytest.fixture
def pcix() -> Callable[..., PcixBus]:
    """Make a PCI-X bus, 64 bits at 133 MHz, unless told otherwise."""

    def make(other: dict[str, int] | None = None, **device: Any) -> PcixBus:
        given = PcixDevice(**(PCIX.model_dump() | device))
        described = round_host(pcix_bridge={"other": other})
        return connect(Host(Simulator(), described, "host"), given, "bus")

    return make
