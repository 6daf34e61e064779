"""What programs of machine learning take, by formula."""

from functools import cache
from itertools import accumulate, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hcasim as hc
from hcasim.apps.ml import MODELS, experts, pipeline
from hcasim.apps.ml.models import Transformer
from hcasim.runs.application import Application

MIXTRAL: Any = MODELS["mixtral-8x7b"]


def app(program: str, testbed: str, ranks: int, *arguments: str, **more: Any) -> Application:
    return hc.app(program, testbed, ranks, arguments=arguments, **more)


@cache
def reduced(testbed: str, ranks: int, size: str, algorithm: str, *words: str, **more: str) -> float:
    """Microseconds of an allreduce, the mean over processes."""
    ports = {"overrides": {"stack.mpi.rails.ports": more.pop("ports")}} if "ports" in more else {}
    chosen: dict[str, Any] = {"algorithms": {"allreduce": algorithm}, **ports, **more}
    found = app("allreduce", testbed, ranks, f"size={size}", *words, **chosen)
    return sum(one.rows[0].time_us for one in found.returned) / ranks


# Allreduce.


@pytest.mark.check
def test_a_long_ring_takes_what_its_data_take_on_the_links() -> None:
    (speed,) = hc.bench("osu_bw", "liu2004", size="1M", jobs=1).curve.bandwidth_MBps
    for ranks in (2, 3):
        least = 2 * (ranks - 1) / ranks * 4 * 2**20 / speed
        assert least < reduced("liu2004", ranks, "4M", "ring", "steps=1") < 1.05 * least


@pytest.mark.check
def test_a_tree_takes_longer_with_the_logarithm_of_processes_and_a_ring_with_their_number() -> None:
    numbers = (4, 8, 16)
    ring, tree = (
        [reduced("fat-tree-64", n, "8", name, "steps=10", "warmup=10") for n in numbers]
        for name in ("ring", "tree")
    )
    for (few, one), (many, other) in pairwise(zip(numbers, ring, strict=True)):
        assert other / one == pytest.approx((many - 1) / (few - 1), rel=0.1)
    steps = [other - one for one, other in pairwise(tree)]
    assert max(steps) < 1.3 * min(steps)


def test_two_ports_carry_more_as_far_as_the_root_port_has_places_for_both_ways() -> None:
    one = reduced("cib", 2, "4M", "ring", "steps=1", ports="1")
    two = reduced("cib", 2, "4M", "ring", "steps=1", ports="2")
    assert 1.35 < one / two < 2


def test_two_ports_gain_nothing_where_the_bus_is_the_limit() -> None:
    one, two = (
        reduced("liu2004", 2, "4M", "ring", "steps=1", adapter="mt23108", stack=stack)
        for stack in ("mvapich-liu2004", "mvapich-liu2004-two-ports")
    )
    assert one / two == pytest.approx(1, abs=0.01)


# Data parallel.


def trained(*words: str) -> Application:
    given = ("resnet-50", "batch=32", "bucket=256K", "first=16K", *words)
    return app("data_parallel", "liu2004", 4, *given, algorithms={"allreduce": "ring"})


@pytest.mark.check
def test_gradients_are_added_up_while_others_are_computed() -> None:
    slow, behind, free = (
        trained("shards=64", *words).returned[0]
        for words in (("rate=100Gflop/s",), ("rate=100Gflop/s", "overlap=no"), ("rate=inf",))
    )
    # Only the last bucket is left when computing ends.
    assert 0 < slow.exposed_ms < 2 * free.step_ms / free.buckets
    assert behind.exposed_ms == pytest.approx(free.step_ms, rel=0.02)
    assert slow.step_ms >= slow.computing_ms
    rate = 3 * 32 * MODELS["resnet-50"].operations / 64 / 100e6
    assert slow.computing_ms == pytest.approx(rate, rel=1e-9)


@pytest.mark.check
def test_all_gradients_are_added_up() -> None:
    found = trained("shards=16", "rate=inf", "warmup=0")
    bytes_ = found.returned[0].gradient_bytes
    assert bytes_ == pytest.approx(4 * 25557032 / 16, rel=1e-3)
    assert sum(one.sent_bytes for one in found.outcome.ranks) == 2 * 3 * bytes_


# Experts.


