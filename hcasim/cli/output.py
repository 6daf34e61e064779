"""The one printer of tables, and of data for programs."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

if TYPE_CHECKING:
    from hcasim.runs.pool import Progress

_STYLES = {"pass": "green", "fail": "bold red", "deviation": "yellow"}


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Collection[str] = (),
    *,
    wrap: Collection[str] = (),
    spare: Collection[str] = (),
) -> None:
    """Print a table: drawn on a terminal, aligned text elsewhere.

    Parameters:
        title: a line above it.
        columns: their names.
        rows: the cells as text.
        right: names of the columns that are aligned to the right.
        wrap: columns whose cells may take several lines of a terminal; the last one without it.
        spare: columns that a terminal narrower than 120 characters does without.
    """
    from hcasim.ground.printable import printable

    title, rows = printable(title), [[printable(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _print_drawn(title, columns, rows, right, wrap or columns[-1:], spare)
    else:
        click.echo(plain_table(title, columns, rows, right), nl=False)


def plain_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[str] = ()
) -> str:
    """Return a table as aligned text; the parameters are those of `print_table`."""
    lines = [list(columns), *(list(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    text = [title] if title else []
    for line in lines:
        cells = (
            cell.rjust(width) if name in right else cell.ljust(width)
            for cell, width, name in zip(line, widths, columns, strict=True)
        )
        text.append("  ".join(cells).rstrip())
    return "\n".join(text) + "\n"


def _print_drawn(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Collection[str],
    wrap: Collection[str],
    spare: Collection[str],
) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    dropped = set(spare) if console.width < 120 else set()
    shown = [number for number, name in enumerate(columns) if name not in dropped]
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in (columns[number] for number in shown):
        justify: Literal["left", "right"] = "right" if name in right else "left"
        table.add_column(name, justify=justify, no_wrap=name not in wrap)
    for row in rows:
        table.add_row(*(Text(row[n], style=_STYLES.get(row[n], "")) for n in shown))
    console.print(table)


def print_line(text: str, *, err: bool = False) -> None:
    """Print a line that may quote what others have named."""
    from hcasim.ground.printable import printable

    click.echo(printable(text), err=err)


def print_json(data: object) -> None:
    """Print one JSON document."""
    click.echo(to_json(data), nl=False)


def to_json(data: object) -> str:
    """Return a JSON document as text."""
    text = json.dumps(data, indent=2, ensure_ascii=False)
    # JSON leaves these as they are, but a terminal may obey them.
    return re.sub("[\x7f-\x9f]", lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def to_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as CSV; the columns are all keys in the order in which they first appear."""
    rows = list(rows)
    columns = dict.fromkeys(key for row in rows for key in row)
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def place_fault(option: str, file: Path, endings: Sequence[str] = ()) -> str:
    """Say why an option's file cannot be written, before anything is simulated; or nothing.

    Parameters:
        option: such as "--plot".
        file: to be written.
        endings: those that are allowed; any without them.
    """
    if endings and file.suffix.lower() not in endings:
        from hcasim.ground.errors import one_of

        return f"{option}: found {str(file)!r}; allowed endings: {one_of(endings)}"
    if not file.parent.is_dir():
        return f"{option}: found {str(file)!r}; there is no folder {file.parent}"
    return ""


def note(text: str) -> None:
    """Tell the user something that is not data."""
    print_line(text, err=True)


@contextmanager
def progress_bar(label: str) -> Iterator[Progress | None]:
    """Show a progress bar while standard error is a terminal.

    Parameters:
        label: what is being done.

    Yields:
        A function that takes the points done and all points, or None without a terminal.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)

        def show(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield show
