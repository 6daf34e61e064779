"""What each claim rests on, as `make evidence` has found it: a file beside the scenarios."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Literal

from pydantic import Field, TypeAdapter

from hcasim.catalog import CatalogError, Parameter, Value
from hcasim.catalog.folders import shipped
from hcasim.catalog.plausible import plausible
from hcasim.catalog.section import Evidence
from hcasim.papers.claim import TOLERANCES, references
from hcasim.papers.loader import list_scenarios, load_context, load_scenario
from hcasim.papers.plan import Line, plan
from hcasim.papers.scenario import Scenario
from hcasim.runs.document import Form
from hcasim.runs.machine import each_machine_once

FILE: Final = shipped() / "scenarios/evidence.json"
_TEXTS: Final = {"section", "system", "statement", "deviation"}
Basis = Literal["forced", "carried over", "informed", "open", "not computed"]
"""forced: no unpublished value within its range overturns the claim by itself. carried over: those
that could are informed by other sources only. informed: one of them is by this source. open: one
is assumed, and no measurement informs it."""


class Decisive(Form):
    """An unpublished value that could overturn a claim."""

    name: str = Field(description="as --set takes it")
    evidence: Evidence
    value: str = Field(description="with its unit")
    turns: str = Field(description="the nearest value that was found at which the claim turns")
    end: str = Field(description="of its range on that side")
    informed: tuple[str, ...] = Field(description="statements that were in view when it was set")
    sources: tuple[str, ...] = Field(description="who published these")


class Rests(Form):
    """What the verdict on a claim rests on."""

    holds: bool
    value: float = Field(description="that was simulated")
    decisive: dict[str, Decisive] = Field(description="by path, those that turn it alone")
    doubled: tuple[str, ...] = Field(description="further ones with ranges twice as wide")
    together: tuple[str, ...] = Field(description="two that turn it together, if none does alone")

    def basis(self, source: str) -> Basis:
        """Return the role of a claim of a source."""
        kinds = [value.sources for value in self.decisive.values()]
        if any(source in own for own in kinds):
            return "informed"
        if not all(kinds):
            return "open"
        return "carried over" if kinds else "forced"


class Studied(Form):
    """The claims of a scenario, studied."""

    digest: str = Field(description="of the claims, the curves and the machines")
    varied: int = Field(description="values that were varied")
    refused: dict[str, str] = Field(description="why a path was not varied, or not to its end")
    shortened: int = Field(description="points whose changes are those of shorter runs")
    claims: dict[str, Rests]


@cache
def _sources() -> Mapping[str, str]:
    """Who published each statement."""
    every = [*map(load_scenario, list_scenarios())]
    found = {claim.id: one.publication for one in every for claim in one.claims}
    papers = {one.paper for one in every}
    return found | {one.id: paper for paper in papers for one in load_context(paper)}


def source_of(statement: str) -> str:
    """Return who published a statement; of a curve of a trace its name."""
    return _sources().get(statement, statement)


_FILE: TypeAdapter[dict[str, Studied]] = TypeAdapter(dict[str, Studied])


@cache
def read_evidence() -> Mapping[str, Studied]:
    """Return what is known, by scenario; nothing before the first `make evidence`."""
    if not FILE.exists():
        return {}
    try:
        return _FILE.validate_json(FILE.read_bytes())
    except ValueError as error:
        what = str(error).splitlines()[0]
        raise CatalogError([f"{FILE}: {what}; `make evidence` writes it anew"]) from None


def rests_of(scenario: Scenario, lines: Mapping[str, Line]) -> Mapping[str, Rests]:
    """Return what the claims of a scenario rest on; nothing unless that was computed for these
    curves.

    Parameters:
        lines: by scenario and series, such as "liu2004/fig06:pcie".
    """
    known = read_evidence().get(scenario.id)
    return known.claims if known and known.digest == digest_of(scenario, lines) else {}


def lines_of(scenario: Scenario) -> dict[str, Line]:
    """Return the curves that the claims of a scenario are read from, by scenario and series."""
    found = {}
    with each_machine_once():
        for name in _curves(scenario):
            other, _, series = name.partition(":")
            own = scenario if other == scenario.id else load_scenario(other)
            (found[name],) = plan(own, series=series).lines
    return found


def _curves(scenario: Scenario) -> list[str]:
    named = (name for one in scenario.claims for name, *_ in references(one))
    return sorted({*map(scenario.qualified, named)})


def digest_of(scenario: Scenario, lines: Mapping[str, Line]) -> str:
    """Return a digest of what claims ask, without their texts, and of all they are read from: of
    each curve what is plotted and simulated, and of each value its evidence and its range."""
    told: list[Any] = [sorted(TOLERANCES.items())]
    told += [one.model_dump(mode="json", exclude=_TEXTS) for one in scenario.claims]
    for name in _curves(scenario):
        line = lines[name]
        machines = {id(job.machine): job.machine for job in line.needed}.values()
        told += [
            name,
            line.field,
            sorted({_told(one) for own in machines for one in own.parameters}),
        ]
        told += [(job.workload, repr(job.options)) for job in line.needed]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]


def _told(one: Parameter[Value]) -> tuple[str, ...]:
    likely = plausible(one)
    ends = () if likely is None else (str(likely.low), str(likely.high))
    return one.path, one.text, one.evidence, str(one.interval), *sorted(one.informed), *ends
