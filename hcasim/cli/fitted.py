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


def is_device(output: Path) -> bool:
    """Whether an output is a device or a pipe: it is written through and stays what it is."""
    return output.exists() and not output.is_file()


def target(output: Path) -> Path:
    """Return the file that a link leads to, which is written in its place."""
    return output.resolve() if output.is_symlink() else output


def folder_faults(output: Path) -> list[str]:
    """Say that a file cannot be written before the long work, not after it."""
    folder = target(output).parent
    if not folder.is_dir():
        return [f"{output}: cannot be written: there is no folder {folder}"]
    # Beside a device nothing is made.
    if not os.access(output if is_device(output) else folder, os.W_OK):
        return [f"{output}: cannot be written: permission denied"]
    return []
