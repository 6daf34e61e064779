"""`hcasim calibrate`: fit what no public source gives, to claims or to traces."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.command import Command, Faults, jobs_option, read_settings, settings_option
from hcasim.cli.output import note, print_json, print_line, print_table, progress_bar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hcasim.calibrate.objective import Budget
    from hcasim.calibrate.report import Table
    from hcasim.study.trace_request import Request

_FOR_TRACES = (
    *("adapter", "free", "holdout", "settings", "mtu", "no_switch", "budget", "seed"),
    *("intervals", "loss", "floor", "resume", "report", "allow_mismatch"),
)
_BUDGET = re.compile(r"([0-9]+(?:\.[0-9]+)?)(s?)")


# Values are taken as text, so that all that is wrong can be said at once.
@click.command("calibrate", cls=Command)
@click.argument("words", metavar="PAPER | TRACE...", nargs=-1, required=True)
@click.option("--testbed", metavar="ID", help="The base description that traces are fitted to.")
@click.option("--adapter", metavar="ID", help="An adapter instead of the testbed's default.")
@settings_option
@click.option("--mtu", metavar="N", help="Of the base, instead of what traces and testbed say.")
@click.option("--no-switch", is_flag=True, default=None, help="Two hosts back to back.")
@click.option(
    "--free",
    metavar="PATH[=LOW..HIGH]",
    multiple=True,
    help="Fit this parameter, by the path that show prints. Repeatable.",
)
@click.option(
    "--holdout",
    metavar="WORKLOAD",
    multiple=True,
    help="Compare with these points only; they are not fitted. Repeatable.",
)
@click.option(
    "--budget",
    metavar="N|SECONDS",
    help="End the search after so many evaluations, 200, or so many seconds, 90s.",
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
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Keep what was simulated here (default: beside the output until the fit is done).",
)
@click.option(
    "--report",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.html",
    help="Also write a page with curves and residuals.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the fit to this file.",
)
@jobs_option
def command(
    words: tuple[str, ...],
    testbed: str | None,
    as_json: bool,
    output: Path | None,
    jobs: int | None,
    **given: Any,
) -> None:
    """Fit parameters to the claims of a paper, or to traces of a machine.

    With the name of a paper or testbed, the parameters in its file of calibration/fits are fitted
    to its claims; that is how those files were made. With traces, --testbed says which machine
    they are compared with and --free what may change; bench and show take the file with
    --calibration.

    The same words give the same file, also after an interruption. Without -o nothing is kept.
    """
    files = [word for word in words if _is_file(word)]
    if testbed is None and not files:
        _calibrate_paper(words, as_json, output, jobs, given)
    else:
        _calibrate_traces(words, testbed, as_json, output, jobs, given)


def _is_file(word: str) -> bool:
    return Path(word).is_file() or Path(word).suffix == ".jsonl"


def _calibrate_paper(
    words: tuple[str, ...],
    as_json: bool,
    output: Path | None,
    jobs: int | None,
    given: dict[str, Any],
) -> None:
    from hcasim.calibrate import calibrate
    from hcasim.catalog import load_fit
    from hcasim.study import write_atomically
    from hcasim.study.observations import observations, runner

    faults = [
        f"--{_option(name)}: found without a trace; a fit to claims takes it from its file"
        for name in _FOR_TRACES
        if given[name] not in (None, ())
    ]
    if len(words) > 1:
        faults.append(f"found {', '.join(words)}; allowed: one paper, or traces with --testbed")
    if faults:
        raise Faults(faults)
    (testbed,) = words
    if output is not None:
        check_folder(output)
    found = observations(testbed)
    with progress_bar("Fitting") as progress:
        report = calibrate(load_fit(testbed), found, run=runner(jobs=jobs, progress=progress))
    _print(report.tables(), report.closing_lines(), report.to_dict() if as_json else None)
    if output is not None:
        if not report.converged:
            raise Faults([f"{output}: not written: the search did not end; choose other bounds"])
        write_atomically(output, report.render())
        note(f"Wrote {output}")


def _calibrate_traces(
    words: tuple[str, ...],
    testbed: str | None,
    as_json: bool,
    output: Path | None,
    jobs: int | None,
    given: dict[str, Any],
) -> None:
    from hcasim.calibrate.freeing import RULE
    from hcasim.study import write_atomically
    from hcasim.study.observations import runner
    from hcasim.study.remember import Memory
    from hcasim.study.trace_fit import fit_traces
    from hcasim.study.trace_request import prepare_fit

    kept = given["resume"]
    if kept is None and output is not None:
        kept = output.with_name(f"{output.name}.evaluations")
    clash = _same_file(words, {"-o": output, "--report": given["report"], "--resume": kept})
    if clash is not None:
        raise Faults([clash])
    for file in (output, given["report"], given["resume"]):
        if file is not None:
            check_folder(file)
    prepared = prepare_fit(_request(words, testbed, given))
    for text in prepared.notes:
        note(text)
    for path, entry in prepared.fit.entries.items():
        low, high = entry.bounds or ("", "")
        note(f"free: {path} from {entry.start}, {low} to {high}")
    if not all("=" in one for one in given["free"]):
        note(RULE)
    memory = None
    if kept is not None:
        memory = Memory(kept)
        if memory.known:
            note(f"Goes on with {memory.known} points of {kept}")
    with progress_bar("Fitting") as progress:
        run = runner(jobs=jobs, progress=progress)
        found = fit_traces(prepared, run if memory is None else memory.over(run))
    _print(found.tables(), found.closing_lines(), found.to_dict() if as_json else None)
    if output is not None:
        write_atomically(output, found.render())
        note(f"Wrote {output}")
    if given["report"] is not None:
        from hcasim.study.fit_page import page

        write_atomically(given["report"], page(found))
        note(f"Wrote {given['report']}")
    if memory is not None and given["resume"] is None:
        if found.report.converged:
            memory.forget()
        else:
            note(f"Kept {kept}: with a larger --budget the search goes on from there")


def _same_file(traces: Iterable[str], others: dict[str, Path | None]) -> str | None:
    """Say which two names are of one file: a measurement must not be written over."""
    named = [(f"the trace {word}", Path(word)) for word in traces]
    named += [(f"{name} {file}", file) for name, file in others.items() if file is not None]
    for number, (name, file) in enumerate(named):
        for other_name, other in named[:number]:
            if _is_same(file, other):
                return f"{name}: found the same file as {other_name}; allowed: one of its own"
    return None


def _is_same(one: Path, other: Path) -> bool:
    try:
        # Also by another link.
        return one.samefile(other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def _request(words: tuple[str, ...], testbed: str | None, given: dict[str, Any]) -> Request:
    """Turn the arguments into a request, or find every fault."""
    from hcasim.catalog import CatalogError, UnitError, parse_size
    from hcasim.study.trace_request import Request, prepare_fit

    faults: list[str] = []
    if testbed is None:
        faults.append("--testbed: missing; allowed: a testbed, which the traces are compared with")
    numbers: dict[str, Any] = {}
    for name, read in (("seed", _count), ("floor", _percent), ("budget", _budget)):
        if given[name] is not None:
            try:
                numbers[name] = read(given[name])
            except ValueError as error:
                faults.append(f"--{name}: found {given[name]!r}; allowed: {error}")
    if given["mtu"] is not None:
        try:
            numbers["mtu"] = parse_size(given["mtu"])
        except UnitError as error:
            faults.append(f"--mtu: {error}")
    if given["report"] is not None and given["report"].suffix.lower() not in (".html", ".htm"):
        faults.append(f"--report: found {str(given['report'])!r}; allowed endings: .html")
    settings = read_settings(given["settings"], faults)
    chosen = {name: given[name] for name in ("intervals", "loss") if given[name] is not None}
    request = Request(
        traces=tuple(Path(word) for word in words),
        testbed=testbed or "",
        adapter=given["adapter"],
        free=given["free"],
        settings=settings,
        switch=not given["no_switch"],
        holdout=tuple(dict.fromkeys(given["holdout"])),
        allow_mismatch=bool(given["allow_mismatch"]),
        **chosen,
        **numbers,
    )
    if faults:
        if testbed is not None:
            # What else is wrong is said in the same run.
            try:
                prepare_fit(request)
            except CatalogError as error:
                faults += error.faults
        raise Faults(faults)
    return request


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ValueError("a whole number")
    return int(text)


def _percent(text: str) -> float:
    try:
        return float(text) / 100
    except ValueError:
        raise ValueError("percent, such as 1 or 0.5") from None


def _budget(text: str) -> Budget:
    from hcasim.calibrate.objective import Budget

    match = _BUDGET.fullmatch(text.strip())
    if match is None or not float(match[1]) or ("." in match[1] and not match[2]):
        raise ValueError("a number of evaluations, such as 200, or of seconds, such as 90s")
    return Budget(seconds=float(match[1])) if match[2] else Budget(evaluations=int(match[1]))


def _option(name: str) -> str:
    return "set" if name == "settings" else name.replace("_", "-")


def _print(tables: Iterable[Table], lines: Iterable[str], data: dict[str, Any] | None) -> None:
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
