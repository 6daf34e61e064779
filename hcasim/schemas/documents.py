"""The forms of what `list`, `show` and `import` print for programs."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from hcasim.catalog import Value
from hcasim.catalog.section import Evidence
from hcasim.papers.claim import Claim
from hcasim.papers.evidence import Basis, Rests
from hcasim.papers.roles import Role
from hcasim.papers.scenario import Scenario
from hcasim.runs.document import Chosen, Form, Head
from hcasim.traces.schema import End, Failure, Header, Point

Model = Literal["adapters", "hosts", "switches", "stacks", "testbeds"]


class Listed(Form):
    """A file of the catalogue."""

    id: str
    title: str = Field(description="its title, or BROKEN and why it cannot be read")
    where: str = Field(description='its folder, or "hcasim" if it came with the package')


class ListedModel(Listed):
    """A description."""

    kind: Model


class ListedScenario(Listed):
    """A published experiment."""

    workload: str


class ListedWorkload(Form):
    """A benchmark."""

    id: str
    measures: str
    title: str


class ListDocument(Head):
    """What `hcasim list --json` prints: the sections that were asked for."""

    schema_: Literal["hcasim-list"] = Field(alias="schema")
    models: tuple[ListedModel, ...] = ()
    scenarios: tuple[ListedScenario, ...] = ()
    calibrations: tuple[Listed, ...] = ()
    workloads: tuple[ListedWorkload, ...] = ()


class ShowHead(Head):
    """How what `hcasim show --json` prints begins."""

    schema_: Literal["hcasim-show"] = Field(alias="schema")


class ShownRange(Form):
    """How far from its value what nobody has published may plausibly be, at 90 %."""

    low: float = Field(description="as a multiple of the value")
    high: float = Field(description="as a multiple of the value")
    reason: str


class ShownParameter(Form):
    """A value with where it comes from."""

    path: str = Field(description="as --set takes it")
    value: Value | float = Field(description="in its unit")
    text: str = Field(description="as a file says it")
    unit: str = Field(description="the same for all of its kind; empty of a number or a word")
    evidence: Evidence
    source: str
    interval: tuple[float, float] | None = Field(description="of a fitted value, in its unit")
    claims: tuple[str, ...] = Field(description="what determined it, or what it was chosen from")
    inherited_from: str | None = Field(description="id of the description that says it, if another")
    meaning: str = ""
    plausible: ShownRange | None = Field(
        default=None, description="of a number that nobody has published"
    )


class ShownModel(ShowHead):
    """A description or a machine; of a machine also its parts."""

    kind: Model
    id: str
    title: str
    adapter: str = ""
    host: str = ""
    stack: str = Field(default="", description="of an adapter that of its time")
    mpi_stack: str = Field(default="", description="of an adapter that of its time")
    switch: str = ""
    groups: dict[str, str] = Field(default={}, description="of nodes, if there are several")
    parameters: tuple[ShownParameter, ...]


class ShownWorkload(ShowHead):
    """A benchmark with the defaults of its options."""

    kind: Literal["workloads"]
    id: str
    title: str
    measures: tuple[str, ...]
    options: Chosen


class ShownClaim(Claim):
    """A claim with its role."""

    role: Role
    basis: Basis = Field(description="what could overturn it")
    rests: Rests | None = Field(default=None, description="if that was computed")


class ShownScenario(ShowHead, Scenario):
    """A published experiment with its claims."""

    kind: Literal["scenarios"]
    claims: tuple[ShownClaim, ...]


ShowDocument = Annotated[ShownModel | ShownWorkload | ShownScenario, Field(discriminator="kind")]
"""What `hcasim show --json` prints."""


class ImportedTrace(Form):
    """A trace that was read."""

    file: str
    header: Header
    points: tuple[Point, ...]
    failures: tuple[Failure, ...]
    end: End | None = Field(description="none if the file was cut off")


class ImportDocument(Head):
    """What `hcasim import --json` prints."""

    schema_: Literal["hcasim-import"] = Field(alias="schema")
    traces: tuple[ImportedTrace, ...]
