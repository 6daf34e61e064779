"""What every line of a trace is made of."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Text = Annotated[str, Field(min_length=1)]
Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]


def as_tuple(value: object) -> object:
    """Return a list of JSON as a record keeps it."""
    return tuple(value) if isinstance(value, list) else value


class Record(BaseModel):
    """A line, or a part of one: frozen, and without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
