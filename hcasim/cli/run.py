"""`hcasim run`: simulate published figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
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
from hcasim.cli.figures import in_folder, plot_output, write_figure
from hcasim.cli.naming import ADAPTER, SCENARIO, TESTBED
from hcasim.cli.output import (
    note,
    print_json,
    print_lines,
    print_notes,
    progress_bar,
    to_csv,
    to_json,
)
from hcasim.cli.outputs import output_faults, prepare_folder
from hcasim.cli.profiles import print_profile
from hcasim.cli.tables import print_table

if TYPE_CHECKING:
    from hcasim.papers.replay import Replay


_ENDINGS = (".csv", ".json", ".png", ".svg")


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
@click.option(
    "--plot", type=click.Path(path_type=Path), help="Draw one scenario: .png, .svg, .pdf."
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV, a line for each series and point.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Write figures, CSV and JSON into this folder.",
)
@settings_option
@no_cache_option
@profile_of_all_option
@timing_option
@jobs_option
def command(
    scenarios: tuple[str, ...],
    testbed: str | None,
    adapter: str | None,
    plot: Path | None,
    as_csv: bool,
    as_json: bool,
    output: Path | None,
    settings: tuple[str, ...],
    no_cache: bool,
    profile: bool,
    timing: bool,
    jobs: int | None,
) -> None:
    """Simulate the curves of scenarios, such as liu2004/fig03, or of a whole paper.

    With --testbed, --adapter or --set they are those of another machine than the authors had.
    """
    from hcasim.papers.loader import load_scenarios
    from hcasim.papers.replay import replay_all

    loaded = [one.moved(testbed, adapter) for one in load_scenarios(scenarios)]
    faults = [*output_faults([plot_output(plot)])]
    if plot is not None and len(loaded) > 1:
        faults.append("--plot: draws one scenario; for several use -o FOLDER")
    if as_csv and as_json:
        faults.append("--csv: contradicts --json; choose one")
    if as_csv and profile:
        faults.append("--profile: found with --csv; allowed: with text or --json")
    overrides = read_settings(settings, faults)
    if faults:
        raise Faults(faults)
    if output is not None:
        files = [in_folder(output, one, ending) for one in loaded for ending in _ENDINGS]
        if faults := prepare_folder(output, files):
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
    if as_json:
        print_json([one.to_dict() for one in replays])
    elif as_csv:
        print_lines(to_csv(row for one in replays for row in _rows(one)))
    else:
        _print_tables(replays)
        costs = {job: cost for one in replays for job, cost in one.costs.items()}
        print_profile(costs.values(), timing=timing)
    if plot is not None:
        write_figure(replays[0], plot)
        note(f"Wrote {plot}")
    if output is not None:
        for one in replays:
            _write(one, output)
        note(f"Wrote {len(replays)} scenario{'s' * (len(replays) != 1)} into {output}")


def _rows(replay: Replay) -> list[dict[str, Any]]:
    return [
        {"scenario": replay.scenario.id, **record}
        for curve in replay.curves.values()
        for record in curve.records
    ]


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


def _write(replay: Replay, folder: Path) -> None:
    from hcasim.ground.writing import write_atomically

    table, data, *figures = (in_folder(folder, replay.scenario, one) for one in _ENDINGS)
    write_atomically(table, to_csv(_rows(replay)))
    write_atomically(data, to_json(replay.to_dict()))
    write_figure(replay, *figures)
