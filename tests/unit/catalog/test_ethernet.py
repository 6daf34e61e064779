"""Testbeds with Ethernet links, and adapters that speak iWARP or RoCEv2 over them."""

from pathlib import Path
from typing import Any

import pytest

from hcasim.catalog import EthernetLink, IwarpProtocol, resolve
from hcasim.catalog.link import InfinibandProtocol, Rocev2Protocol, roce_mtu
from tests import iwarp
from tests.unit.catalog.conftest import Edit, FaultsOf, refused

BED = f"models/testbeds/{iwarp.TESTBED}.toml"
KIND = "adapter.protocol.kind"
PORT = """
[port]
speed = { value = "SDR", evidence = "assumed", source = "invented" }
width = { value = 4, evidence = "assumed", source = "invented" }
gigabits = { value = 10, evidence = "assumed", source = "invented" }

[doorbell]
"""


@pytest.fixture(autouse=True)
def _described(data: Path) -> None:
    iwarp.catalogue(data)


@pytest.fixture
def both(data: Path, edit: Edit) -> str:
    """An adapter whose ports take links of both kinds."""
    edit("models/adapters/mt25208.toml", "\n[doorbell]\n", PORT)
    return "mt25208"


def faults(testbed: str = iwarp.TESTBED, **request: Any) -> list[str]:
    return refused(testbed, **request)


def test_links_and_protocol_are_of_their_kinds() -> None:
    machine = resolve(iwarp.TESTBED)
    assert isinstance(machine.link, EthernetLink)
    assert isinstance(machine.adapter.protocol, IwarpProtocol)
    assert (machine.link.gigabits, machine.mtu) == (10, 1500)
    paths_ = {p.path for p in machine.parameters if p.path.startswith("link.")}
    assert paths_ == {"link.gigabits", "link.cable_length", "link.propagation"}


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('kind = "ethernet"\n', "", "link.kind: missing; allowed: infiniband, ethernet"),
        ('"1500 B"', '"9217 B"', "mtu: found 9217 B; allowed: values from 576 B to 9 KiB"),
        ('"1500 B"', '"512 B"', "mtu: found 512 B; allowed: values from 576 B to 9 KiB"),
    ],
)
def test_a_fault_names_its_place_and_what_is_allowed(
    edit: Edit, faults_of: FaultsOf, old: str, new: str, fault: str
) -> None:
    edit(BED, old, new)
    lines = faults_of(iwarp.TESTBED, "testbeds")
    assert any(line.startswith(f"{BED}: {fault}") for line in lines), lines


def test_the_protocol_of_iwarp_may_be_set_but_not_its_kind() -> None:
    machine = resolve(iwarp.TESTBED, overrides={"adapter.protocol.markers": "true"})
    assert isinstance(machine.adapter.protocol, IwarpProtocol)
    assert machine.adapter.protocol.markers
    (fault,) = faults(overrides={"link.kind": "infiniband"})
    assert fault.startswith("--set link.kind: unknown parameter; allowed: link.gigabits, ")
    assert faults(overrides={KIND: "rocev2"}) == [f"--set {KIND}: found 'rocev2'; allowed: iwarp"]


def test_a_buffer_holds_a_frame_of_the_mtu() -> None:
    lines = faults(mtu=9000, overrides={"switch.buffer": "9000 B", "adapter.receive.buffer": "8K"})
    assert lines == [
        f"{iwarp.TESTBED}: {path}: found {size}; allowed: from 9128 B, to hold a packet of MTU 9000"
        for path, size in (("adapter.receive.buffer", "8 KiB"), ("switch.buffer", "9000 B"))
    ]


def test_a_kind_of_link_is_not_a_fault_of_what_is_beside_it(
    edit: Edit, faults_of: FaultsOf
) -> None:
    edit(BED, 'kind = "ethernet"', 'kind = "infiniband"')
    lines = faults_of(iwarp.TESTBED, "testbeds")
    keys = [line.split(": ")[1] for line in lines]
    assert keys == ["link.speed", "link.width", "link.credit_update", "link.gigabits"]


def test_the_links_of_the_testbed_choose_the_protocol(both: str) -> None:
    assert isinstance(resolve("liu2004").adapter.protocol, InfinibandProtocol)
    machine = resolve(iwarp.TESTBED, adapter=both)
    assert isinstance(machine.adapter.protocol, Rocev2Protocol)
    assert machine.adapter.limits.atomics


def test_a_protocol_may_be_chosen_among_those_of_the_ports(both: str) -> None:
    assert resolve(iwarp.TESTBED, adapter=both, overrides={KIND: "rocev2"})
    assert faults("liu2004", overrides={KIND: "rocev"}) == [
        f"--set {KIND}: found 'rocev'; allowed: infiniband or rocev2; did you mean 'rocev2'?"
    ]
    assert faults("liu2004", adapter="mt23108", overrides={KIND: "rocev2"}) == [
        f"--set {KIND}: found 'rocev2'; allowed: infiniband"
    ]
    (fault,) = faults("liu2004", overrides={KIND: "rocev2"})
    assert fault.startswith(
        "liu2004: adapter.protocol: found rocev2, which needs ethernet links, on a link of kind inf"
    )


@pytest.mark.parametrize(
    ("given", "path"),
    [(576, 256), (1500, 1024), (9000, 4096), (512, 512), (4096, 4096), (4095, 2048)],
)
def test_the_mtu_is_that_of_the_path_or_leaves_room_for_it(
    both: str, given: int, path: int
) -> None:
    assert roce_mtu(given) == path
    if path <= 2048:
        assert resolve(iwarp.TESTBED, adapter=both, mtu=given).mtu == path


def test_without_a_choice_the_path_fits_into_the_frames_of_the_testbed(both: str) -> None:
    machine = resolve(iwarp.TESTBED, adapter=both)
    assert machine.mtu == 1024
    (size,) = (one for one in machine.parameters if one.path == "mtu")
    assert (size.value, size.source) == (1024, "largest path MTU of RoCEv2 in IP packets of 1500 B")


def test_what_ethernet_and_its_protocols_do_not_have_is_refused(both: str) -> None:
    bed = iwarp.TESTBED
    jumbo = "values from 576 B to 9 KiB"
    infiniband = "256 B, 512 B, 1024 B, 2048 B or 4096 B"
    assert [resolve(bed, mtu=mtu).mtu for mtu in (576, 9000)] == [576, 9000]
    atomics = {"adapter.limits.atomics": "true"}
    for request, fault in (
        ({"mtu": 575}, f"mtu: found 575; allowed: {jumbo}"),
        ({"mtu": True}, f"mtu: found True; allowed: {jumbo}"),
        ({"mtu": 300, "adapter": both}, f"mtu: found 300; allowed: {infiniband}, or {jumbo}"),
        ({"overrides": atomics}, f"{bed}: adapter.limits.atomics: found true; allowed: false, "),
        ({"adapter": "mt23108"}, f"{bed}: adapter.protocol: found infiniband, which needs infini"),
    ):
        (found,) = faults(**request)
        assert found.startswith(fault)
