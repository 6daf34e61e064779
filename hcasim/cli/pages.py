"""Pages for readers: the option that names one, and writing it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.output import note
from hcasim.cli.outputs import Output

if TYPE_CHECKING:
    from hcasim.pages import Document

report_option: Callable[..., Any] = click.option(
    "--report",
    "page",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a page of all of it with its figures, .html, or its tables, .md or .tex.",
)


def report_output(file: Path | None) -> Output:
    """Return what --report names."""
    from hcasim.pages.writing import ENDINGS

    return Output("--report", file, ENDINGS)


def told(words: Sequence[str]) -> str:
    """Return words of hcasim as a line that can be typed again."""
    from hcasim.ground.text import command_line

    return command_line(["hcasim", *words])


def write_page(document: Document, file: Path) -> None:
    """Write a document in the form that the ending of a file says."""
    from hcasim.ground.writing import write_atomically
    from hcasim.pages.writing import write

    write_atomically(file, write(document, file.suffix))
    note(f"Wrote {file}")
