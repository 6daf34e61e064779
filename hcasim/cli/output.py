"""The one printer of lines, and of data for programs."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from hcasim.runs.pool import Progress


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
