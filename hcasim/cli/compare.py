"""`hcasim compare`: two machines or results side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.calibrated import fit_sides
from hcasim.cli.command import calibration_option, flag
from hcasim.cli.experiment import (
    ExperimentCommand,
    read_samples,
    read_sides,
    side_options,
    tell_bands,
    uncertainty_option,
)
from hcasim.cli.naming import Workload
from hcasim.cli.output import print_line, print_table, progress_bar, word
from hcasim.cli.results import TEXT, Wanted, result_options
from hcasim.ground.errors import refuse

if TYPE_CHECKING:
    from hcasim.study.comparison.compare import Comparison


@click.command("compare", cls=ExperimentCommand)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.argument("workload", required=False, type=Workload())
@side_options
@calibration_option
@uncertainty_option
@flag("--sources", "Also where each value that differs comes from.")
@result_options()
def command(
    a: str,
    b: str,
    workload: str | None,
    calibration: Path | None,
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

    wanted, faults = Wanted(given), list[str]()
    asked = read_sides(given, faults)
    fit_sides(calibration, workload, (a, b), asked, faults)
    if sources and wanted.form != TEXT:
        allowed = "with the tables; --format json has them"
        faults.append(f"--sources: found with --format {wanted.form}; allowed: {allowed}")
    if workload is None and not is_result(a) and not is_result(b):
        allowed = "found without a workload; allowed: with one, or with results"
        faults += [f"--format csv: {allowed}"] * (wanted.form == "csv")
        faults += [f"--plot: {allowed}"] * bool(wanted.plot)
    samples = read_samples(uncertainty, faults)
    refuse(*faults, *wanted.faults())
    with progress_bar("Simulating") as progress:
        found = compare(a, b, workload, uncertainty=samples, progress=progress, **asked)
    wanted.deliver(found, lambda: _print(found, sources))
    tell_bands(found.samples, samples, len(found.drawn))


def _print(found: Comparison, sources: bool) -> None:
    from hcasim.ground.quantities import number, title
    from hcasim.workloads.options import AXES

    differing = [(name.replace("_", " "), a, b) for name, (a, b) in found.parts.items()]
    differing += [(one.path, *one.texts) for one in found.differences]
    count = len(found.differences)
    if differing:
        head = "1 parameter differs" if count == 1 else f"{count} parameters differ"
        print_table(head, ("What", "A", "B"), differing)
    # A measurement has no description to tell of.
    below = not (found.a.tool or found.b.tool)
    if below and not differing:
        print_line("The descriptions of both machines are the same.")
    if sources and count:
        told = ("What", "Side", "Value", "Evidence", "Source")
        print_table("Where the values come from", told, _sources(found), below=True)
    names = ("A", "B") if below else found.labels
    for name in found.measured:
        banded = any(name in one.beyond for one in found.pairs)
        lines = []
        for one in found.pairs:
            at = [AXES[axis].label(one.at[axis]) if axis in one.at else "" for axis in found.axes]
            ratio = one.ratio[name]
            ends = _ends(map(number, one.bands.get(name) or ()))
            cells = [*_measured(one.a, name), *_measured(one.b, name)]
            cells.append("" if ratio is None else number(ratio) + ends)
            lines.append((*at, *cells, *([word(one.beyond.get(name))] if banded else [])))
        columns = (*(AXES[axis].title for axis in found.axes), *names, "B/A")
        columns += ("Beyond bands",) if banded else ()
        what = f"{found.a.workload}: {title(name)}"
        print_table(what, columns, lines, right=columns, below=below)
        below = True
    for line in _bindings(found):
        print_line(line)


def _measured(side: Mapping[str, float], name: str) -> Iterator[str]:
    from hcasim.ground.quantities import band_fields, written

    ends = [written(side[end], name) for end in band_fields(name) if end in side]
    yield written(side[name], name) + _ends(ends) if name in side else ""


def _bindings(found: Comparison) -> Iterator[str]:
    """Say where what binds the sides is known differently well, once of points that follow."""
    from hcasim.workloads.options import AXES

    said: dict[str, list[str]] = {}
    for one in found.pairs:
        if one.differ:
            a, b = (f"{own.bound_by} ({own.evidence})" for own in one.rests_on.values())
            at = [AXES[axis].label(value) for axis, value in one.at.items()]
            said.setdefault(f"A is bound by {a}, B by {b}.", []).append(" ".join(at))
    for text, places in said.items():
        where = " to ".join(dict.fromkeys((places[0], places[-1])))
        yield f"They differ in evidence{where and f' at {where}'}: {text}"


def _ends(ends: Iterable[str]) -> str:
    text = " to ".join(ends)
    return f" ({text})" if text else ""


def _sources(found: Comparison) -> Iterator[tuple[str, ...]]:
    for difference in found.differences:
        for side, one in (("A", difference.a), ("B", difference.b)):
            if one is not None:
                yield difference.path, side, one.text, one.evidence, one.source
