"""The one printer of tables: drawn on a terminal, aligned text elsewhere; nothing is cut off."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.output import WIDE, print_notes
from hcasim.ground.text import plain_table, printable

if TYPE_CHECKING:
    from rich.console import Console

    from hcasim.runs.table import Table

_STYLES = {"pass": "green", "fail": "bold red", "deviation": "yellow"}
_PROSE = 20
"""A column of text whose cells are longer, and have blanks, may take several lines."""
_LINE = 12
"""Characters that each line of such a cell has at least."""
_PART = re.compile(r"[^./_-]*(?:[./_-]|$)")
"""What of a path or an id stays on one line, if it can."""
_GAP = 2
"""What separates two columns of a drawn table."""


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Collection[str] = (),
    *,
    aside: Collection[str] = (),
    below: bool = False,
) -> None:
    """Print a table: drawn on a terminal, aligned text elsewhere.

    On a terminal, unless --wide was given, prose is wrapped, and columns that still do not fit
    follow in further tables, in which the first column comes again.

    Parameters:
        title: a line above it.
        columns: their names; the first tells the rows apart.
        rows: the cells as text.
        right: names of the columns that are aligned to the right.
        aside: columns that are the first to go to a further table.
        below: whether an empty line comes first.
    """
    if below:
        click.echo()
    columns, right, aside = ([*map(printable, names)] for names in (columns, right, aside))
    context = click.get_current_context(silent=True)
    wide = context is not None and context.meta.get(WIDE, False)
    if sys.stdout.isatty() and not wide:
        cells = [[*map(printable, column)] for column in zip(columns, *rows, strict=True)]
        _print_drawn(printable(title), cells, right, aside)
    else:
        click.echo(plain_table(title, columns, rows, right), nl=False)


def print_result(found: Table, title: str = "", *, below: bool = False) -> None:
    """Print the lines of a result and its notes; its title is its own unless another is given."""
    head, *lines = found.lines()
    print_table(title or found.title, head, lines, right=head, below=below)
    print_notes(getattr(found, "notes", ()))


def word(value: object) -> str:
    """Write a value as a cell: what is true or false as yes or no, nothing as an empty one."""
    if value is None:
        return ""
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


def _print_drawn(
    title: str, cells: Sequence[Sequence[str]], right: Collection[str], aside: Collection[str]
) -> None:
    """Draw a table, given by its columns, whose first cells are their names."""
    from rich.cells import cell_len
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    natural = [max(map(cell_len, column)) for column in cells]
    least = list(natural)
    for n, column in enumerate(cells):
        if column[0] not in right and natural[n] > _PROSE and any(" " in one for one in column):
            words = max(cell_len(word) for one in column for word in one.split())
            least[n] = min(natural[n], max(_LINE, words))
    width = console.width - 1
    # What leaves no room beside it is folded, because a part of a name is no name.
    room = width - _GAP - max(least[1:], default=0)
    least[0] = min(least[0], max(width // 2, room))
    least[1:] = [min(one, width - _GAP - least[0]) for one in least[1:]]
    fits = _span(least) <= width
    order = sorted(range(len(cells)), key=lambda n: not fits and cells[n][0] in aside)
    if title:
        console.print(Text(title, style="bold"))
    for number, block in enumerate(_blocks(order, least, width)):
        if number:
            console.print()
        _draw(console, block, cells, _shared(block, natural, least, width), right)


def _span(widths: Collection[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _blocks(order: Sequence[int], least: Sequence[int], width: int) -> Iterator[list[int]]:
    """Divide columns into tables that are narrow enough; the first one begins each."""
    key, *others = order
    block = [key]
    for one in others:
        if len(block) > 1 and _span([least[n] for n in (*block, one)]) > width:
            yield block
            block = [key]
        block.append(one)
    yield block


def _shared(
    block: Sequence[int], natural: Sequence[int], least: Sequence[int], width: int
) -> dict[int, int]:
    """Return the widths of columns: the longest line that all may have, and no more than needed."""
    for line in range(max(natural), -1, -1):
        widths = {n: max(least[n], min(natural[n], line)) for n in block}
        if _span(widths.values()) <= width:
            break
    return widths


def _draw(
    console: Console,
    block: Sequence[int],
    cells: Sequence[Sequence[str]],
    widths: Mapping[int, int],
    right: Collection[str],
) -> None:
    from rich import box, table
    from rich.text import Text

    drawn = table.Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    for n in block:
        name = cells[n][0]
        justify: Any = "right" if name in right else "left"
        drawn.add_column(Text(name), justify=justify, width=widths[n], overflow="fold")
    for row in zip(*(cells[n][1:] for n in block), strict=True):
        parts = (_in_parts(cell, widths[n]) for cell, n in zip(row, block, strict=True))
        styles = (_STYLES.get(cell, "") for cell in row)
        drawn.add_row(*map(Text, parts, styles))
    console.print(drawn)


def _in_parts(cell: str, width: int) -> str:
    """Divide words that are longer than a line behind a dot and the like, if there is one."""
    for word in {word for word in cell.split() if len(word) > width}:
        lines = [""]
        for part in _PART.findall(word):
            if lines[-1] and len(lines[-1] + part) > width:
                lines.append("")
            lines[-1] += part
        cell = cell.replace(word, "\n".join(lines))
    return cell
