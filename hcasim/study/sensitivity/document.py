"""What `hcasim sensitivity --json` prints."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hcasim.catalog import Value
from hcasim.catalog.provenance import Evidence
from hcasim.runs.document import Form, Head


class VariedParameter(Form):
    """A parameter with the ends between which it was varied."""

    path: str = Field(description="as a fit names it")
    name: str = Field(description="as --set and --range take it")
    also: tuple[str, ...] = Field(description="paths of those that follow it")
    low: Value = Field(description="in base units")
    base: Value = Field(description="in base units")
    high: Value = Field(description="in base units")
    unit: str = Field(description="base unit; empty of a plain number")
    evidence: Evidence
    origin: Literal["interval", "spread", "range"] = Field(description="of the ends")


class StudiedOutput(Form):
    """A number that was asked about."""

    name: str
    unit: str
    statement: str = Field(description="what a claim states")
    base: float = Field(description="with the values of the machine")
    holds: bool | None = Field(description="whether it meets the claim, if there is one")
    quantiles: tuple[float, float, float] | None = Field(
        default=None, description="of 5, 50 and 95 % over all samples"
    )
    holding: float | None = Field(
        default=None, description="share of the samples in which the claim holds"
    )


class StudiedEffect(Form):
    """What a parameter does to an output."""

    parameter: str = Field(description="its path")
    output: str = Field(description="its name")
    low: float = Field(description="the output with the parameter at its lower end")
    high: float = Field(description="and at its upper end")
    swing: float = Field(description="how far the output moves")
    elasticity: float | None = Field(
        description="by how many percent the output changes with one percent of the parameter"
    )
    turns: Value | None = Field(
        description="value at which a claim changes from held to missed or back, in base units"
    )
    indices: dict[str, float] | None = Field(
        default=None, description="of Morris or Sobol, with half widths of intervals of 95 %"
    )


class SensitivityDocument(Head):
    """On which parameters a result rests."""

    schema_: Literal["hcasim-sensitivity"] = Field(alias="schema")
    title: str
    method: Literal["tornado", "morris", "sobol"]
    samples: int = Field(description="machines that were drawn; 0 of a tornado")
    parameters: tuple[VariedParameter, ...]
    outputs: tuple[StudiedOutput, ...]
    effects: tuple[StudiedEffect, ...]
    fixed: dict[str, str] = Field(description="what was not varied, by path, and why")
    words: tuple[str, ...] = Field(description="the answer")
