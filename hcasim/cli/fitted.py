"""What both kinds of fit print, and where they may write it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.output import print_json, print_line, print_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hcasim.calibrate.report import Table


def print_fit(tables: Iterable[Table], lines: Iterable[str], data: dict[str, Any] | None) -> None:
    """Print a fit as JSON if there is any, else as tables and closing lines."""
    if data is not None:
        print_json(data)
        return
    for table in tables:
        print_table(table.title, table.columns, table.rows, right=table.right)
        click.echo()
    for line in lines:
        print_line(line)


def check_folder(output: Path) -> None:
    """Refuse a file that cannot be written before the long work, not after it."""
    from hcasim.study import FileError

    folder = output.parent
    if not folder.is_dir():
        raise FileError(f"{output}: cannot be written: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise FileError(f"{output}: cannot be written: permission denied")
