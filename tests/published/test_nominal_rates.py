"""Nominal rates that the paper states follow from the formulas of buses and links."""

import pytest

from hcasim.bus.pcie import ps_per_byte as pcie_ps_per_byte
from hcasim.catalog import resolve
from hcasim.fabric.link import SKIP_INTERVAL, SKIP_SYMBOLS
from hcasim.fabric.link import ps_per_byte as link_ps_per_byte

SKIPS_ON_THE_LINK = (SKIP_INTERVAL + SKIP_SYMBOLS) / SKIP_INTERVAL
SKIPS_ON_THE_BUS = (1538 + 4) / 1538


def test_four_lanes_of_single_data_rate_carry_one_gigabyte_per_second() -> None:
    # Section I: 1 GB/s in each direction, 2 GB/s a port, 4 GB/s with two ports.
    link = resolve("liu2004").link
    rate = 1e12 / float(link_ps_per_byte(link.speed, link.width)) * SKIPS_ON_THE_LINK
    assert rate == pytest.approx(1e9, rel=1e-12)
    for adapter in ("mt23108", "mt25208"):
        assert 2 * resolve("liu2004", adapter=adapter).adapter.ports * rate == pytest.approx(4e9)


def test_a_lane_of_pci_express_carries_250_megabytes_per_second_and_eight_carry_two_gigabytes() -> (
    None
):
    # Sections I and II.B.
    bus = resolve("liu2004", adapter="mt25208").adapter.bus
    assert (bus.generation, bus.lanes) == (1, 8)
    for lanes, rate in ((1, 250e6), (8, 2e9)):
        found = 1e12 / float(pcie_ps_per_byte(bus.generation, lanes)) * SKIPS_ON_THE_BUS
        assert found == pytest.approx(rate, rel=1e-12)


def test_pci_x_moves_about_one_gigabyte_per_second() -> None:
    # Section I: 64 bits at 133 MHz.
    bus = resolve("liu2004", adapter="mt23108").adapter.bus
    assert bus.width_bits // 8 * bus.clock == pytest.approx(1.0667e9, rel=1e-4)
