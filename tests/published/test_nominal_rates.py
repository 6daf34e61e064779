"""Nominal rates that the papers state follow from the formulas of buses and links."""

import pytest

from hcasim.bus.pcie_link import ps_per_byte as pcie_ps_per_byte
from hcasim.catalog import Adapter, resolve
from hcasim.fabric.medium import ps_per_byte as link_ps_per_byte

SKIPS_ON_THE_LINK = (4480 + 4) / 4480
SKIPS_ON_THE_BUS = (1538 + 4) / 1538
NEW, OLD = ("liu2004", "mt25208"), ("liu2004", "mt23108")
MESSAGES = [
    *(("connect_ib", 137), ("connectx4", 150), ("connectx4-lx", 75)),
    *(("connectx5", 200), ("connectx6", 215), ("connectx7", 330)),
]
"""Millions of messages a second that are claimed of an adapter."""
BEDS = [NEW, OLD, ("sur2005", "mt25218"), ("sur2005", "mt23108"), ("benjegerdes2004", "mt23108")]


@pytest.mark.parametrize(("testbed", "adapter"), BEDS)
def test_links_and_buses_carry_what_the_papers_say(testbed: str, adapter: str) -> None:
    machine = resolve(testbed, adapter=adapter)
    link, bus = machine.link, machine.adapter.bus
    # liu2004 section I: 1 GB/s in each direction, 2 GB/s a port, 4 GB/s with two ports; the last
    # also in sur2005 section 1.
    rate = 1e12 / float(link_ps_per_byte(link.speed, link.width)) * SKIPS_ON_THE_LINK
    assert rate == pytest.approx(1e9, rel=1e-12)
    assert 2 * machine.adapter.ports * rate == pytest.approx(4e9)
    if bus.kind == "pcix":
        # liu2004 section I, sur2005 section 2.2: 64 bits at 133 MHz.
        assert bus.width_bits // 8 * bus.clock == pytest.approx(1.0667e9, rel=1e-4)
    else:
        # liu2004 sections I and II.B, sur2005 section 2.2: 250 MB/s a lane, and 2 GB/s.
        assert (bus.generation, bus.lanes) == (1, 8)
        for lanes, expected in ((1, 250e6), (8, 2e9)):
            found = 1e12 / float(pcie_ps_per_byte(bus.generation, lanes)) * SKIPS_ON_THE_BUS
            assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("adapter", "millions"), MESSAGES)
def test_all_units_together_send_as_many_messages_as_are_claimed(
    adapter: str, millions: int
) -> None:
    found = resolve("pair", adapter=adapter).adapter
    assert isinstance(found, Adapter)
    send = found.send
    rate = send.units / (send.wqe_service + send.packet_service) * 1e6
    assert rate == pytest.approx(millions, rel=0.02)
