"""`hcasim calibrate`: fit what no public source gives, to claims or to traces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.calibrate_traces import Asked, of_traces
from hcasim.cli.command import Command, jobs_option, no_cache_option, settings_option
from hcasim.cli.naming import ADAPTER, FITTED, HOST, STACK, TESTBED, Setting, Workload
from hcasim.cli.output import note, print_json, print_line, progress_bar
from hcasim.cli.outputs import Output, output_faults
from hcasim.cli.tables import print_table
from hcasim.ground.errors import CatalogError as Faults

if TYPE_CHECKING:
    from hcasim.runs.store import Store

_FILE = click.Path(path_type=Path, dir_okay=False)


# Values are taken as text, so that all that is wrong can be said at once.
@click.command("calibrate", cls=Command)
@click.argument("words", metavar="FIT | TRACE...", type=FITTED, nargs=-1, required=True)
@click.option(
    "--testbed",
    metavar="ID",
    type=TESTBED,
    help="The base description that traces are fitted to: id or file.",
)
@click.option(
    "--adapter",
    metavar="ID",
    type=ADAPTER,
    help="An adapter instead of the testbed's default: id or file.",
)
@click.option(
    "--stack",
    metavar="ID",
    type=STACK,
    help="Software instead of the testbed's: id or file.",
)
@click.option(
    "--host", metavar="ID", type=HOST, help="A host instead of the testbed's: id or file."
)
@settings_option
@click.option("--mtu", metavar="N", help="Bytes, instead of what traces and testbed say.")
@click.option("--no-switch", is_flag=True, default=None, help="Two hosts back to back.")
@click.option(
    "--free",
    metavar="PATH[=LOW..HIGH]",
    type=Setting(equals=False),
    multiple=True,
    help="Fit this parameter, by the path that show prints. Repeatable.",
)
@click.option(
    "--holdout",
    metavar="WORKLOAD",
    type=Workload(),
    multiple=True,
    help="Compare with these points only; they are not fitted. Repeatable.",
)
@click.option(
    "--budget",
    metavar="N|SECONDS",
    help="End after so many evaluations of the search, 200, or seconds, 90s (default: no end).",
)
@click.option("--seed", metavar="N", help="Of bootstraps and samples (default: 0).")
@click.option(
    "--intervals", metavar="KIND", help="profile (the default), bootstrap or linear: of 95 %."
)
@click.option("--loss", metavar="KIND", help="soft_l1 (the default), huber or linear.")
@click.option(
    "--floor", metavar="PERCENT", help="Error that the model may have at any point (default: 1)."
)
@click.option("--allow-mismatch", is_flag=True, default=None, help="Fit traces of other hardware.")
@click.option(
    "--resume",
    type=click.Path(path_type=Path, file_okay=False, writable=True),
    metavar="FOLDER",
    help="Keep simulated points in this folder (default: the user's cache).",
)
@click.option(
    "--report", type=_FILE, metavar="FILE.html", help="Also write a page with curves and residuals."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("-o", "--output", type=_FILE, metavar="FILE.toml", help="Write the fit to this file.")
@no_cache_option
@jobs_option
def command(
    words: tuple[str, ...],
    testbed: str | None,
    as_json: bool,
    output: Path | None,
    no_cache: bool,
    jobs: int | None,
    **given: Any,
) -> None:
    """Fit parameters to the claims of a paper, or to traces of a machine.

    With the id of a file of calibration/fits, such as liu2004, its parameters are fitted to the
    claims that it lists; that is how those files were made. With traces, --testbed says which
    machine they are compared with and --free what may change; bench and show take the file with
    --calibration.

    The same words give the same file, also after an interruption, with which they go on. Without
    -o no fit is written.
    """
    from hcasim.runs.store import Store, code_digest, usual_store

    store = None if no_cache else usual_store()
    if given["resume"] is not None:
        store = Store(given["resume"], code_digest())
    fit = Output("-o", output, [".toml"])
    if testbed is None and not any(map(_is_file, words)):
        asked = _of_claims(words, fit, given)
    else:
        asked = of_traces(words, testbed, fit, given, store)
    unended = f"the search did not end; allowed: {asked.remedy}"
    _print(
        asked,
        as_json,
        jobs,
        store,
        unended if output is None else f"{output}: not written: {unended}",
    )


def _is_file(word: str) -> bool:
    from hcasim.ground.reading import leads_to

    return leads_to(Path(word), Path.is_file) or Path(word).suffix == ".jsonl"


def _of_claims(words: tuple[str, ...], output: Output, given: dict[str, Any]) -> Asked:
    """Return the search that a file of calibration/fits asks for."""
    from hcasim.calibrate.fit import calibrate
    from hcasim.catalog import load_fit
    from hcasim.papers.observations import observations

    faults = [
        f"--{_option(name)}: found without a trace; a fit to claims takes it from its file"
        for name, value in given.items()
        if value not in (None, ())
    ]
    if len(words) > 1:
        faults.append(f"found {', '.join(words)}; allowed: one fit, or traces with --testbed")
    faults += output_faults([output])
    if faults:
        raise Faults(faults)
    fit = load_fit(words[0])
    found = observations(fit)
    return Asked(
        lambda run: calibrate(fit, found, run=run),
        [(output.file, lambda report: report.to_toml())],
        "other bounds",
    )


def _option(name: str) -> str:
    return "set" if name == "settings" else name.replace("_", "-")


def _print(
    asked: Asked, as_json: bool, jobs: int | None, store: Store | None, unended: str
) -> None:
    """Search, print what was found as JSON or as tables, and write it if it is a fit."""
    from hcasim.calibrate.objective import runner
    from hcasim.ground.writing import write_atomically
    from hcasim.runs.executor import OutOfTime

    try:
        with progress_bar("Fitting") as progress:
            found = asked.find(runner(jobs=jobs, progress=progress, store=store))
    except OutOfTime as error:
        for text in getattr(error, "__notes__", ()):
            note(text)
        raise Faults([unended]) from None
    if as_json:
        print_json(found.to_dict())
    else:
        for table in found.tables():
            names = [column.title for column in table.heads]
            right = [column.title for column in table.heads if column.right]
            rows = [[cell.text for cell in line] for line in table.lines]
            print_table(table.title, names, rows, right=right)
            click.echo()
        for line in found.closing_lines():
            print_line(line)
    if not found.converged:
        # A part of a search is no fit.
        raise Faults([unended])
    for file, render in asked.files:
        if file is not None:
            write_atomically(file, render(found))
            note(f"Wrote {file}")
