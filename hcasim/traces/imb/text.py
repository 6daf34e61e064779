"""What the Intel MPI Benchmarks print, and those of Pallas before them: a table for each test."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from hcasim.traces.imb.table import HEAD, Row, quantities, read_columns, unit_of
from hcasim.traces.imb.titles import PAIR, TITLES
from hcasim.traces.placement import Options, of_all, of_pair
from hcasim.traces.printed import (
    Hints,
    Unreadable,
    check_title,
    count,
    figure,
    is_cut,
    is_number,
    is_simulated,
    same_decimals,
)
from hcasim.traces.reader import Reader
from hcasim.traces.schema import Failure, Point
from hcasim.traces.source import OPEN, Source

TITLE = re.compile(r"\s*#\s*Benchmarking\s+(?P<multi>Multi-)?(?P<name>\w+)\s*")
SIMULATED = re.compile(r"# hcasim (?P<workload>imb_\w+) \((?P<adapter>\S+)\) v(?P<version>\S+)")
"""The first line of what `hcasim bench --format imb` prints."""
_VERSION = re.compile(
    r"\s*#\s*(?:PALLAS|Intel ?\(R\)) MPI Benchmark(?: Suite|s) "
    r"V?(?P<version>[\w. -]*\w), .*part\b.*"
)
_PROCESSES = re.compile(r"\s*#\s*\(?\s*#processes = (?P<processes>[0-9]{1,7})\b[^0-9]*")
_GROUPS = re.compile(
    r"\s*#\s*\(\s*(?P<groups>[0-9]{1,7}) groups of (?P<each>[0-9]{1,7}) processes each running.*"
)
_FAILED = re.compile(r"\s*(?P<size>[0-9]+)\s+(?P<error>(?:out-of-mem|int-overflow|time-out)\b.*)")
_NAMES = {title.lower(): name for name, title in TITLES.items()}


@dataclass
class _Table:
    line: int
    workload: str
    processes: int | None = None
    groups: int = 1
    columns: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    seen: set[int | None] = field(default_factory=set)
    failed: bool = False


class ImbReader(Reader):
    """Reads the output of IMB-MPI1 or PMB-MPI1."""

    tool = "imb"

    def __init__(self, source: Source, hints: Hints) -> None:
        super().__init__(source, hints)
        self.table: _Table | None = None
        self.adapter = ""
        self.told: Options = {}
        self.skipped = False

    def take(self, number: int, line: str) -> None:
        """Read one line."""
        if match := TITLE.fullmatch(line):
            self.close()
            self._begin(number, match["name"], match["multi"] is not None)
        elif match := SIMULATED.fullmatch(line):
            self.close()
            self.adapter, self.told = f"hcasim-{match['adapter']}", {}
        elif match := _VERSION.fullmatch(line):
            self.close()
            self.found.set_version(match["version"])
        elif self.adapter and is_simulated(line):
            self.told |= self.found.simulated(line)
        elif self.skipped:
            self._check_end(number)
        elif match := _PROCESSES.fullmatch(line):
            if self.table is not None:
                self.table.processes = count(match["processes"], "#processes", 1)
        elif match := _GROUPS.fullmatch(line):
            if self.table is not None:
                self.table.groups = count(match["groups"], "groups", 1)
                self.table.processes = self.table.groups * count(match["each"], "processes", 1)
        elif HEAD.fullmatch(line):
            self._head(number, line)
        else:
            self._line(number, line)

    def _begin(self, number: int, name: str, several: bool) -> None:
        self._check_end(number)
        workload = _NAMES.get(name.lower())
        # Of several groups at once only that of pairs is a workload, too.
        self.skipped = workload is None or (several and workload != "imb_pingping")
        if workload is None or self.skipped:
            self.found.note(f"line {number}: {'Multi-' * several}{name} was passed over")
            return
        check_title(self.hints, workload)
        self.table = _Table(number, workload)

    def _head(self, number: int, line: str) -> None:
        if self.table is None or self.table.columns:
            self.close()
            self.table = _Table(number, self.untitled("imb_pingpong"))
        table, self.table = self.table, None
        # A table that cannot be read is one fault.
        self.skipped = True
        table.columns = read_columns(line)
        if "group" in table.columns:
            self.found.note(f"line {table.line}: figures of single groups were passed over")
            return
        self.table, self.skipped = table, False

    def _line(self, number: int, line: str) -> None:
        words = line.split()
        if not words or words[0].startswith("#"):
            self._check_end(number)
            return
        table = self.table
        figures = sum(map(is_number, words)) if len(words) < 99 else 0
        if table is None or not table.columns:
            if figures == len(words) > 1:
                raise Unreadable("found figures before the head of their table")
        elif match := _FAILED.fullmatch(line):
            self._check_end(number)
            table.failed = True
            options: Options = {"size": count(match["size"], "#bytes")}
            error = Failure(workload=table.workload, options=options, error=match["error"].strip())
            self.found.failures.append((number, error))
        elif is_number(words[0]) and 2 * figures >= len(words):
            self._row(table, number, words)
        elif table.rows:
            self._check_end(number)
            self.found.passed_over(number, line)

    def _check_end(self, number: int) -> None:
        """Refuse what may be the beginning of a result or of another title."""
        if self.source.is_open(number):
            raise Unreadable(OPEN)

    def _row(self, table: _Table, number: int, words: list[str]) -> None:
        if len(words) != len(table.columns):
            raise Unreadable(f"found {len(words)} columns; allowed: {len(table.columns)}")
        columns = dict(zip(table.columns, words, strict=True))
        size = count(columns.pop("size"), "#bytes") if "size" in columns else None
        iters = count(columns.pop("iters"), "#repetitions", 1)
        if size in table.seen:
            where = "a second result" if size is None else f"{size} bytes a second time"
            raise Unreadable(f"found {where} in the same table")
        table.seen.add(size)
        cells = {name: figure(word, name) for name, word in columns.items()}
        above = [*table.rows[-1].cells.values()] if table.rows else None
        if self.source.is_open(number) and is_cut(above, [*cells.values()]):
            raise Unreadable(OPEN)
        table.rows.append(Row(number, size, iters, cells))

    def close(self) -> None:
        """Add the points of a table."""
        table, self.table = self.table, None
        self.skipped = False
        if table is None:
            return
        if fault := same_decimals([(row.line, [*row.cells.values()]) for row in table.rows]):
            if self.hints.partial:
                del table.rows[-1]
                self.found.went_without(fault[0])
            else:
                self.found.fault(*fault)
                return
        if not table.rows:
            if not table.failed and not self.found.faults:
                self.without_results(table.line, table.workload)
            return
        try:
            options = self._placed(table)
            unit = unit_of(table.workload, table.rows)
        except Unreadable as error:
            self.found.fault(table.line, error)
            return
        for row in table.rows:
            try:
                self._add(table, row, options, unit)
            except Unreadable as error:
                self.found.fault(row.line, error)

    def _placed(self, table: _Table) -> Options:
        if table.workload == "imb_pingpong":
            if table.processes not in (None, PAIR):
                raise Unreadable(f"found {table.processes} processes; allowed: {PAIR}")
            return of_pair(self.hints) | self.told
        return self.told | of_all(table.workload, self.told, self.hints, table.processes)

    def _add(self, table: _Table, row: Row, options: Options, unit: str) -> None:
        given = {**options, **({} if row.size is None else {"size": row.size}), "iters": row.iters}
        defects = row.cells.get("defects")
        if defects is not None and defects.value:
            failure = Failure(
                workload=table.workload, options=given, error="the data were not what was sent"
            )
            self.found.failures.append((row.line, failure))
            return
        if not row.cells["time"].value:
            self.found.note(f"line {row.line}: a time of 0 says nothing; passed over")
            return
        measured = quantities(row, unit)
        self.add_adapter(row.line, self.adapter)
        self.found.add(Point(workload=table.workload, options=given, measured=measured))
