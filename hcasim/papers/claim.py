"""Published statements as data: what was stated, and which numbers of a replay it is about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from math import nan
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from hcasim.ground.text import brief
from hcasim.workloads.options import OPTIONS

Relation = Literal["=", "~", "<", "<=", ">", ">="]
Kind = Literal["value", "ratio", "percent", "difference", "ordering", "threshold", "cause"]
Quantity = Literal[
    "latency",
    "bandwidth",
    "rate",
    "memory",
    "time",
    "overlap",
    "overhead",
    "run",
    "communication",
    "count",
    "counter",
]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]

TOLERANCES = {
    **dict.fromkeys(("bandwidth", "ratio", "overlap"), 0.03),
    **dict.fromkeys(("latency", "time", "overhead", "run", "communication", "count"), 0.05),
    "rate": 0.15,
    "memory": 0.25,
    "counter": 1 / 3,
}
"""Relative tolerance by the kind of quantity; a claim may have a tighter one, never a wider."""
RELATIONS = {
    "ordering": ("<", ">", "~"),
    "cause": ("<", ">", "~"),
    "threshold": ("<", "<=", ">=", "="),
}
"""The relations that some kinds of claims may have."""
Faults = Iterable[tuple[bool, str]]
"""What may be wrong, each with whether it is."""


class Entry(BaseModel):
    """A part of a scenario file: frozen, and without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


def _refuse(faults: Faults) -> None:
    """Raise a ValueError with each fault that is one."""
    if found := [text for wrong, text in faults if wrong]:
        raise ValueError("; ".join(found))


def as_tuple(value: object) -> object:
    """Take a list of a file as what it is, a fixed sequence."""
    return tuple(value) if isinstance(value, list) else value


def one_or_several(value: object) -> object:
    """Take one value of a file for a sequence of one."""
    return as_tuple(value) if isinstance(value, list | tuple) else (value,)


def read_size(value: object) -> object:
    """Read one size as the papers' axes write it, such as "8K"."""
    return OPTIONS["size"].read(value)[0] if isinstance(value, str) else value


At = Annotated[int, BeforeValidator(read_size, json_schema_input_type=int | str), Field(ge=0)]
SeriesNames = Annotated[
    tuple[Text, ...],
    BeforeValidator(one_or_several, json_schema_input_type=Text | tuple[Text, ...]),
    Field(min_length=1),
]
Published = Annotated[float | tuple[float, float] | str, BeforeValidator(as_tuple)]
Points = tuple[int, ...]
"""Values of x, of which the best result is the number that an author states."""


class Measure(Entry):
    """One number of a replay, or one at each x, by itself or beside another.

    Parameters:
        series: a series of the same scenario, or of another as "liu2004/fig06:pcie"; of several
            the best one counts.
        against: the series to compare with.
        factor: what `against` is multiplied with before an order, or its cause, is judged.
        select: the smallest or largest x of what the scenario varies, the peak over all (the
            lowest latency, the highest bandwidth, the most memory), or each x by itself.
        at: the one x that counts, instead of `select`.
        against_at: the x of `against`, if it is another.
        below: only an x smaller than this counts.
        above: only an x larger than this counts.
    """

    series: SeriesNames
    against: SeriesNames | None = None
    factor: Annotated[float, Field(gt=0)] = 1.0
    select: Literal["smallest", "largest", "peak", "all"] | None = None
    at: At | None = None
    against_at: At | None = None
    below: At | None = None
    above: At | None = None

    @model_validator(mode="after")
    def _selects_once(self) -> Measure:
        limited = self.below is not None or self.above is not None
        single = self.at is not None and self.against is not None
        faults = (
            ((self.select is None) == (self.at is None), "either select or at is needed"),
            (self.against_at is not None and not single, "against_at belongs to at and against"),
            (self.at is not None and limited, "below and above belong to select"),
        )
        _refuse(faults)
        return self

    def covers(self, x: int) -> bool:
        """Whether an x is neither too small nor too large."""
        return (self.below is None or x < self.below) and (self.above is None or x > self.above)

    def points(
        self, x: Iterable[int], against: Iterable[int] | None = None
    ) -> list[tuple[Points, Points]]:
        """Return a pair for each number that it reads: x of the series, and x of the other, which
        is empty without one to compare with.
        """
        left = self._points(x, self.at)
        if against is None:
            return [(one, ()) for one in left]
        right = self._points(against, self.at if self.against_at is None else self.against_at)
        if self.select == "all":
            left = right = [one for one in left if one in right]
        return list(zip(left, right, strict=True))

    def _points(self, x: Iterable[int], at: int | None) -> list[Points]:
        if at is not None:
            return [(at,)]
        covered = tuple(sorted({int(one) for one in x if self.covers(one)}))
        if self.select == "peak":
            return [covered] if covered else []
        each: list[Points] = [(one,) for one in covered]
        return {"smallest": each[:1], "largest": each[-1:]}.get(self.select or "", each)


