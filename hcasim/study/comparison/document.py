"""The forms of what `hcasim compare --json` and `hcasim why --json` print."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hcasim.catalog import Value
from hcasim.catalog.provenance import Evidence
from hcasim.runs.document import Form, Head


class ComparedPart(Form):
    """What the machines are made of, where that differs."""

    name: str
    a: str
    b: str


class ComparedValue(Form):
    """What one machine has for a parameter."""

    value: Value = Field(description="in base units")
    text: str
    evidence: Evidence
    source: str


class ComparedParameter(Form):
    """A parameter that differs; a machine that has none of the name has null."""

    path: str
    unit: str
    a: ComparedValue | None
    b: ComparedValue | None


class ComparedPoint(Form):
    """What both measured at a point, by quantity; empty where a side has no such point."""

    at: dict[str, int] = Field(description="size and what else varies")
    a: dict[str, float]
    b: dict[str, float]
    ratio: dict[str, float | None] = Field(description="b over a")
    bands: dict[str, tuple[float, float]] = Field(
        description="5 and 95 % quantiles of the ratio over samples that both sides have alike"
    )
    beyond: dict[str, bool] = Field(
        description="whether the sides differ by more than bands allow, if there are any"
    )


class CompareDocument(Head):
    """Two machines or results side by side."""

    schema_: Literal["hcasim-compare"] = Field(alias="schema")
    workload: str = Field(description="empty if nothing was measured")
    parts: tuple[ComparedPart, ...]
    differences: tuple[ComparedParameter, ...]
    points: tuple[ComparedPoint, ...]
    drawn: tuple[str, ...] = Field(description="paths of what was drawn at random for bands")
    samples: int = Field(description="how many machines of each side bands are made of")


class ExplainedShare(Form):
    """What something in which the machines differ does to a number."""

    cause: str
    members: tuple[str, ...] = Field(description="paths and options that change with it")
    a: str
    b: str
    alone: float = Field(description="change of A if only this becomes what B has")
    last: float = Field(description="change as this becomes what B has at last")
    share: float = Field(description="mean of the change over all orders; they add up")


class BothStages(Form):
    """What a stage of a message takes on both machines, in microseconds; null where none is."""

    stage: str
    a: float | None
    b: float | None
    difference: float


class BothBlocks(Form):
    """Share of the time that a block is busy, or waited for, on both; null where none is."""

    name: str
    a: float | None
    b: float | None
    waited: bool


class BothSides(Form):
    """Where the time goes on both machines."""

    stages: tuple[BothStages, ...] = Field(description="of a latency they add up to it")
    blocks: tuple[BothBlocks, ...]
    binds: tuple[str, str] = Field(description="the block that limits each; empty if none is known")


class ExplainedAnswer(Form):
    """What explains the difference of a number."""

    name: str
    unit: str
    a: float
    b: float
    shares: tuple[ExplainedShare, ...]
    words: str
    breakdown: BothSides | None = Field(description="null of workloads that explain nothing")


class WhyDocument(Head):
    """Which parameters explain the difference between two machines."""

    schema_: Literal["hcasim-why"] = Field(alias="schema")
    title: str
    answers: tuple[ExplainedAnswer, ...]
    together: dict[str, str] = Field(description="what went with the structure, by path, and why")
