"""`hcasim sweep`: a benchmark over any settings, as one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.command import jobs_option, no_cache_option, read_pairs
from hcasim.cli.experiment import ExperimentCommand, experiment_options, read_experiment
from hcasim.cli.output import note, print_notes, progress_bar
from hcasim.cli.outputs import output_faults
from hcasim.cli.results import Wanted, result_options
from hcasim.cli.tables import print_table
from hcasim.cli.uncertain import read_samples, tell_bands, uncertainty_option
from hcasim.ground.errors import refuse

if TYPE_CHECKING:
    from hcasim.study.sweep.table import Sweep


@click.command("sweep", cls=ExperimentCommand)
@click.argument("workload", metavar="WORKLOAD|FILE.toml")
@experiment_options(testbed=False)
@click.option("--ranks", metavar="N,N..M", help="Processes of a program of MPI.")
@click.option("--ppn", metavar="N,N..M", help="Most of them on a node (default: 1).")
@click.option(
    "--over",
    metavar="NAME=VALUES",
    multiple=True,
    help="Any other setting over several values, such as loopback=on,off. Repeatable.",
)
@click.option(
    "--zip",
    "zipped",
    metavar="NAME,NAME",
    multiple=True,
    help="Take the values of these in step, instead of each with each. Repeatable.",
)
@click.option(
    "--let",
    metavar="NAME=EXPRESSION",
    multiple=True,
    help="A setting that follows from others, such as 'window=64*qps'. Repeatable.",
)
@click.option(
    "--where", metavar="EXPRESSION", help="Only combinations like this, such as 'qps <= window'."
)
@uncertainty_option
@click.option("--x", metavar="COLUMN", help="What lines of --plot run over.")
@click.option("--y", metavar="COLUMN", help="What --plot shows of what was measured.")
@click.option("--series", metavar="COLUMN", help="What has a line for each value.")
@click.option("--columns", metavar="COLUMN", help="What has a column of panels for each value.")
@click.option("--rows", metavar="COLUMN", help="What has a row of panels for each value.")
@result_options()
@no_cache_option
@jobs_option
def command(
    workload: str,
    over: tuple[str, ...],
    zipped: tuple[str, ...],
    let: tuple[str, ...],
    where: str | None,
    uncertainty: str | None,
    no_cache: bool,
    jobs: int | None,
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

    wanted = Wanted.take(given)
    faults = [*wanted.faults()]
    facets = {name: given.pop(name) for name in ("x", "y", "series", "columns", "rows")}
    if wanted.plot is None:
        drawn = "says how to draw; allowed: with --plot"
        faults += [f"--{name}: {drawn}" for name in facets if facets[name]]
    chosen = read_experiment(given, faults)
    overrides = chosen.pop("overrides")
    for name in ("testbed", "ranks", "ppn"):
        if given[name] is not None:
            chosen[name] = given[name]
    more = read_pairs("--over", over, faults, "NAME=VALUES")
    faults += [f"--over: found {name} also as --{name}" for name in more if name in chosen]
    lets = read_pairs("--let", let, faults, "NAME=EXPRESSION")
    groups = [[part.strip() for part in one.split(",")] for one in zipped]
    read: list[tuple[str, Path]] = []
    study: dict[str, Any] = {}
    if workload.endswith(ENDING):
        from hcasim.catalog import CatalogError

        read.append(("the study", Path(workload)))
        try:
            study = read_study(Path(workload))
        except CatalogError as error:
            faults += error.faults
    else:
        chosen["workload"] = workload
    if not faults and "testbed" not in {**study, **chosen, **more}:
        faults.append("--testbed: found none; allowed: one or more, by id or file")
    samples = read_samples(uncertainty, faults)
    faults += output_faults(wanted.outputs(), read)
    refuse(*faults)
    merged = {**study, **chosen, **{name: one for name, one in more.items() if "." not in name}}
    paths = {name: one for name, one in more.items() if "." in name}
    with progress_bar("Simulating") as progress:
        found = sweep(
            merged.pop("workload", ""),
            merged.pop("testbed", ()),
            overrides={**merged.pop("overrides", {}), **overrides, **paths} or None,
            zipped=[*merged.pop("zipped", ()), *groups],
            let={**merged.pop("let", {}), **lets},
            where=where if where is not None else merged.pop("where", None),
            uncertainty=samples,
            jobs=jobs,
            progress=progress,
            cache=not no_cache,
            **{name: one for name, one in merged.items() if name != "where"},
        )
    wanted.deliver(found, lambda: _show(found), lambda: found.plot(**facets))
    if samples:
        tell_bands(found.samples, samples, len(found.drawn))
    if found.refused:
        note(f"{found.refused} of {len(found.rows)} points were refused; column error says why")


def _show(found: Sweep) -> None:
    head, *lines = found.lines()
    print_table(found.title, head, lines, right=head)
    print_notes(found.notes)
