"""A server's threads answer writes into its memory by datagrams."""

from typing import Any

import pytest

from hcasim.catalog import Machine
from hcasim.catalog.testbed import OneSwitch
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.workloads import Options
from hcasim.workloads.rdma_bench.meter import Meter
from hcasim.workloads.rdma_bench.request_reply import Client, Server, build, reply_size
from hcasim.workloads.run import Run
from tests.rig import counted, extended, networked, run

FEW: dict[str, Any] = {"size": 32, "window": 4, "iters": 200, "warmup": 50}
NS = 1000


def machine(ports: int = 1, **stack: int) -> Machine:
    one = networked(OneSwitch(switch="x"), 4, ports=ports, overrides={"host.cpus": "4"})
    return extended(one, stack=dict(stack)) if stack else one


def threads(
    on: Machine | None = None, until: int = 600_000_000, **given: Any
) -> tuple[list[Client], list[Server], Cluster]:
    """Clients and servers that have run for some time, and the cluster."""
    options, sim = Options(**FEW | given), Simulator()
    test = Run("", sim, on or machine(), options)
    clients, servers = build(test)
    for one in clients:
        sim.process(one.run())
    for server in servers:
        sim.process(server.run(endless(sim, options)))
    sim.run(until=until)
    return clients, servers, test.cluster


def endless(sim: Simulator, options: Options) -> Meter:
    return Meter(sim, [options.clients], 10**9, 10**9, 1, True)


def slow_looks(**given: Any) -> tuple[Simulator, Client, Server]:
    """One of some threads of a client, and the server, whose every look takes 1 us."""
    options, sim = Options(**FEW | {"window": 1} | given), Simulator()
    (client, *_), (server,) = build(Run("", sim, machine(poll_memory=1000 * NS), options))
    return sim, client, server


def rate(on: Machine | None = None, **given: Any) -> float:
    found: float = run("request_reply", on or machine(), **FEW | given).row["rate_Mps"]
    return found


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"size": 1, "window": 1, "tx_depth": 1, "cq_mod": 1},
        {"clients": 3, "client_processes": 4, "processes": 2},
        {"clients": 2, "processes": 3, "window": 7, "post_list": 4, "qps": 2},
        {"size": 5000, "reply_size": 9, "client_processes": 2},
        {"size": 9, "reply_size": 1024},
        {"clients": 3, "window": 40, "cq_mod": 16, "tx_depth": 32, "post_list": 16},
        {"window": 300, "cq_mod": 4, "tx_depth": 8},
    ],
)
def test_each_request_is_answered_once(given: dict[str, Any]) -> None:
    options = Options(**FEW | given)
    clients, servers, cluster = threads(until=5_000_000 * (options.window + 100), **given)
    asked, answered = (sum(getattr(one, n) for one in clients) for n in ("asked", "answered"))
    replied = sum(server.replied for server in servers)
    assert all(one.answered > 2 * options.window for one in clients), "receives are posted again"
    assert answered <= replied <= asked <= answered + options.window * len(clients)
    # What has crossed the links are requests and replies, but for those in flight.
    server, others = cluster.nodes[-1], cluster.nodes[:-1]
    into = sum(port.payload_received for port in server.adapter.ports)
    back = sum(port.payload_received for one in others for port in one.adapter.ports)
    assert replied * options.size <= into <= asked * options.size
    assert answered * reply_size(options) <= back <= replied * reply_size(options)


def test_threads_of_the_server_are_asked_in_turn_and_replies_use_queue_pairs_in_turn() -> None:
    _, servers, _ = threads(clients=2, client_processes=2, processes=2, qps=2)
    replied = [server.replied for server in servers]
    assert replied[0] == pytest.approx(replied[1], rel=0.02)
    for server in servers:
        ((first, second),) = server.queues
        assert abs(first.sent - second.sent) <= 1
        assert 0 <= first.sent + second.sent - server.replied <= 1


