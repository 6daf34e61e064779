"""`hcasim run`: simulate published figures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.command import (
    Command,
    Faults,
    jobs_option,
    no_cache_option,
    profile_of_all_option,
    read_settings,
    settings_option,
    timing_option,
)
from hcasim.cli.naming import ADAPTER, SCENARIO, TESTBED
from hcasim.cli.output import note, print_notes, progress_bar
from hcasim.cli.outputs import output_faults, prepare_folder
from hcasim.cli.printing import print_profile
from hcasim.cli.results import TEXT, Wanted, in_folder, result_options
from hcasim.cli.tables import print_table

if TYPE_CHECKING:
    from hcasim.papers.replay import Replay


_ENDINGS = (".csv", ".json", ".png", ".svg")
_FOLDER = (
    "Also write the result of one scenario, in the form that the ending says, as .json or .csv; or"
    " figures, CSV and JSON of each into this folder."
)


@click.command("run", cls=Command)
@click.argument("scenarios", metavar="SCENARIO...", type=SCENARIO, nargs=-1, required=True)
@click.option(
    "--testbed",
    metavar="ID",
    type=TESTBED,
    help="Another than the authors had: id or file.",
)
@click.option(
    "--adapter",
    metavar="ID",
    type=ADAPTER,
    help="In all series instead of their own: id or file.",
)
@result_options(folder=_FOLDER)
@settings_option
@no_cache_option
@profile_of_all_option
@timing_option
@jobs_option
def command(
    scenarios: tuple[str, ...],
    testbed: str | None,
    adapter: str | None,
    settings: tuple[str, ...],
    no_cache: bool,
    profile: bool,
    timing: bool,
    jobs: int | None,
    **given: Any,
) -> None:
    """Simulate the curves of scenarios, such as liu2004/fig03, or of a whole paper.

    With --testbed, --adapter or --set they are those of another machine than the authors had.
    """
    from hcasim.papers.loader import load_scenarios
    from hcasim.papers.replay import Replays, replay_all
    from hcasim.runs.table import ENDINGS

    wanted = Wanted.take(given)
    loaded = [one.moved(testbed, adapter) for one in load_scenarios(scenarios)]
    faults = [*wanted.faults()]
    several, folder = len(loaded) > 1, None
    if wanted.output is not None and wanted.output.suffix.lower() not in ENDINGS:
        folder, wanted.output = wanted.output, None
    for option, file in (("--plot", wanted.plot), ("--output", wanted.output)):
        if several and file is not None:
            faults.append(f"{option}: found {str(file)!r} for several scenarios; use -o FOLDER")
    if profile and wanted.form not in (TEXT, "json"):
        faults.append(f"--profile: found with --format {wanted.form}; allowed: with text or json")
    faults += output_faults(wanted.outputs())
    overrides = read_settings(settings, faults)
    if faults:
        raise Faults(faults)
    if folder is not None:
        files = [in_folder(folder, one, ending) for one in loaded for ending in _ENDINGS]
        if faults := prepare_folder(folder, files):
            raise Faults(faults)
    with progress_bar("Simulating") as progress:
        replays = replay_all(
            loaded,
            overrides=overrides,
            jobs=jobs,
            progress=progress,
            cache=not no_cache,
            profile=profile,
        )
    if not timing:
        replays = [replace(one, wall_seconds=None) for one in replays]
    every = Replays(tuple(replays))
    wanted.deliver(replays[0] if len(replays) == 1 else every, lambda: _show(replays, timing))
    if folder is not None:
        for one in replays:
            for ending in _ENDINGS:
                one.save(in_folder(folder, one.scenario, ending))
        note(f"Wrote {len(replays)} scenario{'s' * (len(replays) != 1)} into {folder}")


def _show(replays: list[Replay], timing: bool) -> None:
    _print_tables(replays)
    costs = {job: cost for one in replays for job, cost in one.costs.items()}
    print_profile(costs.values(), timing=timing)


def _print_tables(replays: list[Replay]) -> None:
    from hcasim.ground.quantities import heading, written

    for number, replay in enumerate(replays):
        if number:
            click.echo()
        axis, field = replay.scenario.options.axis, replay.scenario.axes.field
        curves = list(replay.curves.values())
        names = [f"{curve.label} {curve.group}".strip() for curve in curves]
        points = dict.fromkeys(row[axis.name] for curve in curves for row in curve.rows)
        print_table(
            f"{replay.scenario.id}: {replay.title}, {heading(field)}",
            (axis.title, *names),
            (
                (axis.label(x), *(written(curve.at(x)[field], field) for curve in curves))
                for x in points
            ),
            right=(axis.title, *names),
        )
        print_notes(replay.notes)
