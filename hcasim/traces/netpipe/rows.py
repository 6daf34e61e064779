"""What the two outputs of NetPIPE share: their lines, checked and added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from hcasim.ground.errors import CatalogError
from hcasim.traces.header import Port
from hcasim.traces.imported import Imported
from hcasim.traces.printed import UNIT_FACTORS, Figure, Hints, Quantity, agree
from hcasim.traces.schema import Point
from hcasim.traces.source import Source

WORKLOADS = ("netpipe", "netpipe_bi", "netpipe_stream")
"""A ping-pong, messages in both directions at once, and in one direction without a reply."""
_MODEST = 3
"""Lines of which it is said that they fit nothing."""


@dataclass(frozen=True)
class Form:
    """A layout: where bytes, throughput and time stand, in which units, and of how many ways."""

    version: str
    columns: int
    size: int
    rate: int
    rate_unit: str
    time: int
    time_unit: str
    ways: int = 1

    def fits(self, size: Decimal, rate: Figure, time: Figure) -> bool:
        """Whether a throughput is that of a size and a time."""
        least, most = time.between(UNIT_FACTORS[self.time_unit][1])
        if not most:
            return False
        # Bytes in a nanosecond are 1000 times MB/s.
        moved = size * self.ways * 1000
        bound = moved / least if least else Decimal("1e30")
        return agree(rate.between(UNIT_FACTORS[self.rate_unit][1]), (moved / most, bound))


@dataclass(frozen=True)
class Row:
    """A line: bytes, throughput and time."""

    line: int
    size: int
    rate: Figure
    time: Figure
    times: int | None = None


def fitting(source: Source, misses: Mapping[Form, Sequence[int]], misfit: str) -> list[Form]:
    """Return the forms in whose units size, throughput and time of all lines say the same.

    Parameters:
        source: the file.
        misses: for each form the lines in which they do not.
        misfit: which units were tried.

    Raises:
        CatalogError: the first lines that fit none.
    """
    fewest = min(map(len, misses.values()))
    best = [form for form, lines in misses.items() if len(lines) == fewest]
    if fewest:
        reason = f"found a size, a throughput and a time that do not fit together{misfit}"
        raise CatalogError(source.fault(line, reason) for line in misses[best[0]][:_MODEST])
    return best


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
        found.add(Point(workload=workload, options=options | own, measured=measured))
        found.add_adapter(row.line, hints.adapter, Port())
    found.whole()
