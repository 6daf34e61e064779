"""Columns of settings in the table of a sweep, whose last word is a unit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hcasim.ground.units import DELAY, FREQUENCY, LENGTH, OPERATIONS, RATE, SIZE, TIME, UNITS, Unit

_COLUMNS = {
    DELAY.base: ("ns_per_m", "ns/m", 10**3),
    TIME.base: ("ns", "ns", 10**3),
    SIZE.base: ("B", "B", 1),
    FREQUENCY.base: ("MHz", "MHz", 10**6),
    RATE.base: ("MBps", "MB/s", 10**6),
    OPERATIONS.base: ("Mops", "Mop/s", 10**6),
    LENGTH.base: ("m", "m", 10**3),
}
"""By the unit in which a value is kept: the last word of its column, that unit as --set takes it,
and how many make one."""


def unit_of(base: str) -> Unit | None:
    """Return the dimension whose values are kept in a unit, if it is one."""
    return next((unit for unit in UNITS.values() if unit.base == base), None)


def column_of(name: str, base: str) -> str:
    """Return the column of a setting that is kept in a unit."""
    return f"{name}_{_COLUMNS[base][0]}" if unit_of(base) else name


def number_of(value: Any, base: str) -> Any:
    """Return what the column of a setting holds of a value that is kept in a unit."""
    if unit_of(base) and isinstance(value, int):
        exact = Fraction(value, _COLUMNS[base][2])
        return int(exact) if exact.denominator == 1 else float(exact)
    return int(value) if isinstance(value, str) and value.isdecimal() else value


def column_unit(column: str) -> tuple[str, str]:
    """Return the path that a column is of, and its unit; none of other columns."""
    for word, unit, _ in _COLUMNS.values():
        if "." in column and column.endswith(f"_{word}"):
            return column.removesuffix(f"_{word}"), unit
    return column, ""
