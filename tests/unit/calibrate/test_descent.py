"""A search looks where slopes do not lead, and sets out where it is told."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from hcasim.calibrate.descent import PLACES, TRACES, searched
from hcasim.calibrate.objective import Objective
from hcasim.calibrate.observation import Observation
from hcasim.calibrate.parameters import free_parameters
from hcasim.catalog import FittedValue
from hcasim.runs.experiment import Experiment
from hcasim.runs.point import Point
from tests.unit.calibrate.toys import SEND, MakeFit, measured, run_curved

ENTRIES = "adapters.mt25208.sqpc.entries"


def run_full(trials: Sequence[Point]) -> list[dict[str, Any]]:
    """Latencies that are higher beyond what a cache holds."""
    return [
        {"latency_us": 5.0 + 3.0 * (one.options.qps > one.machine.adapter.sqpc.entries)}
        for one in trials
    ]


def full(truth: int, counts: Sequence[int]) -> list[Observation]:
    return [
        Observation(
            id=f"{qps}",
            experiments=(Experiment.of("write_lat", "liu2004", size=8, qps=qps),),
            field="latency_us",
            published=Decimal("8" if qps > truth else "5"),
            unit="us",
            tolerance=0.01,
            error=0.05,
        )
        for qps in counts
    ]


@pytest.mark.parametrize(
    ("bounds", "truth"),
    [
        ((8, 256), 112),  # between two of the first places
        ((4, 4096), 16),  # far down, where even steps over the bounds leave out most
    ],
)
def test_a_step_is_found_to_the_entry(
    make_fit: MakeFit, bounds: tuple[int, int], truth: int
) -> None:
    low, high = bounds
    entry = FittedValue(value=high, bounds=(low, high), start=high, multiple=4)
    seen = full(truth, (truth - 4, truth, truth + 4))
    free = free_parameters(make_fit({ENTRIES: entry}))
    found = searched(Objective(seen, free, run_full), free, TRACES)
    assert found.converged
    assert found.values == {ENTRIES: truth}


def test_a_search_that_is_told_where_to_begin_does_not_look_around(make_fit: MakeFit) -> None:
    entry = FittedValue(value=64, bounds=(8, 256), start=64, multiple=4)
    free = free_parameters(make_fit({ENTRIES: entry}))
    asked: list[int] = []

    def run(trials: Sequence[Point]) -> list[dict[str, Any]]:
        asked.extend(one.machine.adapter.sqpc.entries for one in trials)
        return run_full(trials)

    objective = Objective(full(112, (108, 112, 116)), free, run)
    found = searched(objective, free, replace(TRACES, begin={ENTRIES: 112}))
    assert asked[0] == 112
    assert objective.evaluations < PLACES
    assert found.values == {ENTRIES: 112}


def test_a_search_sets_out_from_the_start_unless_it_is_told(make_fit: MakeFit) -> None:
    free = free_parameters(
        make_fit({SEND: FittedValue(value="0 ns", bounds=("0 ns", "3 us"), start="500 ns")})
    )
    asked: list[int] = []

    def run(trials: Sequence[Point]) -> list[dict[str, Any]]:
        asked.extend(one.machine.adapter.send.latency for one in trials)
        return run_curved(trials)

    seen = measured(1)[:6]
    for begin, first in ((None, 500_000), ({SEND: 1_234_000}, 1_234_000)):
        asked.clear()
        searched(Objective(seen, free, run), free, replace(TRACES, begin=begin))
        assert asked[0] == first