@pytest.mark.parametrize(("ranks", "group"), [(2, 2), (8, 4)])
def test_tokens_are_sent_by_formula(ranks: int, group: int) -> None:
    tokens = 16
    found = app(
        "experts",
        "fat-tree-64",
        ranks,
        "mixtral-8x7b",
        f"tokens={tokens}",
        f"group={group}",
        "rate=inf",
        "warmup=0",
        algorithms={"alltoall": "pairwise_shift"},
    )
    each = tokens * 2 * 4096 * 2
    traffic = found.matrix()
    for rank, routed in enumerate(found.returned):
        assert routed.sent_bytes == each
        assert routed.received_tokens == 2 * tokens
        sent = traffic[rank].sum() - traffic[rank, rank]
        # Splitting the communicator sends 16 bytes of each to all.
        assert sent // 2 == pytest.approx(each * (group - 1) / group, abs=16 * ranks)


@given(
    st.integers(0, 2**31),
    st.integers(1, 5000),
    st.sampled_from([1, 2, 4, 8]),
    st.floats(0, 10),
)
def test_drawn_tokens_are_neither_lost_nor_sent_twice_to_an_expert(
    seed: int, tokens: int, ranks: int, skew: float
) -> None:
    given_ = {"seed": seed, "skew": skew, "tokens": tokens}
    for rank in range(ranks):
        each = experts.drawn(seed, 0, rank, tokens, 8, 2, skew)
        assert sum(each) == 2 * tokens
        assert max(each) <= tokens
    matrix = experts.counts(MIXTRAL, given_, ranks, 0)
    assert [sum(row) for row in matrix] == [2 * tokens] * ranks


def test_skew_makes_experts_uneven_and_the_layer_slower() -> None:
    even, drawn, skewed = (
        app("experts", "fat-tree-64", 4, "mixtral-8x7b", "tokens=32", "rate=1Tflop/s", *words)
        for words in ((), ("seed=1",), ("seed=1", "skew=2"))
    )
    most = [max(one.received_tokens for one in found.returned) for found in (even, drawn, skewed)]
    assert most[0] == 64
    assert most[0] < most[1] < most[2]
    assert sum(one.received_tokens for one in skewed.returned) == 4 * 64
    assert even.seconds < drawn.seconds < skewed.seconds


# Pipeline.


@given(st.integers(1, 12), st.integers(1, 12))
def test_a_schedule_takes_as_many_steps_as_microbatches_and_stages_less_one(
    stages: int, microbatches: int
) -> None:
    """Forward takes 1 and backward 2, and messages no time."""
    orders = [pipeline.schedule(stage, stages, microbatches) for stage in range(stages)]
    ends: dict[tuple[int, int, int], int] = {}
    clocks = [0] * stages
    places = [0] * stages
    while any(places[stage] < len(orders[stage]) for stage in range(stages)):
        before = sum(places)
        for stage, order in enumerate(orders):
            if places[stage] == len(order):
                continue
            way, number = order[places[stage]]
            needed = stage + (1 if way else -1)
            if 0 <= needed < stages:
                if (needed, way, number) not in ends:
                    continue
                clocks[stage] = max(clocks[stage], ends[needed, way, number])
            clocks[stage] += 2 if way else 1
            ends[stage, way, number] = clocks[stage]
            places[stage] += 1
        assert sum(places) > before
    assert max(clocks) == 3 * (microbatches + stages - 1)
    for stage, order in enumerate(orders):
        under_way = accumulate(-1 if way else 1 for way, _ in order)
        assert max(under_way) == min(stages - stage, microbatches)
        assert sorted(order) == [(way, one) for way in (0, 1) for one in range(microbatches)]


def piped(*words: str) -> Application:
    return app("pipeline", "liu2004", 4, "bert-large", *words)


@pytest.mark.parametrize("overlap", ["yes", pytest.param("no", marks=pytest.mark.check)])
def test_a_pipeline_takes_as_many_steps_where_messages_take_hardly_time(overlap: str) -> None:
    found = piped("rate=10Gflop/s", "microbatches=6", f"overlap={overlap}", "warmup=0")
    model = MODELS["bert-large"]
    assert isinstance(model, Transformer)
    step = 3 * 6 * model.block.operations / 10e6
    taken = found.returned[0].step_ms
    assert (6 + 4 - 1) * step <= taken < 1.01 * (6 + 4 - 1) * step
    assert found.returned[0].idle_percent == pytest.approx(100 * 3 / 9, abs=1)


@pytest.mark.check
def test_overlap_hides_messages() -> None:
    hidden, shown = (
        piped("rate=1Tflop/s", f"overlap={word}", "microbatches=4", "warmup=0").returned[0].step_ms
        for word in ("yes", "no")
    )
    assert hidden < shown


def test_stages_send_activations_on_and_gradients_back() -> None:
    found = piped("rate=inf", "microbatches=5", "warmup=0")
    size = 512 * 1024 * 2
    traffic = found.matrix()
    for stage in range(3):
        for pair in ((stage, stage + 1), (stage + 1, stage)):
            assert 5 * size <= traffic[pair] < 5 * size + 100
