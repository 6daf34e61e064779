"""Explanations add up, and name what limits a stream."""

from typing import Any

import pytest

from hcasim.workloads.explain import Utilisation, stages
from hcasim.workloads.limits import limiting, options_of
from tests.rig import machine, run

COMMON = ["post_send", "doorbell", "WQE fetch", "send engine"]
WIRE = ["gather data", "send pipeline", "link", "switch", "link", "receive pipeline"]


def breakdown(name: str, adapter: str = "mt25208", **options: Any) -> tuple[Any, dict[str, Any]]:
    point = run(name, machine(adapter=adapter), explain=True, **options)
    return point.row, point.breakdown


@pytest.mark.parametrize(
    ("name", "size", "adapter"),
    [
        ("write_lat", 1, "mt25208"),
        ("write_lat", 3000, "mt23108"),
        ("send_lat", 64, "mt23108"),
        ("send_lat", 65536, "mt25208"),
        ("read_lat", 1024, "mt25208"),
        ("read_lat", 65536, "mt23108"),
    ],
)
def test_the_stages_of_a_latency_add_up_to_it(name: str, size: int, adapter: str) -> None:
    row, found = breakdown(name, adapter, size=size, iters=20, warmup=2)
    # In units of the simulator, so that nothing hides in the rounding.
    total = sum(round(stage["us"] * 1e6) for stage in found["stages"])
    assert total == round(found["total_us"] * 1e6) == round(row["latency_us"] * 1e6)
    assert all(stage["us"] >= 0 for stage in found["stages"])


def names(found: dict[str, Any]) -> list[str]:
    return [stage["stage"] for stage in found["stages"]]


def test_a_write_passes_from_the_call_to_the_eye_of_the_target() -> None:
    _, found = breakdown("write_lat", size=8, iters=20)
    assert names(found) == [*COMMON, *WIRE, "data write", "poll memory"]


def test_a_send_fetches_its_receive_and_ends_in_a_completion() -> None:
    _, found = breakdown("send_lat", size=8, iters=20)
    assert [n for n in names(found) if n != "data write"] == [
        *COMMON,
        *WIRE,
        "receive WQE fetch",
        "completion engine",
        "CQE write",
        "poll CQ",
        "post_recv",
    ]


@pytest.mark.parametrize(("name", "stage"), [("read_lat", "read"), ("atomic_lat", "atomic")])
def test_a_response_comes_back_the_same_way(name: str, stage: str) -> None:
    row, found = breakdown(name, size=8, iters=20)
    order = names(found)
    assert order[:4] == COMMON
    assert f"{stage} responder" in order
    assert order.count("link") == 4
    assert order.count("switch") == 2
    assert order[-1] == "poll CQ"
    assert found["total_us"] == row["latency_us"]


def test_a_sender_that_waits_for_receives_is_limited_by_the_receiver() -> None:
    found = run("send_bw", machine(), size=64, iters=40, rx_depth=1, cq_mod=1, explain=True)
    assert found.breakdown["binds"] == "node0.hca.receiver_not_ready"
    assert options_of(found.breakdown["binds"]) == ("rx_depth",)
    usual = run("send_bw", machine(), size=64, iters=40, explain=True).breakdown["resources"]
    assert not [one for one in usual if one["name"].endswith(".receiver_not_ready")]


def test_marks_are_sorted_and_stages_without_a_duration_left_out() -> None:
    found = stages([(300, "b"), (100, "a"), (300, "c")], 50)
    assert found["stages"] == [
        {"stage": "a", "us": 50 / 1e6},
        {"stage": "b", "us": 200 / 1e6},
    ]
    assert found["total_us"] == 250 / 1e6


