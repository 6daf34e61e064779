"""Models that take no time, and what would be measured of them with errors."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from hcasim.calibrate.observation import Observation
from hcasim.catalog import Fit
from hcasim.runs.experiment import Experiment
from hcasim.runs.point import Point

SEND = "adapters.mt25208.send.latency"
RECEIVE = "adapters.mt25208.receive.latency"
QUEUE = "adapters.mt25208.receive_queue.latency"
RESPONDER = "adapters.mt25208.responder.latency"
BRIDGE = "hosts.xeon-e7520.pcix_bridge.latency"
TRUTH = {SEND: 700_000, QUEUE: 300_000, RESPONDER: 2_000_000}
MakeFit = Callable[..., Fit]
Observe = Callable[..., Observation]
Run = Callable[[Sequence[Point]], list[dict[str, Any]]]
NO_QUEUE = {"adapter.receive_queue.latency": "0 ns"}
WORKLOADS = ("write_lat", "send_lat", "read_lat")


def curved(trial: Point) -> dict[str, Any]:
    """A model that is bent in one of its three parameters."""
    adapter = trial.machine.adapter
    base = 1.0 + trial.options.size / 1000
    time = adapter.send.latency / 1e6
    if trial.workload != "write_lat":
        time += (adapter.receive_queue.latency / 1e6) ** 1.2
    if trial.workload == "read_lat":
        time += adapter.responder.latency / 1e6
    return {"latency_us": base + time}


def run_curved(trials: Sequence[Point]) -> list[dict[str, Any]]:
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
                    experiments=(Experiment.of(workload, "liu2004", adapter="mt25208", size=size),),
                    field="latency_us",
                    published=Decimal(f"{seen:.7g}"),
                    unit="us",
                    tolerance=spread * base / seen,
                    error=spread * base,
                    curve=workload,
                )
            )
    return found


def valley(trials: Sequence[Point]) -> list[dict[str, Any]]:
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
                experiments=(Experiment.of("write_lat", "liu2004", adapter="mt25208", size=size),),
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
        path: entry.model_copy(update={"start": f"{starts[path]} ns"})
        for path, entry in fit.entries.items()
    }
    return fit.model_copy(update={"entries": entries})