def test_a_pass_takes_one_request_of_each_client() -> None:
    """More than there are clients are never in a list, however many requests are waiting."""
    given = {"clients": 3, "window": 16, "post_list": 16}
    (server,) = threads(counted(machine()), work=2000, **given)[1]
    assert server.posts == pytest.approx(server.replied / 3, abs=2)


def test_each_look_at_a_place_takes_time_also_at_an_empty_one() -> None:
    """Before it replies, a thread that makes up lists has looked once at each of four clients."""
    trips = []
    for clients in (1, 4):
        # All but the first never ask.
        sim, client, server = slow_looks(client_processes=clients, post_list=2)
        sim.process(client.run())
        sim.process(server.run(endless(sim, client.options)))
        sim.run(until=2_000_000_000)
        trips.append(2000 / client.answered)
    assert trips[1] - trips[0] == pytest.approx(3, rel=0.05)


def test_a_thread_that_waits_goes_on_looking() -> None:
    """The next place that it looks at when a request comes is not where it began to wait."""
    trips = []
    for pause in range(8):
        sim, client, server = slow_looks(client_processes=4)
        sim.process(server.run(endless(sim, client.options)))
        sim.run(until=pause * 1000 * NS + 1)
        sim.process(client.run())
        began = sim.now
        while not client.answered:
            sim.run(until=sim.now + NS)
        trips.append((sim.now - began) / 1e6)
    assert trips[:4] == pytest.approx(trips[4:])
    assert max(trips[:4]) - min(trips[:4]) == pytest.approx(3)


def test_the_program_s_own_time_for_each_request_binds_a_thread() -> None:
    busy = {"clients": 3, "client_processes": 4, "post_list": 4}
    on = counted(machine())
    slow = rate(on, work=9000, **busy)
    assert slow == pytest.approx(1 / 9, rel=0.2)
    assert rate(on, work=9000, **busy, processes=3) == pytest.approx(3 * slow, rel=0.1)


def test_threads_that_share_a_counter_wait_for_each_other_and_one_alone_does_not() -> None:
    on, busy = counted(machine(), line=4000 * NS), {"clients": 3, "client_processes": 4}
    alone, numbered = (rate(on, **busy, counter=counter) for counter in (False, True))
    assert numbered == pytest.approx(alone, rel=0.01)
    every, numbered = (rate(on, **busy, processes=4, counter=n) for n in (False, True))
    # A line of the region and one of the counter; the threads wait for the latter in turn.
    assert every == pytest.approx(4 * alone, rel=0.05)
    assert 1 / 4.5 < numbered <= 1 / 4


def test_clients_use_the_ports_in_turn_and_are_answered_over_theirs() -> None:
    given = {"clients": 2, "client_processes": 2, "mode": "binding", "ports": 2}
    clients, (server,), cluster = threads(machine(ports=2), **given)
    assert [client.port for client in clients] == [0, 1, 0, 1]
    first, second = (port.payload_received for port in cluster.nodes[-1].adapter.ports)
    assert first == pytest.approx(second, rel=0.05)
    for node in cluster.nodes[:-1]:
        one, other = (port.payload_received for port in node.adapter.ports)
        assert one == pytest.approx(other, rel=0.05)
    assert [len(queues) for queues in server.queues] == [1, 1]


def test_the_row_says_what_was_asked_and_replied() -> None:
    asked = {"clients": 2, "client_processes": 2, "reply_size": 100}
    found = run("request_reply", machine(), **FEW | asked, explain=True)
    row = found.row
    own = {"size": 32, "servers": 1, "processes": 1, "replies_per_post": 1}
    assert asked | own == {name: row[name] for name in asked | own}
    assert row["bandwidth_MBps"] == pytest.approx(100 * row["rate_Mps"])
    assert found.breakdown["binds"]


def test_few_completions_of_requests_and_replies_are_asked_for() -> None:
    each, few = (
        run("request_reply", machine(), **FEW | {"exact": True, "cq_mod": every}).counters
        for every in (1, 16)
    )
    # Beside those of replies that arrive, one for each request and each reply, or one for 16.
    assert few["cqes_written"] / each["cqes_written"] == pytest.approx((1 + 2 / 16) / 3, rel=0.05)
