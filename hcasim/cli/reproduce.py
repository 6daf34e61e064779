"""`hcasim reproduce`: replay papers and compare them with their claims."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hcasim.cli.command import (
    Command,
    Faults,
    jobs_option,
    no_cache_option,
    profile_of_all_option,
    timing_option,
)
from hcasim.cli.naming import ADAPTER, SCENARIO, TESTBED
from hcasim.cli.output import note, print_json, print_line, progress_bar
from hcasim.cli.outputs import output_faults, prepare_folder
from hcasim.cli.printing import print_profile
from hcasim.cli.results import in_folder, report_option, report_output, told, write_page
from hcasim.cli.tables import print_table

if TYPE_CHECKING:
    from hcasim.pages import Document
    from hcasim.papers.report import Report

_FIGURES = (".png", ".svg")
_REPORT = ("index.html", "reproduce.json", "reproduce.txt")
_WHERE = (
    "Look at {folder}/index.html: figures, agreement, why claims are missed, where values come "
    "from. The table of all claims is in {folder}/reproduce.txt, for programs in reproduce.json."
)
_RIGHT = ("published", "simulated", "error")


@click.command("reproduce", cls=Command)
@click.argument("names", metavar="[PAPER|SCENARIO]...", type=SCENARIO, nargs=-1)
@click.option(
    "--testbed",
    metavar="ID",
    type=TESTBED,
    help="Judge on another than the authors had: id or file.",
)
@click.option(
    "--adapter",
    metavar="ID",
    type=ADAPTER,
    help="Judge with one in all series instead of their own: id or file.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the statements of context.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Write a page, figures, reproduce.json and the table into this folder; print a summary.",
)
@report_option
@no_cache_option
@profile_of_all_option
@timing_option
@jobs_option
@click.pass_context
def command(
    ctx: click.Context,
    names: tuple[str, ...],
    testbed: str | None,
    adapter: str | None,
    as_json: bool,
    output: Path | None,
    page: Path | None,
    no_cache: bool,
    profile: bool,
    timing: bool,
    jobs: int | None,
) -> None:
    """Replay papers, such as liu2004, or scenarios, and judge each published statement.

    Without a name, all papers. With -o the table goes into the folder, and a summary of a few lines
    is printed in its place. The exit code is 1 if a claim is missed and no deviation is
    documented for it. An interrupted or repeated run goes on with what was simulated before.
    With --testbed or --adapter the same statements are judged on another machine than their
    authors had, such as a variant of your own; all that is printed and written says so.
    """
    from hcasim.papers.loader import list_papers, load_scenarios
    from hcasim.papers.overview import overview
    from hcasim.papers.report import COLUMNS, reproduce

    if faults := list(output_faults([report_output(page)])):
        raise Faults(faults)
    if output is not None:
        asked = load_scenarios(names or list_papers())
        files = [in_folder(output, one, ending) for one in asked for ending in _FIGURES]
        if faults := prepare_folder(output, [*files, *(output / name for name in _REPORT)]):
            raise Faults(faults)
    with progress_bar("Simulating") as progress:
        report = reproduce(
            names,
            testbed=testbed,
            adapter=adapter,
            jobs=jobs,
            progress=progress,
            cache=not no_cache,
            profile=profile,
        )
    report = report if timing else replace(report, wall_seconds=None)
    instead = [("--testbed", testbed), ("--adapter", adapter)]
    chosen = [word for one in instead if one[1] is not None for word in one]
    words = told(["reproduce", *names, *map(str, chosen)])
    try:
        if output is not None:
            _write(report, output, words)
        if page is not None:
            write_page(_page(report, words), page)
    finally:
        # What took long to simulate is shown even if a disk is full.
        if as_json:
            print_json(report.to_dict())
        elif output is not None:
            for line in overview(report):
                print_line(line)
            print_line(_WHERE.format(folder=output))
        else:
            print_table(
                report.title, COLUMNS, report.lines()[1:], right=_RIGHT, aside=("scenario", "role")
            )
            click.echo()
            for line in report.closing_lines():
                print_line(line)
        if not as_json:
            print_profile(report.costs.values(), timing=timing)
    if not report.ok:
        ctx.exit(1)


def _page(report: Report, words: str) -> Document:
    from hcasim.study.report.reproduction import document

    return document(report, words, None if report.wall_seconds is None else datetime.now(UTC))


def _write(report: Report, folder: Path, words: str) -> None:
    from hcasim.ground.text import plain_table, printable
    from hcasim.ground.writing import write_atomically
    from hcasim.pages.writing import write
    from hcasim.papers.report import COLUMNS

    for replay in report.replays:
        for one in _FIGURES:
            replay.save(in_folder(folder, replay.scenario, one))
    page, data, text = (folder / name for name in _REPORT)
    write_atomically(page, write(_page(report, words), page.suffix))
    write_atomically(data, report.to_json())
    table = plain_table(report.title, COLUMNS, report.lines()[1:], right=_RIGHT)
    closing = "".join(f"{printable(line)}\n" for line in report.closing_lines())
    write_atomically(text, f"{table}\n{closing}")
    what = f"{len(report.replays)} figures, {', '.join(_REPORT[:-1])} and {_REPORT[-1]}"
    note(f"Wrote {what} into {folder}")
