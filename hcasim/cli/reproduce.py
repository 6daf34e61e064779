"""`hcasim reproduce`: replay papers and collections and compare them with their claims."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.command import Command, measured_options, option
from hcasim.cli.naming import ADAPTER, SCENARIO, TESTBED
from hcasim.cli.output import note, print_notes, print_table, progress_bar
from hcasim.cli.printing import print_profile
from hcasim.cli.results import FORMS, Wanted, in_folder, report_option, result_options, told
from hcasim.ground.errors import refuse
from hcasim.ground.text import plain_table, printable
from hcasim.ground.writing import write_atomically

if TYPE_CHECKING:
    from hcasim.pages.document import Document
    from hcasim.papers.report import Report

_FIGURES = (".png", ".svg")
_REPORT = ("index.html", "reproduce.json", "reproduce.txt")
_FOLDER = (
    "Also write the claims, in the form that the ending says, as .json or .csv; or a page, figures,"
    " reproduce.json and the table into this folder, and print a summary."
)
_WHERE = (
    "Look at {folder}/index.html: figures, agreement, why claims are missed, where values come "
    "from. The table of all claims is in {folder}/reproduce.txt, for programs in reproduce.json."
)
_RIGHT = ("published", "simulated", "error")


@click.command("reproduce", cls=Command)
@click.argument("names", metavar="[PAPER|COLLECTION|SCENARIO]...", type=SCENARIO, nargs=-1)
@option("--testbed ID", "Judge on another than the authors had: id or file.", type=TESTBED)
@option(
    "--adapter ID", "Judge with one in all series instead of their own: id or file.", type=ADAPTER
)
@result_options(folder=_FOLDER, plot=False)
@report_option
@measured_options
@click.pass_context
def command(
    ctx: click.Context, /, names: tuple[str, ...], no_cache: bool, timing: bool, **given: Any
) -> None:
    """Replay papers, collections or scenarios, and judge each published statement.

    A paper is named as liu2004; a collection, such as modern, holds numbers that were published in
    many places. Without a name, all papers and collections. With -o the table goes into the folder,
    and a summary of a few lines is printed in its place. The exit code is 1 if a claim is missed
    and no deviation is documented for it. An interrupted or repeated run goes on with what was
    simulated before.
    With --testbed or --adapter the same statements are judged on another machine than their
    authors had, such as a variant of your own; all that is printed and written says so.
    """
    from hcasim.papers.loader import list_papers, load_scenarios
    from hcasim.papers.report import reproduce

    wanted = Wanted(given, folder=True)
    # A report has no figure of its own.
    endings = [*FORMS.values(), ".parquet"]
    refuse(*wanted.faults(endings=endings, extra={"--profile": given["profile"]}))
    if wanted.folder is not None:
        wanted.prepare_folder(load_scenarios(names or list_papers()), _FIGURES, *_REPORT)
    with progress_bar("Simulating") as progress:
        report = reproduce(names, progress=progress, cache=not no_cache, **given)
    report = report if timing else replace(report, wall_seconds=None)
    instead = {f"--{one}": given[one] for one in ("testbed", "adapter") if given[one] is not None}
    words = told(["reproduce", *names, *(word for pair in instead.items() for word in pair)])
    wanted.deliver(
        report,
        lambda: _show(report, wanted.folder),
        write=lambda folder: _write(report, folder, words),
        document=lambda: _page(report, words),
    )
    if not report.ok:
        ctx.exit(1)


def _show(report: Report, folder: Path | None) -> None:
    if folder is not None:
        print_notes([*report.overview(), _WHERE.format(folder=folder)])
    else:
        head, *lines = report.lines()
        print_table(report.title, head, lines, right=_RIGHT)
        print_notes(["", *report.closing_lines()])
    print_profile(report.costs.values(), timing=report.wall_seconds is not None)


def _page(report: Report, words: str) -> Document:
    from hcasim.study.report.reproduction import document

    return document(report, words, None if report.wall_seconds is None else datetime.now(UTC))


def _write(report: Report, folder: Path, words: str) -> None:
    from hcasim.pages.writing import write

    for replay in report.replays:
        for one in _FIGURES:
            replay.save(in_folder(folder, replay.scenario, one))
    page, data, text = (folder / name for name in _REPORT)
    write_atomically(page, write(_page(report, words)))
    write_atomically(data, report.to_json())
    head, *lines = report.lines()
    closing = "".join(f"{printable(line)}\n" for line in report.closing_lines())
    write_atomically(text, f"{plain_table(report.title, head, lines, right=_RIGHT)}\n{closing}")
    what = f"{len(report.replays)} figures, {', '.join(_REPORT[:-1])} and {_REPORT[-1]}"
    note(f"Wrote {what} into {folder}")
