"""The forms of what is written of papers for programs: curves of figures, and judged claims."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hcasim.papers.verdict import Verdict
from hcasim.runs.document import Form, Head, Notes, Profile, Rows, Seconds, Setup


class Measured(Setup):
    """How a series of a scenario was simulated."""

    name: str = Field(description="of the series")
    label: str = Field(description="its name in the legend")


class MeasuredRows(Measured):
    """A series of a scenario with what was simulated."""

    rows: Rows


class RunDocument(Head):
    """What `hcasim run --json` prints of a scenario."""

    schema_: Literal["hcasim-run"] = Field(alias="schema")
    scenario: str = Field(description="its id")
    title: str
    testbed: str = Field(description="of all series that name none")
    workload: str = Field(description="of all series that name none")
    overrides: dict[str, str] = Field(description="what-if settings by path")
    series: tuple[MeasuredRows, ...]
    notes: Notes = ()
    profile: Profile | None = Field(default=None, description="only if it was asked for")
    wall_seconds: Seconds = None


class RunsDocument(Head):
    """What `hcasim run --json` prints of several scenarios."""

    schema_: Literal["hcasim-runs"] = Field(alias="schema")
    scenarios: tuple[RunDocument, ...]


class RoleCount(Form):
    """How many claims have a role, and about how many readings; see `Report.roles`."""

    claims: int
    readings: int
    numbers: int
    orders: int
    limits: int


class Summary(Form):
    """How many statements have each status."""

    passed: int = Field(alias="pass")
    fail: int
    deviation: int
    context: int
    roles: dict[str, RoleCount]


class Replayed(Form):
    """A scenario that was replayed."""

    scenario: str = Field(description="its id")
    series: tuple[Measured, ...]


class ReproduceDocument(Head):
    """What `hcasim reproduce --json` prints."""

    schema_: Literal["hcasim-reproduce"] = Field(alias="schema")
    instead: dict[Literal["testbed", "adapter"], str] = Field(
        default={},
        description="id or file of what stood in for the authors' machine; not there if nothing",
    )
    wall_seconds: Seconds = None
    profile: Profile | None = Field(default=None, description="only if it was asked for")
    summary: Summary
    claims: tuple[Verdict, ...]
    scenarios: tuple[Replayed, ...]
