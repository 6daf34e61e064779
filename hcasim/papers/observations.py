"""What a calibration is fitted to: the claims of the scenarios whose role is fitted."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from hcasim.calibrate.search.objective import Progress, Run, Trial
from hcasim.calibrate.search.observation import Observation, Setup
from hcasim.catalog import CatalogError, data_path, list_ids, one_of
from hcasim.catalog.folders import unknown_id
from hcasim.ground.errors import display
from hcasim.papers.claim import Claim, Measure
from hcasim.papers.experiment import Scenario
from hcasim.papers.plan import plan
from hcasim.papers.scenario import list_papers, load_scenario, load_scenarios
from hcasim.runs.pool import Job, run_jobs
from hcasim.runs.quantities import BEST, FIELDS, UNITS


def observations(testbed: str) -> list[Observation]:
    """Return the published numbers that the parameters of a testbed are fitted to.

    Parameters:
        testbed: id of a testbed or of a paper.

    Returns:
        One for each claim with the role fitted, in the order of the files; not those by which
        values were chosen by hand.

    Raises:
        CatalogError: an unknown id, no such claim, or every claim that is not one number.
    """
    scenarios = [
        one for one in load_scenarios(list_papers()) if testbed in (*one.testbeds, one.paper)
    ]
    if not scenarios and testbed not in list_ids("testbeds"):
        raise CatalogError([unknown_id("testbeds", testbed)])
    found: list[Observation] = []
    faults: list[str] = []
    for scenario in scenarios:
        printed = _printed(scenario)
        for claim in scenario.claims:
            if claim.role == "fitted" and not claim.chosen:
                try:
                    found.append(_observation(scenario, claim, printed[claim.id]))
                except CatalogError as error:
                    faults += error.faults
    if not (found or faults):
        where = display(data_path("scenarios"))
        faults.append(f'{where}: found no claim of {testbed} with role = "fitted"')
    if faults:
        raise CatalogError(faults)
    return found


def runner(*, jobs: int | None = None, progress: Progress | None = None) -> Run:
    """Return what simulates the points of a calibration in parallel.

    Parameters:
        jobs: processes to use; all processors without it.
        progress: is told how many points are done, of those known to be needed.
    """
    done = 0

    def run(trials: Sequence[Trial]) -> list[dict[str, Any]]:
        nonlocal done
        wanted = [Job(one.workload, one.machine, one.options) for one in trials]

        def report(now: int, total: int) -> None:
            if progress is not None:
                progress(done + now, done + total)

        points = run_jobs(wanted, workers=jobs, progress=report)
        done += len(points)
        return [points[job].row for job in wanted]

    return run


def _observation(scenario: Scenario, claim: Claim, printed: object) -> Observation:
    measure = claim.measure[0]
    if claim.kind != "value" or len(claim.measure) > 1 or isinstance(claim.published, tuple):
        where = display(data_path("scenarios", *f"{scenario.id}.toml".split("/")))
        what = f"kind {claim.kind!r} and role 'fitted'"
        raise CatalogError(
            [f"{where}: {claim.id}: found {what}; allowed: one number of one measure is fitted"]
        )
    if UNITS[claim.quantity].get(claim.unit) != 1:
        where = display(data_path("scenarios", *f"{scenario.id}.toml".split("/")))
        units = [unit for unit, factor in UNITS[claim.quantity].items() if factor == 1]
        raise CatalogError(
            [f"{where}: {claim.id}: found {claim.unit}; allowed if fitted: {one_of(units)}"]
        )
    return Observation(
        id=claim.id,
        setups=tuple(
            setup for name in measure.series for setup in _setups(scenario.qualified(name), measure)
        ),
        field=FIELDS[claim.quantity],
        published=Decimal(str(printed)),
        unit=claim.unit,
        tolerance=claim.allowed_error,
        best="max" if BEST[claim.quantity] is max else "min",
        half_width=claim.half_width,
        statement=f"{claim.system}: {claim.statement}",
    )


def _setups(reference: str, measure: Measure) -> list[Setup]:
    """Return the points of one series that a measure looks at."""
    identifier, _, series = reference.partition(":")
    scenario = load_scenario(identifier)
    points = [x for x in scenario.options.points or () if measure.covers(x)]
    if measure.at is not None:
        points = [measure.at]
    elif measure.select == "smallest":
        points = [min(points)]
    elif measure.select == "largest":
        points = [max(points)]
    return [
        Setup(
            job.workload,
            job.machine.id,
            job.machine.adapter.id,
            job.options,
            scenario.options.mtu,
            scenario.series[series].firmware_mode,
            tuple(scenario.series[series].overrides.items()),
        )
        for job in plan(scenario, series=[series], x=points or None).jobs
    ]


def _printed(scenario: Scenario) -> dict[str, object]:
    """Return the published numbers with the digits that the file holds, which a float forgets."""
    path = data_path("scenarios", *f"{scenario.id}.toml".split("/"))
    table = tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)
    return {claim["id"]: claim["published"] for claim in table.get("claims", ())}
