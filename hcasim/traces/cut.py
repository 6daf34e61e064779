"""Whether an output was cut short: nothing may be read from half a line."""

from __future__ import annotations

from collections.abc import Sequence

from hcasim.traces.reading import Figure, shown
from hcasim.traces.source import Source

CUT = "the output was cut short; --partial takes what is there"
OPEN = (
    "found a last line without a newline, which may be cut: add one if it is whole, "
    "or --partial goes without it"
)


def with_cut(source: Source, line: int, error: object) -> str:
    """Say what is wrong with a line, and that it was cut if nothing ends it."""
    told = source.fault(line, error)
    return told if "--partial" in told or not source.is_open(line) else f"{told}: {CUT}"


def is_cut(above: Sequence[Figure] | None, last: Sequence[Figure]) -> bool:
    """Whether the end of a line without a newline may be missing.

    A tool prints as many decimals in each line of a table.

    Parameters:
        above: the figures of another line of the table, if there is one.
        last: those of the line.
    """
    whole = above is not None and _decimals(above) == _decimals(last)
    return not (whole and last[-1].decimals)


def same_decimals(rows: Sequence[tuple[int, Sequence[Figure]]]) -> tuple[int, str] | None:
    """Find a line whose last figure was cut.

    Parameters:
        rows: line and figures of each row of a table.
    """
    if len(rows) < 2:
        return None
    line, last = rows[-1]
    above = rows[-2][1]
    if len(last) == len(above) and _decimals(last) != _decimals(above):
        return line, f"found {shown(last[-1].text)} with fewer or more decimals than above: {CUT}"
    return None


def _decimals(row: Sequence[Figure]) -> list[int]:
    return [one.decimals for one in row]
