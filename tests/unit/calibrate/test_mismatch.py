"""A trace of other hardware is told from one of the machine that is described."""

from typing import Any

import pytest

from hcasim.calibrate.request import mismatches, software
from hcasim.catalog import resolve
from hcasim.traces import Device, Header, Pci, Port, Tool


def found(testbed: str, tool: str = "perftest", **header: Any) -> list[str]:
    return list(mismatches(Header(tool=Tool(name=tool), **header), resolve(testbed)))


@pytest.mark.parametrize(
    ("testbed", "header"),
    [
        ("liu2004", {}),
        ("liu2004", {"device": Device(name="mthca0", transport="infiniband")}),
        ("liu2004", {"port": Port(layer="infiniband", width=4, speed=2.5)}),
        ("liu2004", {"pci": Pci(generation=1, lanes=8, max_payload=128, max_read_request=512)}),
        ("rashti2007", {"port": Port(layer="ethernet", width=4, speed=2.5)}),
        ("rashti2007", {"port": Port(layer="ethernet", speed=10.0)}),
        ("rashti2007", {"device": Device(transport="iwarp")}),
    ],
)
def test_the_same_hardware_matches(testbed: str, header: dict[str, Any]) -> None:
    assert found(testbed, **header) == []


@pytest.mark.parametrize(
    ("testbed", "header", "words"),
    [
        ("liu2004", {"device": Device(transport="roce")}, ("roce", "mt25208 speaks infiniband")),
        ("liu2004", {"port": Port(layer="ethernet")}, ("ethernet", "liu2004 is infiniband")),
        ("liu2004", {"port": Port(width=1)}, ("found 1 lanes", "has 4", "--set link.width=1")),
        ("liu2004", {"port": Port(speed=25.0)}, ("found 25", "SDR", "--set link.speed=EDR")),
        ("liu2004", {"port": Port(speed=3.3)}, ("found 3.3", "SDR, which is 2.5")),
        ("liu2004", {"port": Port(speed=1.8)}, ("found 1.8", "SDR, which is 2.5")),
        ("rashti2007", {"port": Port(layer="ethernet", speed=12.5)}, ("found 12.5", "has 10")),
        ("rashti2007", {"port": Port(layer="ethernet", speed=7.5)}, ("found 7.5", "has 10")),
        ("liu2004", {"pci": Pci(lanes=4)}, ("found 4", "has 8", "--set adapter.bus.lanes=4")),
        ("liu2004", {"pci": Pci(max_payload=256)}, ("max_payload: found 256", "has 128")),
        ("rashti2007", {"pci": Pci(generation=1)}, ("PCI Express", "ne010e has pcix")),
        ("rashti2007", {"port": Port(layer="ethernet", speed=25.0)}, ("found 25", "has 10")),
        ("rashti2007", {"device": Device(transport="infiniband")}, ("ne010e speaks iwarp",)),
    ],
)
def test_each_difference_names_both(
    testbed: str, header: dict[str, Any], words: tuple[str, ...]
) -> None:
    (text,) = found(testbed, **header)
    assert all(word in text for word in words)


def test_lane_rates_may_be_rounded_as_drivers_do() -> None:
    """25 for 25.78125 of EDR, and 50 for 53.125 of HDR."""
    rounded = {"FDR10": 10.0, "FDR": 14.0, "EDR": 25.0, "HDR": 50.0, "NDR": 100.0}
    for name, speed in rounded.items():
        machine = resolve("liu2004", overrides={"link.speed": name})
        header = Header(tool=Tool(name="perftest"), port=Port(speed=speed))
        assert list(mismatches(header, machine)) == []


def test_a_simulated_trace_names_its_adapter() -> None:
    (text,) = found("liu2004", "hcasim", device=Device(name="ne010e"))
    assert text == "adapter: found ne010e; liu2004 has mt25208 here; see --adapter"


def test_a_device_in_software_is_known_by_its_driver_or_its_name() -> None:
    for device, name in (
        (Device(name="rxe0"), "rxe0"),
        (Device(driver="rdma_rxe"), "rdma_rxe"),
        (Device(name="eth0", driver="siw"), "eth0"),
        (Device(name="mlx5_0", driver="mlx5_core"), ""),
    ):
        assert software(Header(tool=Tool(name="perftest"), device=device)) == name
