"""Samples of a fit are as likely as the data make them, and bands of them hold the truth."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hcasim.calibrate import sampling
from hcasim.calibrate.descent import TRACES
from hcasim.calibrate.fit import calibrate
from hcasim.calibrate.intervals import Profile, profiled
from hcasim.calibrate.sampling import ENOUGH, straight_samples, weighed_samples
from hcasim.calibrate.sampling import _Mixture as Mixture
from hcasim.catalog import Fit, FittedValue
from tests.unit.calibrate.toys import (
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

Array = NDArray[np.float64]


def test_straight_samples_scatter_as_the_fit_is_uncertain(curved_fit: Fit) -> None:
    report = calibrate(curved_fit, measured(3), run=run_curved, search=TRACES)
    found = straight_samples(report, np.random.default_rng(1), 2000).values
    for n, one in enumerate(report.parameters):
        assert np.std(found[:, n]) == pytest.approx(one.deviation, rel=0.1)
        assert found[:, n].min() >= one.parameter.low
        assert found[:, n].max() <= one.parameter.high


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_samples_of_a_nearly_straight_model_scatter_as_to_first_order(
    curved_fit: Fit, seed: int
) -> None:
    report = calibrate(curved_fit, measured(seed), run=run_curved, search=TRACES)
    found = weighed_samples(profiled(report), np.random.default_rng(seed), 200)
    assert found.support >= ENOUGH
    for n, one in enumerate(report.parameters):
        assert np.std(found.values[:, n]) == pytest.approx(one.deviation, rel=0.35)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_samples_reach_where_the_profiles_do(pair: Fit, seed: int) -> None:
    profile = profiled(calibrate(pair, in_a_valley(None), run=valley, search=TRACES))
    found = weighed_samples(profile, np.random.default_rng(seed), 200).values
    again = weighed_samples(profile, np.random.default_rng(seed), 200).values
    assert np.array_equal(found, again)
    for n, one in enumerate(profile.report.parameters):
        low, high = one.interval
        for part in (found[:, n], found[:50, n]):
            assert low - 50_000 < part.min() < low + 0.2 * (high - low)
            assert high + 50_000 > part.max() > high - 0.25 * (high - low)
    # The sum is known to a part in a hundred over the root of six.
    assert np.std(found.sum(axis=1)) < 40_000


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_samples_fill_a_move_that_the_data_do_not_notice(make_fit: MakeFit, seed: int) -> None:
    free = starting(make_fit({SEND: (0, 1000), RECEIVE: (0, 1000)}), {SEND: 900, RECEIVE: 500})
    # The valley does not depend on the pipeline of the receiver at all.
    report = calibrate(free, in_a_valley(seed, 0.7), run=valley, search=TRACES)
    found = weighed_samples(profiled(report), np.random.default_rng(seed), 200)
    low, middle, high = np.quantile(found.values[:, 1], [0.05, 0.5, 0.95])
    assert low < 150_000
    # The median of 30 places scatters by 90 ns.
    assert 275_000 < middle < 725_000
    assert high > 850_000


def test_that_few_places_carry_the_weight_is_known(
    pair: Fit, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = profiled(calibrate(pair, in_a_valley(None), run=valley, search=TRACES))
    good = weighed_samples(profile, np.random.default_rng(1), 200)
    assert not good.poor
    # Proposals of the first order alone hardly meet the valley, which sets out where they end.
    blind = replace(profile, ends=np.empty((0, 2)))
    monkeypatch.setattr(sampling, "PROPOSALS", 5)
    before = profile.report.local.objective.evaluations
    assert weighed_samples(blind, np.random.default_rng(1), 200).poor
    # It has looked for more places than usual.
    assert profile.report.local.objective.evaluations > before + 2 * 5


def test_ways_with_more_room_get_more_places() -> None:
    """Along one the data leave a parameter open, where the first order does not see it."""
    known: Any = SimpleNamespace(start=np.array([0.1, 0.5]), spread=1e-4 * np.eye(2))
    mixture = Mixture.around(known, np.array([[0.9, 0.5], [0.1, 0.52]]))
    fit, wide, narrow = mixture.shares[0], mixture.shares[1:5].sum(), mixture.shares[5:].sum()
    assert wide > 2 * narrow
    assert fit > 0.25
    assert fit + wide + narrow == pytest.approx(1)


def test_proposals_that_are_far_too_wide_are_enough(curved_fit: Fit) -> None:
    """From proposals that are far too wide, as at a corner or beside a step."""
    report = calibrate(curved_fit, measured(3), run=run_curved, search=TRACES)
    sure = report.local.confidence
    wide = replace(sure, covariance=25 * sure.covariance)
    start = profiled(report).ends.mean(axis=0)
    spoilt = Profile(replace(report, local=replace(report.local, confidence=wide)), start[None])
    found = weighed_samples(spoilt, np.random.default_rng(1), 200)
    assert found.support >= ENOUGH
    for n, one in enumerate(report.parameters):
        assert np.std(found.values[:, n]) == pytest.approx(one.deviation, rel=0.4)


def test_what_has_steps_is_never_taken_for_bent(
    make_fit: MakeFit,
) -> None:
    entries = "adapters.mt25208.sqpc.entries"
    free = make_fit({SEND: (0, 1000), entries: FittedValue(value=64, bounds=(32, 128), multiple=4)})
    report = calibrate(free, in_a_valley(1, 0.7), run=valley, search=TRACES)
    before = report.local.objective.evaluations
    weighed_samples(profiled(report), np.random.default_rng(1), 50)
    assert report.local.objective.evaluations > before + sampling.PROPOSALS
    straight = calibrate(make_fit({SEND: (0, 1000)}), measured(1), run=run_curved, search=TRACES)
    before = straight.local.objective.evaluations
    weighed_samples(profiled(straight), np.random.default_rng(1), 50)
    assert straight.local.objective.evaluations < before + sampling.PROPOSALS


def test_a_better_place_that_is_come_upon_is_known(curved_fit: Fit) -> None:
    good = calibrate(curved_fit, measured(4), run=run_curved, search=TRACES)
    profile = profiled(good)
    assert profile.cheaper is None
    assert weighed_samples(profile, np.random.default_rng(1), 50).cheaper is None
    # Three points are met badly, which a look around mends.
    local = good.local
    lost = local.residuals + np.where(np.arange(len(local.residuals)) < 3, 5.0, 0.0)
    spoilt = replace(good, local=replace(local, residuals=lost))
    found = profiled(spoilt).cheaper
    assert found is not None
    assert local.loss.cost(local.objective.residuals(found)) < local.loss.cost(lost)
    assert weighed_samples(profiled(spoilt), np.random.default_rng(1), 50).cheaper is not None
    # Where errors are so large that this is nothing, it is no better place.
    blurred = replace(local, residuals=lost, confidence=replace(local.confidence, scale=1e3))
    assert profiled(replace(good, local=blurred)).cheaper is None


# Of 60 and 20 bands of 90 %, 54 and 18 are expected to hold; of 9 and 3, 8 and 3.
@pytest.mark.parametrize(
    ("fits", "least", "least_in_valley"),
    [(3, 6, 1), pytest.param(20, 48, 14, marks=pytest.mark.check)],
)
def test_bands_hold_the_truth_at_the_stated_rate(
    pair: Fit, curved_fit: Fit, fits: int, least: int, least_in_valley: int
) -> None:
    held, in_valley = [], []
    for seed in range(fits):
        rng = np.random.default_rng(seed)
        profile = profiled(calibrate(curved_fit, measured(seed), run=run_curved, search=TRACES))
        ends = band(weighed_samples(profile, rng, 50).values)
        held += [
            low <= value <= high for low, high, value in zip(*ends, TRUTH.values(), strict=True)
        ]
        # The truth is anywhere in the valley, not where the search sets out.
        send = float(np.random.default_rng(1000 + seed).uniform(0.0, 0.8))
        seen = in_a_valley(seed, send, 1.0 - send)
        profile = profiled(calibrate(pair, seen, run=valley, search=TRACES))
        low, high = band(weighed_samples(profile, rng, 50).values)[:, 0]
        in_valley.append(low <= 1e6 * send <= high)
    assert sum(held) >= least, sum(held)
    assert sum(in_valley) >= least_in_valley, sum(in_valley)


def band(values: Array) -> Array:
    """Return the ends of the bands as `bench --uncertainty` takes them."""
    ends: Array = np.quantile(values, [0.05, 0.95], axis=0, method="weibull")
    return ends
