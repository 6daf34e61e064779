"""The objective simulates what it does not know yet, and only that."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from hcasim.calibrate.objective import Objective, runner, simulate
from hcasim.calibrate.parameters import free_parameters
from hcasim.catalog import resolve
from hcasim.runs.experiment import Experiment
from hcasim.runs.point import Point
from hcasim.workloads import Options
from tests.unit.calibrate.toys import BRIDGE, QUEUE, SEND, MakeFit, Observe, Run


def test_points_of_one_batch_are_simulated_together_and_once(
    make_fit: MakeFit, observe: Observe, run: Run
) -> None:
    asked: list[int] = []

    def counted(trials: Sequence[Point]) -> list[dict[str, Any]]:
        asked.append(len(trials))
        return run(trials)

    free = free_parameters(make_fit({SEND: (0, 100)}))
    objective = Objective([observe("write_lat", "1"), observe("send_lat", "1")], free, counted)
    first, again, other = objective.simulated([{SEND: 1000}, {SEND: 1000}, {SEND: 2000}])
    assert asked == [4]
    assert first.tolist() == again.tolist()
    assert (other - first).tolist() == pytest.approx([1e-3, 1e-3])
    objective.simulated([{SEND: 2000}])
    assert asked == [4]
    assert objective.evaluations == 2


def test_a_parameter_of_another_machine_asks_for_nothing_new(
    make_fit: MakeFit, observe: Observe, run: Run
) -> None:
    asked: list[str] = []

    def named(trials: Sequence[Point]) -> list[dict[str, Any]]:
        asked.extend(one.machine.adapter.id for one in trials)
        return run(trials)

    other = "adapters.mt23108.send.latency"
    old = (Experiment.of("write_lat", "liu2004", adapter="mt23108"),)
    seen = [observe("write_lat", "1"), observe("write_lat", "1", experiments=old)]
    objective = Objective(seen, free_parameters(make_fit({SEND: (0, 9), other: (0, 9)})), named)
    objective.simulated([{SEND: 1000, other: 1000}])
    objective.simulated([{SEND: 1000, other: 2000}])
    assert asked == ["mt25208", "mt23108", "mt23108"]


def test_residuals_are_relative_errors_in_tolerances(
    make_fit: MakeFit, observe: Observe, run: Run
) -> None:
    free = free_parameters(make_fit({SEND: (0, 100), "adapters.mt25208.receive.latency": SEND}))
    objective = Objective([observe("write_lat", "0.8")], free, run)
    point = dict.fromkeys(free[0].paths, 0)
    assert objective.residuals(point).tolist() == pytest.approx([0.25 / 0.05])


@pytest.mark.parametrize("central", [True, False])
@pytest.mark.parametrize("value", [0, 50_000, 100_000])
def test_slopes_stay_within_the_bounds(
    make_fit: MakeFit, observe: Observe, run: Run, value: int, central: bool
) -> None:
    tried: list[int] = []

    def noted(trials: Sequence[Point]) -> list[dict[str, Any]]:
        tried.extend(one.machine.adapter.send.latency for one in trials)
        return run(trials)

    free = free_parameters(make_fit({SEND: (0, 100)}))
    objective = Objective([observe("write_lat", "1"), observe("read_lat", "1")], free, noted)
    slopes = objective.slopes({SEND: value}, free, central=central)
    assert slopes.ravel().tolist() == pytest.approx([1e-6, 2e-6])
    assert min(tried) >= 0
    assert max(tried) <= 100_000


def test_central_differences_are_exact_for_a_bend(
    make_fit: MakeFit, observe: Observe, run: Run
) -> None:
    free = free_parameters(make_fit({QUEUE: (0, 1000)}))
    objective = Objective([observe("send_lat", "1")], free, run)
    slope = objective.slopes({QUEUE: 500_000}, free)[0, 0]
    assert slope == pytest.approx(1e-6 + 2 * 500_000 / 1e14, rel=1e-9)


def test_settings_reach_the_simulator(make_fit: MakeFit, observe: Observe) -> None:
    free = free_parameters(make_fit({SEND: (0, 1000), BRIDGE: (0, 1000)}))
    old = (Experiment.of("write_lat", "liu2004", adapter="mt23108", iters=20, warmup=2),)
    objective = Objective([observe("write_lat", "1", experiments=old)], free, simulate)
    low, high = objective.simulated([{SEND: 0, BRIDGE: 0}, {SEND: 0, BRIDGE: 100_000}])
    assert np.all(high > low)


def test_a_point_runs_in_the_firmware_mode_of_its_series(
    make_fit: MakeFit, observe: Observe, run: Run
) -> None:
    asked: list[str] = []

    def named(trials: Sequence[Point]) -> list[dict[str, Any]]:
        asked.extend(one.machine.adapter.firmware_mode for one in trials)
        return run(trials)

    setups = tuple(
        Experiment.of("write_lat", "sur2005", adapter="mt25218", firmware_mode=mode)
        for mode in (None, "memfree")
    )
    both = observe("write_lat", "1", experiments=setups)
    Objective([both], free_parameters(make_fit({BRIDGE: (0, 100)})), named).simulated([{}])
    assert sorted(asked) == ["mem", "memfree"]


def test_a_point_runs_with_what_its_authors_changed(
    make_fit: MakeFit, observe: Observe, run: Run
) -> None:
    asked: list[tuple[bool, int]] = []

    def noted(trials: Sequence[Point]) -> list[dict[str, Any]]:
        bridges = [one.machine.host.pcix_bridge for one in trials]
        asked.extend((one.streaming, one.latency) for one in bridges)
        return run(trials)

    flag = "host.pcix_bridge.streaming"
    setups = tuple(
        Experiment.of("write_lat", "liu2004", adapter="mt23108", overrides=changed)
        for changed in ({}, {flag: "false"})
    )
    both = observe("write_lat", "1", experiments=setups)
    Objective([both], free_parameters(make_fit({BRIDGE: (0, 100)})), noted).simulated(
        [{BRIDGE: 7000}]
    )
    assert sorted(asked) == [(False, 7000), (True, 7000)]


def test_the_points_of_a_batch_run_in_parallel_and_in_order(
    simulated: Callable[[], list[Any]],
) -> None:
    machine = resolve("liu2004")
    told: list[tuple[int, int]] = []
    run = runner(jobs=2, progress=lambda done, total: told.append((done, total)))
    sizes = (8, 64, 512)
    trials = [Point("write_lat", machine, Options(size=size)) for size in sizes]
    assert [row["size"] for row in run(trials)] == list(sizes)
    assert [row["size"] for row in run(trials[:1])] == [8]
    assert told[0] == (0, 3)
    assert told[-1] == (4, 4)
    assert len(simulated()) == 4


@pytest.mark.parametrize(
    ("printed", "rounding"),
    [("3.8", 0.05), ("9.0", 0.05), ("9", 0.5), ("781", 0.5), ("0.125", 5e-4)],
)
def test_the_uncertainty_is_half_a_unit_of_the_last_printed_digit(
    observe: Observe, printed: str, rounding: float
) -> None:
    assert observe("write_lat", printed).rounding == pytest.approx(rounding, rel=1e-12)


def test_the_best_of_several_points_is_read(observe: Observe) -> None:
    rows = [{"latency_us": 3.0}, {"latency_us": 2.0}, {"latency_us": 4.0}]
    assert observe("write_lat", "1").read(rows) == 2.0
    assert observe("write_lat", "1", best="max").read(rows) == 4.0
