"""`hcasim sweep`: a benchmark over any settings, as one table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hcasim.cli.calibrated import fitted
from hcasim.cli.command import calibration_option, option, read_pairs, running_options
from hcasim.cli.experiment import (
    ExperimentCommand,
    experiment_options,
    read_experiment,
    read_samples,
    tell_bands,
    uncertainty_option,
)
from hcasim.cli.output import note, progress_bar
from hcasim.cli.results import Wanted, result_options
from hcasim.ground.errors import CatalogError, refuse


@click.command("sweep", cls=ExperimentCommand)
@click.argument("workload", metavar="WORKLOAD|FILE.toml")
@experiment_options(testbed=False)
@option("--ranks N,N..M", "Processes of a program of MPI.")
@option("--ppn N,N..M", "Most of them on a node (default: 1).")
@option(
    "--over NAME=VALUES",
    "Any other setting over several values, such as loopback=on,off. Repeatable.",
    multiple=True,
)
@option(
    "--zip zipped NAME,NAME",
    "Take the values of these in step, instead of each with each. Repeatable.",
    multiple=True,
)
@option(
    "--let NAME=EXPRESSION",
    "A setting that follows from others, such as 'window=64*qps'. Repeatable.",
    multiple=True,
)
@option("--where EXPRESSION", "Only combinations like this, such as 'qps <= window'.")
@calibration_option
@uncertainty_option
@option("--x COLUMN", "What lines of --plot run over.")
@option("--y COLUMN", "What --plot shows of what was measured.")
@option("--series COLUMN", "What has a line for each value.")
@option("--columns COLUMN", "What has a column of panels for each value.")
@option("--rows COLUMN", "What has a row of panels for each value.")
@result_options()
@running_options
def command(
    workload: str,
    over: tuple[str, ...],
    zipped: tuple[str, ...],
    let: tuple[str, ...],
    where: str | None,
    calibration: Path | None,
    uncertainty: str | None,
    **given: Any,
) -> None:
    """Measure over any settings, each with each, and print one table.

    Any option of bench may have several values between commas, and so may --testbed, --adapter
    and the like, the workload itself and --set: also as a range, 4..64 by doubling, 0..10+2 by
    steps, 1..1000*10 by factors, 100 ns..500 ns/5 in equal parts; of a parameter x0.5,x1,x2 are
    times what the description says. A file of TOML may hold all that; options replace what it
    says. Finished points are kept: a sweep that was stopped goes on where it was.

    In place of a workload there may be what app runs: a kernel such as is.A, a trace, a file of
    Python; --over map_by, arguments and rate are then its options beside --ranks and --ppn.
    """
    from hcasim.study.sweep.sweep import ENDING, read_study, sweep

    wanted, faults = Wanted(given), list[str]()
    facets = {name: given.pop(name) for name in ("x", "y", "series", "columns", "rows")}
    if wanted.plot is None:
        drawn = "says how to draw; allowed: with --plot"
        faults += [f"--{name}: {drawn}" for name in facets if facets[name]]
    chosen = read_experiment(given, faults)
    names = ("testbed", "ranks", "ppn")
    chosen |= {name: given[name] for name in names if given[name] is not None}
    more = read_pairs("--over", over, faults, "NAME=VALUES")
    faults += [f"--over: found {name} also as --{name}" for name in more if name in chosen]
    lets = read_pairs("--let", let, faults, "NAME=EXPRESSION")
    study: dict[str, Any] = {}
    if workload.endswith(ENDING):
        try:
            study = read_study(Path(workload))
        except CatalogError as error:
            faults += error.faults
    else:
        chosen["workload"] = workload
    overrides = {**study.pop("overrides", {}), **chosen.pop("overrides")}
    for name, values in more.items():
        (overrides if "." in name else chosen)[name] = values
    asked = {**study, **chosen}
    if not faults and "testbed" not in asked:
        faults.append("--testbed: found none; allowed: one or more, by id or file")
    samples = read_samples(uncertainty, faults)
    if calibration is not None and not faults:
        overrides = {**fitted(calibration, asked, overrides, faults), **overrides}
        if samples:
            faults.append("--uncertainty: found with --calibration; allowed: one of them, or bench")
    refuse(*faults, *wanted.faults())
    asked["let"] = {**asked.get("let", {}), **lets}
    groups = ([part.strip() for part in one.split(",")] for one in zipped)
    asked["zipped"] = [*asked.get("zipped", ()), *groups]
    if where is not None:
        asked["where"] = where
    with progress_bar("Simulating") as progress:
        found = sweep(
            asked.pop("workload", ""),
            asked.pop("testbed", ()),
            overrides=overrides or None,
            uncertainty=samples,
            jobs=given["jobs"],
            progress=progress,
            cache=not given["no_cache"],
            **asked,
        )
    wanted.deliver(found, draw=lambda: found.plot(**facets))
    tell_bands(found.samples, samples, len(found.drawn))
    if found.refused:
        note(f"{found.refused} of {len(found.rows)} points were refused; column error says why")
