"""A model that takes no time: latencies that are sums of parameters, as on a real machine."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hcasim.calibrate.observation import Observation
from hcasim.catalog import Fit, FittedValue
from hcasim.runs.experiment import Experiment
from hcasim.runs.point import Point
from tests.unit.calibrate.toys import QUEUE, RESPONDER, SEND, MakeFit, Observe, Run, starting


def formula(trial: Point) -> float:
    """Latency in microseconds; a send also bends a little, as no real model is straight."""
    adapter = trial.machine.adapter
    pipeline = adapter.send.latency + adapter.receive.latency
    total = {
        "write_lat": 1_000_000 + pipeline,
        "send_lat": 1_500_000 + pipeline + adapter.receive_queue.latency,
        "read_lat": 2_000_000 + 2 * pipeline + adapter.responder.latency,
    }[trial.workload]
    bend = (adapter.receive_queue.latency / 1e7) ** 2 if trial.workload == "send_lat" else 0.0
    return total / 1e6 + bend


@pytest.fixture
def run() -> Run:
    """Compute the points instead of simulating them."""
    return lambda trials: [{"latency_us": formula(one)} for one in trials]


@pytest.fixture
def make_fit() -> MakeFit:
    """Make a fit of entries by path; text is a tie, a pair is bounds in ns."""

    def make(entries: dict[str, Any]) -> Fit:
        built = {}
        for path, entry in entries.items():
            if isinstance(entry, tuple):
                entry = FittedValue(value="0 ns", bounds=tuple(f"{one} ns" for one in entry))
            built[path] = FittedValue(tied_to=entry) if isinstance(entry, str) else entry
        contents = {"id": "invented", "title": "title", "notes": "notes", "entries": built}
        return Fit.at(Path("invented.toml"), contents)

    return make


@pytest.fixture
def observe() -> Observe:
    """Make an observation of a workload; its id is the workload's name unless one is given."""

    def make(workload: str, published: str, **changes: Any) -> Observation:
        setup = Experiment.of(workload, "liu2004", adapter="mt25208")
        fields: dict[str, Any] = {
            "id": workload,
            "experiments": (setup,),
            "field": "latency_us",
            "published": Decimal(published),
            "unit": "us",
            "tolerance": 0.05,
        }
        return Observation(**{**fields, **changes})

    return make


@pytest.fixture
def curved_fit(make_fit: MakeFit) -> Fit:
    """A fit of all that the curved model has."""
    return make_fit({SEND: (0, 3000), QUEUE: (0, 3000), RESPONDER: (0, 9000)})


@pytest.fixture
def pair(make_fit: MakeFit) -> Fit:
    """A fit of two quantities of which the valley shows the sum."""
    free = make_fit({SEND: (0, 8000), QUEUE: (0, 1000)})
    return starting(free, {SEND: 800, QUEUE: 200})
