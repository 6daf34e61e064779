"""What perftest prints: ib_write_lat, ib_read_bw and the like, since its first versions.

The layout follows linux-rdma/perftest, src/perftest_parameters.h and .c. Its MB are 2^20 bytes;
times of writes and sends are half a round trip as printed, those of reads and atomics a whole one.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import groupby

from hcasim.ground.errors import one_of
from hcasim.ground.faults import shown
from hcasim.traces.perftest.figures import bandwidth, latency, says_nothing
from hcasim.traces.perftest.run import WORKLOADS, Run
from hcasim.traces.perftest.table import HEAD, Listing, read_columns, sampled, times_of
from hcasim.traces.printed import (
    Figure,
    Hints,
    Unreadable,
    check_title,
    count,
    figure,
    is_row,
)
from hcasim.traces.reader import Reader
from hcasim.traces.schema import Failure, Measured, Point
from hcasim.traces.source import CUT, Source

TITLE = re.compile(r"\s*((?:Send|RDMA_Write|RDMA_Read|Atomic)(?:_imm)?(?: [A-Za-z_-]+)* Test)\s*")
_OTHER_TITLE = re.compile(r" {4,}(\S.* Test)\s*")
# Behind the table of both directions, each one's again.
_ONE_WAY = re.compile(r"\s*(Local|Remote) results:\s*")
_RULE = re.compile(r"\s*-{40,}\s*")
# --use_cuda and the like print this before the title.
_ACCELERATOR = re.compile(r"\s*allocated .*\bGPU buffer\b.*")
_LISTING = re.compile(r"#, (\S+)\s*")
_LISTED = re.compile(r"([0-9]+), (\S+)\s*", re.ASCII)
_COMMAND = re.compile(r"(?:^|[\s/])(ib_(?:write|send|read|atomic)_(?:lat|bw)(?:\s.*)?)$")
_TROUBLE = re.compile(
    r"couldn't|failed|failure|error|unable|timed? ?out|refused|cannot|can't", re.IGNORECASE
)


_RULES = 4
"""Lines of dashes that an end prints: before the title, the addresses and the head, and last."""

_ONE_END = "allowed: what one end prints, such as `ib_write_lat > server.txt` beside it"


@dataclass
class _Table:
    """What is being read.

    Attributes:
        ends: of the connection that print on this terminal, their lines mixed.
        heads: lines of the kind since the first title.
        rules: lines of dashes of all ends.
        other: lines of a second end that the first has, too.
        dashes: lines of dashes behind the head.
        last: the last line of figures of a size that is new.
    """

    run: Run
    columns: list[str] = field(default_factory=list)
    unit: str = ""
    line: int = 0
    rows: int = 0
    closed: bool = False
    broken: bool = False
    ends: int = 1
    heads: int = 0
    rules: int = 0
    other: list[int] = field(default_factory=list)
    dashes: list[int] = field(default_factory=list)
    last: int = 0
    seen: Counter[tuple[int, int]] = field(default_factory=Counter)
    listings: list[Listing] = field(default_factory=list)

    def needless(self) -> str:
        """The lines without which one end is left, such as "7, 9 to 12"; none if it is cut."""
        if not self.last or max(self.dashes, default=0) < self.last:
            return ""
        lines = sorted([*self.other, *(one for one in self.dashes if one < self.last)])
        runs = groupby(enumerate(lines), lambda pair: pair[1] - pair[0])
        ends = ([line for _, line in run] for _, run in runs)
        return ", ".join(f"{a[0]} to {a[-1]}" if len(a) > 1 else f"{a[0]}" for a in ends)


class PerftestReader(Reader):
    """Reads the text that perftest prints."""

    tool = "perftest"

    def __init__(self, source: Source, hints: Hints) -> None:
        super().__init__(source, hints)
        self.table: _Table | None = None
        self.before: _Table | None = None
        self.command = ""
        self.trouble = ""
        self.accelerated = False
        # Lines of dashes since the last table.
        self.rules = 0
        self.untold = "without the title of its test"

    def take(self, number: int, line: str) -> None:
        """Read one line."""
        if self.hints.partial and self.source.is_open(number) and not _RULE.fullmatch(line):
            # The end of its last figure may be missing.
            self.found.went_without(number)
            return
        if _TROUBLE.search(line) and not self.trouble:
            self.trouble = line.strip()
        if (match := TITLE.fullmatch(line)) and self._is_other_end(number, match[1]):
            self.found.note(f"line {number}: the other end prints here, too")
        elif match:
            self.close()
            self.table = _Table(Run(number), broken=True, rules=self.rules)
            self.rules = 0
            self.table.run.set_title(match[1].replace(" ", "_"))
            check_title(self.hints, self.table.run.workload)
            self.table.broken = False
            if self.accelerated:
                self.table.run.options["accelerator"] = True
            self.accelerated = False
        elif _ACCELERATOR.fullmatch(line):
            self.accelerated = True
        elif match := _ONE_WAY.fullmatch(line):
            self.close()
            # Its heads and lines are passed over.
            self.table = _Table(Run(number), broken=True)
            self.found.note(
                f"line {number}: {match[1].lower()} results (--report-both) passed over"
            )
        elif match := _OTHER_TITLE.fullmatch(line):
            self.untold = f"of {shown(match[1])}, which is not known"
        elif HEAD.fullmatch(line):
            if self.table is None or not self.table.broken:
                self._begin(number, line)
        elif self.table is not None and self.table.broken:
            pass
        elif match := _LISTING.fullmatch(line):
            self._list(number, match[1])
        elif self.table is None or not self.table.columns:
            if is_row(line):
                self._refuse_mixed(line)
                self.found.passed_over(number, line)
            self._take_settings(line)
        elif _RULE.fullmatch(line):
            self._rule(self.table, number)
        else:
            self._take_row(self.table, number, line)

    def _is_other_end(self, number: int, title: str) -> bool:
        """Whether a title is that of the server beside the client, both on one terminal."""
        table = self.table
        if table is None or table.columns or table.broken or self.trouble:
            return False
        if table.run.title != title.replace("_", " ") or table.ends == 2:
            return False
        table.ends = 2
        table.other.append(number)
        return True

    def _refuse_mixed(self, line: str) -> None:
        """Refuse figures of the table before, which go on behind the title of another end."""
        table, before = self.table, self.before
        if table is None or before is None or table.run.title != before.run.title:
            return
        if len(line.split()) == len(before.columns):
            table.broken = True
            raise Unreadable(
                f"found figures of the table of line {before.line} behind the title of line "
                f"{table.run.line}: two ends on one terminal; {_ONE_END}"
            )

    def _take_settings(self, line: str) -> None:
        if match := _COMMAND.search(line):
            self.command = match[1].strip()
        table = self.table
        if table is None:
            self.rules += bool(_RULE.fullmatch(line))
            return
        before = dict(table.run.settings)
        table.run.take_settings(line)
        table.rules += bool(_RULE.fullmatch(line))
        for name, value in before.items() if table.ends > 1 else ():
            if table.run.settings[name] != value:
                table.broken = True
                both = f"{shown(value)} and {shown(table.run.settings[name])}"
                raise Unreadable(f"{name}: found {both} of two ends on one terminal; {_ONE_END}")

    def _begin(self, number: int, line: str) -> None:
        try:
            self._take_head(number, line)
        except Unreadable:
            # One fault is enough for a table.
            self.table = _Table(Run(number), broken=True)
            raise

    def _take_head(self, number: int, line: str) -> None:
        columns, unit = read_columns(line)
        table = self.table
        if table is not None and table.columns and not table.closed and table.listings:
            # -U and -H print the head again behind their samples.
            if columns != table.columns:
                raise Unreadable("found another head than above in the same table")
            table.listings[-1].open = False
            return
        if table is not None and table.columns == columns and table.heads < table.ends:
            table.heads += 1
            table.other.append(number)
            return
        if table is None or table.columns:
            self.close()
            if not self.hints.workload:
                raise Unreadable(
                    f"found a table {self.untold}; --workload says which it is: {one_of(WORKLOADS)}"
                )
            table = self.table = _Table(Run(number, self.hints.workload))
        if self.hints.unit and unit and self.hints.unit != unit:
            raise Unreadable(f"found {unit}; --unit says {self.hints.unit}")
        table.columns, table.unit, table.line = columns, unit, number
        table.rows, table.closed, table.heads = 0, False, 1
        if table.run.workload and table.run.is_latency != bool(times_of(columns)):
            raise Unreadable(
                f"found the columns of another test than {table.run.title or table.run.workload}"
            )

    def _list(self, number: int, unit: str) -> None:
        if self.table is None or not self.table.columns:
            raise Unreadable("found samples before the head of their table")
        if unit not in ("usec", "cycles"):
            raise Unreadable(f"samples: found {shown(unit)}; allowed: usec or cycles")
        self.table.listings.append(Listing(number, unit))

    def _rule(self, table: _Table, number: int) -> None:
        if table.listings and table.listings[-1].open:
            table.listings[-1].open = False
            return
        if table.closed:
            self.rules += 1
            return
        table.rules += 1
        table.dashes.append(number)
        if table.ends == 1 or table.rules >= _RULES * table.ends:
            table.closed = True
            if table.rows:
                # What went wrong in a run with results is not why the next one has none.
                self.trouble = ""

    def _take_row(self, table: _Table, number: int, line: str) -> None:
        listing = table.listings[-1] if table.listings else None
        if listing is not None and listing.open and (match := _LISTED.fullmatch(line)):
            if int(match[1]) != len(listing.values) + 1:
                table.broken, table.columns = True, []
                raise Unreadable(
                    f"found sample {match[1]} after {len(listing.values)}: lines are missing"
                )
            listing.values.append(figure(match[2], f"sample {match[1]}"))
            return
        words = line.split()
        numbers = [word for word in words if re.fullmatch(r"-?[0-9][0-9.e+]*", word)]
        if not words or (words[0] not in numbers and len(numbers) < 3):
            if words and not table.closed:
                self.found.passed_over(number, line)
            return
        if table.closed:
            if len(numbers) == len(words) >= 3:
                raise Unreadable("found a line of figures behind the end of its table")
            return
        self._take_figures(table, number, words)

    def _take_figures(self, table: _Table, number: int, words: list[str]) -> None:
        columns = table.columns
        if len(words) == len(columns) + 1 and columns[-1] == "percentile_99.9":
            # Printed for a while in 2017, without meaning.
            self.found.note("figures behind the last column were passed over")
            words = words[:-1]
        if len(words) != len(columns):
            raise Unreadable(f"columns: found {len(words)}; allowed: {len(columns)}")
        size = count(words[0], "#bytes", 1)
        iters = count(words[columns.index("#iterations")], "#iterations", 1)
        lane = count(words[columns.index("#sl")], "#sl") if "#sl" in columns else 0
        cells = {}
        for name, word in zip(columns, words, strict=True):
            if says_nothing(name, word):
                self.found.note(f"line {number}: {name} is {word}, which says nothing; passed over")
            elif not name.startswith("#"):
                cells[name] = figure(word, name)
        if table.seen[size, lane] == table.ends:
            raise Unreadable(f"found {size} bytes a second time in the same table")
        if table.seen[size, lane]:
            table.other.append(number)
        else:
            table.last = number
        table.seen[size, lane] += 1
        table.rows += 1
        self.found.add_adapter(number, table.run.device(self.hints), table.run.port(), self.command)
        options = table.run.point_options(size, iters)
        if "#sl" in columns:
            options["sl"] = lane
        measured = self._measured(table, cells, size, iters)
        if not measured:
            self.found.note(f"line {number}: a bandwidth of 0 says nothing; passed over")
            return
        self.found.add(Point(workload=table.run.workload, options=options, measured=measured))

    def _measured(
        self, table: _Table, cells: dict[str, Figure], size: int, iters: int
    ) -> tuple[Measured, ...]:
        if not table.run.is_latency:
            return bandwidth(table.run, cells, size, iters, table.unit)
        listings, table.listings = table.listings, []
        hints = self.hints
        if listings and listings[0].unit == "cycles" and hints.cpu_mhz is None:
            raise Unreadable(
                "found cycles (-C); --cpu-mhz says how many of them make a microsecond"
            )
        printed = latency(table.run, cells, iters, hints)
        for listing in listings[:1]:
            printed = sampled(printed, listing, iters, cells, hints)
        return (printed,)

    def close(self) -> None:
        """End a table; one that is cut off is a fault unless the user knows."""
        table = self.before = self.table
        self.table = None
        if table is None:
            return
        run, where = table.run, table.line or table.run.line
        if table.broken:
            return
        if not table.rows and (self.trouble or table.closed):
            reason = self.trouble or "nothing was printed, as on the server of a one-way test"
            self.found.failures.append((where, Failure(workload=run.workload, error=reason)))
        elif table.columns and table.closed:
            return
        elif self.hints.partial:
            self.found.cut = True
        elif self.found.faults and self.found.faults[-1].endswith(CUT):
            pass
        elif table.ends > 1:
            lines = table.needless()
            allowed = f"{_ONE_END}, or this file without lines {lines}" if lines else _ONE_END
            self.found.fault(
                where, f"found two ends on one terminal, of which one is cut; {allowed}"
            )
        elif not table.columns:
            self.found.fault(where, f"found no table behind the title: {CUT}")
        else:
            self.found.fault(where, f"found no line of dashes behind the table: {CUT}")
