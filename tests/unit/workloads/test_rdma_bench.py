"""Threads of rdma_bench keep a window in flight, and their rate is known with its error."""

from typing import Any

import pytest

from hcasim.catalog import CatalogError, Machine, resolve
from hcasim.catalog.testbed import OneSwitch
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.verbs import WROpcode
from hcasim.workloads import Options
from hcasim.workloads.end import OPCODES, places
from hcasim.workloads.rdma_bench.meter import BATCHES, ERROR, Meter
from hcasim.workloads.rdma_bench.worker import Worker, in_flight
from tests.rig import counted, networked, run

FEW: dict[str, Any] = {"size": 32, "window": 4, "cq_mod": 1, "iters": 200, "warmup": 50}


def machine(nodes: int = 4, **overrides: str) -> Machine:
    changes = {"host.cpus": "4", **{name.replace("__", "."): v for name, v in overrides.items()}}
    return networked(OneSwitch(switch="x"), nodes, overrides=changes)


def pair(
    opcode: WROpcode | None = None, **given: Any
) -> tuple[Simulator, tuple[Worker, ...], Meter]:
    """Two threads of two nodes, of which the first posts."""
    options, sim = Options(**FEW | given), Simulator()
    opcode = opcode or OPCODES[options.verb]
    one, other = [
        Worker(sim, home, 0, options, opcode, 2, home.index)
        for home in Cluster(sim, machine(2), 2).nodes
    ]
    for number in (0, 1):
        one.connect(number, other, number)
        other.connect(number, one, number)
    meter = Meter(sim, [0], options.warmup, options.iters, options.window, True)
    sim.process(one.run(meter))
    return sim, (one, other), meter


@pytest.mark.parametrize(
    "given",
    [
        {"verb": "write"},
        {"verb": "read"},
        {"verb": "read", "cq_mod": 16},
        {"verb": "read", "cq_mod": 8, "rounds": True, "window": 1},
        {"verb": "write", "cq_mod": 16},
        {"verb": "write", "cq_mod": 16, "connection": "UC"},
        {"verb": "write", "cq_mod": 4, "post_list": 4},
        {"verb": "read", "post_list": 4},
        {"verb": "read", "size": 5000, "cq_mod": 2},
    ],
)
def test_no_more_is_in_flight_than_the_window_and_the_rest_is_complete(
    given: dict[str, Any],
) -> None:
    sim, (one, other), meter = pair(**given)
    sim.run(until=meter.over)
    options = Options(**FEW | given)
    assert options.warmup + options.iters <= one.posted < 260
    assert 0 < one.posted - one.done <= in_flight(options, 2) + options.post_list
    assert other.posted == 0
    # What has crossed the link is what is complete, or may be in flight.
    end = one if options.verb == "read" else other
    crossed = end.home.adapter.ports[0].payload_received
    assert one.done * options.size <= crossed <= one.posted * options.size


@pytest.mark.parametrize("every", [1, 8])
def test_each_atomic_that_is_complete_has_changed_its_word(every: int) -> None:
    given: dict[str, Any] = {"size": 8, "verb": "read", "region": 4096, "cq_mod": every}
    sim, (one, other), meter = pair(WROpcode.ATOMIC_FETCH_AND_ADD, **given)
    sim.run(until=meter.over)
    words = [other.buffer.word(other.buffer.addr + place) for place in range(0, 4096, 8)]
    assert one.done <= sum(words) <= one.posted
    assert sum(map(bool, words)) > 100


def test_rounds_are_bound_by_completions_alone() -> None:
    given: dict[str, Any] = {"verb": "read", "cq_mod": 8, "window": 1, "iters": 400}
    one, rounds = (
        run("rw_tput_receiver", machine(), **FEW | given, rounds=r) for r in (False, True)
    )
    assert rounds.row["rate_Mps"] > 3 * one.row["rate_Mps"]


def test_threads_of_one_take_no_locks() -> None:
    on = counted(machine(), lock=3000)
    alone, shared = (
        run("rw_tput_receiver", on, **FEW, verb="write", locks=locks).row["rate_Mps"]
        for locks in (False, True)
    )
    # Where posts alone take the time, each takes one more lock; here each is also polled.
    assert 3 < 1 / shared - 1 / alone < 6.5


