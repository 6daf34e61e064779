"""The form of what `hcasim sweep --json` prints."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hcasim.runs.document import Form, Head, Notes, Rows


class SweepDocument(Head, Form):
    """The table of a sweep."""

    schema_: Literal["hcasim-sweep"] = Field(alias="schema")
    axes: tuple[str, ...] = Field(description="columns of what varies")
    fields: tuple[str, ...] = Field(description="columns of what was measured")
    rows: Rows
    notes: Notes = ()
    drawn: tuple[str, ...] = Field(
        description="paths of what was drawn at random for bands; empty without bands"
    )
    samples: int = Field(description="how many machines the bands of a point are made of")
