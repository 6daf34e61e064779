"""The tables of IMB: their columns, and what the figures of a line mean.

Its Mbytes are 2^20 bytes up to version 4.1 and 10^6 bytes since 2018; time and rate of a line tell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from hcasim.ground.faults import shown
from hcasim.traces.printed import UNIT_FACTORS, Figure, Quantity, Unreadable, agree, ordered
from hcasim.traces.schema import Measured

HEAD = re.compile(r"\s*(?:Group\s+)?(?:#bytes\s+)?#repetitions\s.*")
"""The head of a table."""
_COLUMNS = {
    "Group": "group",
    "#bytes": "size",
    "#repetitions": "iters",
    "t[usec]": "time",
    "t_min[usec]": "minimum",
    "t_max[usec]": "maximum",
    "t_avg[usec]": "time",
    "Mbytes/sec": "rate",
    "defects": "defects",
}
_MESSAGES = {"imb_sendrecv": 2, "imb_exchange": 4}
"""Messages of a process of which the rate is, where there are several."""
_UNITS = ("MB/s", "MiB/s")


@dataclass(frozen=True)
class Row:
    """A line: its number, bytes, repetitions and figures."""

    line: int
    size: int | None
    iters: int
    cells: Mapping[str, Figure]


def read_columns(line: str) -> list[str]:
    """Return the columns of a table by what they are.

    Raises:
        Unreadable: other columns than those of IMB-MPI1.
    """
    words = line.split()
    unknown = [word for word in words if word not in _COLUMNS]
    columns = [_COLUMNS[word] for word in words if word in _COLUMNS]
    if unknown:
        raise Unreadable(f"head of the table: found {shown(unknown[0])}, which is no column")
    if "time" not in columns or len({*columns}) < len(columns):
        raise Unreadable("head of the table: found other columns than IMB's")
    return columns


def unit_of(workload: str, rows: Sequence[Row]) -> str:
    """Return the unit in which rates and times of a table say the same; empty if both do.

    Raises:
        Unreadable: there is none.
    """
    if not rows or "rate" not in rows[0].cells:
        return ""
    fitting = [unit for unit in _UNITS if all(_fits(workload, unit, row) for row in rows)]
    if not fitting:
        raise Unreadable("found sizes, times and rates that do not fit together")
    return fitting[0] if len(fitting) == 1 else ""


def _fits(workload: str, unit: str, row: Row) -> bool:
    slowest = row.cells.get("maximum", row.cells["time"])
    least, most = slowest.between(1)
    moved = Decimal(_MESSAGES.get(workload, 1) * (row.size or 0))
    high = moved / least if least else Decimal("1e30")
    return agree(row.cells["rate"].between(UNIT_FACTORS[unit][1]), (moved / most, high))


def quantities(row: Row, unit: str) -> tuple[Measured, ...]:
    """Return what a line says: a time, and a bandwidth if its unit is known.

    Raises:
        Unreadable: times that contradict each other.
    """
    cells = row.cells
    extremes = {name: cells[name] for name in ("minimum", "maximum") if name in cells}
    ordered(
        [
            ("t_min", cells.get("minimum")),
            ("t_avg", cells["time"]),
            ("t_max", cells.get("maximum")),
        ]
    )
    found = [Quantity("us", cells["time"], count=row.iters, parts=extremes).measured()]
    if unit and cells["rate"].value:
        found.append(Quantity(unit, cells["rate"], count=row.iters).measured())
    return tuple(found)
