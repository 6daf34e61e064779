"""A calibration as a fit to traces makes it."""

from pathlib import Path
from typing import Any

from hcasim.calibrate import Calibration

SEND = "adapters.mt25208.send.latency"
READ = "hosts.xeon-e7520.memory.read_latency"
LANES = "adapters.mt25208.bus.lanes"


def contents() -> dict[str, Any]:
    """Return what its file holds: two parameters, of an adapter and of a host."""
    send = {
        "value": "900 ns",
        "interval": ["850 ns", "950 ns"],
        "bounds": ["0 ns", "7.9 us"],
        "start": "790 ns",
        "claims": ["write_lat"],
        "verdict": "identified",
        "samples": [890_000, 910_000],
    }
    read = {
        "value": "300 ns",
        "interval": ["0 ns", "4.5 us"],
        "bounds": ["0 ns", "4.5 us"],
        "start": "300 ns",
        "verdict": "not at all",
        "samples": [0, 600_000],
    }
    trace = {
        "name": 'a "quoted" name.jsonl',
        "sha256": "0" * 64,
        "tool": "hcasim 0.1.0",
        "device": "mt25208",
        "points": 5,
    }
    curve = {
        "curve": "write_lat",
        "role": "fitted",
        "points": 5,
        "mean_error_percent": -0.1,
        "worst_error_percent": 0.2,
        "rms_deviations": 0.5,
    }
    made = {
        "hcasim": "0.1.0",
        "command": "hcasim calibrate",
        "testbed": "liu2004",
        "adapter": "mt25208",
        "mtu": 1024,
        "no_switch": False,
        "seed": 0,
        "loss": "soft_l1",
        "floor_percent": 1.0,
        "intervals": "profile",
        "converged": True,
        "evaluations": 20,
        "observations": 5,
        "held_out": 0,
        "cost": 0.5,
        "inflation": 1.0,
        "notes": ["a note"],
    }
    return {
        "id": "liu2004-mt25208",
        "title": "title",
        "notes": "notes",
        "entries": {SEND: send, READ: read},
        "settings": {LANES: "4"},
        "traces": [trace],
        "curves": [curve],
        "made": made,
    }


def of_liu2004(file: Path) -> Calibration:
    return Calibration.at(file, contents())
