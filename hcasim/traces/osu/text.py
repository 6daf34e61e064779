"""What the OSU micro-benchmarks print, version 3 to 7: a title, a head, and a line for each size.

Their MB are 10^6 bytes; latencies of a point-to-point test are half a round trip as printed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from hcasim.ground.errors import one_of
from hcasim.ground.faults import shown
from hcasim.traces.osu.table import HEAD, quantities, read_columns
from hcasim.traces.osu.titles import (
    ACCELERATED,
    COLLECTIVES,
    MANY_PAIRS,
    NAMES,
    PAIRS,
    SIMULATED,
    TITLE,
    WITHOUT_SIZES,
    WORKLOADS,
)
from hcasim.traces.placement import of_all, of_pair, of_pairs
from hcasim.traces.printed import (
    Figure,
    Hints,
    Unreadable,
    check_title,
    count,
    figure,
    is_cut,
    is_simulated,
    same_decimals,
)
from hcasim.traces.reader import Reader
from hcasim.traces.schema import Failure, Point
from hcasim.traces.source import OPEN, Source

_PAIRS = re.compile(r"\s*(?:#\s*)?\[ pairs: ([0-9]{1,6}) \]\s*\[ window size: (\w+) \]")
_SETUP = re.compile(r"\s*#\s*(Window creation|Synchronization|Rank 0 Memory on|Send Buffer on)\b.*")


@dataclass
class _Table:
    line: int
    workload: str
    adapter: str = ""
    options: dict[str, bool | int | str] = field(default_factory=dict)
    columns: list[str] = field(default_factory=list)
    sized: bool = True
    pairs: int | None = None
    rows: list[tuple[int, list[Figure]]] = field(default_factory=list)
    seen: set[int | None] = field(default_factory=set)
    last_is_point: bool = False
    faulty: bool = False


class OsuReader(Reader):
    """Reads the output of OSU's programs."""

    tool = "osu"

    def __init__(self, source: Source, hints: Hints) -> None:
        super().__init__(source, hints)
        self.table: _Table | None = None
        self.broken = False

    def refuse(self, number: int, error: Unreadable) -> None:
        """Keep that a line cannot be read, and that its table need have no other fault."""
        super().refuse(number, error)
        if self.table is not None:
            self.table.faulty = bool(self.found.faults)

    def take(self, number: int, line: str) -> None:
        """Read one line."""
        if match := TITLE.fullmatch(line):
            self.close()
            self.broken = True
            self._begin(number, match["name"], match["version"] or "")
            self.broken = False
        elif match := SIMULATED.fullmatch(line):
            self._simulated(number, match["workload"], f"hcasim-{match['adapter']}")
        elif self.broken:
            # One fault is enough for a table.
            pass
        elif HEAD.fullmatch(line):
            self.broken = True
            self._head(number, line)
            self.broken = False
        elif self.table and self.table.adapter and is_simulated(line):
            self.table.options |= self.found.simulated(line)
        elif match := _PAIRS.match(line):
            self._pairs(match[1], match[2])
        elif re.match(r"\s*#.*\b(pairs|window size)\b", line):
            raise Unreadable(f"found {shown(line.strip())}; not pairs and a window size")
        elif match := _SETUP.match(line):
            self.found.note(line.strip().lstrip("# "))
            if self.table and "DEVICE" in line:
                self.table.options.setdefault("accelerator", True)
        else:
            self._row(number, line)

    def _begin(self, number: int, name: str, version: str) -> None:
        options: dict[str, bool | int | str] = {}
        accelerated = ACCELERATED.search(name)
        if accelerated:
            options["accelerator"] = accelerated[1]
            name = ACCELERATED.sub("", name)
        workload = NAMES.get(re.sub(r"\s+", " ", name).strip().lower())
        if version:
            self.found.set_version(version)
        self.table = None
        if name.strip().lower() in WITHOUT_SIZES:
            self.found.note(f"{name.strip()}, which has no sizes, was passed over")
            return
        if workload is None:
            raise Unreadable(f"found {shown(name.strip())}; allowed: {one_of(list(WORKLOADS))}")
        check_title(hints=self.hints, workload=workload)
        self.table = _Table(number, workload, options=options)

    def _simulated(self, number: int, workload: str, adapter: str) -> None:
        """Begin what bench prints: with this title alone, or with OSU's above it."""
        if self.table is None or self.table.columns or self.table.workload != workload:
            self.close()
            check_title(self.hints, workload)
            self.table = _Table(number, workload)
        self.table.adapter, self.broken = adapter, False

    def _head(self, number: int, line: str) -> None:
        if self.table is None or self.table.columns:
            self.close()
            self.table = _Table(number, self.untitled("osu_latency"))
        table, self.table = self.table, None
        table.columns = read_columns(line)
        table.sized = "Size" in line
        if table.workload in COLLECTIVES:
            table.options |= of_all(table.workload, table.options, self.hints)
        elif table.workload in MANY_PAIRS:
            table.options |= of_pairs(table.workload, table.options, self.hints, table.pairs)
        elif table.workload in PAIRS:
            table.options = of_pair(self.hints) | table.options
        self.table = table

    def _pairs(self, pairs: str, window: str) -> None:
        if self.table is None:
            raise Unreadable("found pairs before the title of their test")
        if not window.isdigit():
            raise Unreadable("found a table of varied windows (-V); allowed: one window size")
        self.table.pairs = count(pairs, "pairs", 1)
        self.table.options |= {"window": count(window, "window", 1)}

    def _row(self, number: int, line: str) -> None:
        words = line.split()
        if not words:
            return
        if words[0].startswith("#"):
            # It may be the beginning of another title.
            if self.source.is_open(number):
                raise Unreadable(OPEN)
            return
        figures = [word for word in words if re.fullmatch(r"-?[0-9][0-9.e+]*|Pass|Fail", word)]
        if words[0] not in figures and len(figures) < 2:
            if self.table is not None and self.table.rows:
                self.found.passed_over(number, line)
            return
        if self.table is None or not self.table.columns:
            # What mpirun prints before may begin with a number; a line of figures only may not.
            if len(figures) == len(words) > 1:
                raise Unreadable("found figures before the head of their table")
            return
        if 2 * len(figures) < len(words):
            self.found.passed_over(number, line)
            return
        self._take(self.table, number, words)

    def _take(self, table: _Table, number: int, words: list[str]) -> None:
        allowed = len(table.columns) + table.sized
        if len(words) != allowed:
            raise Unreadable(f"found {len(words)} columns; allowed: {allowed}")
        size = None
        if table.sized:
            size, words = count(words[0], "Size"), words[1:]
        if size in table.seen:
            where = "a second result" if size is None else f"size {size} a second time"
            raise Unreadable(f"found {where} in the same table")
        table.seen.add(size)
        columns = dict(zip(table.columns, words, strict=True))
        sized = {} if size is None else {"size": size}
        options: dict[str, bool | int | str] = {**table.options, **sized}
        if "iterations" in columns:
            options["iters"] = count(columns.pop("iterations"), "Iterations", 1)
        columns.pop("transmit", None)
        verdict = columns.pop("validation", "Pass")
        cells = {name: figure(word, name) for name, word in columns.items()}
        if self.source.is_open(number) and self._may_be_cut(table, list(cells.values())):
            raise Unreadable(OPEN)
        table.last_is_point = False
        table.rows.append((number, list(cells.values())))
        if verdict not in ("Pass", "Fail"):
            raise Unreadable(f"Validation: found {shown(verdict)}; allowed: Pass or Fail")
        if verdict == "Fail":
            failure = Failure(
                workload=table.workload, options=options, error="the data were not what was sent"
            )
            self.found.failures.append((number, failure))
            return
        iters = options.get("iters")
        iters = iters if type(iters) is int else None
        measured = quantities(table.workload, size or 0, cells, iters)
        if not measured:
            self.found.note(f"line {number}: {words[0]} at {size} bytes says nothing; passed over")
            return
        self.add_adapter(number, table.adapter)
        self.found.add(Point(workload=table.workload, options=options, measured=measured))
        table.last_is_point = True

    @staticmethod
    def _may_be_cut(table: _Table, figures: list[Figure]) -> bool:
        if table.columns[-1] == "iterations":
            return True
        # Half of that word is refused in any line.
        is_word = table.columns[-1] == "validation"
        return not is_word and is_cut(table.rows[-1][1] if table.rows else None, figures)

    def close(self) -> None:
        """Say what a table lacks."""
        table, self.table = self.table, None
        if table is None:
            return
        if not table.rows and not self.found.failures and not table.faulty:
            self.without_results(table.line, table.workload)
        if fault := same_decimals(table.rows):
            line, reason = fault
            if self.hints.partial:
                if table.last_is_point:
                    del self.found.points[-1]
                self.found.went_without(line)
            else:
                self.found.fault(line, reason)
