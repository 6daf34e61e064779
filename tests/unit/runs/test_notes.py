"""Results on Ethernet where flows meet say that nothing controls congestion there."""

from typing import Any

import pytest

import hcasim as hc
from hcasim.catalog import CatalogError
from hcasim.runs.experiment import Experiment
from hcasim.runs.machine import NO_CONGESTION_CONTROL, SHARED_MEMORY

ROCE = {"testbed": "pair-roce", "adapter": "connectx5"}


@pytest.mark.parametrize(
    ("workload", "settings", "noted"),
    [
        ("incast", ROCE, True),
        ("write_lat", ROCE, False),
        ("hotspot_recv", {"testbed": "rashti2007", "nodes": 3}, True),
        ("osu_latency", {"testbed": "rashti2007"}, False),
        ("incast", {"testbed": "fat-tree-64", "nodes": 4}, False),
    ],
)
def test_flows_that_meet_on_ethernet_are_noted(
    workload: str, settings: dict[str, Any], noted: bool
) -> None:
    (point,) = Experiment.of(workload, **settings).benchmark()
    assert point.notes == (NO_CONGESTION_CONTROL,) * noted


def test_of_switches_with_a_memory_it_is_said_what_they_have_not() -> None:
    for workload, settings in (("incast", {"nodes": 4}), ("write_bw", {})):
        (point,) = Experiment.of(workload, "ideal-100g-4mb", **settings).benchmark()
        assert point.notes == (SHARED_MEMORY,)


def test_every_result_bears_its_notes() -> None:
    def program(comm: Any) -> Any:
        yield from comm.barrier()

    found = [
        hc.bench("incast", **ROCE, iters=2),
        hc.sweep("incast", **ROCE, iters=2, cache=False),
        hc.run("rashti2007/fig9", x=["4K"], cache=False, jobs=1),
        hc.app(program, "rashti2007", 4),
    ]
    assert [one.to_dict()["notes"] for one in found] == [[NO_CONGESTION_CONTROL]] * 4
    assert "notes" not in hc.bench("write_lat", **ROCE).to_dict()


@pytest.mark.parametrize(("depth", "lost"), [(1, True), (512, False)])
def test_datagrams_that_find_no_receive_are_noted(depth: int, lost: bool) -> None:
    how: dict[str, Any] = {"connection": "UD", "size": 64, "jobs": 1, "cache": False}
    found = hc.bench("send_bw", "pair", rx_depth=depth, **how)
    assert (found.counters["dropped"] > 0) == lost
    words = f"{found.counters['dropped']} packets found no receive and were lost, but count as sent"
    assert found.notes == (f"send_bw with size 64: {words}; --rx-depth posts more receives",) * lost


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"testbed": "liu2004"}, "the subnet has one virtual lane (switch.qos)"),
        ({"testbed": "pair-roce"}, "switches have no memory (switch.memory)"),
        ({"testbed": "ideal-100g-4mb"}, ""),
        ({"testbed": "liu2004", "overrides": {"switch.qos.max_vls": "2"}}, ""),
    ],
)
def test_a_service_level_without_effect_is_noted(settings: dict[str, Any], why: str) -> None:
    (point,) = Experiment.of("write_bw", sl=3, **settings).benchmark()
    noted = [note for note in point.notes if note.startswith("sl")]
    assert noted == [f"sl 3 changes no time: {why}."] * bool(why)


def test_over_ethernet_a_service_level_is_a_priority() -> None:
    with pytest.raises(CatalogError, match=r"sl: found 8 over Ethernet.*; allowed: 0 to 7"):
        hc.bench("write_bw", "ideal-100g-4mb", sl=8)
