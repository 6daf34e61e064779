"""What all descriptions share: frozen, strict, and made of leaves, sections and plain keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from hcasim.ground.text import brief
from hcasim.ground.units import RATE, Bytes, Picoseconds


class Plain:
    """Marks a key that names or explains and therefore needs no evidence."""


PLAIN = Plain()


@dataclass(frozen=True)
class Refers(Plain):
    """Marks a plain key that names other descriptions, each by its id or the path of its file.

    Parameters:
        kind: of what it names, such as "hosts".
    """

    kind: str


Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), PLAIN]
Names = Annotated[tuple[str, ...], PLAIN]
Latency = Annotated[Picoseconds, Field(ge=0, le=10**12)]
Size = Annotated[Bytes, Field(ge=1, le=2**30)]
Bandwidth = Annotated[int, RATE, Field(ge=10**6, le=10**13)]
Count = Annotated[int, Field(ge=1, le=2**24)]


class Section(BaseModel):
    """A group of parameters that belong to one block of hardware."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class Description(Section):
    """One catalogue entry."""

    id: Name = Field(description="the file name without its suffix")
    based_on: Annotated[str, PLAIN] = Field(
        default="", exclude=True, description="id or file of what this one differs from"
    )
    title: Name = Field(description="the product or installation in plain words")
    notes: Annotated[str, PLAIN] = Field(default="", description="what a reader should know")
    references: Names = Field(default=(), description="further reading")

    def __repr__(self) -> str:
        return brief(self, self.id)

    __str__ = __repr__
