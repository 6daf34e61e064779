"""What each claim rests on, as `make evidence` has found it: a file beside the scenarios."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Literal

from pydantic import Field, TypeAdapter

from hcasim.catalog import Parameter, Value
from hcasim.catalog.folders import data_path
from hcasim.catalog.plausible import plausible
from hcasim.catalog.section import Evidence
from hcasim.papers.claim import references
from hcasim.papers.loader import list_scenarios, load_scenario
from hcasim.papers.plan import plan
from hcasim.papers.scenario import Scenario
from hcasim.runs.document import Form

FILE: Final = data_path("scenarios", "evidence.json")
Basis = Literal["forced", "carried over", "informed", "open", "not computed"]
"""forced: no unpublished value within its range overturns the claim by itself. carried over: those
that could are informed by other sources only. informed: one of them is by this source. open: one
is assumed, and no measurement informs it. Of several of these the last but "open" counts first."""


class Decisive(Form):
    """An unpublished value that could overturn a claim."""

    name: str = Field(description="as --set takes it")
    evidence: Evidence
    value: str = Field(description="with its unit")
    turns: str = Field(description="the nearest value that was found at which the claim turns")
    end: str = Field(description="of its range on that side")
    informed: tuple[str, ...] = Field(description="statements that were in view when it was set")


class Rests(Form):
    """What the verdict on a claim rests on."""

    holds: bool
    value: float = Field(description="that was simulated")
    decisive: dict[str, Decisive] = Field(description="by path, those that turn it alone")
    doubled: tuple[str, ...] = Field(description="further ones with ranges twice as wide")
    together: tuple[str, ...] = Field(description="two that turn it together, if none does alone")

    def basis(self, source: str) -> Basis:
        """Return the role of a claim of a source."""
        kinds = [{source_of(one) for one in value.informed} for value in self.decisive.values()]
        if any(source in own for own in kinds):
            return "informed"
        if not all(kinds):
            return "open"
        return "carried over" if kinds else "forced"


class Studied(Form):
    """The claims of a scenario, studied."""

    digest: str = Field(description="of the scenario and its machines")
    varied: int = Field(description="values that were varied")
    claims: dict[str, Rests]


@cache
def _sources() -> Mapping[str, str]:
    """Who published each claim."""
    every = map(load_scenario, list_scenarios())
    return {claim.id: one.publication for one in every for claim in one.claims}


def source_of(claim: str) -> str:
    """Return who published a statement; of a curve of a trace its name."""
    return _sources().get(claim, claim)


_FILE: TypeAdapter[dict[str, Studied]] = TypeAdapter(dict[str, Studied])


@cache
def read_evidence() -> Mapping[str, Studied]:
    """Return what is known, by scenario; nothing before the first `make evidence`."""
    return _FILE.validate_json(FILE.read_bytes()) if FILE.exists() else {}


def basis_of(scenario: Scenario, claim: str) -> Basis:
    """Return what a claim rests on, if that was computed for the scenario as it is."""
    known = read_evidence().get(scenario.id)
    if known is None or claim not in known.claims or known.digest != digest_of(scenario):
        return "not computed"
    return known.claims[claim].basis(scenario.publication)


def digest_of(scenario: Scenario) -> str:
    """Return a digest of a scenario, and of the values and ranges of all machines it reads."""
    names = {scenario.qualified(name) for one in scenario.claims for name, *_ in references(one)}
    told: list[Any] = [scenario.model_dump_json()]
    for name in sorted(names):
        other, _, series = name.partition(":")
        own = scenario if other == scenario.id else load_scenario(other)
        (line,) = plan(own, series=series).lines
        told.append(sorted({_told(one) for job in line.needed for one in job.machine.parameters}))
        told.append([repr(job.options) for job in line.needed])
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]


def _told(one: Parameter[Value]) -> tuple[str, ...]:
    likely = plausible(one)
    ends = () if likely is None else (str(likely.low), str(likely.high))
    return one.path, one.text, one.evidence, *sorted(one.informed), *ends
