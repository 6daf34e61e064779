"""Curves as people have them: numbers by size, tables, and what tools printed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from os import PathLike
from pathlib import Path
from typing import Any

from hcasim.catalog import nearest, one_of
from hcasim.ground.errors import CatalogError, display, refuse
from hcasim.ground.quantities import QUANTITIES, derivable, traced
from hcasim.ground.reading import MEASURED, read_file
from hcasim.ground.text import plain
from hcasim.papers.verdict import Number
from hcasim.runs.benchmark import Benchmark
from hcasim.runs.curve import Curve
from hcasim.traces import Source, Trace, import_trace
from hcasim.workloads.options import AXES

ALLOWED = (
    "numbers by the x axis, a table of pandas, a curve, a trace, or a file: .csv, or a trace or "
    "what perftest, OSU, IMB or NetPIPE printed"
)


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
    """Return what a file holds, rows or a trace, and anything else as it is.

    Parameters:
        published: anything; text and path objects name files.
        folder: where those are looked for.

    Raises:
        CatalogError: a file that cannot be read.
    """
    if not isinstance(published, str | PathLike):
        return published
    path = folder / published
    name = display(path)
    data = read_file(path, MEASURED)
    if path.suffix.lower() != ".csv":
        return import_trace(Source(name, data))
    try:
        rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig")), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise CatalogError([f"{name}: found no CSV in UTF-8: {error}"]) from None
    return rows


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
    names = {name: one.field for name, one in QUANTITIES.items() if one.field in known}
    field = names.get(quantity, quantity)
    if field and field not in known:
        has = f"{workload} has {_named(known)}"
        refuse(f"quantity: found {quantity!r}; {has}{nearest(quantity, [*names, *known])}")
    found = _pairs(published, workload, axis, fields, field)
    field = field or found.field
    return Published(field, *_unit(field, unit), _values(found.pairs, axis))


@dataclass(frozen=True)
class _Found:
    field: str
    pairs: Iterable[tuple[Any, Any]]


def _pairs(
    published: object, workload: str, axis: str, fields: Sequence[str], field: str
) -> _Found:
    """Find x and y of each point, and what y is."""
    if isinstance(published, Benchmark):
        published = published.curve
    if isinstance(published, Mapping):
        return _Found(field or _only(fields, workload), published.items())
    if isinstance(published, Trace):
        field = field or _only(fields, workload)
        return _Found(field, list(_traced(published, workload, axis, field)))
    rows = _rows(published, axis)
    faults = [] if rows else ["published: found no rows"]
    columns = list(rows[0]) if rows else []
    if rows and axis not in columns:
        faults.append(f"published: found the columns {one_of(columns)}; {axis} is missing")
    refuse(*faults)
    field = field or _only([one for one in fields if one in columns], "the table", fields)
    if field not in columns:
        refuse(f"published: found the columns {one_of(columns)}; {field} is missing")
    return _Found(field, [(row[axis], row[field]) for row in rows])


def _rows(published: object, axis: str) -> Sequence[Mapping[str, Any]]:
    if isinstance(published, Curve):
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
    names = {one.field: name for name, one in QUANTITIES.items()}
    return one_of([names.get(field, field) for field in fields])


def _traced(trace: Trace, workload: str, axis: str, field: str) -> Iterator[tuple[Any, Any]]:
    """The points of a workload in a trace, in the unit of a row."""
    wanted = traced(field)
    if wanted is None:
        raise CatalogError([f"quantity: {field} is in no trace"])
    quantity = QUANTITIES[wanted[0]]
    assert quantity.trace is not None
    for point in trace.points:
        for one in point.measured if point.workload == workload else ():
            if (one.quantity, one.name) == wanted and one.typical is not None:
                yield point.options.get(axis), one.typical / quantity.trace[1]


def _unit(field: str, unit: str) -> tuple[str, float]:
    quantity = next((one for one in QUANTITIES.values() if one.field == field), None)
    units = {} if quantity is None else {quantity.unit: (1.0, 0), **quantity.units}
    if not unit:
        return ("" if quantity is None else quantity.unit), 1.0
    if unit not in units:
        refuse(f"unit: found {unit!r}; allowed: {one_of([*units])}{nearest(unit, units)}")
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
            faults.append(
                f"published: {axis} {x}: found {y!r}; allowed: a positive number, or both ends of "
                "a range"
            )
        elif key in found:
            faults.append(f"published: found {axis} {x} twice; allowed: one curve")
        else:
            found[key] = value
    refuse(*faults, "" if found or faults else "published: found no point to compare")
    return found


def _number(given: Any) -> Number | None:
    if isinstance(given, tuple | list):
        low, high = (_positive(one) for one in given) if len(given) == 2 else (None, None)
        return None if low is None or high is None or low > high else (low, high)
    return _positive(given)


def _positive(given: Any) -> float | None:
    number: Any = plain(given)
    try:
        value = float(number)
    except (TypeError, ValueError):
        return None
    return value if 0 < value < inf and not isinstance(number, bool) else None
