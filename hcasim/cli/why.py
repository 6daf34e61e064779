"""`hcasim why`: which parameters explain a difference."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.calibrated import fit_sides
from hcasim.cli.command import calibration_option, option
from hcasim.cli.experiment import ExperimentCommand, read_sides, side_options
from hcasim.cli.naming import Workload
from hcasim.cli.output import print_line, print_table, progress_bar
from hcasim.cli.results import Wanted, result_options
from hcasim.ground.errors import refuse

if TYPE_CHECKING:
    from hcasim.study.comparison.why import Answer, Why


@click.command("why", cls=ExperimentCommand)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.argument("workload", type=Workload())
@side_options
@calibration_option
@option("--quantity FIELD", "Explain this of what the workload measures (default: its first).")
@option(
    "--top N",
    "So many causes get a share of their own (default: 7); each more takes twice as long.",
    type=click.IntRange(1, 11),
    default=7,
)
@option(
    "--group",
    "Causes by part: the adapter, the host and so on, as a whole where both have another.",
    metavar="part",
)
@result_options()
def command(a: str, b: str, workload: str, calibration: Path | None, **given: Any) -> None:
    """Say which parameters explain how two testbeds differ in a benchmark.

    Each parameter that differs is exchanged alone, in A and in B; those that do most are then
    exchanged in every combination. A share is the mean of what an exchange does over all orders
    (Shapley's value); the shares of a number add up to the difference. Where the time goes on both,
    stage by stage, and what limits them, is told beside it.
    """
    from hcasim.study.comparison.why import why

    wanted, faults = Wanted(given), list[str]()
    asked = read_sides(given, faults)
    fit_sides(calibration, workload, (a, b), asked, faults)
    refuse(*faults, *wanted.faults())
    asked |= {name: given[name] for name in ("quantity", "top", "group")}
    with progress_bar("Simulating") as progress:
        found = why(a, b, workload, progress=progress, **asked)
    wanted.deliver(found, lambda: _show(found))


def _show(found: Why) -> None:
    for answer in found.answers:
        _print(answer)
        click.echo()
    for title, head, lines in found.meanings():
        print_table(title, head, lines)
        click.echo()
    for answer in found.answers:
        print_line(answer.words)
    if found.together:
        few = len(found.together)
        print_line(f"structure has {few} parameters with it that cannot be exchanged alone.")


def _print(answer: Answer) -> None:
    from hcasim.ground.quantities import number

    head = ("Cause", "A", "B", "Alone", "Last", "Share", "%")
    rows = []
    for one in answer.shares:
        percent = answer.percent(one)
        values = map(number, (one.alone, one.last, one.share))
        said = "" if percent is None else f"{percent:.1f}"
        rows.append((one.cause, one.a, one.b, *values, said))
    ends = f"{number(answer.a)} to {number(answer.b, answer.unit)}"
    print_table(f"{answer.name}: {ends}", head, rows, right=head[3:])
    for title, columns, lines in answer.tables():
        print_table(title, columns, lines, right=columns[1:], below=True)
