"""perftest's loop keeps queues full, asks for few completions, and stops early with its result."""

from typing import Any

import pytest

from hcasim.catalog import resolve
from hcasim.catalog.adapter import BlueFlame
from hcasim.engine import Simulator
from hcasim.runs.benchmark import bench
from hcasim.verbs import SendWR
from hcasim.verbs.context import VerbsError
from hcasim.workloads import WORKLOADS, Options
from hcasim.workloads.end import OPCODES
from hcasim.workloads.perftest import side, stream
from hcasim.workloads.perftest.side import Side, moderation
from hcasim.workloads.perftest.stream import Stream
from hcasim.workloads.run import Run
from tests.rig import extended, machine, run
from tests.unit.runs.test_options import faults_of


@pytest.mark.parametrize(
    ("name", "adapter", "options"),
    [
        ("write_bw", "mt25208", {"size": 64, "iters": 3000}),
        ("write_bw", "mt25208", {"size": 64, "iters": 1017, "tx_depth": 1}),
        ("write_bw", "mt25208", {"size": 64, "iters": 1017, "tx_depth": 7, "cq_mod": 3}),
        ("write_bw", "mt23108", {"size": 4096, "iters": 2001}),
        ("write_bw", "mt25208", {"size": 16_384, "iters": 300}),
        ("write_bw", "mt25208", {"size": 8192, "iters": 300, "qps": 2, "tx_depth": 16}),
        pytest.param(
            *("write_bibw", "mt23108", {"size": 4096, "iters": 3207}), marks=pytest.mark.check
        ),
        ("send_bw", "mt25208", {"size": 64, "iters": 2000, "tx_depth": 16, "cq_mod": 1}),
        ("read_bw", "mt25208", {"size": 64, "iters": 3000}),
    ],
)
def test_leaving_out_what_repeats_gives_the_result_of_the_whole_run(
    name: str, adapter: str, options: dict[str, Any]
) -> None:
    short, full = (
        run(name, machine(adapter=adapter), exact=exact, **options) for exact in (False, True)
    )
    assert short.row["error_percent"] < 0.01
    assert short.row | {"error_percent": 0.0} == full.row
    assert short.counters["doorbells"] < 0.9 * full.counters["doorbells"]


@pytest.mark.check
def test_many_packets_in_flight_are_not_waited_for() -> None:
    short, full = (
        run("write_bw", machine(), size=1 << 18, iters=150, exact=exact) for exact in (False, True)
    )
    assert short.row["rate_Mps"] == pytest.approx(full.row["rate_Mps"], rel=1e-4)
    assert short.counters["port_xmit_data"] < 0.2 * full.counters["port_xmit_data"]


@pytest.mark.parametrize(
    ("name", "options", "most"),
    [
        ("send_bw", {"size": 1 << 18, "tx_depth": 1}, 6_500),
        ("write_bw", {"size": 64, "qps": 256, "tx_depth": 1}, 6_000),
        ("write_bw", {"size": 4096, "qps": 64}, 6_000),
    ],
    ids=["receives ahead", "many queue pairs in turn", "no repetition"],
)
def test_packets_that_are_run_are_few_whatever_the_depth_and_the_queue_pairs(
    monkeypatch: pytest.MonkeyPatch, name: str, options: dict[str, Any], most: int
) -> None:
    monkeypatch.setattr(stream, "MOST", 2000)
    point = run(name, machine(), iters=1000, **options)
    assert point.counters["port_xmit_packets"] < most


def test_queue_pairs_that_gain_on_each_other_run_to_the_end() -> None:
    short, full = (
        run("write_bw", machine(), size=64, iters=1500, qps=3, tx_depth=32, cq_mod=16, exact=exact)
        for exact in (False, True)
    )
    assert short.row == full.row
    assert short.counters["doorbells"] == full.counters["doorbells"]


