"""Fits: values that a calibration has found, what determined them, and how they were made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    StrictBool,
    StrictFloat,
    StrictInt,
    ValidationError,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from hcasim.catalog.folders import find_file
from hcasim.ground.errors import Fault, FaultError, display, nearest, refuse
from hcasim.ground.faults import told
from hcasim.ground.reading import read_toml, render_toml
from hcasim.ground.text import brief, html_table

Count = Annotated[StrictInt, Field(ge=0)]
Share = Annotated[StrictFloat, Field(ge=0)]
LossName = Literal["linear", "soft_l1"]
IntervalKind = Literal["profile", "linear"]

_OF_A_LEADER = ("interval", "bounds", "start", "claims", "samples", "multiple")


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


Quantity = Annotated[
    Any, WithJsonSchema({"type": ["string", "integer", "number", "boolean"], "minLength": 1})
]
"""With its unit, if it has one; the parameter says what it may be."""


class FittedValue(_Record):
    """One value of a fit, still as text with its unit.

    Parameters:
        tied_to: path of the entry that this one follows, in place of a value; what that entry
            says then holds for this one, too.
        interval: lowest and highest plausible value, if it is known.
        bounds: lowest and highest value that a search may try.
        start: where a search sets out, if not in the middle of the bounds.
        multiple: a search tries multiples of this, in base units.
        claims: what determined the value: statements, or curves of traces.
        verdict: whether the data determine it.
        samples: values that the data allow, in base units; of all entries those at the same place
            belong together.
    """

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["value"]}, {"required": ["tied_to"]}]}
    )

    value: Quantity = None
    tied_to: str = ""
    interval: tuple[Quantity, Quantity] | None = None
    bounds: tuple[Quantity, Quantity] | None = None
    start: Quantity = None
    multiple: Annotated[StrictInt, Field(ge=1)] = 1
    claims: tuple[str, ...] = ()
    verdict: str = ""
    note: str = ""
    samples: tuple[StrictInt, ...] = ()

    @model_validator(mode="after")
    def _has_a_value_or_a_tie(self) -> Self:
        if (self.value is None) == (not self.tied_to):
            found = "both" if self.tied_to else "neither"
            raise FaultError(self, "value or tied_to", text=found)
        if own := [name for name in _OF_A_LEADER if self.tied_to and name in self.model_fields_set]:
            raise ValueError(f"found {', '.join(own)}, but a tied entry has that of its leader")
        return self


class FittedTrace(_Record):
    """A trace that a fit was made from."""

    name: str
    sha256: str
    tool: str
    device: str
    points: Count


class FittedCurve(_Record):
    """How well a curve of the traces is met; errors are relative and signed."""

    curve: str
    role: Literal["fitted", "held out"]
    points: Count
    mean_error_percent: StrictFloat
    worst_error_percent: StrictFloat
    rms_deviations: Share


class Made(_Record):
    """How a fit to traces was made."""

    hcasim: str
    command: str
    testbed: str
    adapter: str
    stack: str = Field(default="", description="unless it was the testbed's for verbs")
    host: str = Field(default="", description="unless it was the testbed's")
    mtu: StrictInt
    no_switch: StrictBool
    switch: str = Field(default="", description="unless it was the testbed's")
    seed: Count
    loss: LossName
    floor_percent: Share
    intervals: IntervalKind
    converged: StrictBool
    evaluations: Count
    observations: Count
    held_out: Count
    cost: Share
    inflation: Share
    # At the end of a file, so that one that was cut off lacks something.
    notes: tuple[str, ...]


class Fit(_Record):
    """The result of a search, to claims of papers or to traces, as a file holds it.

    Parameters:
        id: of a fit to claims the testbed or paper.
        notes: method and caveats.
        claims: the statements that all of it was fitted to.
        floor_percent: error that the model, or a measurement, may have at each of those, beside
            the rounding.
        entries: the values by path, such as "adapters.mt25208.send.latency".
        settings: what-if settings of the machine that was fitted, by the path of a fit.
        traces: what it was fitted to; curves and made say how, and how well.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "required": ["id", "entries"],
            "dependentRequired": {
                "made": ["traces", "curves"],
                "traces": ["made", "curves"],
                "curves": ["made", "traces"],
                "settings": ["made"],
            },
        }
    )

    id: str
    title: str = ""
    notes: str = ""
    claims: tuple[str, ...] = ()
    floor_percent: Share = 0.0
    entries: dict[str, FittedValue] = {}
    settings: Annotated[dict[str, str], Field(min_length=1)] = {}
    traces: tuple[FittedTrace, ...] = ()
    curves: tuple[FittedCurve, ...] = ()
    made: Made | None = None
    _file: Path = PrivateAttr(Path())

    @classmethod
    def at(cls, file: Path, contents: Mapping[str, Any]) -> Self:
        """Return a fit that belongs in a file; ValidationError if the contents are none."""
        fit = cls.model_validate(contents)
        fit._file = file
        return fit

    def __repr__(self) -> str:
        return brief(self, self.id, entries=len(self.entries))

    __str__ = __repr__

    def _repr_html_(self) -> str:
        rows = (
            (path, str(one.value), " to ".join(map(str, one.interval or ())), one.verdict)
            for path, one in self.entries.items()
        )
        return html_table(("entry", "value", "interval", "verdict"), rows, self.title)

    @property
    def file(self) -> Path:
        return self._file

    @field_validator("entries")
    @classmethod
    def _follow(cls, entries: dict[str, FittedValue]) -> dict[str, FittedValue]:
        """Give each tied entry what its leader says."""
        for path, one in entries.items():
            if leader := entries.get(one.tied_to):
                own = {"tied_to": one.tied_to, "verdict": one.verdict, "note": one.note}
                entries[path] = leader.model_copy(update=own)
        return entries

    @model_validator(mode="after")
    def _says_how_it_was_made(self) -> Self:
        parts = {name: bool(getattr(self, name)) for name in ("traces", "curves", "made")}
        if (any(parts.values()) or self.settings) and not all(parts.values()):
            lacking = ", ".join(name for name, there in parts.items() if not there)
            raise ValueError(f"found a fit to traces without {lacking}")
        return self


