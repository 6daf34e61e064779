"""A fit finds what made the numbers, whatever it starts from, and twice the same."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from hcasim.calibrate import descent
from hcasim.calibrate.descent import searched
from hcasim.calibrate.fit import calibrate
from hcasim.calibrate.objective import simulate
from hcasim.calibrate.observation import Observation
from hcasim.calibrate.parameters import free_parameters
from hcasim.calibrate.report import FitReport
from hcasim.catalog import CatalogError, FittedValue, list_ids, load_fit, resolve
from hcasim.papers.observations import observations
from hcasim.runs.experiment import Experiment
from hcasim.runs.point import Point
from hcasim.workloads import Options
from tests.unit.calibrate.toys import QUEUE, RECEIVE, RESPONDER, SEND, MakeFit, Observe

FREE = {SEND: (0, 2000), RECEIVE: SEND, QUEUE: (0, 2000), RESPONDER: (0, 9000)}
TRUE = {"send": 790, "receive": 790, "receive_queue": 41, "responder": 3074}


def invented(run: Any, observe: Observe, true: dict[str, int]) -> list[Observation]:
    """What a machine with known parameters measures, printed with seven digits."""
    overrides = {f"adapter.{name}.latency": f"{value} ns" for name, value in true.items()}
    machine = resolve("liu2004", adapter="mt25208", overrides=overrides)
    names = ("write_lat", "send_lat", "read_lat")
    seen = [observe(name, "1") for name in names]
    rows = run([Point(name, machine, Options()) for name in names])
    return [
        replace(one, published=Decimal(f"{row['latency_us']:.7f}"))
        for one, row in zip(seen, rows, strict=True)
    ]


def values(report: FitReport) -> dict[str, int]:
    return {one.path: one.value // 1000 for one in report.parameters}


def test_known_parameters_of_the_simulator_come_back(make_fit: MakeFit, observe: Observe) -> None:
    quick = Options(iters=20, warmup=2)
    true = {"adapter.send.latency": "412 ns", "adapter.responder.latency": "1733 ns"}
    machine = resolve("liu2004", overrides=true)
    seen = []
    for name in ("write_lat", "read_lat"):
        (row,) = simulate([Point(name, machine, quick)])
        printed = f"{row['latency_us']:.6f}"
        setup = Experiment.of(name, "liu2004", iters=20, warmup=2)
        seen.append(observe(name, printed, experiments=(setup,)))
    report = calibrate(make_fit({SEND: (0, 2000), RESPONDER: (0, 9000)}), seen)
    assert values(report) == {SEND: 412, RESPONDER: 1733}
    for one in report.parameters:
        low, high = one.interval
        assert low <= one.value <= high
        assert high - low <= 4000


@pytest.mark.parametrize("start", ["0 ns", "13 ns", "2 us"])
def test_the_start_does_not_matter(
    make_fit: MakeFit, observe: Observe, run: Any, start: str
) -> None:
    entries = {
        path: FittedValue(value="5 ns", bounds=("0 ns", "9 us"), start=start)
        for path in (SEND, QUEUE, RESPONDER)
    }
    report = calibrate(make_fit({**entries, RECEIVE: SEND}), invented(run, observe, TRUE), run=run)
    assert values(report) == {SEND: 790, QUEUE: 41, RESPONDER: 3074}


def test_the_same_input_gives_the_same_file_and_so_does_its_output(
    make_fit: MakeFit, observe: Observe, run: Any
) -> None:
    seen = invented(run, observe, TRUE)
    first, again = (calibrate(make_fit(FREE), seen, run=run) for _ in range(2))
    assert first.to_toml() == again.to_toml()
    assert first.to_dict() == again.to_dict()
    assert calibrate(first.result, seen, run=run).to_toml() == first.to_toml()


def test_a_number_that_comes_twice_weighs_no_more(
    make_fit: MakeFit, observe: Observe, run: Any
) -> None:
    fit_ = make_fit({SEND: (0, 2000)})
    seen = [observe("write_lat", "2.30"), observe("send_lat", "3.00")]
    once = calibrate(fit_, seen, run=run)
    twice = calibrate(fit_, [*seen, replace(seen[0], id="again")], run=run)
    assert values(once) == values(twice)
    assert once[SEND].interval == twice[SEND].interval
    assert [one.ids for one in twice.residuals] == ["write_lat, again", "send_lat"]


class Straight:
    """Three observations that are straight in two parameters, in widths of 1 us."""

    matrix = np.array([[1.0, 2.0], [3.0, 1.0], [1.0, 2.0]])
    best = np.array([1.0, 0.6])

    scales = np.ones(3)

    def residuals(self, point: dict[str, int]) -> Any:
        return self.matrix @ (np.array([point[SEND], point[QUEUE]]) / 1e6 - self.best)

    def slopes(self, *words: Any, **settings: Any) -> Any:
        return self.matrix / 1e6


def test_the_search_finds_out_of_a_corner(make_fit: MakeFit) -> None:
    """From here the first of its two methods ends where it should not."""
    bounds = ("0 ns", "1 us")
    entries = {
        SEND: FittedValue(value="0 ns", bounds=bounds, start="500 ns"),
        QUEUE: FittedValue(value="0 ns", bounds=bounds, start="0 ns"),
    }
    objective: Any = Straight()
    found = searched(objective, free_parameters(make_fit(entries)))
    assert found.converged
    assert found.values[SEND] == pytest.approx(1_000_000, abs=1000)
    assert found.values[QUEUE] == pytest.approx(600_000, abs=1000)


def test_every_fault_of_the_fit_is_found_before_anything_is_simulated(
    make_fit: MakeFit, observe: Observe
) -> None:
    def never(trials: Sequence[Point]) -> list[dict[str, Any]]:
        raise AssertionError("simulated")

    bad = make_fit({SEND: FittedValue(value="1 ns"), QUEUE: FittedValue(value="1 ns")})
    with pytest.raises(CatalogError) as caught:
        calibrate(bad, [observe("write_lat", "3.8")], run=never)
    assert len(caught.value.faults) == 2


def test_a_search_that_does_not_end_is_no_fit(
    make_fit: MakeFit, observe: Observe, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(descent, "ROUNDS", 1)
    report = calibrate(make_fit(FREE), invented(run, observe, TRUE), run=run)
    assert not report.converged
    assert report.closing_lines()[-1].endswith("not a fit")


@pytest.mark.check
def test_the_shipped_fit_is_that_of_this_simulator() -> None:
    """If this fails, the model has changed: hcasim calibrate liu2004 -o calibration/fits/..."""
    for one in observations(load_fit("liu2004")):
        trials = [point for asked in one.experiments for point in asked.benchmark()]
        assert one.read(simulate(trials)) == pytest.approx(float(one.published), rel=1e-3), one.id


@pytest.mark.parametrize("identifier", list_ids("calibrations"))
def test_a_shipped_fit_names_only_fitted_claims(identifier: str) -> None:
    fit = load_fit(identifier)
    fitted = {one.id for one in observations(fit)}
    for entry in fit.entries.values():
        assert set(entry.claims) <= fitted
        assert entry.claims
        assert entry.interval is not None


@pytest.mark.check
@pytest.mark.parametrize("identifier", ["pcie-bench", "pcie-bench-iommu", "rashti2007"])
def test_a_shipped_fit_comes_again(identifier: str) -> None:
    fit = load_fit(identifier)
    again = calibrate(fit, observations(fit)).result
    assert {path: one.value for path, one in again.entries.items()} == {
        path: one.value for path, one in fit.entries.items()
    }
