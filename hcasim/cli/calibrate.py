"""`hcasim calibrate`: fit what no public source gives, to claims or to traces."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.command import (
    Command,
    flag,
    jobs_option,
    no_cache_option,
    option,
    options,
    read_settings,
    settings_option,
)
from hcasim.cli.experiment import read_switch, switch_faults, switch_options
from hcasim.cli.naming import ADAPTER, FILE, FITTED, HOST, STACK, TESTBED, Setting, Workload
from hcasim.cli.output import note, print_json, print_line, print_table, progress_bar
from hcasim.cli.results import Output, output_faults
from hcasim.ground.errors import CatalogError as Faults
from hcasim.ground.errors import refuse

if TYPE_CHECKING:
    from hcasim.calibrate.objective import Run
    from hcasim.calibrate.report import FitReport
    from hcasim.calibrate.request import Prepared
    from hcasim.runs.store import Store

    _Asked = tuple[Callable[[Run], FitReport], str]
    """What searches, and what helps a search that does not end."""

_BUDGET = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?s", re.ASCII)
# Values are taken as text, so that all that is wrong can be said at once.
_of_traces = options(
    option("--testbed", "Base description that traces are fitted to: id or file.", type=TESTBED),
    option("--adapter", "Adapter instead of the testbed's default: id or file.", type=ADAPTER),
    option("--stack", "Software instead of the testbed's: id or file.", type=STACK),
    option("--host", "Host instead of the testbed's: id or file.", type=HOST),
    settings_option,
    option("--mtu N", "Bytes, instead of what traces and testbed say."),
    switch_options,
    option(
        "--free PATH[=LOW..HIGH]",
        "Fit this parameter, by the path that show prints. Repeatable.",
        type=Setting(equals=False),
        multiple=True,
    ),
    option(
        "--holdout WORKLOAD",
        "Compare with these points only; they are not fitted. Repeatable.",
        type=Workload(),
        multiple=True,
    ),
    option("--budget SECONDS", "End after so long, such as 90s (default: no end)."),
    option("--seed N", "Seed for samples (default: 0)."),
    option("--intervals KIND", "profile (the default) or linear: of 95 %."),
    option("--loss KIND", "soft_l1 (the default) or linear."),
    option("--floor PERCENT", "Error that the model may have at any point (default: 1)."),
    flag("--allow-mismatch", "Fit traces of other hardware.", default=None),
    option("--report FILE.html", "Also write a page with curves and residuals.", type=FILE),
)


@click.command("calibrate", cls=Command)
@click.argument("words", metavar="FIT | FILE...", type=FITTED, nargs=-1, required=True)
@_of_traces
@flag("--json as_json", "Print JSON.")
@option("-o --output FILE.toml", "Write the fit to this file.", type=FILE)
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
    """Fit parameters to the claims of a paper, or to measurements of a machine.

    With the id of a file of calibration/fits, such as liu2004, its parameters are fitted to the
    claims that it lists; that is how those files were made. With traces, or what perftest, OSU,
    IMB or NetPIPE printed, --testbed says which machine they are compared with and --free what may
    change; bench and show take the file with --calibration.

    The same words give the same file, also after an interruption, with which they go on. Without
    -o no fit is written.
    """
    from hcasim.calibrate.objective import runner
    from hcasim.calibrate.page import document
    from hcasim.ground.writing import write_atomically
    from hcasim.pages.writing import write
    from hcasim.runs.executor import OutOfTime
    from hcasim.runs.store import usual_store

    store = None if no_cache else usual_store()
    fit = Output("-o", output, [".toml"])
    if testbed is None and not any(map(_is_file, words)):
        find, remedy = _of_claims(words, fit, given)
    else:
        find, remedy = _of_files(words, testbed, fit, given, store)
    unended = f"the search did not end; allowed: {remedy}"
    if output is not None:
        unended = f"{output}: not written: {unended}"
    try:
        with progress_bar("Fitting") as progress:
            found = find(runner(jobs=jobs, progress=progress, store=store))
    except OutOfTime as error:
        for text in getattr(error, "__notes__", ()):
            note(text)
        raise Faults([unended]) from None
    if as_json:
        print_json(found.to_dict())
    else:
        _print(found)
    if not found.converged:
        # A part of a search is no fit.
        raise Faults([unended])
    for file in (output, given["report"]):
        if file is not None:
            text = found.to_toml() if file is output else write(document(found))
            write_atomically(file, text)
            note(f"Wrote {file}")


def _is_file(word: str) -> bool:
    from hcasim.ground.reading import leads_to

    return leads_to(Path(word), Path.is_file) or Path(word).suffix == ".jsonl"


def _print(found: FitReport) -> None:
    for table in found.tables():
        names = [column.title for column in table.heads]
        right = [column.title for column in table.heads if column.right]
        rows = [[cell.text for cell in line] for line in table.lines]
        print_table(table.title, names, rows, right=right)
        click.echo()
    for line in found.closing_lines():
        print_line(line)


def _of_claims(words: tuple[str, ...], output: Output, given: dict[str, Any]) -> _Asked:
    from hcasim.calibrate.fit import calibrate
    from hcasim.catalog import find_file, load_fit
    from hcasim.catalog.folders import is_known
    from hcasim.ground.opened import renew
    from hcasim.papers.observations import observations

    names = {name: name.replace("_", "-") for name in given} | {"settings": "set"}
    faults = [
        f"--{names[name]}: found without a trace; a fit to claims takes it from its file"
        for name, value in given.items()
        if value not in (None, ())
    ]
    if len(words) > 1:
        faults.append(f"found {', '.join(words)}; allowed: one fit, or traces with --testbed")
    if is_known(words[0], "calibrations"):
        # A fit is made again in its place.
        renew(find_file(words[0], "calibrations"))
    faults += output_faults([output])
    refuse(*faults)
    fit = load_fit(words[0])
    found = observations(fit)
    return lambda run: calibrate(fit, found, run=run), "other bounds"


def _of_files(
    words: tuple[str, ...],
    testbed: str | None,
    output: Output,
    given: dict[str, Any],
    store: Store | None,
) -> _Asked:
    """Return the search that measurements ask for; a store keeps what is cut off of it."""
    from hcasim.calibrate.fit import fit_traces
    from hcasim.calibrate.freeing import RULE

    outputs = [output, Output("--report", given["report"], [".html", ".htm"])]
    prepared = _prepared(words, testbed, given, [*output_faults(outputs)])
    for text in prepared.notes:
        note(text)
    for path, entry in prepared.fit.entries.items():
        low, high = entry.bounds or ("", "")
        note(f"free: {path} from {entry.start}, {low} to {high}")
    if not all("=" in one for one in given["free"]):
        note(RULE)
    least, most = prepared.evaluations
    note(
        f"{len(prepared.gathered.observations)} points at each evaluation; {least} to {most} "
        "evaluations are expected"
    )
    remedy = "narrower bounds or fewer free parameters"
    if prepared.request.budget is not None:
        goes_on = "" if store is None else f", with which it goes on from {store.folder}"
        remedy = f"a larger --budget{goes_on}"
    return lambda run: fit_traces(prepared, run), remedy


def _prepared(
    words: tuple[str, ...], testbed: str | None, given: dict[str, Any], faults: list[str]
) -> Prepared:
    """Turn the arguments into a fit, or say every fault, those of the files with them."""
    from hcasim.calibrate.request import Request, prepare_fit
    from hcasim.catalog import CatalogError, list_ids, one_of
    from hcasim.ground.units import parse_size
    from hcasim.runs.experiment import Experiment

    if testbed is None:
        allowed = one_of(list_ids("testbeds"))
        faults.append(f"--testbed: missing, which the traces are compared with; allowed: {allowed}")
    numbers: dict[str, Any] = {}
    read: dict[str, Callable[[str], Any]] = {
        "seed": _count,
        "floor": _percent,
        "budget": _budget,
        "mtu": parse_size,
    }
    for name in read:
        try:
            if given[name] is not None:
                numbers[name] = read[name](given[name])
        except ValueError as error:
            found = "" if name == "mtu" else f"found {given[name]!r}; allowed: "
            faults.append(f"--{name}: {found}{error}")
    faults += switch_faults(given)
    base = Experiment.of(
        "",
        testbed or "",
        **{name: given[name] for name in ("adapter", "stack", "host")},
        mtu=numbers.pop("mtu", None),
        **read_switch(given),
        overrides=read_settings(given["settings"], faults),
    )
    words_of = {name: given[name] for name in ("intervals", "loss") if given[name] is not None}
    request = Request(
        traces=tuple(Path(word) for word in words),
        base=base,
        free=given["free"],
        holdout=tuple(dict.fromkeys(given["holdout"])),
        allow_mismatch=bool(given["allow_mismatch"]),
        **words_of,
        **numbers,
    )
    try:
        if testbed is not None:
            prepared = prepare_fit(request)
    except CatalogError as error:
        faults += error.faults
    refuse(*faults)
    return prepared


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ValueError("a whole number")
    return int(text)


def _percent(text: str) -> float:
    try:
        return float(text) / 100
    except ValueError:
        raise ValueError("percent, such as 1 or 0.5") from None


def _budget(text: str) -> float:
    if not _BUDGET.fullmatch(text) or not float(text[:-1]):
        raise ValueError("seconds, such as 90s")
    return float(text[:-1])
