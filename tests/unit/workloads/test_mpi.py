"""Benchmarks of MPI libraries measure what they say, short as they are cut."""

from typing import Any

import pytest

import hcasim as hc
from hcasim.catalog import Adapter, CatalogError, list_ids
from hcasim.catalog.algorithms import NAMES
from hcasim.engine import Simulator
from hcasim.mpi import Job
from hcasim.workloads import Options, run_point
from hcasim.workloads.mpi.group import measure, one_pair, several_pairs
from hcasim.workloads.mpi.pairs import PingPong, Receiving
from hcasim.workloads.mpi.windows import Windows
from hcasim.workloads.roles import first_nodes
from hcasim.workloads.run import Run
from tests.mpi_jobs import job


def measured(workload: str, field: str, testbed: str = "liu2004", **options: Any) -> float:
    found = hc.bench(workload, testbed, jobs=1, **options)
    return float(found.curve.rows[0][field])


def test_processes_of_one_node_need_no_switch() -> None:
    one = {"processes": 2, "size": "8", "iters": 10, "warmup": 2}
    assert 0 < measured("osu_latency", "latency_us", "pair", **one) < 0.6


CHECK = pytest.mark.check
FEW: dict[str, Any] = {"iters": 40, "warmup": 10}
SHARED: dict[str, Any] = {"processes": 2, "iters": 60, "warmup": 20}


@pytest.mark.parametrize(
    ("workload", "options", "rel"),
    [
        # Buffers are found as a program leaves them that has used all of them, from the start.
        ("osu_latency", {"size": "4", **FEW}, 2e-2),
        ("osu_latency", {"size": "20K", **FEW}, 2e-2),
        ("osu_bcast", {"size": "1K", **FEW}, 2e-2),
        ("imb_alltoall", {"size": "1K", **FEW}, 2e-2),
        pytest.param("imb_allgather", {"size": "64K", **FEW}, 2e-2, marks=CHECK),
        # Queues and buffers of processes that share an adapter do not all fit in its caches.
        *(
            pytest.param(name, {"size": size, **SHARED}, 5e-2, marks=CHECK)
            for name, size in (
                ("osu_alltoall", "64"),
                ("osu_bcast", "4K"),
                ("osu_allreduce", "4K"),
                ("imb_bcast", "64"),
            )
        ),
        ("netpipe_mpi", {"stack": "mvapich-0.9.2", "size": "1K", "iters": 20}, 1e-2),
        ("netpipe_mpi", {"stack": "lam-7.1", "size": "40K", "iters": 20}, 1e-2),
        pytest.param(
            "netpipe_mpi",
            {"stack": "mvapich-0.9.2", "size": "200K", "iters": 20, "invalidate": True},
            1e-2,
            marks=CHECK,
        ),
        ("osu_bibw", {"size": "1K", "iters": 2, "warmup": 2}, 5e-3),
        ("osu_bw", {"size": "16K", "iters": 2, "warmup": 2}, 5e-3),
    ],
)
def test_a_short_run_tells_what_every_iteration_does(
    workload: str, options: dict[str, Any], rel: float
) -> None:
    field = "bandwidth_MBps" if "bw" in workload else "latency_us"
    exact = measured(workload, field, exact=True, **options)
    assert measured(workload, field, **options) == pytest.approx(exact, rel=rel)


