"""What holds for the rates of many threads on any machine."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hcasim.catalog import Machine
from hcasim.catalog.adapter import IcmCache
from hcasim.catalog.testbed import OneSwitch
from hcasim.workloads.rdma_bench.meter import ERROR
from tests.rig import extended, networked, run

VERBS = st.sampled_from(["read", "write"])
SIZES = st.integers(1, 3000)


def machine(nodes: int = 4) -> Machine:
    """Nodes whose caches hold the few queue pairs of these tests."""
    return networked(OneSwitch(switch="x"), nodes, overrides={"host.cpus": "4"})


def rates(workload: str, **options: Any) -> dict[str, Any]:
    usual = {"cq_mod": 1, "window": 4, "iters": 300, "warmup": 20}
    return run(workload, machine(), **usual | options).row


@settings(max_examples=6)
@given(verb=VERBS, size=SIZES, windows=st.tuples(st.integers(1, 32), st.integers(1, 32)))
def test_a_larger_window_is_never_slower(verb: str, size: int, windows: tuple[int, int]) -> None:
    small, large = (
        rates("rw_tput_receiver", verb=verb, size=size, window=window, clients=2, processes=2)
        for window in sorted(windows)
    )
    assert small["rate_Mps"] <= large["rate_Mps"] * (1 + 2 * ERROR)


@pytest.mark.check
@settings(max_examples=6)
@given(verb=VERBS, size=SIZES, threads=st.integers(1, 3), seed=st.integers(1, 3))
def test_rates_of_nodes_add_up_and_come_again(
    verb: str, size: int, threads: int, seed: int
) -> None:
    given_ = {"verb": verb, "size": size, "processes": threads, "qps": seed, "nodes": 3}
    row = rates("rc_swarm", pattern="random", **given_)
    close = 1 + 1e-12
    assert row["node_min_Mps"] <= close * row["rate_Mps"] <= close * close * row["node_max_Mps"]
    assert row["bandwidth_MBps"] == pytest.approx(size * row["rate_Mps"])
    assert rates("rc_swarm", pattern="random", **given_) == row


@settings(max_examples=6)
@given(size=st.integers(1, 2000), cq_mod=st.sampled_from([1, 4, 16]))
def test_what_a_server_answers_is_what_its_clients_are_sent(size: int, cq_mod: int) -> None:
    given_ = {"size": size, "cq_mod": cq_mod, "window": 16, "verb": "read", "clients": 2}
    found = run("rw_tput_receiver", machine(), iters=300, warmup=20, exact=True, **given_)
    asked = 2 * 320
    # All that was asked for has come but what is in flight.
    assert (asked - 2 * 16) * size <= found.counters["port_rcv_data"] <= (asked + 2) * size
    assert found.counters["naks"] == found.counters["retransmissions"] == 0


def test_one_queue_pair_more_never_costs_a_cliff() -> None:
    """Contexts that are used in turn and no longer fit are not all lost at once."""
    few = {f"adapter.{name}.{key}": "1" for name in ("sqpc", "rqpc") for key in ("entries", "ways")}
    shared = IcmCache(size=16384, banks=1, latency=50_000, policy="random")
    base = networked(OneSwitch(switch="x"), 2, overrides=few | {"adapter.order": "queue_pair"})
    on = extended(base, adapter={"icm": {"cache": shared}})
    usual = {"verb": "write", "size": 8, "nodes": 2, "window": 8, "cq_mod": 1, "iters": 300}
    found = [
        run("rc_swarm", on, pattern="cyclic", qps=count, **usual).row["rate_Mps"]
        for count in (16, 20, 22, 24, 26, 28, 32, 64)
    ]
    steps = [fewer / more for fewer, more in pairwise(found)]
    assert min(steps) > 1 / (1 + 2 * ERROR)
    # With those used longest ago replaced one of these steps costs a factor of 1.44.
    assert max(steps[:-2]) < 1.25
    assert found[0] / found[-1] > 1.5


CROWD = st.fixed_dictionaries(
    {
        "size": st.integers(1, 900),
        "clients": st.integers(1, 3),
        "client_processes": st.integers(1, 4),
        "processes": st.integers(1, 3),
        "window": st.integers(1, 40),
        "qps": st.integers(1, 3),
    }
)


@pytest.mark.check
@settings(max_examples=6)
@given(crowd=CROWD, lists=st.tuples(st.integers(1, 32), st.integers(1, 32)))
def test_longer_lists_of_replies_are_never_slower(
    crowd: dict[str, Any], lists: tuple[int, int]
) -> None:
    """Requests that wait for a thread are answered with fewer doorbells; none waits for others."""
    short, long = (
        rates("request_reply", **crowd | {"post_list": most, "cq_mod": 16})
        for most in sorted(lists)
    )
    assert short["rate_Mps"] <= long["rate_Mps"] * (1 + 3 * ERROR)
    assert 1 <= short["replies_per_post"] <= long["replies_per_post"] * (1 + 3 * ERROR)


@pytest.mark.check
@settings(max_examples=6)
@given(crowd=CROWD, more=st.sampled_from(["window", "client_processes"]))
def test_more_requests_in_flight_are_never_answered_more_slowly(
    crowd: dict[str, Any], more: str
) -> None:
    crowd["client_processes"] = min(2, crowd["client_processes"])
    few, many = (
        rates("request_reply", **crowd | {more: times * crowd[more], "cq_mod": 16})
        for times in (1, 2)
    )
    assert few["rate_Mps"] <= many["rate_Mps"] * (1 + 3 * ERROR)
