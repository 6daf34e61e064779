"""Published statements as data: what was stated, and which reading of a replay it is about."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from hcasim.study.sizes import parse_sizes

Relation = Literal["=", "~", "<", "<=", ">", ">="]
Role = Literal["fitted", "predicted"]
Kind = Literal["value", "ratio", "percent", "ordering", "threshold"]
Quantity = Literal["latency", "bandwidth"]
Text = Annotated[str, Field(min_length=1)]


class Entry(BaseModel):
    """A part of a scenario file: frozen, and without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def _several(value: object) -> object:
    if isinstance(value, list):
        return tuple(value)
    return value if isinstance(value, tuple) else (value,)


def _range(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def read_size(value: object) -> object:
    """Read one size as the papers' axes write it, such as "8K"."""
    return parse_sizes(value)[0] if isinstance(value, str) else value


SeriesNames = Annotated[tuple[Text, ...], BeforeValidator(_several), Field(min_length=1)]
Published = Annotated[float | tuple[float, float] | str, BeforeValidator(_range)]


class Measure(Entry):
    """One reading of a replay.

    Parameters:
        series: a series of the same scenario, or of another as "liu2004/fig06:pcie"; of several
            the best one counts.
        against: the series to compare with.
        factor: what `against` is multiplied with before an ordering is judged.
        select: the smallest or largest size, the peak over all sizes (the lowest latency or the
            highest bandwidth), or each size by itself.
        below: only sizes smaller than this count, in bytes.
    """

    series: SeriesNames
    against: SeriesNames | None = None
    factor: Annotated[float, Field(gt=0)] = 1.0
    select: Literal["smallest", "largest", "peak", "all"]
    below: Annotated[int, BeforeValidator(read_size)] | None = None


class Deviation(Entry):
    """Why a claim is missed.

    Parameters:
        error: by how much the claim is missed, relative to the published value.
        reason: what is missed, in one sentence.
        mechanism: the best explanation of it.
    """

    error: float
    reason: Text
    mechanism: Text


class Claim(Entry):
    """A published statement that a replay must meet.

    Parameters:
        id: number of the statement.
        section: where the paper makes it.
        system: the hardware it is about.
        statement: what is stated, in few words.
        quantity: what was measured.
        kind: a number, a ratio of two numbers, a change in percent, an order of two series, or
            a limit that holds exactly.
        change: whether a percentage says less or more.
        published: the number; the ends of a range; or an order in words.
        contradiction: where the paper contradicts itself, if that is why there is a range.
        unit: unit of `published`.
        relation: how the paper relates the number or the series.
        role: fitted, if calibration used it; predicted otherwise.
        measure: the readings; all must meet the statement.
        deviation: set if the claim is missed.
    """

    id: Text
    section: Text
    system: Text
    statement: Text
    quantity: Quantity
    kind: Kind
    change: Literal["reduction", "gain"] | None = None
    published: Published
    contradiction: str = ""
    unit: str = ""
    relation: Relation
    role: Role
    measure: Annotated[tuple[Measure, ...], BeforeValidator(_several), Field(min_length=1)]
    deviation: Deviation | None = None

    @model_validator(mode="after")
    def _is_consistent(self) -> Claim:
        faults = [*self._published_faults(), *self._relation_faults(), *self._measure_faults()]
        if faults:
            raise ValueError("; ".join(faults))
        return self

    def _published_faults(self) -> list[str]:
        if self.kind == "ordering":
            return [] if isinstance(self.published, str) else ["published must be words"]
        if isinstance(self.published, str):
            return [f"published must be a number, found {self.published!r}"]
        if isinstance(self.published, tuple):
            low, high = self.published
            if not low < high:
                return [f"published must be [low, high], found [{low:g}, {high:g}]"]
            if self.kind != "percent" and not self.contradiction:
                return ["a range needs a contradiction that explains it"]
        return []

    def _relation_faults(self) -> list[str]:
        allowed = {
            "ordering": ("<", ">", "~"),
            "threshold": ("<=", ">=", "="),
        }.get(self.kind, ("=", "~", "<=", ">="))
        faults = []
        if self.relation not in allowed:
            faults.append(f"relation must be one of {' '.join(allowed)}, found {self.relation!r}")
        if (self.kind == "percent") != (self.change is not None):
            faults.append("change belongs to kind percent, and is needed there")
        return faults

    def _measure_faults(self) -> list[str]:
        faults = []
        for measure in self.measure:
            pair = self.kind in ("ratio", "percent", "ordering")
            if pair != (measure.against is not None):
                faults.append(f"against is {'needed' if pair else 'not allowed'} here")
            if measure.select == "all" and self.kind != "ordering":
                faults.append("select all is for kind ordering")
            if measure.factor != 1 and self.kind != "ordering":
                faults.append("factor is for kind ordering")
        return faults


class Context(Entry):
    """A published statement that nothing here replays.

    Parameters:
        reason: why: an input, a unit, or something that comes later.
    """

    id: Text
    section: Text
    system: Text
    statement: Text
    published: Published
    unit: str = ""
    relation: Relation
    reason: Text
