"""`hcasim calibrate`: fit what no public source gives."""

from __future__ import annotations

from pathlib import Path

import click

from hcasim.cli.command import Command, jobs_option
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

    with progress_bar("Fitting") as progress:
        report = calibrate(testbed, output=output, jobs=jobs, progress=progress)
    if as_json:
        print_json(report.to_dict())
    else:
        print_table(f"Fit of {testbed}", report.columns, report.rows(), right=report.columns[1:-1])
        click.echo()
        for line in report.closing_lines():
            click.echo(line)
    if output is not None:
        note(f"Wrote {output}")
