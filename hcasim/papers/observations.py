"""What a calibration is fitted to: the claims that its entries list."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from decimal import Decimal

from hcasim.calibrate.observation import Observation, experiment
from hcasim.catalog import CatalogError, Fit, nearest
from hcasim.ground.errors import display, refuse
from hcasim.ground.quantities import QUANTITIES
from hcasim.ground.reading import read_file
from hcasim.papers.claim import Claim, Measure
from hcasim.papers.loader import every_scenario, load_scenario, scenario_path
from hcasim.papers.plan import plan
from hcasim.papers.scenario import Scenario
from hcasim.runs.experiment import Experiment


def observations(fit: Fit) -> list[Observation]:
    """Return the published numbers that a fit lists, each with those that repeat it.

    Repeated is the same number, read off the same points; the order is that of the scenarios.

    Raises:
        CatalogError: an unknown claim, no claim, or every claim that is not one number.
    """
    scenarios = every_scenario()
    claims = {claim.id: (one, claim) for one in scenarios for claim in one.claims}
    faults = [
        f"{display(fit.file)}: claims: found no {name!r} in the scenarios{nearest(name, claims)}"
        for name in fit.claims
        if name not in claims
    ]
    if not fit.claims:
        faults.append(f"{display(fit.file)}: claims: missing; allowed: ids of claims")
    stated = {_stated(claims[name][1]) for name in fit.claims if name in claims}
    found: list[Observation] = []
    for scenario, claim in claims.values():
        if _stated(claim) in stated:
            try:
                found.append(_observation(scenario, claim).with_floor(fit.floor_percent / 100))
            except CatalogError as error:
                faults += error.faults if claim.id in fit.claims else ()
    if faults:
        raise CatalogError(faults)
    read = {(one.experiments, one.published) for one in found if one.id in fit.claims}
    return [one for one in found if (one.experiments, one.published) in read]


def _stated(claim: Claim) -> tuple[object, ...]:
    return claim.kind, claim.quantity, claim.published, claim.unit


def _observation(scenario: Scenario, claim: Claim) -> Observation:
    measure, quantity = claim.measure[0], QUANTITIES[claim.quantity]
    several = len(claim.measure) > 1 or measure.select == "all"
    where, fault = f"{display(scenario_path(scenario.id))}: {claim.id}", ""
    if claim.quantity == "overhead":
        fault = "found quantity 'overhead'; allowed if fitted: what one benchmark measures"
    elif claim.kind != "value" or several or isinstance(claim.published, tuple):
        fault = f"found kind {claim.kind!r}; allowed if fitted: one number of one measure"
    refuse(fault and f"{where}: {fault}")
    names = map(scenario.qualified, measure.series)
    return Observation(
        id=claim.id,
        experiments=tuple(one for name in names for one in _experiments(name, measure)),
        field=quantity.field,
        published=_printed(scenario, claim),
        unit=claim.unit,
        scale=quantity.factor(claim.unit),
        tolerance=claim.allowed_error,
        best="max" if quantity.best is max else "min",
        half_width=claim.half_width,
        statement=f"{claim.system}: {claim.statement}",
    )


def _experiments(reference: str, measure: Measure) -> Iterator[Experiment]:
    """Yield the points of one series that a measure looks at."""
    identifier, _, name = reference.partition(":")
    scenario = load_scenario(identifier)
    (line,) = plan(scenario, series=[name]).lines
    ((points, _),) = measure.points(line.x)
    for job, x in zip(line.jobs, line.x, strict=True):
        if x in points:
            yield experiment(
                job,
                mtu=scenario.options.mtu,
                firmware_mode=line.series.firmware_mode,
                stack=job.machine.stack.id,
                overrides=job.machine.overrides,
            )


def _printed(scenario: Scenario, claim: Claim) -> Decimal:
    """Return a published number with the digits that the file holds, which a float forgets."""
    text = read_file(scenario_path(scenario.id)).decode()
    claims = tomllib.loads(text, parse_float=Decimal)["claims"]
    return Decimal(next(one["published"] for one in claims if one["id"] == claim.id))