@pytest.mark.parametrize(
    ("given", "every"),
    [
        ({"size": 8192}, 100),
        ({"size": 8193}, 1),
        ({"size": 8193, "cq_mod": 50}, 50),
        ({"size": 8, "tx_depth": 16}, 16),
        ({"size": 8, "iters": 60}, 60),
        ({"size": 8193, "post_list": 4}, 4),
        ({"size": 8, "post_list": 4, "cq_mod": 2}, 2),
    ],
)
def test_completions_are_moderated_as_perftest_does(given: dict[str, Any], every: int) -> None:
    options = Options(**{"iters": 300, "exact": True, **given})
    assert moderation(options) == every
    counters = run("write_bw", machine(), **vars(options)).counters
    assert counters["cqes_written"] == -(-options.iters // every)


class Watched(Side):
    """A side that notes the order of its messages and how many are in flight."""

    posted: list[int]
    most: int

    def _request(self, number: int) -> SendWR:
        request = super()._request(number)
        vars(self).setdefault("posted", []).append(number)
        self.most = max(vars(self).get("most", 0), self.sent[number] - self.done[number])
        return request


def watched(monkeypatch: pytest.MonkeyPatch, verb: Any, **options: Any) -> Stream:
    monkeypatch.setattr(side, "Side", Watched)
    run = Run("", Simulator(), machine(), Options(exact=True, **options))
    test = Stream(run, OPCODES[verb], both_ways=False)
    test.measure()
    return test


def test_each_queue_is_filled_in_turn_and_never_beyond_its_depth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sender = watched(monkeypatch, "write", size=2048, iters=40, qps=3, tx_depth=8).sides[0]
    assert isinstance(sender, Watched)
    assert sender.posted[:24] == [0] * 8 + [1] * 8 + [2] * 8
    assert sender.most == 8
    assert sender.done == [40, 40, 40]


def test_the_time_is_that_from_the_first_post_to_the_last_completion(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    test = watched(monkeypatch, "send", size=64, iters=200)
    sender = test.sides[0]
    assert sender.began_ps < sender.ended_ps <= test.sim.now
    assert sender.per_second == pytest.approx(200e12 / (sender.ended_ps - sender.began_ps))


def test_a_list_is_posted_with_one_doorbell() -> None:
    options: dict[str, Any] = {"size": 8, "iters": 96, "exact": True}
    one_by_one, in_lists = (
        run("write_bw", machine(), post_list=count, cq_mod=4, **options).counters
        for count in (1, 4)
    )
    assert one_by_one["doorbells"] - in_lists["doorbells"] == 96 - 24


@pytest.mark.parametrize(
    ("workload", "options"),
    [
        ("write_bw", {"post_list": 5, "iters": 2000, "tx_depth": 32}),
        ("write_bw", {"connection": "UC", "iters": 4000}),
        ("send_bw", {"connection": "UD", "iters": 4000}),
        ("atomic_bibw", {"iters": 1000, "op": "cmp_swap"}),
    ],
)
def test_a_short_run_tells_the_rate_of_the_whole(workload: str, options: dict[str, Any]) -> None:
    short, whole = (
        run(workload, machine(), **{"size": 8, **options}, exact=exact).row["rate_Mps"]
        for exact in (False, True)
    )
    assert short == pytest.approx(whole, rel=0.005)


def test_nothing_of_an_unreliable_test_is_acknowledged() -> None:
    for workload, connection in (("write_bw", "UC"), ("send_bw", "UC"), ("send_bw", "UD")):
        counters = run(workload, machine(), size=8, iters=64, connection=connection).counters
        assert (counters["acknowledgements"], counters["dropped"]) == (0, 0)
        assert counters["port_xmit_packets"] == 64


def test_messages_up_to_the_inline_size_are_in_the_work_request() -> None:
    read = [
        run("write_bw", machine(), size=size, iters=64, inline_size=28).counters["bus_read_bytes"]
        for size in (28, 29)
    ]
    assert read == [64 * 64, 64 * (64 + 29)]


@pytest.mark.parametrize(
    ("workload", "connection", "longest"),
    [("write_lat", "RC", 220), ("send_lat", "UC", 236), ("send_lat", "UD", 188)],
)
def test_latency_tests_take_inline_what_perftest_does_where_there_is_blueflame(
    workload: str, connection: str, longest: int
) -> None:
    """perftest_parameters.h: DEF_INLINE_WRITE, DEF_INLINE_SEND_RC_UC and DEF_INLINE_SEND_UD."""
    blueflame = BlueFlame.model_construct(buffer=256, takes="inline")
    quick = extended(
        machine(), adapter={"doorbell": {"blueflame": blueflame}}, stack={"max_inline": 400}
    )
    usual = WORKLOADS[workload].defaults.inline_size
    fetched = [
        run(
            workload, on, size=size, iters=2, warmup=0, inline_size=usual, connection=connection
        ).counters["wqes_fetched"]
        for on, size in ((quick, longest), (quick, longest + 1), (machine(), 8))
    ]
    assert fetched[0] == 0
    assert fetched[1] == fetched[2] > 0


def test_atomics_of_a_test_change_the_words_of_their_queue_pairs() -> None:
    counters = run("atomic_bw", machine(), size=8, iters=64, qps=2, exact=True).counters
    assert counters["port_xmit_packets"] == 2 * 2 * 64, "requests and answers"
    assert counters["cqes_written"] == 2


def test_who_has_too_few_receives_ahead_lets_the_sender_wait() -> None:
    given = {"size": 64, "iters": 40, "tx_depth": 16, "cq_mod": 1}
    usual, few = (run("send_bw", machine(), rx_depth=depth, **given).row for depth in (512, 2))
    # Each time that nothing is posted costs the pause of perftest's RNR timer.
    pauses = 40 / few["rate_Mps"] / side.RNR_TIMER_PS * 1e6
    assert 2 < pauses < 40 / 2
    assert few["rate_Mps"] < 0.01 * usual["rate_Mps"]
    assert run("send_bw", machine(), rx_depth=2, exact=True, **given).row["rate_Mps"] == (
        pytest.approx(few["rate_Mps"], rel=1e-6)
    )


BELOW, BEYOND = 1 << 19, 1 << 26
"""Regions whose pages of 4 KiB fit into the 512 entries of the translation cache, and do not."""
LAT: dict[str, Any] = {"size": 64, "iters": 4000, "warmup": 100}
BW: dict[str, Any] = {"size": 64, "iters": 4000}


@pytest.mark.parametrize("access", ["random", "sequential"])
def test_a_region_whose_translations_fit_costs_nothing(access: str) -> None:
    one, many = (
        run("read_lat", machine(), region=region, access=access, **LAT).row["latency_us"]
        for region in (0, BELOW)
    )
    assert many == pytest.approx(one, rel=0.01)


@pytest.mark.parametrize("workload", ["read_lat", "atomic_lat"])
def test_a_larger_one_adds_fetches_that_large_pages_save(workload: str) -> None:
    given = {**LAT, "size": 8, "region": BEYOND}
    small, large = (
        run(workload, machine(), page_size=page, **given).row["latency_us"]
        for page in (4096, 1 << 21)
    )
    alone = run(workload, machine(), **LAT | {"size": 8}).row["latency_us"]
    assert small > 1.1 * alone
    assert large == pytest.approx(alone, rel=0.01)


@pytest.mark.parametrize("workload", ["read_lat", "write_bw", "read_bw"])
def test_a_short_run_tells_what_a_long_one_does(
    monkeypatch: pytest.MonkeyPatch, workload: str
) -> None:
    monkeypatch.setattr(stream, "MOST", 1500)
    # Most pages have been used before a mean of latencies is known.
    given = {**LAT, "iters": 8000, "region": 1 << 24} if workload == "read_lat" else BW
    short, full = (
        run(workload, machine(), **{"region": BEYOND, **given}, exact=exact)
        for exact in (False, True)
    )
    (field,) = {"latency_us", "rate_Mps"} & {*full.row}
    assert short.row[field] == pytest.approx(full.row[field], rel=0.02)
    assert short.counters["doorbells"] < 0.7 * full.counters["doorbells"]


def test_uniform_addresses_hit_as_often_as_there_is_room() -> None:
    # Half of the pages fit: each end looks up one of its own for each message, beside its queues'.
    counters = run("write_bw", machine(), region=1 << 22, exact=True, **BW).counters
    missed = counters["mtt_miss_cnt"] / (2 * BW["iters"])
    assert missed == pytest.approx(1 - 512 / 1024, abs=0.06)


def test_a_request_that_fails_ends_the_test_by_its_status() -> None:
    with pytest.raises(VerbsError, match="WR_FLUSH_ERR"):
        run("send_bw", resolve("rashti2007"), size=4096, iters=100, rx_depth=1)


@pytest.mark.parametrize(
    ("workload", "given"),
    [
        ("send_lat", {"iters": 4, "warmup": 1}),
        ("read_lat", {"iters": 4, "warmup": 1}),
        ("atomic_bw", {"iters": 8}),
        ("send_bw", {"iters": 40, "size": 4096, "rx_depth": 16, "qps": 2}),
        ("incast", {"iters": 2, "size": 4096, "nodes": 3}),
        ("probe_lat", {"iters": 4, "warmup": 1, "nodes": 3}),
    ],
)
def test_over_dynamic_connections_a_connect_packet_goes_ahead(
    workload: str, given: dict[str, Any]
) -> None:
    usual = {"testbed": "ideal-100g", "adapter": "connectx6", "cache": False, "jobs": 1, **given}
    found, static = (bench(workload, **usual, connection=one) for one in ("DC", "RC"))
    column = "latency_us" if workload.endswith("_lat") else "bandwidth_MBps"
    assert found.rows[0][column] == pytest.approx(static.rows[0][column], rel=0.15)
    if workload == "incast":
        # One of each flow, and none to disconnect within the time.
        sent = [one.counters["port_xmit_packets"] for one in (found, static)]
        assert sent[0] - sent[1] == given["nodes"] - 1


def test_adapters_before_connect_ib_have_no_dynamic_connections() -> None:
    assert faults_of("write_bw", connection="DC") == [
        "connection: found 'DC' with mt25208, which does not offer it; allowed: RC or UC"
    ]
    assert faults_of("incast", "ideal-100g", connection="UD", nodes=3) == [
        "connection: found 'UD' with verb write; allowed: with verb send"
    ]
    assert faults_of("incast", "ideal-100g", adapter="connectx6", connection="DC", sl=3) == [
        "sl: found 3 with connection DC; allowed: with RC or UC"
    ]
