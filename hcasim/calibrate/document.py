"""The form of what `hcasim calibrate --json` prints."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hcasim.catalog.fits import FittedCurve, FittedTrace, Made
from hcasim.runs.document import Form, Head

Quantity = str | int
"""With its unit; a number if it has none."""


class Parameter(Form):
    """A parameter that was fitted."""

    path: str = Field(description="of a fit, such as adapters.mt25208.send.latency")
    value: Quantity
    interval: tuple[Quantity, Quantity] = Field(description="of 95 %")
    bounds: tuple[Quantity, Quantity]
    start: Quantity
    also_sets: tuple[str, ...] = Field(description="paths of those that are tied to it")
    verdict: str = Field(description="whether the data determine it")
    claims: tuple[str, ...] = Field(description="what determined it")
    correlation: dict[str, float] = Field(description="with each parameter, by its path")


class Observation(Form):
    """A number that was fitted, or held out, beside the simulated one."""

    id: str
    repeats: tuple[str, ...] = Field(description="ids of other statements of the same number")
    statement: str
    published: float
    uncertainty: float = Field(description="how far it may be off, in its unit")
    unit: str
    simulated: float
    error: float = Field(description="relative and signed")
    tolerance: float | None = Field(description="relative; none where there is none")


class Tie(Form):
    """Whether the data would tell a tied parameter from its leader."""

    path: str
    tied_to: str
    separable: bool
    direction: dict[str, float] = Field(description="move that the data do not notice, by path")


class Alternative(Form):
    """A parameter that was not freed and would explain the same as one that was."""

    path: str
    like: str = Field(description="path of the one that was freed")
    correlation: float = Field(description="of their effects on the observations")


class CalibrateDocument(Head):
    """What `hcasim calibrate --json` prints; the last five of a fit to traces."""

    schema_: Literal["hcasim-calibrate"] = Field(alias="schema")
    id: str
    parameters: tuple[Parameter, ...]
    observations: tuple[Observation, ...]
    ties: tuple[Tie, ...]
    cost: float
    inflation: float
    evaluations: int
    converged: bool
    made: Made | None = None
    traces: tuple[FittedTrace, ...] = ()
    curves: tuple[FittedCurve, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    held_out: tuple[Observation, ...] = ()