def load_fit(name: str) -> Fit:
    """Read a fit by its id or the path of its file; CatalogError has every fault."""
    file = find_file(name, "calibrations")
    return parse_fit(file.stem, file, read_toml(file))


def parse_fit(identifier: str, file: Path, table: Mapping[str, Any]) -> Fit:
    """Return the fit of an id from the contents of its file; CatalogError has every fault."""
    faults = check_fit(file, table)
    if table.get("id") != identifier:
        faults.append(Fault(f"{display(file)}: id", table.get("id"), repr(identifier)))
    refuse(*faults)
    return Fit.at(file, table)


def check_fit(file: Path, table: Mapping[str, Any]) -> list[str]:
    """Return every fault of the form of a fit's file; of one without any those of its ties."""
    try:
        Fit.at(file, table)
    except ValidationError as error:
        return told(error, [Fit], table, f"{display(file)}: ")
    faults: list[str] = []
    entries = table.get("entries", {})
    leaders = [path for path, one in entries.items() if "value" in one]
    for path, one in entries.items():
        target = one.get("tied_to", "")
        if target and target not in leaders:
            place, hint = f"{display(file)}: entries.{path}.tied_to", nearest(target, leaders)
            faults.append(Fault(place, target, "an entry with a value", hint))
    return faults


def render_fit(fit: Fit, header: Iterable[str] = ()) -> str:
    """Return a fit as TOML, as `load_fit` reads it, with lines of comment for the top."""
    table = fit.model_dump(exclude_defaults=True)
    for path, entry in fit.entries.items():
        if entry.tied_to:
            for name in ("value", *_OF_A_LEADER):
                table["entries"][path].pop(name, None)
    return render_toml(table, header)
