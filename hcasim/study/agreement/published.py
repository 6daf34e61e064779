"""Curves as people have them: numbers by size, tables, and what tools printed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from os import PathLike
from pathlib import Path
from typing import Any

from hcasim.catalog import nearest, one_of
from hcasim.ground.errors import CatalogError, display, name_fault, refuse
from hcasim.ground.quantities import QUANTITIES, derivable, traced
from hcasim.ground.reading import MEASURED, read_file
from hcasim.ground.text import plain
from hcasim.papers.verdict import Number
from hcasim.runs.table import Table
from hcasim.traces import Source, Trace, import_trace
from hcasim.workloads.options import AXES

ALLOWED = (
    "numbers by the x axis, a table of pandas, a curve, a trace, or a file: .csv, or a trace or "
    "what perftest, OSU, IMB or NetPIPE printed"
)
_NAMES = {one.field: name for name, one in QUANTITIES.items()}


@dataclass(frozen=True)
class Published:
    """A published curve.

    Parameters:
        field: the key of simulated rows that it is compared with.
        unit: of its numbers.
        factor: how much of that is one of the row's.
        values: by the x axis; of a range both ends.
    """

    field: str
    unit: str
    factor: float
    values: Mapping[int, Number]


def opened(published: object, folder: Path) -> object:
    """Return the rows or the trace that a file of a folder holds, and anything else as it is.

    Raises:
        CatalogError: a file that cannot be read.
    """
    if not isinstance(published, str | PathLike):
        return published
    refuse(name_fault("published", published), name_fault("folder", folder, "a folder"))
    path = Path(folder) / published
    data = read_file(path, MEASURED)
    if path.suffix.lower() != ".csv":
        return import_trace(Source(display(path), data))
    try:
        return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig")), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise CatalogError([f"{display(path)}: found no CSV in UTF-8: {error}"]) from None


def read_published(
    published: object, workload: str, axis: str, fields: Sequence[str], quantity: str, unit: str
) -> Published:
    """Read a curve.

    Parameters:
        published: what `opened` returned.
        workload: whose points of a trace count.
        axis: the name of the x axis.
        fields: keys of simulated rows that may be compared.
        quantity: which of those, by its key or as "latency"; needed if there are several.
        unit: of the numbers; without it that of the row.

    Raises:
        CatalogError: every fault.
    """
    known = derivable(fields)
    field = QUANTITIES[quantity].field if quantity in QUANTITIES else quantity
    if field and field not in known:
        close = nearest(quantity, [*(_NAMES[one] for one in known if one in _NAMES), *known])
        refuse(f"quantity: found {quantity!r}; {workload} has {_named(known)}{close}")
    pairs: Iterable[tuple[Any, Any]]
    if isinstance(published, Mapping):
        field = field or _only(fields, workload)
        pairs = published.items()
    elif isinstance(published, Trace):
        field = field or _only(fields, workload)
        refuse("" if traced(field) else f"quantity: {field} is in no trace")
        measured = trace_rows(published, workload, [field])
        pairs = ((row.get(axis), row[field]) for row in measured if field in row)
    else:
        rows = _rows(published, axis)
        columns = list(rows[0]) if rows else []
        found = f"published: found the columns {one_of(columns)}"
        refuse("" if rows else "published: found no rows")
        refuse("" if axis in columns else f"{found}; {axis} is missing")
        field = field or _only([one for one in fields if one in columns], "the table", fields)
        refuse("" if field in columns else f"{found}; {field} is missing")
        pairs = ((row[axis], row[field]) for row in rows)
    return Published(field, *_unit(field, unit), _values(pairs, axis))


def trace_rows(trace: Trace, workload: str, fields: Iterable[str]) -> list[dict[str, Any]]:
    """Return the points of a workload in a trace as rows of a benchmark with these keys."""
    wanted = {traced(field): field for field in fields}
    rows = []
    for point in trace.points:
        if point.workload != workload:
            continue
        row: dict[str, Any] = {name: one for name, one in point.options.items() if name in AXES}
        for one in point.measured:
            key, quantity = wanted.get((one.quantity, one.name)), QUANTITIES.get(one.quantity)
            if key and quantity and quantity.trace and one.typical is not None:
                row[key] = one.typical / quantity.trace[1]
        rows.append(row)
    return rows


def _rows(published: object, axis: str) -> Sequence[Mapping[str, Any]]:
    if isinstance(published, Table):
        return published.rows
    frame: Any = published
    if hasattr(frame, "to_dict") and hasattr(frame, "columns"):
        frame = frame if axis in frame.columns else frame.reset_index()
        return [{str(key): one for key, one in row.items()} for row in frame.to_dict("records")]
    if isinstance(published, list) and all(isinstance(one, Mapping) for one in published):
        return published
    raise CatalogError([f"published: found {published!r:.100}; allowed: {ALLOWED}"])


def _only(fields: Sequence[str], owner: str, allowed: Sequence[str] = ()) -> str:
    if len(fields) == 1:
        return fields[0]
    found = f"has {_named(fields)}" if fields else f"has none of {one_of(allowed)}"
    raise CatalogError([f"quantity: missing; {owner} {found}"])


def _named(fields: Sequence[str]) -> str:
    """Name quantities as `quantity` does."""
    return one_of([_NAMES.get(field, field) for field in fields])


def _unit(field: str, unit: str) -> tuple[str, float]:
    """Return the unit of the numbers, and how much of it is one of the row's."""
    quantity = QUANTITIES.get(_NAMES.get(field, ""))
    own = "" if quantity is None else quantity.unit
    units = {} if quantity is None else {own: (1.0, 0), **quantity.units}
    if not unit:
        return own, 1.0
    allowed = f"allowed: {one_of([*units])}{nearest(unit, units)}"
    refuse("" if unit in units else f"unit: found {unit!r}; {allowed}")
    return unit, units[unit][0]


def _values(pairs: Iterable[tuple[Any, Any]], axis: str) -> dict[int, Number]:
    found: dict[int, Number] = {}
    faults = []
    for x, y in pairs:
        try:
            (key,) = AXES[axis].read(x)
        except ValueError:
            faults.append(f"published: {axis}: found {x!r}; allowed: one, such as 8 or '8'")
            continue
        value = _number(y)
        if value is None:
            allowed = "a positive number, or both ends of a range"
            faults.append(f"published: {axis} {x}: found {y!r}; allowed: {allowed}")
        elif key in found:
            faults.append(f"published: found {axis} {x} twice; allowed: one curve")
        else:
            found[key] = value
    refuse(*faults, "" if found or faults else "published: found no point to compare")
    return found


def _number(given: Any) -> Number | None:
    """Return a positive number or a range of those; None if it is neither."""
    both = given if isinstance(given, tuple | list) else (given, given)
    ends: list[Any] = [plain(one) for one in both]
    try:
        low, high = map(float, ends)
    except (TypeError, ValueError):
        return None
    if not 0 < low <= high < inf or any(isinstance(one, bool) for one in ends):
        return None
    return (low, high) if isinstance(given, tuple | list) else low
