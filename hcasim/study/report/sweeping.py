"""A sweep as a document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from hcasim.ground.quantities import title, written
from hcasim.pages import (
    Block,
    Cell,
    Column,
    Content,
    Document,
    Facts,
    Figure,
    Section,
    Table,
)
from hcasim.pages import Text as Paragraph
from hcasim.runs.drawing import is_number
from hcasim.study.report.provenance import summary
from hcasim.study.sweep.table import ERROR, Sweep


def document(
    found: Sweep,
    facets: Mapping[str, str | None] | None = None,
    command: str = "",
    made: datetime | None = None,
) -> Document:
    """Describe a sweep for readers, with the command that made it, and when.

    Raises:
        CatalogError: a column of the facets that is none.
    """
    sections = [
        Section("Simulated results", list(_results(found, facets or {}))),
        *([Section("Refused", [_refused(found)])] if found.refused else []),
        Section("Common settings", [Facts(_alike(found))]),
        Section("Where each value comes from", list(_values(found))),
    ]
    name = ", ".join(dict.fromkeys(str(row["workload"]) for row in found.rows))
    axes = ", ".join(found.axes)
    return Document(
        f"{name} over {axes}" if axes else name, [*_summary(found, command, made), *sections]
    )


BANDS = "5 to 95 % of {} samples in which {} values that nobody has published were drawn"


def _summary(found: Sweep, command: str, made: datetime | None) -> Iterator[Block]:
    counts = [("points", len(found.rows), "")]
    if found.refused:
        counts.append(("points that were refused", found.refused, "fail"))
    bands = [("bands", BANDS.format(found.samples, len(found.drawn)))] if found.drawn else []
    yield from summary(counts, bands, command, made)


def _results(found: Sweep, facets: Mapping[str, str | None]) -> Iterator[Block]:
    if found.axes and found.refused < len(found.rows):
        drawing = found.plot(**facets)
        yield Figure(title(facets.get("y") or found.fields[0]), drawing)
    names = (*found.axes, *found.fields)
    # Readers choose rows by what varies.
    columns = [
        Column(title(name), right=name in found.fields, chosen=name in found.axes) for name in names
    ]
    rows = [[_cell(row.get(name), name) for name in names] for row in found.rows]
    yield Table("Points", columns, rows, filtered=True)


def _refused(found: Sweep) -> Table:
    columns: list[str | Column] = [*map(title, found.axes), Column("why", prose=True)]
    rows: list[list[Content]] = [
        [*(_cell(row.get(name), name) for name in found.axes), str(row[ERROR])]
        for row in found.rows
        if ERROR in row
    ]
    return Table("Points that were refused", columns, rows)


def _alike(found: Sweep) -> list[tuple[str, str]]:
    first = found.rows[0]
    others = {*found.axes, *found.fields, ERROR}
    return [
        (name, str(value))
        for name, value in first.items()
        if name not in others and all(row.get(name) == value for row in found.rows)
    ]


def _values(found: Sweep) -> Iterator[Block]:
    yield Paragraph("Values that the sweep varies are in the table of points.")
    for machine in found.machines:
        name = ", ".join(machine.parts)
        rows = [
            [one.path, one.text, one.evidence, one.origin]
            for one in machine.parameters
            if one.path not in machine.overrides
        ]
        more = [Column("evidence", chosen=True), Column("source", prose=True)]
        columns: list[str | Column] = ["parameter", "value", *more]
        yield Section(name, [Table(machine.title, columns, rows, filtered=True)], folded=True)


def _cell(value: object, name: str) -> Cell:
    text = written(value, name) if isinstance(value, float) else str(value)
    return Cell("" if value is None else text, float(value) if is_number(value) else None)