def test_clients_that_do_not_meet_a_limit_add_up() -> None:
    one = {**FEW, "window": 1, "verb": "read"}
    alone, together = (
        run("rw_tput_receiver", machine(), clients=clients, **one).row for clients in (1, 2)
    )
    assert together["rate_Mps"] == pytest.approx(2 * alone["rate_Mps"], rel=0.01)
    assert together["clients"] == 2
    ends = [together["client_min_Mps"], together["client_max_Mps"]]
    assert ends == pytest.approx([alone["rate_Mps"]] * 2, rel=0.01)


@pytest.mark.parametrize("verb", ["read", "write"])
def test_a_swarm_says_the_rate_of_a_node(verb: str) -> None:
    given = {**FEW, "nodes": 3, "processes": 2, "qps": 2, "region": 1 << 16, "pattern": "random"}
    row = run("rc_swarm", machine(), verb=verb, **given).row
    assert row["node_min_Mps"] <= row["rate_Mps"] <= row["node_max_Mps"] < 1.2 * row["rate_Mps"]
    assert (row["nodes"], row["processes"], row["qps"]) == (3, 2, 2)
    # The same draws give the same result.
    assert run("rc_swarm", machine(), verb=verb, **given).row == row


def test_threads_of_a_swarm_have_a_port_each_in_turn() -> None:
    given = {**FEW, "nodes": 2, "processes": 2, "verb": "write", "size": 4096, "window": 16}
    on = resolve("cib")
    both, one = (
        run("rc_swarm", on, **given | how).row for how in ({"ports": 2, "mode": "binding"}, {})
    )
    assert both["rate_Mps"] > 1.2 * one["rate_Mps"]


def test_a_meter_counts_from_the_end_of_the_warm_up_and_gives_the_error_of_batches() -> None:
    sim = Simulator()
    meter = Meter(sim, [7, 9], 10, 1000, 20, True)
    for turn in range(1010):
        sim.call_after(1_000_000 * (turn + 1), meter.posted, 7 if turn % 4 else 9, 1)
    sim.run(until=meter.over)
    assert sum(meter.rates()) == pytest.approx(1e6)
    assert meter.rates() == pytest.approx([0.75e6, 0.25e6])
    assert meter.error == 0


def test_a_meter_ends_early_where_the_rate_is_steady_only() -> None:
    ends = []
    for jitter in (0, 900_000):
        sim = Simulator()
        meter = Meter(sim, [0], 10, 100_000, 20, False)
        when = 0
        for turn in range(100_010):
            when += 1_000_000 + (jitter if turn // 10_000 % 2 else -jitter)
            sim.call_after(when, meter.posted, 0, 1)
        sim.run(until=meter.over)
        ends.append(meter)
    assert ends[0].error <= ERROR
    assert ends[0].batches == BATCHES < ends[1].batches
    # Nothing was left out.
    assert ends[1].error == 0


def test_requests_that_begin_together_are_no_rate_by_themselves() -> None:
    options: dict[str, Any] = {"warmup": 0, "clients": 2, "window": 4}
    assert run("rw_tput_receiver", machine(3), iters=4, **options).row["rate_Mps"] > 0
    with pytest.raises(CatalogError, match=r"iters: found 2 .* at the same time; allowed: more"):
        run("rw_tput_receiver", machine(3), iters=1, **options)


def test_places_lie_in_the_region_in_turn_or_as_drawn() -> None:
    sequential = places(256, 40, "sequential", 0)
    assert [next(sequential) for _ in range(6)] == [0, 64, 128, 192, 0, 64]
    drawn = places(1 << 20, 100, "random", 3)
    found = [next(drawn) for _ in range(1000)]
    assert all(0 <= one <= (1 << 20) - 100 and one % 64 == 0 for one in found)
    assert len(set(found)) > 900
    again = places(1 << 20, 100, "random", 3)
    assert [next(again) for _ in range(1000)] == found
    unaligned = places(33, 32, "random", 0, align=1)
    assert {next(unaligned) for _ in range(50)} == {0, 1}
