"""Intervals of a fit to measured numbers hold the truth as often as they say."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from hcasim.calibrate import (
    FitReport,
    Objective,
    Observation,
    Setup,
    Trial,
    calibrate,
    free_parameters,
)
from hcasim.calibrate.fit import TRACES, Search, _kept, _Solution
from hcasim.calibrate.intervals import profiled, with_bootstrap, with_profile
from hcasim.calibrate.loss import LOSSES
from hcasim.calibrate.objective import Budget
from hcasim.calibrate.sampling import straight_samples, weighed_samples
from hcasim.catalog import Fit
from hcasim.workloads import Options

MakeFit = Callable[..., Fit]
SEND = "adapters.mt25208.send.latency"
RECEIVE = "adapters.mt25208.receive.latency"
QUEUE = "adapters.mt25208.receive_queue.latency"
RESPONDER = "adapters.mt25208.responder.latency"
TRUTH = {SEND: 700_000, QUEUE: 300_000, RESPONDER: 2_000_000}
NO_QUEUE = (("adapter.receive_queue.latency", "0 ns"),)
WORKLOADS = ("write_lat", "send_lat", "read_lat")


def curved(trial: Trial) -> dict[str, Any]:
    """A model with a bend: what is below a threshold is hidden."""
    adapter = trial.machine.adapter
    base = 1.0 + trial.options.size / 1000
    time = adapter.send.latency / 1e6
    if trial.workload != "write_lat":
        time += (adapter.receive_queue.latency / 1e6) ** 1.2
    if trial.workload == "read_lat":
        time += adapter.responder.latency / 1e6
    return {"latency_us": base + time}


def run(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    return [curved(one) for one in trials]


def measured(seed: int, spread: float = 0.01) -> list[Observation]:
    """Six points of each workload, off by normal errors."""
    rng = np.random.default_rng(seed)
    found = []
    for workload in WORKLOADS:
        for size in (8, 16, 32, 64, 128, 256):
            base = 1.0 + size / 1000 + 0.7
            base += 0.3**1.2 if workload != "write_lat" else 0
            base += 2.0 if workload == "read_lat" else 0
            seen = base * (1 + spread * rng.standard_normal())
            found.append(
                Observation(
                    id=f"{workload} {size}",
                    setups=(Setup(workload, "liu2004", "mt25208", Options(size=size)),),
                    field="latency_us",
                    published=Decimal(f"{seen:.7g}"),
                    unit="us",
                    tolerance=spread * base / seen,
                    error=spread * base,
                    curve=workload,
                )
            )
    return found


@pytest.fixture
def fit(make_fit: MakeFit) -> Fit:
    return make_fit({SEND: (0, 3000), QUEUE: (0, 3000), RESPONDER: (0, 9000)})


def holds(report: FitReport) -> list[bool]:
    return [
        report[path].interval[0] <= value <= report[path].interval[1]
        for path, value in TRUTH.items()
    ]


def bootstrapped(report: FitReport, seed: int) -> FitReport:
    count = len(report.residuals)
    draws = np.random.default_rng(seed).standard_normal((200, count))
    return with_bootstrap(report, draws)


@pytest.mark.slow
def test_the_truth_lies_within_the_intervals_at_the_stated_rate(fit: Fit) -> None:
    hits: dict[str, list[bool]] = {"linear": [], "profile": [], "bootstrap": []}
    for seed in range(60):
        report = calibrate(fit, measured(seed), run=run, search=TRACES)
        hits["linear"] += holds(report)
        hits["bootstrap"] += holds(bootstrapped(report, seed))
        hits["profile"] += holds(with_profile(report))
    # Of 180 intervals of 95 %, 171 are expected to hold, with a deviation of 3 and some more
    # because those of one fit go together.
    rates = {kind: sum(held) / len(held) for kind, held in hits.items()}
    assert all(0.90 <= rate <= 0.995 for rate in rates.values()), rates


def test_a_profile_of_a_straight_model_is_the_interval_of_first_order(fit: Fit) -> None:
    report = calibrate(fit, measured(1), run=run, search=replace(TRACES, loss=LOSSES["linear"]))
    found = with_profile(report)
    for path in TRUTH:
        width = report[path].interval[1] - report[path].interval[0]
        ends = zip(report[path].interval, found[path].interval, strict=True)
        assert all(abs(one - other) < 0.12 * width for one, other in ends)


def test_an_outlier_moves_a_robust_fit_less(fit: Fit) -> None:
    seen = measured(2)
    spoilt = [replace(seen[0], published=3 * seen[0].published), *seen[1:]]
    moves = []
    for name in ("linear", "soft_l1"):
        search = Search(loss=LOSSES[name], step=1e-5, gain=1e-6)
        before, after = (calibrate(fit, one, run=run, search=search) for one in (seen, spoilt))
        moves.append(abs(after[SEND].value - before[SEND].value))
    assert moves[1] < 0.2 * moves[0]


def test_what_cannot_be_told_apart_is_shared_as_at_the_start(make_fit: MakeFit, run: Any) -> None:
    free = make_fit({SEND: (0, 3000), RECEIVE: (0, 3000)})
    seen = [
        Observation(
            id=f"write_lat {size}",
            setups=(Setup("write_lat", "liu2004", "mt25208", Options(size=size)),),
            field="latency_us",
            published=Decimal("5.0"),
            unit="us",
            tolerance=0.01,
            error=0.05,
        )
        for size in (8, 64)
    ]
    report = calibrate(free, seen, run=run, search=TRACES)
    # Both set out from 1.5 us and their sum must be 4.
    assert report[SEND].value == pytest.approx(2_000_000, abs=20_000)
    assert report[RECEIVE].value == pytest.approx(2_000_000, abs=20_000)
    assert str(report[SEND].verdict) == f"only in combination with {RECEIVE}"
    found = straight_samples(report, np.random.default_rng(1), 300)
    assert np.std(found[:, 0]) > 300_000
    assert np.std(found.sum(axis=1)) < 60_000


def test_a_search_that_strayed_goes_back_as_far_as_nothing_is_lost(
    make_fit: MakeFit,
) -> None:
    free = free_parameters(make_fit({SEND: (0, 3000), QUEUE: (0, 3000)}))
    objective = Objective(measured(5)[:6], free, run)
    lost = {SEND: 700_000, QUEUE: 2_900_000}
    residuals = objective.residuals(lost)
    strayed = _Solution(lost, residuals, converged=True)
    blind = np.array([[0.0], [1.0]])
    back = _kept(objective, free, strayed, blind, TRACES)
    assert back.values == {SEND: 700_000, QUEUE: 1_500_000}
    # A move that the data do notice is not made.
    noticed = np.array([[1.0], [0.0]])
    assert _kept(objective, free, strayed, noticed, TRACES) is strayed


def test_samples_scatter_as_the_fit_is_uncertain(fit: Fit) -> None:
    report = calibrate(fit, measured(3), run=run, search=TRACES)
    found = straight_samples(report, np.random.default_rng(1), 2000)
    for n, one in enumerate(report.parameters):
        assert np.std(found[:, n]) == pytest.approx(one.deviation, rel=0.1)
        assert found[:, n].min() >= one.parameter.low
        assert found[:, n].max() <= one.parameter.high


def test_a_budget_ends_the_search_at_its_best_point(fit: Fit) -> None:
    full = calibrate(fit, measured(4), run=run, search=TRACES)
    short = calibrate(fit, measured(4), run=run, search=replace(TRACES, budget=Budget(9)))
    assert full.converged
    assert not short.converged
    assert full.cost < short.cost
    start = {one.path: one.parameter.start for one in short.parameters}
    assert short.cost < TRACES.loss.cost(short.local.objective.residuals(start))


def valley(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """A model that sees little but a sum; one part of it shows only where it is large."""
    found = []
    for one in trials:
        adapter = one.machine.adapter
        send, queue = adapter.send.latency / 1e6, adapter.receive_queue.latency / 1e6
        hidden = max(send - 0.8, 0.0) * one.options.size / 256
        found.append({"latency_us": 4.0 + send + queue + hidden})
    return found


def in_a_valley(seed: int | None, send: float = 0.8, queue: float = 0.2) -> list[Observation]:
    """Points of a machine whose sum is known; a seed adds errors of 1 %."""
    rng = np.random.default_rng(seed)
    truth = 4.0 + send + queue
    found = []
    for size in (8, 16, 32, 64, 128, 256):
        seen = truth * (1 + (0.01 * rng.standard_normal() if seed is not None else 0.0))
        found.append(
            Observation(
                id=f"write_lat {size}",
                setups=(Setup("write_lat", "liu2004", "mt25208", Options(size=size)),),
                field="latency_us",
                published=Decimal(f"{seen:.7g}"),
                unit="us",
                tolerance=0.01 * truth / seen,
                error=0.01 * truth,
                curve="write_lat",
            )
        )
    return found


def starting(fit: Fit, starts: dict[str, int]) -> Fit:
    """The same fit, setting out from other values in ns."""
    entries = {
        path: replace(entry, start=f"{starts[path]} ns") for path, entry in fit.entries.items()
    }
    return replace(fit, entries=entries)


@pytest.fixture
def pair(make_fit: MakeFit) -> Fit:
    free = make_fit({SEND: (0, 8000), QUEUE: (0, 1000)})
    return starting(free, {SEND: 800, QUEUE: 200})


def test_a_nearly_collinear_pair_is_known_only_in_combination(pair: Fit) -> None:
    report = calibrate(pair, in_a_valley(None), run=valley, search=TRACES)
    # To first order each seems to be known: the fit is where the valley begins.
    assert all(one.verdict.identified for one in report.parameters)
    found = with_profile(report)
    assert str(found[SEND].verdict) == f"only in combination with {QUEUE}"
    assert str(found[QUEUE].verdict) == f"only in combination with {SEND}"
    assert found[SEND].interval[0] == 0
    assert found[QUEUE].interval[1] == 1_000_000


def test_samples_reach_where_the_profiles_do(pair: Fit) -> None:
    profile = profiled(calibrate(pair, in_a_valley(None), run=valley, search=TRACES))
    found = weighed_samples(profile, np.random.default_rng(1), 200)
    again = weighed_samples(profile, np.random.default_rng(1), 200)
    assert np.array_equal(found, again)
    for n, one in enumerate(profile.report.parameters):
        low, high = one.interval
        for part in (found[:, n], found[:10, n]):
            assert low - 50_000 < part.min() < low + 0.2 * (high - low)
            assert high + 50_000 > part.max() > high - 0.25 * (high - low)
    # The sum is known to a part in a hundred over the root of six.
    assert np.std(found.sum(axis=1)) < 40_000


@pytest.mark.parametrize(
    ("low", "high", "words"), [(0, 9000, "only from above"), (690, 710, "not at all")]
)
def test_an_interval_that_reaches_a_bound_does_not_identify(
    make_fit: MakeFit, low: int, high: int, words: str
) -> None:
    value = 20 if low == 0 else 700
    seen = in_a_valley(None, send=value / 1000, queue=0.0)
    free = starting(make_fit({SEND: (low, high)}), {SEND: value})
    seen = [
        replace(one, setups=tuple(replace(s, overrides=NO_QUEUE) for s in one.setups))
        for one in seen
    ]
    found = with_profile(calibrate(free, seen, run=valley, search=TRACES))
    assert str(found[SEND].verdict) == words
    assert found[SEND].interval[0] == 1000 * low


def test_samples_of_a_straight_model_scatter_as_to_first_order(fit: Fit) -> None:
    report = calibrate(fit, measured(3), run=run, search=TRACES)
    found = weighed_samples(profiled(report), np.random.default_rng(1), 200)
    for n, one in enumerate(report.parameters):
        assert np.std(found[:, n]) == pytest.approx(one.deviation, rel=0.35)


@pytest.mark.slow
def test_bands_hold_the_truth_at_the_stated_rate(pair: Fit) -> None:
    hits = []
    for seed in range(24):
        # The truth is anywhere in the valley, not where the search sets out.
        send = float(np.random.default_rng(1000 + seed).uniform(0.0, 0.8))
        seen = in_a_valley(seed, send, 1.0 - send)
        profile = profiled(calibrate(pair, seen, run=valley, search=TRACES))
        drawn = weighed_samples(profile, np.random.default_rng(seed), 200)
        low, high = np.quantile(drawn[:, 0], [0.05, 0.95])
        hits.append(low <= 1e6 * send <= high)
    # Of 24 bands of 90 %, fewer than 18 hold in 1 case of 130.
    assert sum(hits) >= 18, sum(hits)
