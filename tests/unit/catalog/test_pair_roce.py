"""The testbed pair-roce: two hosts with any adapter that takes Ethernet."""

from typing import Any

import pytest

from hcasim.catalog import (
    CatalogError,
    EthernetLink,
    InfinibandLink,
    Rocev2Protocol,
    load,
    resolve,
)
from hcasim.runs.benchmark import bench

CARDS = ("connectx4", "connectx4-x8", "connectx5", "connectx6", "connectx7")


@pytest.mark.parametrize("adapter", CARDS)
def test_links_of_the_other_pair_are_ethernet(adapter: str) -> None:
    machine = resolve("pair-roce", adapter=adapter)
    assert isinstance(machine.link, EthernetLink)
    assert isinstance(machine.hca.protocol, Rocev2Protocol)
    port = load(adapter, "adapters").values["port"]
    assert (machine.link.gigabits, machine.mtu) == (port["gigabits"], 1024)
    (row,) = bench("write_bw", "pair-roce", adapter=adapter, size="64K", iters=50).curve.rows
    assert 4000 < row["bandwidth_MBps"] < port["gigabits"] * 125


def test_switch_host_and_mtu_of_it_may_be_chosen() -> None:
    chosen = {"adapter": "connectx7", "host": "epyc-genoa", "mtu": 4096}
    machine = resolve("pair-roce", switch="spectrum", **chosen)
    assert (machine.link.gigabits, machine.mtu, machine.host.id) == (100, 4096, "epyc-genoa")
    assert machine.switch is not None
    assert machine.switch.id == "spectrum"
    assert resolve("pair-roce", adapter="ne010e").hca.protocol.kind == "iwarp"


@pytest.mark.parametrize(
    ("chosen", "fault"),
    [
        (
            {"adapter": "connectx3"},
            (
                "adapter.port.gigabits: missing in connectx3, which speaks infiniband; allowed: a "
                "value, because pair-roce has links of kind ethernet"
            ),
        ),
        (
            {"overrides": {"adapter.protocol.kind": "infiniband"}},
            (
                "pair-roce: adapter.protocol: found infiniband; allowed: a protocol of links of "
                "kind ethernet"
            ),
        ),
        (
            {"switch": "quantum"},
            (
                "pair-roce: link.kind: found ethernet; allowed: infiniband, which the ports of "
                "quantum take"
            ),
        ),
    ],
    ids=["port", "protocol", "switch"],
)
def test_what_has_no_ethernet_is_refused_there(chosen: dict[str, Any], fault: str) -> None:
    with pytest.raises(CatalogError) as caught:
        resolve("pair-roce", **chosen)
    assert caught.value.faults == [fault]


def test_what_is_no_rdma_adapter_may_be_there_too() -> None:
    for chosen in ({"testbed_id": "pair-roce"}, {"testbed_id": "pair", "switch": "spectrum"}):
        assert isinstance(resolve(adapter="nfp-6000", **chosen).link, EthernetLink)
    machine = resolve("pair", adapter="nfp-6000", switch="quantum")
    assert isinstance(machine.link, InfinibandLink)


def test_who_would_set_the_kind_of_links_is_told_where_it_is() -> None:
    with pytest.raises(CatalogError) as caught:
        resolve("pair", overrides={"link.kind": "ethernet"})
    (fault,) = caught.value.faults
    assert fault == (
        "--set link.kind: found no such parameter; links are as the testbed has them: those of "
        "pair-roce are Ethernet, with any adapter that takes it"
    )
