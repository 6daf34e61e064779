"""A trace as JSON Lines: read with every fault named by its line, and written."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hcasim.ground.errors import CatalogError, display, name_fault, one_of, refuse
from hcasim.ground.faults import shown, told
from hcasim.ground.reading import MEASURED, check_tree, read_file, tree_fault
from hcasim.ground.text import brief, html_table
from hcasim.traces.header import Header, Record
from hcasim.traces.schema import RECORDS, SCHEMA, VERSION, End, Failure, Point, to_dict
from hcasim.traces.source import ENOUGH, POINTS, binary, too_many, with_newlines

_FAULTS = 1000
"""Faults after which reading ends."""
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


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
    records: tuple[Header | Point | Failure | End, ...] = (
        trace.header,
        *trace.points,
        *trace.failures,
        end,
    )
    lines = (json.dumps(to_dict(one), ensure_ascii=False, allow_nan=False) for one in records)
    return "".join(f"{line}\n" for line in lines)


def read_trace(file: str | PathLike[str]) -> Trace:
    """Read a trace.

    Parameters:
        file: JSON Lines in the form of `hcasim.traces.schema`.

    Raises:
        CatalogError: a file that cannot be read, or every fault with its line.
    """
    refuse(name_fault("file", file, "the path of a file"))
    file = Path(file)
    return parse_trace(read_file(file, MEASURED), display(file))


def parse_trace(data: bytes, where: str) -> Trace:
    """Read the bytes of a trace.

    Parameters:
        data: JSON Lines in the form of `hcasim.traces.schema`.
        where: the name of the file in messages.

    Raises:
        CatalogError: every fault with its line.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        found = binary(data)
        raise CatalogError([f"{where}: found {found}; allowed: a trace in UTF-8"]) from None
    numbered, faults = _records(where, with_newlines(text))
    # A line that cannot be read is missing in its order, too.
    faults = faults or _order(where, numbered)
    if faults:
        raise CatalogError(faults)
    records = list(numbered.values())
    header = records[0]
    assert isinstance(header, Header)
    return Trace(
        header,
        tuple(one for one in records if isinstance(one, Point)),
        tuple(one for one in records if isinstance(one, Failure)),
        next((one for one in records if isinstance(one, End)), None),
        hashlib.sha256(data).hexdigest(),
    )


def _records(where: str, text: str) -> tuple[dict[int, Record], list[str]]:
    records: dict[int, Record] = {}
    faults: list[str] = []
    # Other ends of lines, as str.splitlines knows them, may stand in a name.
    lines = text.removesuffix("\n").split("\n") if text else []
    # Beside the points there are a header and an end.
    if len(lines) > POINTS + 2:
        raise too_many(where)
    for number, line in enumerate(lines, start=1):
        twice: list[str] = []
        if len(faults) > _FAULTS:
            faults.append(f"{where}: {ENOUGH}")
            break
        try:
            table = json.loads(line, object_pairs_hook=partial(_object, twice=twice))
            check_tree(table)
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", tree_fault(error))
            faults.append(f"{where}:{number}: found no JSON: {reason}")
            if 1 < number == len(lines) and not text.endswith("\n"):
                faults[-1] = (
                    f"{where}:{number}: found a line that was cut short; "
                    "`hcasim import --partial` goes without it"
                )
            if number == 1:
                faults[-1] += "; what another tool printed becomes a trace by `hcasim import`"
                return {}, faults
            continue
        wrong = _form_faults(line, table, twice)
        faults += (f"{where}:{number}: {one}" for one in wrong)
        if wrong:
            continue
        record = RECORDS[table["record"]]
        try:
            records[number] = record.model_validate(table)
        except ValidationError as error:
            faults += told(error, [record], table, f"{where}:{number}: ")
    return records, faults


def _form_faults(line: str, table: Any, twice: list[str]) -> list[str]:
    """Say why a line of JSON is no record, before its values are looked at."""
    if _HALF.search(line) and not _is_text(table):
        return ["found half a character (\\ud800 to \\udfff)"]
    if twice:
        return [f"found the key {shown(key)} twice; allowed: once" for key in dict.fromkeys(twice)]
    kind = table.get("record") if isinstance(table, dict) else None
    if not isinstance(kind, str) or kind not in RECORDS:
        return [f"record: found {kind!r}; allowed: {one_of([*RECORDS])}"]
    for key, allowed in (("schema", SCHEMA), ("version", VERSION)):
        if kind == "header" and table.get(key) != allowed:
            return [f"{key}: found {table.get(key)!r}; allowed: {allowed}"]
    return []


def _object(pairs: list[tuple[str, object]], twice: list[str]) -> dict[str, object]:
    """Return an object of JSON, and keep which of its keys come again."""
    table = dict(pairs)
    if len(table) < len(pairs):
        twice += [key for key, times in Counter(key for key, _ in pairs).items() if times > 1]
    return table


def _is_text(table: object) -> bool:
    """Whether all text can be written: JSON may escape halves of characters."""
    try:
        json.dumps(table, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _order(where: str, records: dict[int, Record]) -> list[str]:
    """Say which lines stand where they may not: all that follow from one cause once."""
    if not records:
        return [f"{where}: found nothing; allowed: a header and points"]
    first, *others = records
    faults = []
    if not isinstance(records[first], Header):
        faults.append(_misplaced(where, first, records, "a header, with which a trace begins"))
    found = [line for line in others if isinstance(records[line], Header)]
    if found and not faults:
        allowed = f"one header, as in line {first}; divide the file: one trace each"
        return [_misplaced(where, found[0], records, allowed)]
    ends = [line for line, one in records.items() if isinstance(one, End)]
    if ends and ends[0] != [*records][-1]:
        behind = next(line for line in others if line > ends[0])
        faults.append(
            _misplaced(where, behind, records, f"nothing behind the end in line {ends[0]}")
        )
    elif ends:
        faults += _count_faults(where, ends[0], records)
    return faults


def _misplaced(where: str, line: int, records: dict[int, Record], allowed: str) -> str:
    kind = next(name for name, record in RECORDS.items() if type(records[line]) is record)
    return f"{where}:{line}: record: found {kind!r}; allowed: {allowed}"


def _count_faults(where: str, line: int, records: dict[int, Record]) -> Iterator[str]:
    end = records[line]
    points = sum(isinstance(one, Point) for one in records.values())
    if isinstance(end, End) and end.points != points:
        why = "lines are missing" if points < end.points else "lines were added"
        yield (
            f"{where}:{line}: points: found {end.points}; allowed: {points}, as there are above: "
            f"{why}, or this line was changed"
        )
