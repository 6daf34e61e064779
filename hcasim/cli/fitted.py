"""What both kinds of fit print, and where they may write it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from hcasim.cli.command import Faults
from hcasim.cli.output import note, print_json, print_line, progress_bar
from hcasim.cli.outputs import Output
from hcasim.cli.tables import print_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hcasim.calibrate.objective import Run
    from hcasim.calibrate.report import FitReport
    from hcasim.calibrate.trace_report import TraceReport
    from hcasim.runs.store import Store


_T = TypeVar("_T", bound="FitReport | TraceReport")


def print_fit(
    find: Callable[[Run], _T],
    as_json: bool,
    jobs: int | None,
    store: Store | None,
    files: Sequence[tuple[Path | None, Callable[[_T], str]]],
    allowed: str,
) -> None:
    """Search, print what was found as JSON or as tables, and write it if it is a fit.

    Parameters:
        find: searches, with what simulates points.
        as_json: print JSON.
        jobs: processes to use.
        store: knows what earlier runs have simulated, and keeps what is new; or none.
        files: what to write, the fit first, each with its text.
        allowed: what helps a search that does not end.

    Raises:
        Faults: the search did not end; then nothing is written.
    """
    from hcasim.calibrate.objective import runner
    from hcasim.ground.writing import write_atomically
    from hcasim.runs.pool import OutOfTime

    unended = f"the search did not end; allowed: {allowed}"
    if files[0][0] is not None:
        unended = f"{files[0][0]}: not written: {unended}"
    try:
        with progress_bar("Fitting") as progress:
            found = find(runner(jobs=jobs, progress=progress, store=store))
    except OutOfTime:
        raise Faults([unended]) from None
    if as_json:
        print_json(found.to_dict())
    else:
        for table in found.tables():
            print_table(table.title, table.columns, table.rows, right=table.right)
            click.echo()
        for line in found.closing_lines():
            print_line(line)
    if not found.converged:
        # A part of a search is no fit.
        raise Faults([unended])
    for file, render in files:
        if file is not None:
            write_atomically(file, render(found))
            note(f"Wrote {file}")


def fit_output(file: Path | None) -> Output:
    """Return what -o names."""
    return Output("-o", file, [".toml"])
