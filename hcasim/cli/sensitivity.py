"""`hcasim sensitivity`: on which parameters a result rests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.calibrated import blamed, calibrated
from hcasim.cli.command import calibration_option, option, read_pairs, running_options
from hcasim.cli.experiment import (
    ExperimentCommand,
    experiment_options,
    read_experiment,
    switch_faults,
)
from hcasim.cli.output import print_notes, print_table, progress_bar
from hcasim.cli.results import Wanted, result_options
from hcasim.ground.errors import CatalogError, refuse

if TYPE_CHECKING:
    from hcasim.study.sensitivity.result import Effect, Output, Sensitivity

_PASSED_ON = ("testbed", "method", "only", "quantity", "samples", "sampling_seed", "jobs")


@click.command("sensitivity", cls=ExperimentCommand)
@click.argument("subject", metavar="WORKLOAD|SCENARIO")
@experiment_options(testbed=False)
@calibration_option
@option(
    "--method WORD",
    "tornado varies one at a time; sobol all that matter at once.",
    default="tornado",
)
@option(
    "--range ranges PATH=LOW..HIGH",
    "Vary a parameter between these ends, also one that is published. Repeatable.",
    multiple=True,
)
@option(
    "--spread X",
    "Divide and multiply by this what has no interval (default: its plausible range).",
)
@option(
    "--only PATTERN",
    "Vary only parameters whose path is like this, such as 'host.*'. Repeatable.",
    multiple=True,
)
@option("--quantity FIELD", "Ask about this of what the workload measures (default: its first).")
@option(
    "--samples N",
    "Samples of sobol (default: 64).",
    type=click.IntRange(min=1),
)
@option(
    "--sampling-seed N", "Seed for the samples (default: 1).", type=click.IntRange(min=0), default=1
)
@option(
    "--top N",
    "Print so many parameters, those that move the result most (default: 10).",
    type=click.IntRange(min=1),
    default=10,
)
@result_options()
@running_options
def command(
    subject: str,
    calibration: Path | None,
    ranges: tuple[str, ...],
    spread: str | None,
    top: int,
    no_cache: bool,
    **given: Any,
) -> None:
    """Ask on which parameters a benchmark, or a published figure such as liu2004/fig09, rests.

    What was fitted is varied over its interval, what was chosen or assumed over its plausible
    range, or by --spread; what is published stays unless --range names it. Of a scenario it asks
    for its claims: how each moves, and what would overturn it; --size then takes values of the
    figure's x axis, which is quicker.
    With sobol those parameters enter that move a result by half a percent or more by
    themselves, 12 at most, or those that --only names.
    """
    from hcasim.study.sensitivity.study import sensitivity

    wanted = Wanted(given)
    given["workload"] = subject
    faults = switch_faults(given)
    known, base, _ = calibrated(calibration, None, given, faults)
    asked = read_experiment(given, faults)
    asked["overrides"] = {**base, **asked["overrides"]} or None
    ends = read_pairs("--range", ranges, faults, "PATH=LOW..HIGH")
    wrong = [f"{path}={one}" for path, one in ends.items() if ".." not in one]
    faults += [f"--range: found {one!r}; allowed: PATH=LOW..HIGH" for one in wrong]
    refuse(*faults, *wanted.faults())
    asked |= {name: given[name] for name in _PASSED_ON} | {"spread": _number(spread)}
    try:
        with progress_bar("Simulating") as progress:
            found = sensitivity(
                subject,
                ranges=ends,
                calibration=known,
                progress=progress,
                cache=not no_cache,
                **asked,
            )
    except CatalogError as error:
        raise CatalogError(blamed(error.faults, known, given)) from None
    wanted.deliver(found, lambda: _print(found, top))


def _number(text: str | None) -> Any:
    try:
        return text and float(text)
    except ValueError:
        return text


def _print(found: Sensitivity, top: int) -> None:
    seen: list[Effect] = []
    for output in found.outputs:
        if moving := [one for one in found.of(output) if _is_seen(one, output)][:top]:
            _print_table(found, output, moving)
            click.echo()
            seen += moving
    for title, head, lines in found.meanings(seen):
        print_table(title, head, lines)
        click.echo()
    varied = f"Parameters varied: {len(found.factors)}; left as they are: {len(found.fixed)}"
    print_notes([*found.words(), f"{varied}; points: {found.simulated}."])


def _is_seen(one: Effect, output: Output) -> bool:
    from hcasim.ground.quantities import number

    return len({number(value) for value in (one.low, output.base, one.high)}) > 1


def _print_table(found: Sensitivity, output: Output, moving: list[Effect]) -> None:
    from hcasim.ground.quantities import number

    names = list(dict.fromkeys(name for one in moving for name in one.indices or ()))
    titles = (name.replace("_confidence", " ±").replace("_", " ") for name in names)
    head = ["Parameter", "Evidence", "From", "To", "Low", "High", "Elasticity"]
    head += (title[:1].upper() + title[1:] for title in titles)
    rows = []
    for one in moving:
        factor, index = found.factors[one.parameter], one.indices or {}
        rows.append(
            (
                *(factor.name, factor.evidence, factor.text(factor.low), factor.text(factor.high)),
                *(number(one.low), number(one.high)),
                "" if one.elasticity is None else f"{one.elasticity:.3f}",
                *(number(index[name]) if name in index else "" for name in names),
            )
        )
    said = f": {output.statement}" if output.statement else ""
    base = number(output.base, output.unit)
    print_table(f"{output.name}{said}, {base}", head, rows, right=head[2:])