@pytest.mark.parametrize(
    ("workload", "options"),
    [
        ("osu_barrier", {"nodes": 4}),
        pytest.param("osu_alltoall", {"size": "64"}, marks=pytest.mark.check),
    ],
)
def test_caches_are_found_as_many_calls_leave_them(
    workload: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After 250 calls each slot of a ring and each entry of a send queue has been used."""
    short = measured(workload, "latency_us", **options)
    monkeypatch.setattr(Job, "settle", lambda self: None)
    long = measured(workload, "latency_us", exact=True, warmup=250, iters=20, **options)
    assert short == pytest.approx(long, rel=5e-3)


def test_a_collective_takes_what_its_algorithm_takes() -> None:
    """Of a short allgather a ring of eight processes takes seven steps, doubling three."""
    options = {"size": 64, "nodes": 4}
    linear = measured("osu_gather", "latency_us", algorithm="linear", **options)
    tree = measured("osu_gather", "latency_us", algorithm="binomial", **options)
    assert linear != tree
    ring = measured("osu_allgather", "latency_us", algorithm="ring", **options)
    doubling = measured("osu_allgather", "latency_us", algorithm="recursive_doubling", **options)
    assert ring > 1.2 * doubling


def test_a_collective_without_data_sends_nothing() -> None:
    options = {"size": 0, "iters": 4, "overrides": {"stack.mpi.calls.send": "70 ns"}, "jobs": 1}
    for collective in {*NAMES} - {"barrier"}:
        found = hc.bench(f"imb_{collective}", "liu2004", **options)
        assert found.curve.rows[0]["latency_us"] == 0.07, collective
        assert not any(found.counters.values()), collective


def test_a_collective_that_takes_no_time_is_no_measurement() -> None:
    calls = {"stack.mpi.calls.send": "0 ns"}
    options = {"size": 0, "iters": 4, "explain": True, "jobs": 1}
    with pytest.raises(CatalogError, match="latency_us: found 0; allowed: more than 0"):
        hc.bench("imb_bcast", "liu2004", overrides=calls, **options)


EVEN = "3 with 1 process on each; allowed: an even number"
FOUR = {"overrides": {"host.cpus": 4}}
FIRST = "size: found 0; allowed: 1 B to 2 GiB"


@pytest.mark.parametrize(
    ("workload", "options", "said"),
    [
        # Tools that begin with 1 byte take no empty messages.
        *((one, {"size": 0}, FIRST) for one in ("osu_bw", "osu_bcast", "netpipe_mpi")),
        ("hotspot_send", {"size": 0}, FIRST),
        ("osu_barrier", {"size": 8}, "size: osu_barrier has no such option"),
        ("osu_bcast", {"size": 4, "algorithm": "magic"}, "magic"),
        ("osu_latency", {"stack": "vapi"}, r"no MPI library; allowed: --stack with infinicon, lam"),
        ("imb_pingping", {"nodes": 3}, EVEN),
        ("imb_pingping", {"nodes": (3, 4)}, EVEN),
        ("osu_multi_lat", {"nodes": 3}, EVEN),
        ("hotspot_both", {"nodes": 2}, "nodes: found 2, with one peer; allowed: more"),
        ("osu_bw", {"processes": 4, **FOUR}, "osu_bw, which has 2; allowed: 1 on each"),
    ],
)
def test_what_cannot_be_is_refused(workload: str, options: dict[str, Any], said: str) -> None:
    with pytest.raises(hc.CatalogError, match=said):
        hc.bench(workload, "liu2004", jobs=1, **options)


@pytest.mark.parametrize("nodes", [2, 4])
def test_the_root_of_a_broadcast_is_the_fastest(nodes: int) -> None:
    (row,) = hc.bench("osu_bcast", "liu2004", size=64, nodes=nodes, jobs=1).curve.rows
    assert row["process_min_us"] < 0.5 * row["latency_us"]
    assert row["latency_us"] < row["process_max_us"] < nodes * row["latency_us"]
    if nodes == 2:
        middle = (row["process_min_us"] + row["process_max_us"]) / 2
        assert middle == pytest.approx(row["latency_us"], rel=1e-6)


@pytest.mark.parametrize(("name", "messages"), [("pingping", 1), ("sendrecv", 2), ("exchange", 4)])
def test_neighbours_move_as_many_messages_as_their_bandwidth_says(name: str, messages: int) -> None:
    found = hc.bench(f"imb_{name}", "liu2004", size="16K", jobs=1).curve.rows[0]
    assert found["bandwidth_MBps"] * found["latency_us"] == pytest.approx(messages * 16384)
    # No more than the links of a node carry: 1 GB/s each way.
    assert found["bandwidth_MBps"] < (1000 if messages == 1 else 2000)


@pytest.mark.parametrize(
    "stack",
    [
        "mvapich2",
        *(
            pytest.param(one, marks=pytest.mark.check)
            for one in ("mvapich2-pcix", "mvapich2-2.3", "openmpi-openib", "openmpi-ucx")
        ),
    ],
)
def test_libraries_for_machines_of_your_own_run_on_each_testbed(stack: str) -> None:
    for testbed in list_ids("testbeds"):
        machine = hc.machine(testbed, stack=stack)
        if not isinstance(machine.adapter, Adapter):
            continue  # a device that speaks no RDMA
        options = Options(size=16384, warmup=0, iters=1)
        row = run_point("osu_latency", machine, options).row
        assert 1 < row["latency_us"] < 100, testbed
        options = Options(size=64, window=40, warmup=0, iters=1)
        assert run_point("osu_bw", machine, options).row["rate_Mps"] > 0.1, testbed


def test_pairs_of_their_own_nodes_do_not_disturb_each_other() -> None:
    alone = measured("osu_latency", "latency_us", size=64)
    assert measured("osu_multi_lat", "latency_us", size=64, nodes=4) == pytest.approx(alone)
    options = {"size": "4K", "iters": 4, "warmup": 1}
    alone = measured("osu_bw", "rate_Mps", **options)
    both = measured("osu_mbw_mr", "rate_Mps", nodes=4, **options)
    assert both == pytest.approx(2 * alone, rel=1e-3)


def test_pairs_of_the_same_nodes_share_the_adapters() -> None:
    options: dict[str, Any] = {"size": 1024, "iters": 4, "warmup": 2}
    alone = measured("osu_mbw_mr", "rate_Mps", **options)
    both = measured("osu_mbw_mr", "rate_Mps", processes=2, **options)
    assert 1.05 * alone < both < 1.95 * alone


def test_the_first_half_of_all_processes_is_paired_with_the_second() -> None:
    """So both processes of a node are on one side, and no pair stays on a node."""
    machine = hc.machine("rashti2007", stack="mpich2-nes")
    options = Options(nodes=2, processes=2)
    pairs = several_pairs(PingPong, Run("", Simulator(), machine, options, first_nodes))
    assert [[one.one.rank, *(peer.rank for peer in one.peers)] for one in pairs] == [[0, 2], [1, 3]]


SOME: dict[str, Any] = {"testbed": "rashti2007", "iters": 3, "warmup": 2}


def test_a_hotspot_with_one_peer_is_a_pair() -> None:
    options = {**SOME, "size": "4K"}
    assert measured("hotspot_send", "rate_Mps", nodes=2, **options) == measured(
        "osu_bw", "rate_Mps", **options
    )


def test_several_peers_hide_the_handshakes_of_each_other() -> None:
    """One message at a time to each of them; what the adapter carries is the limit."""
    options = {**SOME, "size": "128K", "window": 8}
    one, three = (
        measured("hotspot_recv", "bandwidth_MBps", nodes=nodes, **options) for nodes in (2, 4)
    )
    assert 1.2 * one < three < 1064


def test_a_hotspot_both_ways_sends_to_one_half_and_receives_from_the_other() -> None:
    made = job(3, 2)
    one, *peers = made.worlds
    both = Windows(made, Options(), one, peers, "relay")
    assert (both.targets, both.sources) == (peers[:2], peers[2:])
    assert len(both.targets) + len(both.sources) == 5


def overlap(call: str, size: str, **overrides: str) -> float:
    paths = {f"stack.mpi.{name.replace('__', '.')}": value for name, value in overrides.items()}
    options = {**SOME, "size": size, "overrides": paths}
    return measured(f"overlap_{call}", "overlap_percent", **options)


@pytest.mark.parametrize("call", ["isend", "irecv"])
def test_short_messages_travel_while_the_process_computes(call: str) -> None:
    assert 80 < overlap(call, "8K") < 100


@pytest.mark.parametrize(
    ("protocol", "call", "low", "high"),
    [
        ("rget", "isend", 95, 100),
        ("rget", "irecv", 0, 20),
        ("rput", "isend", 0, 20),
        ("rput", "irecv", 0, 20),
    ],
)
def test_who_has_to_answer_does_so_only_when_it_waits(
    protocol: str, call: str, low: float, high: float
) -> None:
    assert low <= overlap(call, "128K", rendezvous__protocol=protocol) <= high


def test_computing_for_the_overlap_takes_no_longer() -> None:
    machine = hc.machine("rashti2007", stack="mpich2-nes")
    options = Options(size=16384, iters=3, warmup=2)

    def duration_ps(computing_ps: float) -> float:
        pair = one_pair(Receiving, Run("", Simulator(), machine, options))
        pair.computing_ps = round(computing_ps)
        measure([pair])
        return pair.laps.mean_ps()

    alone = duration_ps(0)
    share = overlap("irecv", "16K") / 100
    assert duration_ps(share * alone) == pytest.approx(alone, rel=1e-2)
    assert duration_ps((share + 0.1) * alone) == pytest.approx(1.1 * alone, rel=1e-2)
