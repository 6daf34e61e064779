"""A calibration as a fit to traces makes it."""

from pathlib import Path

from hcasim.calibrate.file.calibration import Calibration
from hcasim.catalog import Fit, FittedValue

SEND = "adapters.mt25208.send.latency"
READ = "hosts.xeon-e7520.memory.read_latency"
LANES = "adapters.mt25208.bus.lanes"


def of_liu2004(file: Path) -> Calibration:
    """Return one with two parameters, of an adapter and of a host."""
    send = FittedValue(
        "900 ns",
        ("850 ns", "950 ns"),
        ("write_lat",),
        bounds=("0 ns", "7.9 us"),
        start="790 ns",
        verdict="identified",
    )
    read = FittedValue(
        "300 ns", ("0 ns", "4.5 us"), bounds=("0 ns", "4.5 us"), verdict="not at all"
    )
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
    return Calibration(
        Fit("liu2004-mt25208", "title", "notes", file, {SEND: send, READ: read}),
        made,
        {LANES: "4"},
        (trace,),
        (curve,),
        {SEND: (890_000, 910_000), READ: (0, 600_000)},
    )
