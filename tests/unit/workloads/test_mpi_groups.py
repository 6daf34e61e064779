"""Several pairs, one process with several peers, and computing beside messages."""

from typing import Any

import pytest

import hcasim as hc
from hcasim.engine import Simulator
from hcasim.workloads import Options
from hcasim.workloads.mpi.group import measure, one_pair, several_pairs
from hcasim.workloads.mpi.pairs import PingPong, Receiving
from hcasim.workloads.mpi.windows import relay
from tests.mpi_jobs import job


def measured(workload: str, field: str, testbed: str = "liu2004", **options: Any) -> float:
    found = hc.bench(workload, testbed, jobs=1, **options)
    return float(found.curve.rows[0][field])


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
    pairs = several_pairs(PingPong, Simulator(), machine, Options(nodes=2, processes=2))
    assert [(one.one.rank, *(peer.rank for peer in one.peers)) for one in pairs] == [
        (0, 2),
        (1, 3),
    ]


FEW: dict[str, Any] = {"testbed": "rashti2007", "iters": 3, "warmup": 2}


def test_a_hotspot_with_one_peer_is_a_pair() -> None:
    options = {**FEW, "size": "4K"}
    assert measured("hotspot_send", "rate_Mps", nodes=2, **options) == measured(
        "osu_bw", "rate_Mps", **options
    )


def test_several_peers_hide_the_handshakes_of_each_other() -> None:
    """One message at a time to each of them; what the adapter carries is the limit."""
    options = {**FEW, "size": "128K", "window": 8}
    one, three = (
        measured("hotspot_recv", "bandwidth_MBps", nodes=nodes, **options) for nodes in (2, 4)
    )
    assert 1.2 * one < three < 1064


def test_a_hotspot_both_ways_sends_to_one_half_and_receives_from_the_other() -> None:
    made = job(3, 2)
    one, *peers = made.worlds
    both = relay(made, Options(), one, peers)
    assert (both.targets, both.sources) == (peers[:2], peers[2:])
    assert len(both.targets) + len(both.sources) == 5


def overlap(call: str, size: str, **overrides: str) -> float:
    paths = {f"stack.mpi.{name.replace('__', '.')}": value for name, value in overrides.items()}
    options = {**FEW, "size": size, "overrides": paths}
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


def test_the_change_of_protocol_ends_the_overlap_of_receives() -> None:
    assert overlap("irecv", "32K") > 75
    assert overlap("irecv", "32K", eager__limit="16 KiB") < 50


def test_computing_for_the_overlap_takes_no_longer() -> None:
    machine = hc.machine("rashti2007", stack="mpich2-nes")
    options = Options(size=16384, iters=3, warmup=2)

    def duration_ps(computing_ps: float) -> float:
        pair = one_pair(Receiving, Simulator(), machine, options)
        pair.computing_ps = round(computing_ps)
        measure([pair])
        return pair.laps.mean_ps()

    alone = duration_ps(0)
    share = overlap("irecv", "16K") / 100
    assert duration_ps(share * alone) == pytest.approx(alone, rel=1e-2)
    assert duration_ps((share + 0.1) * alone) == pytest.approx(1.1 * alone, rel=1e-2)
