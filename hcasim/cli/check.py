"""`hcasim check`: what was measured beside what the model gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hcasim.cli.calibrated import calibrated
from hcasim.cli.command import Command, calibration_option, flag, option, running_options
from hcasim.cli.experiment import experiment_options, read_experiment
from hcasim.cli.naming import Workload
from hcasim.cli.output import print_result, progress_bar
from hcasim.cli.results import Wanted, result_options
from hcasim.ground.errors import CatalogError, refuse


@click.command("check", cls=Command)
@click.argument("file", metavar="FILE")
@experiment_options()
@calibration_option
@option(
    "--workload W",
    "Benchmark of a table, such as write_lat; traces and tools' outputs name theirs.",
    type=Workload(),
)
@option(
    "--within PERCENT", "Error that is allowed, such as 5 (default: the usual tolerance of claims)."
)
@option("--over AXIS", "What varies along a table (default: size).", default="size")
@option(
    "--quantity Q", "What is compared, of a benchmark with several quantities: latency.", default=""
)
@option("--unit U", "Unit of a table, if it is not that of bench.", default="")
@flag("--allow-mismatch", "Also a trace of other hardware.")
@running_options
@result_options()
@click.pass_context
def command(
    ctx: click.Context, /, file: str, testbed: str, calibration: Path | None, **given: Any
) -> None:
    """Check whether the model agrees with what was measured.

    FILE is a trace, what perftest, OSU, IMB or NetPIPE printed, whose points are simulated with the
    workload and the options that it tells; or with --workload a .csv table with columns as bench
    writes them, such as size and latency_us. The exit code is 1 if any point disagrees.
    """
    from hcasim.study.agreement.agreement import check

    wanted, faults = Wanted(given), list[str]()
    machine = {**given, "testbed": testbed}
    _, base, _ = calibrated(calibration, None, machine, faults)
    given |= {name: machine[name] for name in given}
    asked = read_experiment(given, faults)
    asked["overrides"] = {**base, **asked["overrides"]} or None
    refuse(*faults, *wanted.faults())
    asked |= {name: given[name] for name in ("workload", "over", "quantity", "unit", "jobs")}
    if given["workload"] is None and given["allow_mismatch"]:
        asked["allow_mismatch"] = True
    if given["within"] is not None:
        asked["within"] = f"{given['within'].strip().removesuffix('%').strip()} %"
    try:
        with progress_bar("Simulating") as progress:
            found = check(file, testbed, progress=progress, cache=not given["no_cache"], **asked)
    except CatalogError as error:
        told = (one.replace("allow_mismatch=True", "--allow-mismatch") for one in error.faults)
        raise CatalogError(told) from None
    wanted.deliver(found, lambda: print_result(found, found.heading))
    if found.missed:
        ctx.exit(1)
