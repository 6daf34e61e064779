"""`hcasim check`: what was measured beside what the model gives."""

from __future__ import annotations

from typing import Any

import click

from hcasim.cli.command import Command, Faults, jobs_option, no_cache_option
from hcasim.cli.experiment import experiment_options, read_experiment
from hcasim.cli.naming import Workload
from hcasim.cli.output import progress_bar
from hcasim.cli.outputs import output_faults
from hcasim.cli.results import Wanted, result_options
from hcasim.cli.tables import print_table


@click.command("check", cls=Command)
@click.argument("file", metavar="FILE")
@experiment_options()
@click.option(
    "--workload",
    metavar="W",
    type=Workload(),
    help="Of a table, such as write_lat; traces and outputs of tools tell theirs.",
)
@click.option(
    "--within",
    metavar="PERCENT",
    help="Error that is allowed, such as 5 (default: the usual tolerance of claims).",
)
@click.option("--over", metavar="AXIS", default="size", help="Of a table (default: size).")
@click.option("--quantity", metavar="Q", default="", help="Of a table with several: latency.")
@click.option("--unit", metavar="U", default="", help="Of a table, if it is not that of bench.")
@click.option("--allow-mismatch", is_flag=True, help="Also a trace of other hardware.")
@no_cache_option
@jobs_option
@result_options()
@click.pass_context
def command(ctx: click.Context, /, file: str, testbed: str, **given: Any) -> None:
    """Check whether the model agrees with what was measured.

    FILE is a trace, what perftest, OSU, IMB or NetPIPE printed, whose points are simulated with the
    workload and the options that it tells; or with --workload a .csv table with columns as bench
    writes them, such as size and latency_us. The exit code is 1 if any point disagrees.
    """
    from pathlib import Path

    from hcasim.catalog import CatalogError
    from hcasim.study.agreement.checking import check

    wanted = Wanted.take(given)
    faults = [*wanted.faults()]
    settings = read_experiment(given, faults)
    if given["workload"] is None and given["allow_mismatch"]:
        settings["allow_mismatch"] = True
    within = given["within"]
    if within is not None:
        within = f"{within.strip().removesuffix('%').strip()} %"
    faults += output_faults(wanted.outputs(), [(f"the measurement {file}", Path(file))])
    if faults:
        raise Faults(faults)
    asked = {name: given[name] for name in ("workload", "over", "quantity", "unit", "jobs")}
    asked |= {"within": within, "cache": not given["no_cache"]}
    try:
        with progress_bar("Simulating") as progress:
            found = check(file, testbed, progress=progress, **asked, **settings)
    except CatalogError as error:
        raise Faults(
            one.replace("allow_mismatch=True", "--allow-mismatch") for one in error.faults
        ) from None
    head, *lines = found.lines()
    wanted.deliver(found, lambda: print_table(found.heading, head, lines, right=head))
    if found.missed:
        ctx.exit(1)