@pytest.mark.parametrize(
    ("name", "adapter", "options", "binding"),
    [
        ("window_bw", "mt25208", {}, ".link"),
        ("window_bw send", "mt25208", {}, ".link"),
        ("window_bw read", "mt25208", {}, "node1.hca.port1.link"),
        ("window_bw", "mt23108", {}, "node0.bus.outstanding_splits"),
        ("window_bibw", "mt23108", {}, ".bus.bus"),
        ("window_bw", "mt25208", {"ports": 2, "mode": "striping"}, "node0.bus.downstream"),
        ("window_bw", "mt25208", {"size": 8}, "node0.hca.send_queue.qp1"),
        ("write_bw", "mt23108", {"size": 1, "qps": 8, "iters": 200}, ".outstanding_splits"),
    ],
)
def test_the_resource_that_binds_is_named(
    name: str, adapter: str, options: dict[str, Any], binding: str
) -> None:
    _, found = breakdown(name, adapter, **({"size": 1 << 18, "iters": 4, "warmup": 1} | options))
    assert found["binds"].endswith(binding)


class Meters:
    """A simulator of which only the resources are read."""

    def __init__(self, busy: dict[str, int], waiting: dict[str, int]) -> None:
        self.resources, self.now = self, 0
        self.busy, self.waiting = busy, waiting

    def busy_ps(self) -> dict[str, int]:
        return self.busy if self.now else {}

    def waiting_ps(self) -> dict[str, int]:
        return self.waiting if self.now else {}


@pytest.mark.parametrize(
    ("busy", "waited", "binding"),
    [
        # What is busy all the time binds, however long others waited for it.
        ({"link": 980, "cpu": 300}, {"tags": 1000}, "link"),
        ({"link": 800, "cpu": 300}, {"tags": 900, "credits": 950}, "credits"),
        ({"link": 800, "cpu": 300}, {"tags": 700}, "link"),
        ({"link": 800}, {"port1.requests": 1000}, "link"),
        # Nothing is busy that a buffer in front of it could wait for.
        ({"link": 700}, {"port1.requests": 1000, "tags": 400}, "port1.requests"),
        ({"link": 100}, {"port1.requests": 900, "hca.reads_in_flight": 1000}, "port1.requests"),
        ({}, {"hca.reads_in_flight": 900, "node0.send_queues": 990}, "hca.reads_in_flight"),
        # Of a unit's work for each queue pair only what is most of the time is told.
        ({"units": 100, "units.qp1": 980, "units.qp2": 400}, {}, "units.qp1"),
        # What takes one after the other limits unless reads in flight are all that it waits for.
        ({"link": 880}, {"hca.send_queue.qp1": 980, "hca.wqe_fetch": 740}, "hca.send_queue.qp1"),
        ({}, {"hca.send_queue.qp1": 1000, "hca.reads_in_flight": 990}, "hca.reads_in_flight"),
        # Nothing is saturated.
        ({"cpu": 600}, {"node0.send_queues": 400}, ""),
    ],
)
def test_waiting_binds_only_where_nothing_is_busy_all_the_time(
    busy: dict[str, int], waited: dict[str, int], binding: str
) -> None:
    meters = Meters(busy, waited)
    usage = Utilisation(meters)
    meters.now = 1000
    assert usage.report()["binds"] == binding


@pytest.mark.parametrize(
    ("adapter", "limit"),
    [("mt25208", "node0.hca.port1.link"), ("mt23108", "node0.bus.outstanding_splits")],
)
@pytest.mark.parametrize("name", ["write_lat", "send_lat", "read_lat"])
def test_what_limits_a_long_message_is_named_while_it_is_on_its_way(
    name: str, adapter: str, limit: str
) -> None:
    _, found = breakdown(name, adapter, size=2**18, iters=20)
    reader = "node1" if name == "read_lat" else "node0"
    assert found["binds"] == limit.replace("node0", reader)
    shares = {one["name"]: one.get("busy", one.get("waited")) for one in found["resources"]}
    assert 0.9 < shares[found["binds"]] <= 1


def test_of_equals_the_first_limits() -> None:
    waited = {f"node{n}.root_port.lines": 0.9 for n in range(20)}
    assert limiting({}, waited) == [*waited]
