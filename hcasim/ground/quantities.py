"""What is measured: the key of a row, its units, which way is better, and how it is written."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Quantity:
    """Something that is measured.

    Parameters:
        field: the key of a row that holds it, in `unit`.
        best: which of several values an author reports as the peak.
        units: of claims: how many of each are one of `unit`, and the decimals it is written with.
        trace: unit in a trace, and how many of it are one of `unit`; none if no trace holds it.
    """

    field: str
    unit: str
    best: Callable[..., Any]
    units: Mapping[str, tuple[float, int]]
    trace: tuple[str, float] | None = None

    def factor(self, unit: str) -> float:
        """Return how much of a unit of claims is one of the row's; 1 if it is not one of those."""
        return self.units.get(unit, (1.0, 0))[0]


QUANTITIES: Mapping[str, Quantity] = {
    "latency": Quantity("latency_us", "us", min, {"us": (1.0, 2), "ns": (1e3, 0)}, ("ns", 1e3)),
    "time": Quantity(
        "time_us", "us", min, {"us": (1.0, 2), "ms": (1e-3, 1), "s": (1e-6, 2)}, ("ns", 1e3)
    ),
    "bandwidth": Quantity(
        "bandwidth_MBps",
        "MB/s",
        max,
        {"MB/s": (1.0, 0), "GB/s": (1 / 1e3, 2), "MiB/s": (1e6 / 2**20, 0), "Gbit/s": (8 / 1e3, 2)},
        ("MB/s", 1.0),
    ),
    "rate": Quantity("rate_Mps", "M/s", max, {"M/s": (1.0, 2), "k/s": (1e3, 1)}, ("M/s", 1.0)),
    "memory": Quantity(
        "total_KiB", "KiB", max, {"KiB": (1.0, 0), "kB": (1.024, 0), "MiB": (1 / 2**10, 2)}
    ),
    "run": Quantity("run_s", "s", min, {"s": (1.0, 3)}),
    "communication": Quantity("communication_s", "s", min, {"s": (1.0, 3)}),
    "throughput": Quantity("throughput_Mbps", "2^20 bit/s", max, {}),
    "overlap": Quantity("overlap_percent", "%", max, {"%": (1.0, 0)}),
    "overhead": Quantity("overhead_percent", "%", min, {"%": (1.0, 0)}),
    "slowdown": Quantity("slowdown_times", "", min, {"": (1.0, 2)}),
    "fairness": Quantity("fairness", "", max, {"": (1.0, 3)}),
    "count": Quantity("count", "", max, {"": (1.0, 0)}),
    "counter": Quantity("count", "", max, {"": (1.0, 2), "%": (100.0, 4)}),
}
"""By name; a time is that of a call or of a whole operation, a counter one under load."""

_UNITS = {one.field.rpartition("_")[2]: one.unit for one in QUANTITIES.values()}
"""By the last word of a key, its unit."""


BOUND_BY, EVIDENCE = RESTS_ON = ("bound_by", "evidence")
"""Keys of a row that say what a result rests on: what binds, and what is known of that."""
_ENDS = ("_low", "_high")
_WORDS = {BOUND_BY: "Bound by", EVIDENCE: "Evidence"}


def measured(names: Iterable[str]) -> tuple[str, ...]:
    """Return those keys of a row that are results; the others say how it was measured."""
    return tuple(name for name in names if name.rpartition("_")[2] in _UNITS)


def is_time(key: str) -> bool:
    """Whether a key holds how long something takes."""
    return key.endswith(("_us", "_s"))


def is_rate(key: str) -> bool:
    """Whether a key holds how much is done in a time."""
    return key.endswith(("_Mps", "_MBps", "_Mbps"))


def traced(key: str) -> tuple[str, str] | None:
    """Return what holds a key in a trace: "registration_us" is the time "registration"."""
    words, _, unit = key.rpartition("_")
    named = (name for name, one in QUANTITIES.items() if one.field == key)
    name = next(named, "time" if unit == "us" else "memory")
    known = QUANTITIES[name].trace is not None
    return (name, words if QUANTITIES[name].field != key else "") if known else None


def written(value: float, field: str = "") -> str:
    """Write a result with two decimals, or four digits below 1; a rate with a unit of its own."""
    unit = ""
    if quantity_of(field).endswith("_Mps"):
        unit, value = (" M/s", value) if value >= 0.1 else (" k/s", 1e3 * value)
    return (f"{value:.2f}" if value >= 1 else f"{value:#.4g}" if value else "0") + unit


def number(value: float, unit: str = "") -> str:
    """Write a number of a sentence, or one that was worked out: with four digits, and its unit."""
    text = f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"
    return f"{text} {unit}".strip()


def heading(field: str) -> str:
    """Write a key of a row as the title of a column of `written` results."""
    return title(field).partition(" (")[0] if field.endswith("_Mps") else title(field)


def band_fields(field: str) -> tuple[str, str]:
    """Return the keys of a row that hold the ends between which another lies at 90 %."""
    low, high = (field + end for end in _ENDS)
    return low, high


def quantity_of(key: str) -> str:
    """Return the key of what a key holds an end of, or else the key."""
    return next((key.removesuffix(end) for end in _ENDS if key.endswith(end)), key)


def with_ends(fields: Iterable[str], names: Container[str]) -> tuple[str, ...]:
    """Return keys of what was measured, with those of the ends of quantities and of what these rest
    on that rows have behind them, if they have ends."""
    fields = [*fields]
    main = {one.field for one in QUANTITIES.values()} & {*fields} or fields
    named = ((field, *(band_fields(field) if field in main else ())) for field in fields)
    every = [key for keys in named for key in keys if key in names]
    rests = RESTS_ON if any(quantity_of(key) != key for key in every) else ()
    return tuple(key for key in (*every, *rests) if key in names)


def derivable(fields: Iterable[str]) -> tuple[str, ...]:
    """Return what can be said of rows with these keys: the keys, and what follows from them."""
    found = dict.fromkeys(fields)
    if "latency_us" in found:
        found["bandwidth_MBps"] = None
    return tuple(found)


def result(row: Mapping[str, Any], field: str) -> float:
    """Return a result of a row; bandwidth over a latency is of one message after the other."""
    derived = field == "bandwidth_MBps" and field not in row
    value: float = row["size"] / row["latency_us"] if derived else row[field]
    return value


def ends(row: Mapping[str, Any], field: str) -> tuple[float, float] | None:
    """Return the ends of what `result` returns, if a row has them."""
    derived = field == "bandwidth_MBps" and field not in row
    low, high = (row.get(key) for key in band_fields("latency_us" if derived else field))
    if low is None or high is None:
        return None
    return (row["size"] / high, row["size"] / low) if derived else (low, high)


def title(field: str) -> str:
    """Write a key of a row as a title: "Latency (us)", "Total (KiB)", "Low" of an end behind it."""
    if (of := quantity_of(field)) != field:
        return field.removeprefix(f"{of}_").capitalize()
    words, _, unit = field.rpartition("_")
    if unit not in _UNITS:
        return _WORDS.get(field, field)
    text = words.replace("_", " ") if words else field
    return f"{text[:1].upper()}{text[1:]}" + (f" ({_UNITS[unit]})" if _UNITS[unit] else "")
