"""The tables of OSU's programs: their columns, and what the figures of a line mean."""

from __future__ import annotations

import re
from decimal import Decimal

from hcasim.ground.faults import shown
from hcasim.traces.osu.titles import COLLECTIVES, HALF_ROUND_TRIPS
from hcasim.traces.printed import Figure, Quantity, Unreadable, agree, ordered
from hcasim.traces.schema import Measured

# Pages and editors take the number sign for a mark of their own; then a unit tells the head.
HEAD = re.compile(
    r"\s*(?:#\s*Size\s.*|Size\s.*(?:\((?:us|MB/s)\)|\bMB/s).*|(?:#\s*)?Avg Latency ?\(us\).*)"
)
"""The head of a table."""
_COLUMN = re.compile(
    r"(?P<rate>Messages/s)|(?P<bare>MB/s)|(?P<iterations>Iterations)|(?P<validation>Validation)"
    r"|(?P<transmit>Transmit Size)"
    r"|(?P<name>Bi-Bandwidth|Bandwidth|(?:Avg |Min |Max )?(?:Avg )?Latency"
    r"|P(?P<percent>[0-9]{1,2}) Tail (?:Lat|BW))\s*\((?P<unit>[^()]*)\)"
)


def read_columns(line: str) -> list[str]:
    """Return the columns of a table behind its sizes.

    Raises:
        Unreadable: other columns or units than OSU's.
    """
    text = line.strip().lstrip("#").strip().removeprefix("Size")
    rest = _COLUMN.sub(" ", text).split()
    if rest:
        raise Unreadable(f"head of the table: found {shown(' '.join(rest))}, which is no column")
    columns = []
    for match in _COLUMN.finditer(text):
        name, unit = match["name"] or "", match["unit"] or ""
        allowed = "us" if "Lat" in name else "MB/s"
        if name and unit != allowed:
            raise Unreadable(f"{name}: found {shown(unit)}; allowed: {allowed}")
        columns.append(_column(match))
    if not columns or columns[0] not in ("latency", "bandwidth") or len({*columns}) < len(columns):
        raise Unreadable("head of the table: found other columns than OSU's")
    return columns


def _column(match: re.Match[str]) -> str:
    if match["percent"]:
        return f"P{match['percent']}"
    if match["name"]:
        name = match["name"]
        if name.startswith(("Min", "Max")):
            return name[:3].lower()
        return "latency" if "Latency" in name else "bandwidth"
    if match["bare"]:
        return "bandwidth"
    return next(name for name in ("rate", "iterations", "validation", "transmit") if match[name])


def quantities(
    workload: str, size: int, cells: dict[str, Figure], iters: int | None
) -> tuple[Measured, ...]:
    """Return what a line says: a latency, or bandwidth and message rate.

    Parameters:
        workload: name of OSU's program.
        size: bytes of a message.
        cells: the figures by their column.
        iters: iterations, if they are printed.

    Returns:
        Nothing if all digits are 0.

    Raises:
        Unreadable: figures that contradict each other, or a latency of nothing.
    """
    percentiles = {name[1:]: one for name, one in cells.items() if name.startswith("P")}
    if "latency" in cells:
        main = cells["latency"]
        if not main.value:
            raise Unreadable(f"Latency: found {main.text}; allowed: more than nothing")
        ordered([("Min", cells.get("min")), ("Avg", main), ("Max", cells.get("max"))])
        parts = {
            long: cells[short]
            for long, short in (("minimum", "min"), ("maximum", "max"))
            if short in cells
        }
        # One-sided programs measure whole operations.
        named = workload in (*HALF_ROUND_TRIPS, *COLLECTIVES) or not workload.startswith("osu_")
        kind = "latency" if named else "time"
        return (Quantity("us", main, True, kind, "", iters, parts, percentiles).measured(),)
    main = cells["bandwidth"]
    rate = cells.get("rate")
    known = rate is not None and rate.value and size
    if known and not agree(main.between(Decimal(1_000_000)), cells["rate"].between(size)):
        raise Unreadable(
            f"found {main.text} MB/s and {cells['rate'].text} messages a second, "
            f"which do not fit together at {size} bytes"
        )
    found = []
    if main.value:
        found.append(Quantity("MB/s", main, count=iters, percentiles=percentiles).measured())
    if rate is not None and rate.value:
        found.append(Quantity("1/s", rate, count=iters).measured())
    return tuple(found)
