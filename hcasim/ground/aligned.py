"""Tables as aligned text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from hcasim.ground.printable import printable


def plain_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[str] = ()
) -> str:
    """Return a table as aligned text.

    Parameters:
        title: a line above it; none if empty.
        columns: their names.
        rows: the cells as text.
        right: names of the columns that are aligned to the right.
    """
    lines = [list(columns), *([printable(cell) for cell in row] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    text = [printable(title)] if title else []
    for line in lines:
        cells = (
            cell.rjust(width) if name in right else cell.ljust(width)
            for cell, width, name in zip(line, widths, columns, strict=True)
        )
        text.append("  ".join(cells).rstrip())
    return "\n".join(text) + "\n"
