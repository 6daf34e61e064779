"""What the two outputs of NetPIPE share: their lines, checked and added."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from hcasim.traces.header import Port
from hcasim.traces.imported import Imported
from hcasim.traces.printed import UNIT_FACTORS, Figure, Hints, Quantity, agree
from hcasim.traces.schema import Point

WORKLOADS = ("netpipe", "netpipe_bi", "netpipe_stream")
"""A ping-pong, messages in both directions at once, and in one direction without a reply."""


@dataclass(frozen=True)
class Form:
    """A layout of np.out: where bytes, throughput and time stand, and in which units."""

    version: str
    columns: int
    size: int
    rate: int
    rate_unit: str
    time: int
    time_unit: str


@dataclass(frozen=True)
class Row:
    """A line: bytes, throughput and time."""

    line: int
    size: int
    rate: Figure
    time: Figure
    times: int | None = None


def fit_together(size: Decimal, rate: Figure, rate_unit: str, time: Figure, time_unit: str) -> bool:
    """Whether a throughput is that of a size and a time."""
    least, most = time.between(UNIT_FACTORS[time_unit][1])
    if not most:
        return False
    # Bytes in a nanosecond are 1000 times MB/s.
    bound = size * 1000 / least if least else Decimal("1e30")
    return agree(rate.between(UNIT_FACTORS[rate_unit][1]), (size * 1000 / most, bound))


def check_repeats(found: Imported, rows: Sequence[Row]) -> None:
    """Refuse each size that comes a second time."""
    seen: dict[int, int] = {}
    for row in rows:
        if row.size in seen:
            found.fault(row.line, f"found {row.size} bytes again, as in line {seen[row.size]}")
        seen.setdefault(row.size, row.line)


def add(
    found: Imported,
    rows: Sequence[Row],
    form: Form,
    workload: str,
    options: dict[str, bool | int | str],
    hints: Hints,
    halves: bool = False,
) -> None:
    """Add the points; only a ping-pong has a latency."""
    for row in rows:
        if halves and row.size % 2:
            reason = f"found {row.size} bytes, which is odd: not those of both directions"
            found.fault(row.line, reason)
            continue
        quantities = []
        if workload == "netpipe":
            if not row.time.value:
                found.fault(row.line, f"found a time of {row.time.text}")
                continue
            quantities.append(Quantity(form.time_unit, row.time, count=row.times))
        if row.rate.value:
            quantities.append(Quantity(form.rate_unit, row.rate, count=row.times))
        if not quantities:
            found.fault(row.line, "found no throughput")
            continue
        own: dict[str, bool | int | str] = {"size": row.size // 2 if halves else row.size}
        if row.times is not None:
            own["iters"] = row.times
        measured = tuple(one.measured() for one in quantities)
        found.points.append(Point(workload=workload, options=own | options, measured=measured))
        found.add_adapter(row.line, hints.adapter, Port())
    found.whole()
