"""A replay that takes no time: numbers from a formula instead of a simulation."""

import json
import shutil
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

import pytest

import hcasim.workloads
from hcasim.catalog import Machine, folders
from hcasim.runs import executor
from hcasim.runs.curve import Curve
from hcasim.workloads import Options, Result

Edit = Callable[[str, str], None]
READ = (
    *("sqpc_miss_cnt", "switch_discards", "rx_discards_phy", "port_xmit_packets"),
    *("port_rcv_packets", "out_of_sequence", "rp_cnp_handled", "np_cnp_sent"),
)
"""Counters that tests and scenarios read."""


def formula(name: str, machine: Machine, options: Options, log: object = None) -> Result:
    """Latencies grow with the size, bandwidths saturate, and PCI Express is faster."""
    pcie = machine.adapter.bus.kind == "pcie"
    peak = 1000.0 if pcie else 800.0
    bandwidth = peak * options.size / (options.size + 1000)
    each = 48.0 if getattr(machine.adapter, "firmware_mode", "") == "memfree" else 16.0
    numbers = {
        "latency_us": (4.0 if pcie else 5.0) + (options.size + options.qps - 1) / 1000,
        "bandwidth_MBps": bandwidth,
        "rate_Mps": peak / (options.size + 1000),
        "total_KiB": 8192.0 + options.qps * each,
    }
    fields = hcasim.workloads.WORKLOADS[name].fields
    row: dict[str, Any] = {"size": options.size, "qps": options.qps}
    row |= {field: numbers.get(field, 1.0) for field in fields}
    breakdown = {"stages": [], "total_us": 0.0} if options.explain else {}
    counted = READ if machine.shares_memory else READ[:1]
    return Result(row, dict.fromkeys(counted, 1), breakdown)


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], list[Any]]:
    """Replace the simulation; give the points that have been run, in any process."""
    record = tmp_path / "points.jsonl"

    def run(name: str, machine: Machine, options: Options, log: object = None) -> Result:
        with record.open("a") as stream:
            stream.write(json.dumps([name, machine.adapter.id, options.size, options.mode]) + "\n")
        return formula(name, machine, options, log)

    monkeypatch.setattr(hcasim.workloads, "run_point", run)
    # Workers would simulate what is long.
    monkeypatch.setattr(executor, "FIRST", inf)
    monkeypatch.setenv("HCASIM_CACHE", "")
    return lambda: [json.loads(line) for line in record.read_text().splitlines()]


@pytest.fixture
def edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: Path) -> Edit:
    """Damage a copy of the third figure's scenario, which is then the one that is read."""
    for folder in ("models", "scenarios", "calibration"):
        shutil.copytree(root / folder, tmp_path / folder)
    monkeypatch.setattr(folders, "roots", lambda: (tmp_path,))
    monkeypatch.chdir(tmp_path)

    def replace(old: str, new: str) -> None:
        file = tmp_path / "scenarios" / "liu2004" / "fig03.toml"
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new, 1))

    return replace


def latencies(name: str, values: dict[int, float]) -> Curve:
    """A curve of latencies by size."""
    rows = tuple({"size": n, "qps": 1, "latency_us": one} for n, one in values.items())
    return Curve(name, name.upper(), rows)


@pytest.fixture
def curve() -> Callable[[str, dict[int, float]], Curve]:
    """Make a curve of latencies by size."""
    return latencies
