"""Testbeds with Ethernet links: what they accept, and what they say of the rest."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hcasim.catalog import CatalogError, EthernetLink, IwarpProtocol, folders, load, resolve
from tests import iwarp

Edit = Callable[[str, str, str], None]
FaultsOf = Callable[..., list[str]]
BED = f"models/testbeds/{iwarp.TESTBED}.toml"
ADAPTER = f"models/adapters/{iwarp.ADAPTER}.toml"


@pytest.fixture(autouse=True)
def _described(data: Path) -> None:
    iwarp.catalogue(data)


def faults(testbed: str = iwarp.TESTBED, **request: Any) -> list[str]:
    with pytest.raises(CatalogError) as caught:
        resolve(testbed, **request)
    return caught.value.faults


def test_links_and_protocol_are_of_their_kinds() -> None:
    machine = resolve(iwarp.TESTBED)
    assert isinstance(machine.link, EthernetLink)
    assert isinstance(machine.adapter.protocol, IwarpProtocol)
    assert (machine.link.gigabits, machine.mtu) == (10, 1500)
    paths_ = {p.path for p in machine.parameters if p.path.startswith("link.")}
    assert paths_ == {"link.gigabits", "link.cable_length", "link.propagation"}


@pytest.mark.parametrize("mtu", [576, 577, 1499, 1500, 9000])
def test_any_mtu_of_ethernet_may_be_chosen(mtu: int) -> None:
    assert resolve(iwarp.TESTBED, mtu=mtu).mtu == mtu


@pytest.mark.parametrize("mtu", [0, 256, 575, 9217, True])
def test_an_mtu_that_ethernet_does_not_have_says_the_limits(mtu: int) -> None:
    assert faults(mtu=mtu) == [f"mtu: found {mtu!r}; allowed: values from 576 B to 9 KiB"]


def test_an_mtu_beyond_that_of_the_adapter_is_refused() -> None:
    assert faults(mtu=9001) == [
        f"{iwarp.TESTBED}: mtu: found 9001 B; allowed: up to adapter.limits.max_mtu, 9000 B"
    ]


@pytest.mark.parametrize(
    ("file", "old", "new", "fault"),
    [
        (
            BED,
            'kind = "ethernet"',
            'kind = "ethernt"',
            "link.kind: found 'ethernt'; allowed: infiniband, ethernet or port; did you mean",
        ),
        (BED, 'kind = "ethernet"\n', "", "link.kind: missing; allowed: infiniband, ethernet"),
        (
            BED,
            "gigabits = { value = 10,",
            "gigabits = { value = 9,",
            "link.gigabits: found 9; allowed: 1, 10, 25, 40, 50, 100, 200 or 400",
        ),
        (
            BED,
            "gigabits = {",
            "gigabit = {",
            "link.gigabit: unknown key; allowed: kind, gigabits, cable_length, propagation or fec",
        ),
        (
            BED,
            'mtu = { value = "1500 B"',
            'mtu = { value = "9217 B"',
            "mtu: found 9217 B; allowed: values from 576 B to 9 KiB",
        ),
        (
            BED,
            'mtu = { value = "1500 B"',
            'mtu = { value = "512 B"',
            "mtu: found 512 B; allowed: values from 576 B to 9 KiB",
        ),
        (
            ADAPTER,
            'kind = "iwarp"',
            'kind = "iwrap"',
            "protocol.kind: found 'iwrap'; allowed: infiniband, rocev2 or iwarp; did you mean",
        ),
        (
            ADAPTER,
            "markers = { value = false",
            'markers = { value = "no"',
            "protocol.markers: found 'no'; allowed: true or false",
        ),
        (
            ADAPTER,
            "timestamps = {",
            "timestamp = {",
            "protocol.timestamps: missing; allowed: true or false",
        ),
    ],
    ids=lambda text: text[:24],
)
def test_a_fault_names_its_place_and_what_is_allowed(
    edit: Edit, faults_of: FaultsOf, file: str, old: str, new: str, fault: str
) -> None:
    edit(file, old, new)
    lines = faults_of(Path(file).stem, Path(file).parent.name)
    assert any(line.startswith(f"{file}: {fault}") for line in lines), lines


def test_an_infiniband_adapter_does_not_fit_an_ethernet_testbed() -> None:
    (fault,) = faults(adapter="mt25208")
    assert fault == (
        f"{iwarp.TESTBED}: adapter.protocol: found infiniband, which needs infiniband links, on a "
        "link of kind ethernet; allowed: an adapter that speaks rocev2 or iwarp"
    )


def test_an_iwarp_adapter_does_not_fit_an_infiniband_testbed() -> None:
    (fault,) = faults("liu2004", adapter=iwarp.ADAPTER)
    assert fault == (
        "liu2004: adapter.protocol: found iwarp, which needs ethernet links, on a link of kind "
        "infiniband; allowed: an adapter that speaks infiniband"
    )


def test_iwarp_has_no_atomics_to_switch_on() -> None:
    (fault,) = faults(overrides={"adapter.limits.atomics": "true"})
    assert fault == (
        f"{iwarp.TESTBED}: adapter.limits.atomics: found true; allowed: false, because iWARP has "
        "no atomic operations (RFC 5040)"
    )


def test_the_protocol_of_iwarp_may_be_set_but_not_its_kind() -> None:
    machine = resolve(iwarp.TESTBED, overrides={"adapter.protocol.markers": "true"})
    assert isinstance(machine.adapter.protocol, IwarpProtocol)
    assert machine.adapter.protocol.markers
    for path, words in (
        ("link.kind", "found no such parameter; links are as the testbed has them: "),
        ("link.credit_update", "unknown parameter; allowed: "),
    ):
        (fault,) = faults(overrides={path: "infiniband"})
        assert fault.startswith(f"--set {path}: {words}")
    path = "adapter.protocol.kind"
    assert faults(overrides={path: "rocev2"}) == [f"--set {path}: found 'rocev2'; allowed: iwarp"]


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
    assert [line.split(": ")[1] for line in lines] == [
        "link.speed",
        "link.width",
        "link.credit_update",
        "link.gigabits",
    ]


def test_the_catalogue_of_these_tests_is_complete(data: Path) -> None:
    assert folders.roots() == (data,)
    assert load(iwarp.ADAPTER).model.id == iwarp.ADAPTER
