"""`hcasim why`: which parameters explain a difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.command import Command, Faults
from hcasim.cli.naming import Workload
from hcasim.cli.output import print_json, print_line, print_lines, progress_bar, to_csv
from hcasim.cli.sides import read_sides, side_options
from hcasim.cli.tables import print_table

if TYPE_CHECKING:
    from hcasim.study.comparison.answer import Answer


@click.command("why", cls=Command)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.argument("workload", type=Workload())
@side_options
@click.option(
    "--quantity",
    metavar="FIELD",
    help="Explain this of what the workload measures (default: its first).",
)
@click.option(
    "--top",
    metavar="N",
    type=click.IntRange(1, 11),
    default=7,
    help="So many causes get a share of their own (default: 7); each more takes twice as long.",
)
@click.option(
    "--group",
    metavar="BY",
    multiple=True,
    help="Causes that count as one: part (the adapter, the host and so on), section (blocks such as"
    " adapter.bus), or what paths begin with. Repeatable.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, a line for each share.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    a: str,
    b: str,
    workload: str,
    quantity: str | None,
    top: int,
    group: tuple[str, ...],
    as_csv: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Say which parameters explain how two testbeds differ in a benchmark.

    Each parameter that differs is exchanged alone, in A and in B; those that do most are then
    exchanged in every combination. A share is the mean of what an exchange does over all orders
    (Shapley's value); the shares of a number add up to the difference. Where the time goes on both,
    stage by stage, and what limits them, is told beside it.
    """
    from hcasim.study.comparison.why import why

    faults: list[str] = []
    asked = read_sides(given, faults)
    if as_csv and as_json:
        faults.append("--csv: contradicts --json; choose one")
    if faults:
        raise Faults(faults)
    with progress_bar("Simulating") as progress:
        asked |= {"quantity": quantity, "top": top, "group": group}
        found = why(a, b, workload, progress=progress, **asked)
    if as_json:
        print_json(found.to_dict())
    elif as_csv:
        print_lines(to_csv(found.rows()))
    else:
        for answer in found.answers:
            _print(answer)
            click.echo()
        for answer in found.answers:
            print_line(answer.words())
        if found.together:
            few = len(found.together)
            print_line(f"structure has {few} parameters with it that cannot be exchanged alone.")


def _print(answer: Answer) -> None:
    from hcasim.ground.quantities import number

    head = ("Cause", "A", "B", "Alone", "Last", "Share", "%")
    rows = []
    for one in answer.shares:
        percent = answer.percent(one)
        values = [number(value) for value in (one.alone, one.last, one.share)]
        said = "" if percent is None else f"{percent:.1f}"
        rows.append((one.cause.name, one.cause.a, one.cause.b, *values, said))
    ends = f"{number(answer.a)} to {number(answer.b, answer.unit)}"
    print_table(f"{answer.name}: {ends}", head, rows, right=head[3:])
    for title, columns, lines in answer.tables():
        click.echo()
        print_table(title, columns, lines, right=columns[1:])
