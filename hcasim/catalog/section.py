"""What all descriptions share: sections, leaves and plain keys, and where values come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from hcasim.ground.errors import FaultError
from hcasim.ground.text import brief
from hcasim.ground.units import RATE, UNITS, Bytes, Picoseconds


class Plain:
    """Marks a key that names or explains and therefore needs no evidence."""


PLAIN = Plain()
SETTING = object()
"""Marks a leaf that BIOS, a driver or an experimenter sets, so that a scenario may, too."""


@dataclass(frozen=True)
class Refers(Plain):
    """Marks a plain key that names descriptions of a kind, each by its id or a path of a file."""

    kind: str


Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), PLAIN]
Names = Annotated[tuple[str, ...], PLAIN]
Latency = Annotated[Picoseconds, Field(ge=0, le=10**12)]
Size = Annotated[Bytes, Field(ge=1, le=2**30)]
Bandwidth = Annotated[int, RATE, Field(ge=10**6, le=10**13)]
Count = Annotated[int, Field(ge=1, le=2**24)]


def key(words: str, low: int | None = None, high: int | None = None, **rules: Any) -> Any:
    """Declare a key of a section: reading, checks, schemas, settings and new files follow it.

    Parameters:
        words: its meaning.
        low: smallest value allowed; high the largest.
        rules: a default and further rules, as for pydantic's `Field`.
    """
    rules |= {name: one for name, one in (("ge", low), ("le", high)) if one is not None}
    return Field(description=words, **rules)


def optional(words: str, low: int | None = None, high: int | None = None, **rules: Any) -> Any:
    """Declare a key, as `key` does, that a section may lack."""
    return key(words, low, high, default=None, **rules)


class Clash(FaultError):
    """Values of a section that are legal alone and not together.

    Parameters:
        about: values outside of the section that it is about, by how their paths end.
        other: key of the section whose value may be changed instead.
    """

    def __init__(self, found: str, allowed: str, *about: str, other: str = "") -> None:
        super().__init__(found, said=f"found {found}", allowed=allowed)
        self.about = tuple(f".{one}" for one in about)
        self.other = other


class Section(BaseModel):
    """A group of parameters that belong to one block of hardware."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class Description(Section):
    """One catalogue entry."""

    id: Name = key("the file name without its suffix")
    based_on: Annotated[str, PLAIN] = key(
        "id or file of what this one differs from", default="", exclude=True
    )
    title: Name = key("the product or installation in plain words")
    notes: Annotated[str, PLAIN] = key("what a reader should know", default="")
    references: Names = key("further reading", default=())

    def __repr__(self) -> str:
        return brief(self, self.id)

    __str__ = __repr__


Evidence = Literal["spec", "datasheet", "driver", "fitted", "chosen", "assumed"]
"""spec: a published specification. datasheet: the maker's or the machine's own description, or
what the device reports of itself. driver: the source of a driver for it. fitted: determined from
measurements. chosen: assumed with published numbers in view. assumed: plausible, and no public
source gives it."""

EVIDENCE: tuple[str, ...] = get_args(Evidence)

UNPUBLISHED: tuple[Evidence, ...] = ("fitted", "chosen", "assumed")
"""Kinds of evidence of values that nobody has published."""

Value = int | str | bool
T_co = TypeVar("T_co", bound=Value, covariant=True)
T = TypeVar("T", bound=Value)

# Sources of values that a description leaves out, that a setting or an option gives.
UNSAID = "not said; the default of such descriptions"
SET = "--set"
CHOSEN = "chosen for this run"


@dataclass(frozen=True)
class Parameter(Generic[T_co]):
    """One value of a description, in base units and as it is written, with its origin.

    Parameters:
        path: dotted name, such as "adapter.bus.lanes".
        unit: the base unit of `value`, or nothing for a plain number or a word.
        interval: lowest and highest plausible value of a fitted parameter, in base units.
        claims: what determined a fitted parameter, or the statements that one was chosen from.
        informed: these, and all statements that were in view when a value was set.
        inherited_from: id of the description whose file says it, if it is not the own one.
        meaning: what it is.
    """

    path: str
    value: T_co
    text: str
    unit: str
    evidence: Evidence
    source: str
    interval: tuple[int, int] | None = None
    claims: tuple[str, ...] = ()
    informed: tuple[str, ...] = ()
    inherited_from: str = ""
    meaning: str = ""

    @property
    def shown(self) -> str:
        """The value in the unit of all of its kind, and the interval if it has one."""
        unit = UNITS.get(self.unit)
        text = unit.shown(int(self.value)) if unit else self.text
        return f"{text} ({' to '.join(self.ends)})" if self.ends else text

    @property
    def ends(self) -> tuple[str, str] | None:
        """The interval in words."""
        if self.interval is None:
            return None
        low, high = map(UNITS[self.unit].shown if self.unit else str, self.interval)
        return low, high

    @property
    def origin(self) -> str:
        """The source, and whose file names it."""
        base = self.inherited_from
        return f"from {base}: {self.source}" if base else self.source

    def at(self, path: str) -> Self:
        """Return it with another path; `dataclasses.replace` takes five times as long."""
        moved = object.__new__(type(self))
        moved.__dict__.update(self.__dict__, path=path)
        return moved

    def changed(self, value: T, text: str, source: str) -> Parameter[T]:
        """Return it with another value, which is assumed."""
        meaning = self.meaning
        return Parameter(self.path, value, text, self.unit, "assumed", source, meaning=meaning)
