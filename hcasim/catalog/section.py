"""What all descriptions share: frozen, strict, and made of leaves, sections and plain keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from hcasim.ground.errors import FaultError
from hcasim.ground.text import brief
from hcasim.ground.units import RATE, Bytes, Picoseconds


class Plain:
    """Marks a key that names or explains and therefore needs no evidence."""


PLAIN = Plain()


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
