"""A trace as a file of JSON Lines: read up to the first fault, and written."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hcasim.ground.errors import CatalogError, display, name_fault, one_of, refuse
from hcasim.ground.faults import shown, told
from hcasim.ground.reading import MEASURED, check_tree, read_file, tree_fault
from hcasim.ground.text import brief, html_table
from hcasim.traces.schema import RECORDS, SCHEMA, VERSION, End, Failure, Header, Point, to_dict
from hcasim.traces.source import POINTS, Source, Unreadable, binary, too_many

_Record = Header | Point | Failure | End


@dataclass(frozen=True, repr=False)
class Trace:
    """What was measured in one run of a tool.

    Parameters:
        header: on what, by what.
        points: what was measured, in the order of time.
        failures: what could not be measured.
        end: how it ended; None if the trace was cut off.
        sha256: of the file, or of what would be written.
    """

    header: Header
    points: tuple[Point, ...]
    failures: tuple[Failure, ...] = ()
    end: End | None = None
    sha256: str = ""

    def __repr__(self) -> str:
        tool, device = self.header.tool.name, self.header.device.name
        return brief(self, tool=tool, device=device, points=len(self.points))

    def _repr_html_(self) -> str:
        rows = (
            (
                one.workload,
                ", ".join(f"{name} {value}" for name, value in one.options.items()),
                part.name or part.quantity,
                f"{part.typical:.6g} {part.unit}" if part.typical is not None else "",
            )
            for one in self.points
            for part in one.measured
        )
        return html_table(("workload", "options", "quantity", "typical"), rows)


def render(trace: Trace) -> str:
    """Return a trace as the text of its file."""
    end = trace.end or End(points=len(trace.points), complete=True)
    records: tuple[_Record, ...] = (trace.header, *trace.points, *trace.failures, end)
    lines = (json.dumps(to_dict(one), ensure_ascii=False, allow_nan=False) for one in records)
    return "".join(f"{line}\n" for line in lines)


def read_trace(file: str | PathLike[str]) -> Trace:
    """Read a trace, JSON Lines in the form of `hcasim.traces.schema`.

    Raises:
        CatalogError: a file that cannot be read, or its first fault with its line.
    """
    refuse(name_fault("file", file, "the path of a file"))
    file = Path(file)
    return parse_trace(read_file(file, MEASURED), display(file))


def parse_trace(data: bytes, where: str) -> Trace:
    """Read the bytes of a trace, whose name is `where` in messages.

    Raises:
        CatalogError: the first line with a fault, and what is wrong with it.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        found = binary(data)
        raise CatalogError([f"{where}: found {found}; allowed: a trace in UTF-8"]) from None
    # Other ends of lines, as str.splitlines knows them, may stand in a name.
    lines = text.removesuffix("\n").split("\n") if text else []
    if not lines:
        raise CatalogError([f"{where}: found nothing; allowed: a header and points"])
    # Beside the points there are a header and an end.
    if len(lines) > POINTS + 2:
        raise too_many(where)
    records: list[_Record] = []
    for number, line in enumerate(lines, start=1):
        try:
            record = _record(line, f"{where}:{number}: ")
            _check_order(records, record)
        except Unreadable as error:
            hint = "; what another tool printed becomes a trace by `hcasim import`"
            is_foreign = number == 1 and str(error).startswith("found no JSON")
            raise Source(where, data).refusal(number, f"{error}{hint * is_foreign}") from None
        records.append(record)
    header, *_ = records
    assert isinstance(header, Header)
    return Trace(
        header,
        tuple(one for one in records if isinstance(one, Point)),
        tuple(one for one in records if isinstance(one, Failure)),
        next((one for one in records if isinstance(one, End)), None),
        hashlib.sha256(data).hexdigest(),
    )


def _record(line: str, start: str) -> _Record:
    """Read a line; `start` begins each fault of its values."""
    try:
        table = json.loads(line, object_pairs_hook=_table)
        check_tree(table)
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", tree_fault(error))
        raise Unreadable(f"found no JSON: {reason}") from None
    # JSON may escape halves of characters, which cannot be written.
    if "\\u" in line:
        try:
            json.dumps(table, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise Unreadable("found half a character (\\ud800 to \\udfff)") from None
    kind = table.get("record") if isinstance(table, dict) else None
    if not isinstance(kind, str) or kind not in RECORDS:
        raise Unreadable(f"record: found {kind!r}; allowed: {one_of([*RECORDS])}")
    for key, allowed in (("schema", SCHEMA), ("version", VERSION)):
        if kind == "header" and table.get(key) != allowed:
            raise Unreadable(f"{key}: found {table.get(key)!r}; allowed: {allowed}")
    try:
        return RECORDS[kind].model_validate(table)
    except ValidationError as error:
        raise CatalogError(told(error, [RECORDS[kind]], table, start)) from None


def _table(pairs: list[tuple[str, object]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        ((key, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise Unreadable(f"found the key {shown(key)} twice; allowed: once")
    return table


def _check_order(above: list[_Record], record: _Record) -> None:
    """Refuse a record that may not stand behind those above."""
    allowed = ""
    if not above and not isinstance(record, Header):
        allowed = "a header, with which a trace begins"
    elif above and isinstance(record, Header):
        allowed = "one header, as in line 1; divide the file: one trace each"
    elif above and isinstance(above[-1], End):
        allowed = f"nothing behind the end in line {len(above)}"
    if allowed:
        raise Unreadable(f"record: found {record.record!r}; allowed: {allowed}")
    points = sum(isinstance(one, Point) for one in above) if isinstance(record, End) else 0
    if isinstance(record, End) and record.points != points:
        why = "lines are missing" if points < record.points else "lines were added"
        raise Unreadable(f"points: found {record.points}; allowed: {points}, as above: {why}")
