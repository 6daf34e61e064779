"""Benchmarks over links that lose packets say so, name timers that bind, and end in any case."""

from collections.abc import Generator
from typing import Any

import pytest

import hcasim as hc
from hcasim.hca.counters import Overdue

HOW: dict[str, Any] = {"jobs": 1, "cache": False, "iters": 40}


def bench(workload: str, loss: str, **options: Any) -> Any:
    overrides = {"link.loss": loss} | options.pop("overrides", {})
    return hc.bench(workload, "pair", overrides=overrides, **HOW | options)


def test_a_result_says_what_links_lost_and_what_was_sent_again() -> None:
    found = bench("write_bw", "2 %", size=8192, overrides={"link.corruption": "1 %"})
    counters = found.counters
    lost, corrupted = counters["lost_packets"], counters["corrupted_packets"]
    sent, timeouts = counters["retransmissions"], counters["timeouts"]
    assert min(lost, corrupted, sent) > 0
    links = f"links lost {lost} packets and corrupted {corrupted}"
    words = f"write_bw with size 8192: {links}; retransmissions: {sent}, timeouts: {timeouts}"
    assert found.notes == (words,)
    assert found.to_dict()["notes"] == [words]
    clean = bench("write_bw", "0 %", size=8192)
    assert not clean.notes
    assert "lost_packets" not in clean.counters


@pytest.mark.parametrize("kind", ["UD", "UC"])
def test_what_is_not_sent_again_counts_as_sent(kind: str) -> None:
    corrupts = {"link.corruption": "5 %"}
    found = bench("send_bw", "5 %", size=1024, connection=kind, iters=200, overrides=corrupts)
    assert found.counters["timeouts"] == found.counters["retransmissions"] == 0
    # A packet that was corrupted is not one that found no receive.
    (words,) = found.notes
    assert words.endswith("; nothing is sent again, and what is lost counts as sent")


@pytest.mark.parametrize("workload", ["write_lat", "osu_latency", "osu_allreduce"])
def test_where_most_time_goes_by_until_timers_expire_they_bind(workload: str) -> None:
    found = bench(workload, "8 %", size=8)
    assert found.counters["timeouts"] > 0
    assert found.rows[0]["bound_by"].endswith(".hca.retry_timer")
    assert "timer" not in bench(workload, "0 %", size=8).rows[0]["bound_by"]


def test_a_stream_waits_for_its_timer_longest() -> None:
    found = bench("write_bw", "3 %", size=8, iters=100, explain=True)
    told = found.to_dict()["breakdown"]
    assert told["binds"] == found.rows[0]["bound_by"] == "node0.hca.retry_timer"
    assert told["resources"][0]["waited"] == pytest.approx(1, abs=0.05)
    assert told["parameters"] == ["link.loss"]


def test_a_rate_that_losses_have_cut_binds_or_a_link_that_is_full_of_what_is_sent_again() -> None:
    how: dict[str, Any] = {
        "jobs": 1,
        "cache": False,
        "size": 65536,
        "iters": 60,
        "adapter": "connectx5",
    }
    lossy = {"link.loss": "0.2 %"}
    careless = {
        "adapter.roce_cc.cnp_with_nak": "false",
        "adapter.roce_accl.roce_slow_restart_en": "false",
    }
    for given, bound in ((lossy, "rate_control"), (lossy | careless, "port1.link")):
        found = hc.bench("write_bw", "pair-roce", overrides=given, **how)
        assert found.counters["timeouts"] == 0 < found.counters["retransmissions"]
        assert found.rows[0]["bound_by"] == f"node0.hca.{bound}"


def test_a_registration_that_is_taken_back_while_it_is_carried_out_blocks_nothing() -> None:
    how: dict[str, Any] = {"jobs": 1, "cache": False, "adapter": "connectx5"}
    found = hc.bench("nvmf_read", "pair-roce", overrides={"link.loss": "1 %"}, **how)
    assert found.counters["retransmissions"] > 0
    assert found.counters["rx_write_requests"] > 46


def test_timers_that_run_at_the_same_time_count_once() -> None:
    timers = Overdue()
    for since, now in ((0, 10), (5, 12), (20, 30), (22, 30)):
        timers.expired(since, now)
    assert (timers.timeouts, timers.wait_ps) == (4, 22)


LOST = "no process can go on: what one waits for was lost or corrupted"
UNANSWERED = "RETRY_EXC_ERR: 1 requests had no answer, however often they were sent again"


@pytest.mark.parametrize(
    ("workload", "loss", "options", "fault"),
    [
        ("write_lat", "100 %", {}, UNANSWERED),
        ("read_lat", "70 %", {"iters": 400}, UNANSWERED),
        ("write_lat", "100 %", {"connection": "UC"}, f"{LOST}; messages of UC are not sent again"),
        ("send_lat", "100 %", {"connection": "UD"}, f"{LOST}; messages of UD are not sent again"),
        (
            "write_bw",
            "100 %",
            {},
            "RETRY_EXC_ERR: a request had no answer, however often it was sent again",
        ),
        ("osu_latency", "100 %", {}, "MPI_ERR_OTHER: rank 0: RETRY_EXC_ERR qp 1"),
    ],
)
def test_a_benchmark_that_waits_in_vain_ends_with_the_reason(
    workload: str, loss: str, options: dict[str, Any], fault: str
) -> None:
    with pytest.raises(hc.CatalogError) as refused:
        bench(workload, loss, size=8, **options)
    assert refused.value.faults == [f"{workload}: {fault}"]


@pytest.mark.parametrize(
    ("workload", "options"),
    [("write_bw", {"size": 65536}), ("read_lat", {"size": 8192}), ("osu_bw", {"size": 4096})],
)
def test_nothing_is_left_out_of_a_run_with_losses(workload: str, options: dict[str, Any]) -> None:
    one, other = (bench(workload, "1 %", exact=exact, **options) for exact in (False, True))
    assert one.counters["lost_packets"] > 0
    assert one.rows == other.rows
    assert one.counters == other.counters


def test_a_sweep_over_losses_has_their_share_and_what_was_lost() -> None:
    loss = {"link.loss": "0 %,2 %", "link.loss_seed": "1,2"}
    found = hc.sweep("write_bw", "pair", size=4096, overrides=loss, **HOW)
    shares = [(row["link.loss_percent"], row["link.loss_seed"]) for row in found.rows]
    assert shares == [(0, 1), (0, 2), (2, 1), (2, 2)]
    (words,) = found.notes
    assert words.startswith("all points together: links lost ")
    assert "; retransmissions: " in words
    told = hc.sweep("send_bw", "pair", size=4096, connection="UC", overrides=loss, **HOW).notes
    assert told[-1].endswith("; nothing is sent again, and what is lost counts as sent")


def test_a_program_of_mpi_says_what_was_lost() -> None:
    def program(comm: Any) -> Generator[Any, Any, None]:
        for _ in range(20):
            yield from comm.barrier()

    found = hc.app(program, "pair", 2, overrides={"link.loss": "3 %"})
    lost = found.counters["lost_packets"]
    (words,) = found.notes
    assert words.startswith(f"program: links lost {lost} packets and corrupted 0; ")
