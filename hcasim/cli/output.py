"""The one printer of lines, and of data for programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

import click

from hcasim.ground.text import printable, printable_lines

if TYPE_CHECKING:
    from hcasim.runs.executor import Progress

WIDE = "hcasim.wide"
"""What `click.Context.meta` says: whether tables are printed in one piece on a terminal, too."""


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

    console = Console(stderr=True)
    # Rich shortens what does not fit, and first the times; each has the width that it needs.
    shown = (
        (38, progress.TextColumn(label)),
        (60, progress.BarColumn()),
        (0, progress.MofNCompleteColumn()),
        (46, progress.TimeElapsedColumn()),
        (0, progress.TextColumn("to go")),
        (0, progress.TimeRemainingColumn()),
    )
    columns = [column for width, column in shown if console.width >= width]
    # A point may take minutes: speed is that of the last hour.
    with progress.Progress(
        *columns, console=console, transient=True, speed_estimate_period=3600
    ) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
