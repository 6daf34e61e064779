"""Bands of a benchmark are quantiles over samples of a calibration, and hold what was fitted."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import hcasim.workloads
from hcasim.calibrate import Calibration
from hcasim.catalog import CatalogError, Machine
from hcasim.runs.benchmark import Benchmark, run_benchmark
from hcasim.runs.experiment import Experiment
from hcasim.study.bands import with_bands
from hcasim.workloads import Options, Result

SEND = "adapters.mt25208.send.latency"
Banded = Callable[..., Benchmark]


def calibration(samples: int) -> Calibration:
    send = {"value": "790 ns", "samples": list(range(samples))}
    return Calibration.at(Path("cal.toml"), {"id": "liu2004", "entries": {SEND: send}})


def test_the_first_samples_are_taken() -> None:
    assert [*calibration(30).chosen_samples(3)] == [0, 1, 2]
    assert len(calibration(30).chosen_samples(30)) == 30


@pytest.mark.parametrize(
    ("count", "wanted", "fault"),
    [
        (30, 1, "found 1; allowed: 2 to 30, the samples of cal.toml"),
        (30, 31, "found 31; allowed: 2 to 30, the samples of cal.toml"),
        (0, 2, "cal.toml has no samples; it was not fitted to traces"),
    ],
)
def test_samples_that_are_not_there_are_refused(count: int, wanted: int, fault: str) -> None:
    with pytest.raises(CatalogError) as caught:
        calibration(count).chosen_samples(wanted)
    assert caught.value.faults == [f"--uncertainty: {fault}"]


@pytest.fixture
def banded(monkeypatch: pytest.MonkeyPatch) -> Banded:
    """Return a benchmark with bands over latencies of sending (ns), of a model without time."""

    def run(name: str, machine: Machine, options: Options, log: object = None) -> Result:
        latency = machine.adapter.send.latency / 1e3 + options.size / 8 * 1000
        bandwidth = 1e6 / machine.adapter.send.latency
        row = {"size": options.size, "qps": 1, "latency_us": latency}
        row |= {"bandwidth_MBps": bandwidth, "rate_Mps": 2 * bandwidth}
        return Result(row, {}, {})

    monkeypatch.setattr(hcasim.workloads, "run_point", run)

    def make(
        fitted: int, samples: Sequence[int], workload: str = "write_lat", **given: Any
    ) -> Benchmark:
        def points(value: int) -> Any:
            overrides = {"adapter.send.latency": f"{value} ns"}
            return Experiment.of(workload, "liu2004", size="8,16", overrides=overrides).benchmark()

        # Workers do not know the model that stands for the simulator here.
        found = run_benchmark(points(fitted), jobs=1)
        return with_bands(found, [points(one) for one in samples], **{"jobs": 1, **given})

    return make


def ends(result: Benchmark, row: int = 0) -> tuple[float, float]:
    found = result.curve.rows[row]
    return found["latency_us_low"], found["latency_us_high"]


def shuffled(count: int) -> list[int]:
    """Return 1, 2, ... in another order; 7 divides none of the counts that are used."""
    return [1 + 7 * n % count for n in range(count)]


@pytest.mark.parametrize(
    ("count", "low", "high"),
    [
        # Rank 0.05 (n + 1) and 0.95 (n + 1): definition 6 of Hyndman and Fan, 1996.
        (19, 1, 19),
        (39, 2, 38),
        (99, 5, 95),
        (29, 1.5, 28.5),
        (20, 1.05, 19.95),
        # Fewer than 19 have no such ranks: all of them are in the band.
        (18, 1, 18),
        (2, 1, 2),
    ],
)
def test_quantiles_follow_definition_6(count: int, low: float, high: float, banded: Banded) -> None:
    samples = shuffled(count)
    assert sorted(samples) == [*range(1, count + 1)]
    result = banded(10 if count > 2 else 1, samples)
    assert ends(result) == pytest.approx((1000 + low, 1000 + high), rel=1e-12)
    assert ends(result, 1) == pytest.approx((2000 + low, 2000 + high), rel=1e-12)


@pytest.mark.parametrize(("fitted", "low", "high"), [(100, 100, 219), (300, 201, 300)])
def test_a_band_holds_what_was_fitted(fitted: int, low: int, high: int, banded: Banded) -> None:
    result = banded(fitted, range(201, 220))
    assert ends(result) == pytest.approx((1000 + low, 1000 + high), rel=1e-12)
    assert result.curve.rows[0]["latency_us"] == pytest.approx(1000 + fitted, rel=1e-12)


def test_each_result_has_its_own_band(banded: Banded) -> None:
    result = banded(10, range(1, 20), workload="window_bw")
    row = result.curve.rows[0]
    assert row["bandwidth_MBps_low"] == pytest.approx(1000 / 19, rel=1e-12)
    assert row["bandwidth_MBps_high"] == pytest.approx(1000, rel=1e-12)
    assert row["rate_Mps_low"] == pytest.approx(2000 / 19, rel=1e-12)
    assert row["rate_Mps_high"] == pytest.approx(2000, rel=1e-12)
    assert {"bandwidth_MBps", "bandwidth_MBps_low", "rate_Mps_high"} <= {*result.shown}


def test_equal_samples_are_simulated_once(banded: Banded) -> None:
    told: list[tuple[int, int]] = []
    result = banded(5, [5, 5, 6, 6], progress=lambda done, total: told.append((done, total)))
    assert ends(result) == pytest.approx((1005, 1006), rel=1e-12)
    assert told[-1] == (4, 4)
