"""What is printed: lines, tables, data for programs, notes and progress."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, TextIO

import click

from hcasim.ground.text import plain_table, printable, printable_lines

if TYPE_CHECKING:
    from hcasim.runs.executor import Progress
    from hcasim.runs.table import Table

WIDE = "hcasim.wide"
"""What `click.Context.meta` says: whether tables are printed in one piece on a terminal, too."""
_STYLES = {"pass": "green", "fail": "bold red", "deviation": "yellow"}


def print_line(text: str, *, err: bool = False) -> None:
    """Print a line that may quote what others have named; one of messages may be lost."""
    try:
        click.echo(printable(text), err=err)
    except OSError:
        if not err:
            raise
        # Nobody can be told that nobody listens; the result and the exit code still count.
        abandon(sys.stderr)


def print_lines(text: str) -> None:
    """Print lines of data that may quote what others have named."""
    click.echo(printable_lines(text), nl=not text.endswith("\n"))


def print_notes(notes: Iterable[str]) -> None:
    """Print below a result what it leaves out, a line each."""
    for text in notes:
        print_line(text)


def print_table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Collection[str] = (),
    *,
    below: bool = False,
) -> None:
    """Print a table: aligned text, or drawn on a terminal, where long cells are folded.

    The title is a line above it; columns named in `right` are aligned to the right.
    """
    if below:
        click.echo()
    columns, right = ([*map(printable, names)] for names in (columns, right))
    context = click.get_current_context(silent=True)
    wide = context is not None and context.meta.get(WIDE, False)
    if wide or not sys.stdout.isatty():
        click.echo(plain_table(title, columns, rows, right), nl=False)
        return
    from rich import box, table
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    lines = [[*map(printable, row)] for row in rows]
    # What tells the rows apart stays whole if the others have room beside it.
    first = max((len(line[0]) for line in lines), default=0)
    whole = first + 5 * (len(columns) - 1) <= console.width
    drawn = table.Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, pad_edge=False)
    for name in columns:
        justify: Literal["right", "left"] = "right" if name in right else "left"
        own = whole and name == columns[0]
        drawn.add_column(Text(name), justify=justify, overflow="fold", no_wrap=own)
    for line in lines:
        drawn.add_row(*(Text(cell, _STYLES.get(cell, "")) for cell in line))
    if title:
        console.print(Text(printable(title), style="bold"))
    console.print(drawn)


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


def abandon(stream: TextIO) -> None:
    """Let what is left for a stream go nowhere, also when the process ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def print_json(data: object) -> None:
    """Print one JSON document."""
    from hcasim.runs.table import to_json

    click.echo(to_json(data), nl=False)


def note(text: str) -> None:
    """Tell the user something that is not data."""
    print_line(text, err=True)


@contextmanager
def progress_bar(label: str) -> Iterator[Progress | None]:
    """Show a progress bar with the time to go on a terminal; without one yield None."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn(label),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("to go"),
        progress.TimeRemainingColumn(),
    )
    # A point may take minutes: speed is that of the last hour.
    with progress.Progress(
        *columns, console=Console(stderr=True), transient=True, speed_estimate_period=3600
    ) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
