"""`hcasim calibrate`: fit what no public source gives."""

from __future__ import annotations

import os
from pathlib import Path

import click

from hcasim.cli.command import Command, Faults, jobs_option
from hcasim.cli.output import note, print_json, print_table, progress_bar


@click.command("calibrate", cls=Command)
@click.argument("testbed")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the fit to this file, in the form of calibration/fits/.",
)
@jobs_option
def command(testbed: str, as_json: bool, output: Path | None, jobs: int | None) -> None:
    """Fit the parameters marked as fitted to the claims marked as fitted.

    The same testbed gives the same fit. Without -o nothing is changed.
    """
    from hcasim.calibrate import calibrate
    from hcasim.catalog import load_fit
    from hcasim.study import write_atomically
    from hcasim.study.observations import observations, runner

    if output is not None:
        check_folder(output)
    found = observations(testbed)
    with progress_bar("Fitting") as progress:
        report = calibrate(load_fit(testbed), found, run=runner(jobs=jobs, progress=progress))
    if as_json:
        print_json(report.to_dict())
    else:
        for table in report.tables():
            print_table(table.title, table.columns, table.rows, right=table.right)
            click.echo()
        for line in report.closing_lines():
            click.echo(line)
    if output is not None:
        if not report.converged:
            raise Faults([f"{output}: not written: the search did not end; choose other bounds"])
        write_atomically(output, report.render())
        note(f"Wrote {output}")


def check_folder(output: Path) -> None:
    """Refuse a file that cannot be written before the long work, not after it."""
    from hcasim.study import FileError

    folder = output.parent
    if not folder.is_dir():
        raise FileError(f"{output}: cannot be written: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise FileError(f"{output}: cannot be written: permission denied")
