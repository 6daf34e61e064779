"""What is measured and in which units: the key of a row, what is best, and how it is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

FIELDS = {
    "latency": "latency_us",
    "bandwidth": "bandwidth_MBps",
    "memory": "total_KiB",
    "time": "time_us",
}
"""The key of a row that holds a quantity."""

BEST = {"latency": min, "bandwidth": max, "memory": max, "time": min}
"""Which of several values an author reports as the peak."""

UNITS: Mapping[str, Mapping[str, float]] = {
    "latency": {"us": 1.0},
    "bandwidth": {"MB/s": 1.0, "MiB/s": 1e6 / 2**20, "Gbit/s": 8 / 1e3},
    "memory": {"KiB": 1.0, "MiB": 1 / 2**10},
    "time": {"us": 1.0},
}
"""By quantity, the units of claims and how much of each is one of the unit of the row."""

_UNITS = {"us": "us", "MBps": "MB/s", "Mbps": "2^20 bit/s", "Mps": "M/s", "KiB": "KiB"}


def measured(names: Iterable[str]) -> tuple[str, ...]:
    """Return those keys of a row that are results; the others say how it was measured."""
    return tuple(name for name in names if name.rpartition("_")[2] in _UNITS)


def band_fields(field: str) -> tuple[str, str]:
    """Return the keys of a row that hold the quantiles of 5 and 95 % of another."""
    words, _, unit = field.rpartition("_")
    return f"{words}_p5_{unit}", f"{words}_p95_{unit}"


def derivable(fields: Iterable[str]) -> tuple[str, ...]:
    """Return what can be said of rows with these keys: the keys, and what follows from them."""
    found = dict.fromkeys(fields)
    if "latency_us" in found:
        found["bandwidth_MBps"] = None
    return tuple(found)


def result(row: Mapping[str, Any], field: str) -> float:
    """Return one result of a row.

    The bandwidth of a latency benchmark is what one message after the other carries: its bytes
    over its latency.

    Parameters:
        row: of a benchmark.
        field: one of `derivable` of its keys.
    """
    derived = field == "bandwidth_MBps" and field not in row
    value: float = row["size"] / row["latency_us"] if derived else row[field]
    return value


def title(field: str) -> str:
    """Write a key of a row as a title: "Latency (us)", "Total (KiB)"."""
    words, _, unit = field.rpartition("_")
    text = words.replace("_", " ")
    return f"{text[:1].upper()}{text[1:]} ({_UNITS[unit]})" if unit in _UNITS else field
