"""Intervals of a fit to measured numbers hold the truth as often as they say."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from hcasim.calibrate.confidence import Around
from hcasim.calibrate.descent import TRACES, Search
from hcasim.calibrate.fit import calibrate, restored
from hcasim.calibrate.intervals import drawn, profiled, with_linear
from hcasim.calibrate.loss import LOSSES
from hcasim.calibrate.objective import Objective
from hcasim.calibrate.observation import Observation
from hcasim.calibrate.parameters import free_parameters
from hcasim.calibrate.report import FitReport
from hcasim.catalog import Fit
from hcasim.runs.executor import OutOfTime
from hcasim.runs.experiment import Experiment
from hcasim.runs.point import Point
from tests.unit.calibrate.toys import (
    NO_QUEUE,
    QUEUE,
    RECEIVE,
    SEND,
    TRUTH,
    MakeFit,
    in_a_valley,
    measured,
    run_curved,
    starting,
    valley,
)

LONG = pytest.mark.check


def holds(report: FitReport) -> list[bool]:
    return [
        report[path].interval[0] <= value <= report[path].interval[1]
        for path, value in TRUTH.items()
    ]


# Of 180 intervals of 95 %, 171 are expected to hold, with a deviation of 3 and some more because
# those of one fit go together; of 18, 17 with a deviation of 1.
@pytest.mark.parametrize(
    ("fits", "least", "most"), [(6, 0.75, 1.0), pytest.param(60, 0.90, 0.995, marks=LONG)]
)
def test_the_truth_lies_within_the_intervals_at_the_stated_rate(
    curved_fit: Fit, fits: int, least: float, most: float
) -> None:
    hits: dict[str, list[bool]] = {"linear": [], "profile": []}
    for seed in range(fits):
        report = calibrate(curved_fit, measured(seed), run=run_curved, search=TRACES)
        hits["linear"] += holds(report)
        hits["profile"] += holds(profiled(report)[0])
    rates = {kind: sum(held) / len(held) for kind, held in hits.items()}
    assert all(least <= rate <= most for rate in rates.values()), rates


@pytest.mark.parametrize(("understated", "loss"), [(1, "linear"), (10, "soft_l1")])
def test_both_kinds_of_interval_agree_on_a_nearly_straight_model(
    curved_fit: Fit, understated: int, loss: str
) -> None:
    # Points that scatter by more than their errors widen all of them.
    seen = [
        replace(one, tolerance=one.tolerance / understated, error=(one.error or 0.0) / understated)
        for one in measured(1)
    ]
    search = replace(TRACES, loss=LOSSES[loss])
    report = calibrate(curved_fit, seen, run=run_curved, search=search)
    assert (report.inflation > 2) == (understated > 1)
    found, _ = profiled(report)
    for path in TRUTH:
        width = report[path].interval[1] - report[path].interval[0]
        ends = zip(report[path].interval, found[path].interval, strict=True)
        assert all(abs(one - other) < 0.15 * width for one, other in ends)


def test_an_outlier_moves_a_robust_fit_less(curved_fit: Fit) -> None:
    seen = measured(2)
    spoilt = [replace(seen[0], published=3 * seen[0].published), *seen[1:]]
    moves = []
    for name in ("linear", "soft_l1"):
        search = Search(loss=LOSSES[name], step=1e-5, gain=1e-6)
        before, after = (
            calibrate(curved_fit, one, run=run_curved, search=search) for one in (seen, spoilt)
        )
        moves.append(abs(after[SEND].value - before[SEND].value))
    assert moves[1] < 0.2 * moves[0]


def test_what_cannot_be_told_apart_is_shared_as_at_the_start(make_fit: MakeFit, run: Any) -> None:
    free = make_fit({SEND: (0, 3000), RECEIVE: (0, 3000)})
    seen = [
        Observation(
            id=f"write_lat {size}",
            experiments=(Experiment.of("write_lat", "liu2004", adapter="mt25208", size=size),),
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
    # What one has more, the other has less.
    for judged in (with_linear(report), profiled(report)[0]):
        assert judged[SEND].correlation[RECEIVE] < -0.9
    found = drawn(report.around, np.random.default_rng(1), 300)
    assert np.std(found[:, 0]) > 300_000
    assert np.std(found.sum(axis=1)) < 60_000


def test_a_search_that_strayed_goes_back_as_far_as_nothing_is_lost(
    make_fit: MakeFit,
) -> None:
    free = free_parameters(make_fit({SEND: (0, 3000), QUEUE: (0, 3000)}))
    objective = Objective(measured(5)[:6], free, run_curved)
    lost = {SEND: 700_000, QUEUE: 2_900_000}
    strayed = Around(objective, free, lost, objective.residuals(lost), TRACES.loss)
    assert restored(strayed).point == {SEND: 700_000, QUEUE: 1_500_000}
    # A move that the data do notice is not made.
    noticed = replace(strayed.confidence, undetermined=np.array([[1.0], [0.0]]), scale=1.0)
    strayed.confidence = noticed
    assert restored(strayed) is strayed
    # Where errors are so large that this is nothing, it is.
    strayed.confidence = replace(noticed, scale=1e6)
    assert restored(strayed).point[SEND] == 1_500_000


def test_a_search_that_is_out_of_time_says_the_best_so_far(curved_fit: Fit) -> None:
    asked: list[int] = []

    def run(trials: Sequence[Point]) -> list[dict[str, Any]]:
        asked.append(len(trials))
        if len(asked) > 3:
            raise OutOfTime({}, 1)
        return run_curved(trials)

    with pytest.raises(OutOfTime) as caught:
        calibrate(curved_fit, measured(4), run=run, search=TRACES)
    (said,) = caught.value.__notes__
    assert said.startswith(f"the best so far, which is no fit: {SEND} ")


def test_a_nearly_collinear_pair_is_known_only_in_combination(pair: Fit) -> None:
    report = calibrate(pair, in_a_valley(None), run=valley, search=TRACES)
    # Without a look at correlations each seems to be known: the fit is where the valley begins.
    assert all(one.verdict.identified for one in report.parameters)
    found = profiled(report)[0]
    for judged in (found, with_linear(report)):
        assert str(judged[SEND].verdict) == f"only in combination with {QUEUE}"
        assert str(judged[QUEUE].verdict) == f"only in combination with {SEND}"
    assert found[SEND].interval[0] == 0
    assert found[QUEUE].interval[1] == 1_000_000


def test_a_pair_whose_partner_is_at_its_bound_is_known_only_in_combination(
    make_fit: MakeFit,
) -> None:
    free = starting(make_fit({SEND: (0, 8000), QUEUE: (0, 1000)}), {SEND: 800, QUEUE: 300})
    seen = in_a_valley(None, 0.8, 0.3)
    report = calibrate(free, seen, run=valley, search=TRACES)
    found = profiled(report)[0]
    # The other cannot be more than 1 us, and their sum is 1.1 us.
    assert found[SEND].interval[0] == pytest.approx(100_000, abs=60_000)
    assert str(found[SEND].verdict) == f"only in combination with {QUEUE}"
    # To first order neither reaches a bound.
    straight = with_linear(report)
    assert straight[SEND].correlation[QUEUE] < -0.95
    assert 0 < straight[QUEUE].interval[0] < straight[QUEUE].interval[1] < 1_000_000
    assert str(straight[SEND].verdict) == f"only in combination with {QUEUE}"


def test_a_parameter_that_is_known_almost_as_well_alone_is_identified(
    make_fit: MakeFit, observe: Callable[..., Observation], run: Any
) -> None:
    free = make_fit({SEND: (0, 3000), QUEUE: (0, 3000)})
    error = {"error": 0.02, "tolerance": 0.01}
    seen = [observe("write_lat", "2.600", **error)]
    for size in (8, 16, 32, 64):
        setup = Experiment.of("send_lat", "liu2004", adapter="mt25208", size=size)
        seen.append(
            observe("send_lat", "3.130", id=f"send_lat {size}", experiments=(setup,), **error)
        )
    found = profiled(calibrate(free, seen, run=run, search=TRACES))[0]
    # The queue may be nothing, which is where the upper end of the other is.
    assert str(found[QUEUE].verdict) == "only from above"
    assert found[SEND].verdict.identified


@pytest.mark.parametrize(
    ("value", "low", "high", "words"),
    [
        (20, 0, 9000, "only from above"),
        (0, 0, 9000, "only from above"),
        (700, 690, 710, "not at all"),
    ],
)
def test_an_interval_that_reaches_a_bound_does_not_identify(
    make_fit: MakeFit, value: int, low: int, high: int, words: str
) -> None:
    seen = in_a_valley(None, send=value / 1000, queue=0.0)
    free = starting(make_fit({SEND: (low, high)}), {SEND: value})
    seen = [
        replace(one, experiments=tuple(e.with_(overrides=NO_QUEUE) for e in one.experiments))
        for one in seen
    ]
    found = profiled(calibrate(free, seen, run=valley, search=TRACES))[0]
    assert str(found[SEND].verdict) == words
    assert found[SEND].interval[0] == 1000 * low
