"""`hcasim compare`: two machines or results side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.experiment import ExperimentCommand, read_sides, side_options
from hcasim.cli.naming import Workload
from hcasim.cli.output import print_line, progress_bar
from hcasim.cli.outputs import output_faults
from hcasim.cli.results import TEXT, Wanted, result_options
from hcasim.cli.tables import print_table, word
from hcasim.cli.uncertain import read_samples, tell_bands, uncertainty_option
from hcasim.ground.errors import refuse

if TYPE_CHECKING:
    from hcasim.study.comparison.compare import Comparison


@click.command("compare", cls=ExperimentCommand)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.argument("workload", required=False, type=Workload())
@side_options
@uncertainty_option
@click.option("--sources", is_flag=True, help="Also where each value that differs comes from.")
@result_options()
def command(
    a: str,
    b: str,
    workload: str | None,
    uncertainty: str | None,
    sources: bool,
    **given: Any,
) -> None:
    """Compare two machines or results: what differs, and what that does.

    A and B are testbeds by id or file, .json files that bench or run has written, or measurements:
    traces, or what perftest, OSU, IMB or NetPIPE printed. Of a file with several series or
    workloads it is FILE#NAME. With a WORKLOAD, or a result on one side, both are measured. The
    usual options are those of both sides, --a and --b those of one.
    """
    from hcasim.study.comparison.compare import compare
    from hcasim.study.comparison.sides import is_result

    wanted = Wanted.take(given)
    faults = [*wanted.faults()]
    asked = read_sides(given, faults)
    measured = workload is not None or is_result(a) or is_result(b)
    if sources and wanted.form != TEXT:
        faults.append(
            f"--sources: found with --format {wanted.form}; "
            "allowed: with the tables; --format json has them"
        )
    for option, there in (("--format csv", wanted.form == "csv"), ("--plot", wanted.plot)):
        if there and not measured:
            faults.append(f"{option}: found without a workload; allowed: with one, or with results")
    samples = read_samples(uncertainty, faults)
    faults += output_faults(wanted.outputs())
    refuse(*faults)
    with progress_bar("Simulating") as progress:
        found = compare(a, b, workload, uncertainty=samples, progress=progress, **asked)
    wanted.deliver(found, lambda: _print(found, sources))
    if samples:
        tell_bands(found.samples, samples, len(found.drawn))


def _print(found: Comparison, sources: bool) -> None:
    from hcasim.ground.quantities import number, title
    from hcasim.workloads.options import AXES

    differing = [(name.replace("_", " "), a, b) for name, (a, b) in found.parts.items()]
    differing += [(one.path, *one.texts) for one in found.differences]
    if differing:
        count = len(found.differences)
        head = "1 parameter differs" if count == 1 else f"{count} parameters differ"
        print_table(head, ("What", "A", "B"), differing)
        if sources and count:
            told = ("What", "Side", "Value", "Evidence", "Source")
            print_table("Where the values come from", told, _sources(found), below=True)
    elif not (found.a.tool or found.b.tool):
        print_line("The descriptions of both machines are the same.")
    # A measurement has no description to tell of.
    below = not (found.a.tool or found.b.tool)
    names = ("A", "B") if below else found.labels
    for name in found.measured:
        banded = any(name in one.beyond for one in found.pairs)
        lines = []
        for one in found.pairs:
            at = [AXES[axis].label(one.at[axis]) if axis in one.at else "" for axis in found.axes]
            ratio = one.ratio[name]
            cells = [_measured(side, name) for side in (one.a, one.b)]
            cells.append("" if ratio is None else number(ratio) + _range(one.bands.get(name)))
            beyond = [word(one.beyond.get(name))] if banded else []
            lines.append((*at, *cells, *beyond))
        columns = (*(AXES[axis].title for axis in found.axes), *names, "B/A")
        columns += ("Beyond bands",) if banded else ()
        print_table(
            f"{found.a.workload}: {title(name)}", columns, lines, right=columns, below=below
        )
        below = True


def _measured(side: Mapping[str, float], name: str) -> str:
    """Return what a side has measured, with its band."""
    from hcasim.ground.quantities import band_fields, written

    if name not in side:
        return ""
    ends = [written(side[end], name) for end in band_fields(name) if end in side]
    return written(side[name], name) + (f" ({' to '.join(ends)})" if ends else "")


def _range(ends: tuple[float, float] | None) -> str:
    from hcasim.ground.quantities import number

    return f" ({number(ends[0])} to {number(ends[1])})" if ends else ""


def _sources(found: Comparison) -> list[tuple[str, ...]]:
    """Return where each value that differs comes from, a line for each side that has it."""
    return [
        (difference.path, side, one.text, one.evidence, one.source)
        for difference in found.differences
        for side, one in (("A", difference.a), ("B", difference.b))
        if one is not None
    ]