Measures = Annotated[
    tuple[Measure, ...],
    BeforeValidator(one_or_several, json_schema_input_type=Measure | tuple[Measure, ...]),
]


class Deviation(Entry):
    """Why a claim is missed, by an error relative to the published value: what is missed, in one
    sentence, and the best explanation of it.
    """

    error: float
    reason: Text
    mechanism: Text


class Statement(Entry):
    """What a paper states.

    Parameters:
        section: where the paper makes it.
        system: the hardware it is about.
        statement: what is stated, in few words.
        published: the number; the ends of a range; or an order in words.
        relation: how the paper relates the number or the series.
    """

    id: Text
    section: Text
    system: Text
    statement: Text
    published: Published
    unit: str = ""
    relation: Relation

    @property
    def stated(self) -> dict[str, Any]:
        """The fields that all statements have."""
        return {name: getattr(self, name) for name in Statement.model_fields}

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of what was published: twice the same unless it is a range, NaN of words."""
        if isinstance(self.published, str):
            return nan, nan
        return self.published if isinstance(self.published, tuple) else (self.published,) * 2

    def __repr__(self) -> str:
        return brief(self, self.id)

    __str__ = __repr__


class Claim(Statement):
    """A published statement that a replay must meet.

    Of a number that is selected at each x, the relation "<=" says that it is the largest of them
    and ">=" the smallest.

    Parameters:
        quantity: what was measured.
        kind: a number, a ratio of two numbers, a change in percent, a difference of two numbers,
            an order of two series, a limit that holds exactly (of a number or, with `against`,
            of the difference in percent, whichever is larger), or the cause of an order.
        change: whether a percentage says less or more.
        contradiction: where the paper contradicts itself, or says what several runs gave, if that
            is why there is a range.
        measure: what is read off the curves; all of it must meet the statement.
        without: of a cause, the same measures where the cause is taken away; of several sizes the
            worst counts.
        goes: part of the difference that must go with the cause; of what is alike because of it (~)
            all that matters is that it differs without it.
        half_width: how far a number that is derived from others may be off, in its unit, if that is
            not half a unit of its last digit, nor more than the usual tolerance; calibration takes
            its interval from it.
        tolerance: relative, if the statement is to be met more closely than others of its kind.
        deviation: set if the claim is missed.
    """

    quantity: Quantity
    kind: Kind
    change: Literal["reduction", "gain"] | None = None
    contradiction: str = ""
    measure: Annotated[Measures, Field(min_length=1)]
    without: Measures = ()
    goes: Annotated[float, Field(gt=0, le=1)] = 0.5
    half_width: Annotated[float, Field(gt=0)] | None = None
    tolerance: Annotated[float, Field(gt=0)] | None = None
    deviation: Deviation | None = None

    @property
    def measures(self) -> tuple[Measure, ...]:
        """All that it reads."""
        return self.measure + self.without

    @property
    def extreme(self) -> Callable[..., Any] | None:
        """Which of several numbers is stated: the largest of "up to", the least of "at least"."""
        return {"<=": max, ">=": min}.get(self.relation)

    @property
    def usual_tolerance(self) -> float:
        """The tolerance of all claims of this kind."""
        usual = "ratio" if self.kind in ("ratio", "percent") else self.quantity
        return max(TOLERANCES[usual], TOLERANCES["counter"] if self.quantity == "counter" else 0)

    @property
    def allowed_error(self) -> float:
        """The largest absolute relative error that passes.

        Of a percentage it is a part of that, and no less than half a unit of its last digit.
        """
        if self.tolerance is not None:
            return self.tolerance
        if self.kind != "percent":
            return self.usual_tolerance
        return max(self.usual_tolerance, self._rounding / self.ends[1])

    @property
    def _rounding(self) -> float:
        """Half a unit of the last digit that is printed."""
        return max(map(_half_a_digit, self.ends))

    @model_validator(mode="after")
    def _is_consistent(self) -> Claim:
        _refuse(self._faults())
        return self

    def _faults(self) -> Faults:
        low, high = self.ends
        usual, ordered = self.usual_tolerance, self.kind in ("ordering", "cause")
        wanted = len(self.measure) if self.kind == "cause" else 0
        found = f"{len(self.without)} for {len(self.measure)}"
        yield len(self.without) != wanted, f"of a cause each measure needs one without it: {found}"
        if isinstance(self.published, str) != ordered:
            found = f"a number, found {self.published!r}"
            yield True, f"published must be {'words' if ordered else found}"
        elif isinstance(self.published, tuple) and not low < high:
            yield True, f"published must be [low, high], found [{low:g}, {high:g}]"
        elif self.kind != "percent" and not self.contradiction:
            yield low < high, "a range needs a contradiction that explains it"
        allowed = RELATIONS.get(self.kind, ("=", "~", "<=", ">="))
        found = f"relation must be one of {' '.join(allowed)}, found {self.relation!r}"
        yield self.relation not in allowed, found
        alone = (self.kind == "percent") != (self.change is not None)
        yield alone, "change belongs to kind percent, and is needed there"
        if self.half_width is not None:
            most = 0.0 if isinstance(self.published, str) else max(self._rounding, usual * high)
            found = f"half_width must be at most {most:g}, found {self.half_width:g}"
            yield self.half_width > most, found
        if self.tolerance is not None:
            found = f"tolerance must be at most {usual:g}, as usual, found {self.tolerance:g}"
            yield self.tolerance > usual, found
            yield self.kind == "threshold", "a threshold holds exactly and has no tolerance"
        for measure in self.measures:
            yield from self._measure_faults(measure)

    def _measure_faults(self, measure: Measure) -> Faults:
        pair = self.kind in ("ratio", "percent", "difference", "ordering", "cause")
        limit = self.kind == "threshold"
        compared = self.kind in ("ordering", "cause")
        yield measure.factor != 1 and not compared, "factor is for kinds ordering and cause"
        if measure.against is None:
            yield pair, "against is needed here"
        else:
            yield not (pair or limit), "against is not allowed here"
            found = f"a limit of a difference is in %, found {self.unit!r}"
            yield limit and self.unit != "%", found
            upper = self.relation in ("<", "<=")
            yield limit and not upper, "a limit of a difference is an upper one"


def _half_a_digit(published: float) -> float:
    exponent = Decimal(f"{published:.15g}").as_tuple().exponent
    assert isinstance(exponent, int)
    return float(Decimal(5).scaleb(exponent - 1))


class Context(Statement):
    """A published statement that nothing here replays, and why: an input, a unit, or for later."""

    reason: Text


def references(claim: Claim) -> Iterator[tuple[str, Measure, int | None]]:
    """Yield each series that a claim reads, as it names it, the measure, and its x if it is one."""
    for measure in claim.measures:
        other = measure.at if measure.against_at is None else measure.against_at
        yield from ((name, measure, measure.at) for name in measure.series)
        yield from ((name, measure, other) for name in measure.against or ())
