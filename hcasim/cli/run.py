"""`hcasim run`: simulate published figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.command import Command, measured_options, option, settings_option
from hcasim.cli.experiment import machine_options, read_experiment
from hcasim.cli.naming import SCENARIO, TESTBED
from hcasim.cli.output import note, print_result, progress_bar
from hcasim.cli.printing import print_profile
from hcasim.cli.results import Wanted, in_folder, result_options
from hcasim.ground.errors import refuse
from hcasim.ground.quantities import title

if TYPE_CHECKING:
    from hcasim.papers.replay import Replay

_ENDINGS = (".csv", ".json", ".png", ".svg")
_FOLDER = (
    "Also write the result of one scenario, in the form that the ending says, as .json or .csv; or"
    " figures, CSV and JSON of each into this folder."
)


@click.command("run", cls=Command)
@click.argument("scenarios", metavar="SCENARIO...", type=SCENARIO, nargs=-1, required=True)
@option("--testbed ID", "Another than the authors had: id or file.", type=TESTBED)
@machine_options(testbed=None)
@result_options(folder=_FOLDER)
@settings_option
@measured_options
def command(
    scenarios: tuple[str, ...],
    testbed: str | None,
    profile: bool,
    timing: bool,
    **given: Any,
) -> None:
    """Simulate the curves of scenarios, or of a whole paper or collection.

    With --testbed, --adapter, another option of the machine or --set they are those of another
    machine than the authors had, as all titles say.
    """
    from hcasim.papers.loader import load_scenarios
    from hcasim.papers.plan import plan_all
    from hcasim.papers.replay import Replays, replay_all

    wanted, faults = Wanted(given, folder=True), list[str]()
    choices = read_experiment(given, faults)
    overrides, adapter = choices.pop("overrides"), choices.pop("adapter", None)
    loaded = [one.moved(testbed, adapter, choices) for one in load_scenarios(scenarios)]
    for name, file in (("--plot", wanted.plot), ("--output", wanted.output)):
        if len(loaded) > 1 and file is not None:
            faults.append(f"{name}: found {str(file)!r} for several scenarios; use -o FOLDER")
    refuse(*faults, *wanted.faults(extra={"--profile": profile}))
    wanted.prepare_folder(loaded, _ENDINGS)
    with progress_bar("Simulating") as progress:
        plans = plan_all(loaded, overrides, choices=choices)
        replays = replay_all(plans, given["jobs"], progress, not given["no_cache"], profile)
    if not timing:
        replays = [replace(one, wall_seconds=None) for one in replays]
    every = replays[0] if len(replays) == 1 else Replays(tuple(replays))

    def write(folder: Path) -> None:
        for one in replays:
            for ending in _ENDINGS:
                one.save(in_folder(folder, one.scenario, ending))
        note(f"Wrote {len(replays)} scenario{'s' * (len(replays) != 1)} into {folder}")

    wanted.deliver(every, lambda: _show(replays, timing), write=write)


def _show(replays: Sequence[Replay], timing: bool) -> None:
    for number, one in enumerate(replays):
        field = title(one.scenario.axes.field)
        print_result(one, f"{one.scenario.id}: {one.title}, {field}", below=number > 0)
    costs = {job: cost for one in replays for job, cost in one.costs.items()}
    print_profile(costs.values(), timing=timing)
