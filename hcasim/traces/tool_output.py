"""What the readers of all tools share: a user's hints, and the way from lines to a trace."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from hcasim.ground.errors import CatalogError, one_of
from hcasim.ground.faults import shown
from hcasim.traces.figures import Figure, count, figure, is_number
from hcasim.traces.schema import Device, End, Header, Measured, Option, Point, Port, Tool
from hcasim.traces.simulated import TITLE, comment_says
from hcasim.traces.source import POINTS, Source, Unreadable, too_many
from hcasim.traces.trace_file import Trace

CUT = "the output was cut short"
LOOPBACK = "both ends are one port, a loopback: what a link and a switch take is not in it"
_NOTED = 5
"""Lines without figures of which each is noted."""
Options = dict[str, Option]


@dataclass(frozen=True)
class Hints:
    """What a user knows and the tool did not print.

    Parameters:
        workload: of figures without a title.
        unit: of bandwidths that are printed without one.
        device, transport: of the adapter.
        nodes, processes: on how many nodes an MPI benchmark ran, and how many processes on each.
        algorithm: of the collective.
    """

    workload: str = ""
    unit: str = ""
    device: str = ""
    transport: str = ""
    nodes: int | None = None
    processes: int | None = None
    algorithm: str = ""


@dataclass(frozen=True)
class Row:
    """A line of a table: its number, bytes and iterations as far as they are printed, figures."""

    line: int
    size: int | None
    iters: int | None
    cells: dict[str, Figure] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)


@dataclass
class Table:
    """A table that is being read.

    Parameters:
        line: where it begins, for faults of the whole table.
        workload: what it measures.
        options: of all its points.
        titles: of its columns, by what they are: "size", "iters", or the name of a figure.
        words: those columns that hold no figures.
        least: the smallest size.
    """

    line: int
    workload: str = ""
    options: Options = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    words: Sequence[str] = ()
    least: int = 0
    rows: list[Row] = field(default_factory=list)
    seen: set[object] = field(default_factory=set)

    def row(self, line: int, words: Sequence[str]) -> Row:
        """Take a line apart and keep it; refuse a size that is there already."""
        if len(words) != len(self.titles):
            raise Unreadable(f"found {len(words)} columns; allowed: {len(self.titles)}")
        found = dict(zip(self.titles, words, strict=True))
        size, iters = found.pop("size", None), found.pop("iters", None)
        row = Row(
            line,
            None if size is None else count(size, self.titles["size"], self.least),
            None if iters is None else count(iters, self.titles["iters"], 1),
            {n: figure(word, self.titles[n]) for n, word in found.items() if n not in self.words},
            {n: word for n, word in found.items() if n in self.words},
        )
        return self.keep(row)

    def keep(self, row: Row) -> Row:
        """Keep a row; refuse a second one of a size, or of a size and a service level."""
        if (key := (row.size, row.words.get("sl"))) in self.seen:
            what = "a second result" if row.size is None else f"{row.size} bytes a second time"
            raise Unreadable(f"found {what} in the same table")
        self.seen.add(key)
        self.rows.append(row)
        return row


Columns = Mapping[str, tuple[str, Sequence[str]]]
"""By their titles what the columns of a tool are, and in which units; in none without one."""


def read_head(
    text: str, columns: Columns, needed: Sequence[str]
) -> tuple[dict[str, str], set[str]]:
    """Return the titles of a table's columns by what they are, and the units that are printed in
    brackets behind them. At least one of the columns is one of the needed."""
    names = "|".join(map(re.escape, sorted(columns, key=len, reverse=True)))
    pattern = re.compile(rf"(?<!\S)({names})(?!\w)(?:\s?[\[(]([^\[\]()]*)[\])])?")
    if rest := pattern.sub(" ", text).split():
        raise Unreadable(f"head of the table: found {shown(' '.join(rest))}, which is no column")
    found = pattern.findall(text)
    for title, unit in found:
        if unit not in (allowed := columns[title][1] or ("",)):
            raise Unreadable(f"{title}: found {shown(unit)}; allowed: {one_of(allowed)}")
    titles = {columns[title][0]: title for title, _ in found}
    if len(titles) < len(found) or not titles.keys() & set(needed):
        raise Unreadable("head of the table: found other columns than the tool prints")
    return titles, {unit for _, unit in found}


class Reader:
    """Reads the output of one tool, of one run or of several behind each other.

    Attributes:
        tool: one of FORMATS.
        name: what the output is called in messages.
        marks: lines that only this tool prints.
        workloads: what the tool can measure.
        units: of bandwidths without one, among which a user may choose.
        needless: hints that have no meaning for it.
        ends_itself: whether the output has an end by which a cut is known.

    Parameters:
        source: the file, with what mpirun prints around it.
        hints: what it does not say.
    """

    tool: ClassVar[str]
    name: ClassVar[str]
    marks: ClassVar[Sequence[re.Pattern[str]]] = ()
    workloads: ClassVar[Sequence[str]] = ()
    units: ClassVar[Sequence[str]] = ()
    needless: ClassVar[Sequence[str]] = ()
    ends_itself: ClassVar[bool] = False
    table: Table | None = None

    def __init__(self, source: Source, hints: Hints) -> None:
        self.source, self.hints = source, hints
        self.line = 0
        self.version = ""
        self.points: list[Point] = []
        self.notes: dict[str, None] = {}
        self.commands: dict[str, None] = {}
        self.adapter = ""
        self.told: Options = {}
        self._device: tuple[int, Device, Port] | None = None
        self._passed: list[str] = []

    def read(self) -> Trace:
        """Read the output, or say the first line that cannot be read."""
        lines = self.source.lines
        if not self.ends_itself and not self.source.text.endswith("\n"):
            reason = "found a last line without a newline, which may be cut: add one if it is whole"
            raise self.source.refusal(len(lines), reason)
        try:
            for self.line, text in enumerate(lines, start=1):
                self.take(text)
            self.close()
        except Unreadable as error:
            raise self.source.refusal(error.line or self.line, error) from None
        return self._trace()

    def take(self, text: str) -> None:
        """Read one line."""

    def close(self) -> None:
        """End the table that is being read, if there is one."""

    def take_comment(self, text: str) -> bool:
        """Take what a comment of `hcasim bench` says; whether the line is one."""
        if match := TITLE.fullmatch(text):
            self.adapter, self.told = f"hcasim-{match[2]}", {}
            return True
        said = comment_says(text)
        if isinstance(said, str):
            self.note(said)
        elif said is not None:
            self.told |= said
        return said is not None

    def set_version(self, version: str) -> None:
        """Keep the version of the tool; refuse another than that of what stands above."""
        if self.version not in ("", version):
            raise Unreadable(
                f"found version {version} behind version {self.version}; divide the file"
            )
        self.version = version

    def begin(self, workload: str) -> Table:
        """Begin a table; refuse a workload that contradicts what the user says."""
        if self.hints.workload not in ("", workload):
            raise Unreadable(f"found {workload}; --workload says {self.hints.workload}")
        self.table = Table(self.line, workload)
        return self.table

    def headed(self, example: str) -> Table:
        """Return the table whose head this is; without a title the user has to say its test."""
        if self.table is not None and not self.table.titles:
            return self.table
        self.close()
        if not self.hints.workload:
            raise Unreadable(
                "found a table without the title of its test; --workload says which it is, "
                f"such as {example}"
            )
        return self.begin(self.hints.workload)

    def note(self, text: str) -> None:
        """Keep what a reader should know."""
        self.notes[text] = None

    def pass_over(self, text: str) -> None:
        """Keep a line among figures that holds none."""
        self._passed.append(f"line {self.line} was passed over: {shown(text.strip())}")

    def is_row(self, text: str) -> bool:
        """Whether a line is a row of the table; one among its rows that is none is passed over."""
        words = text.split()
        figures = sum(map(is_number, words)) if len(words) < 99 else 0
        if self.table is None or not self.table.titles:
            # What mpirun prints before may begin with a number; a line of figures only may not.
            if figures == len(words) > 1:
                raise Unreadable("found figures before the head of their table")
            return False
        if words and 2 * figures >= len(words) and (figures > 1 or is_number(words[0])):
            return True
        if words:
            self.pass_over(text)
        return False

    def add(
        self,
        table: Table,
        row: Row,
        measured: Sequence[Measured],
        device: Device | None = None,
        port: Port | None = None,
    ) -> None:
        """Keep the point of a line; refuse another adapter than that of those above."""
        if not measured:
            self.note(f"line {row.line}: a bandwidth of 0 says nothing; passed over")
            return
        if device is None:
            name, transport = self.adapter or self.hints.device, self.hints.transport
            device = Device.model_validate({"name": name, "transport": transport})
        self._add_device(row.line, device, port or Port())
        if len(self.points) == POINTS:
            raise too_many(self.source.name)
        known = {"size": row.size, "iters": row.iters}
        options = {name: one for name, one in known.items() if one is not None}
        self.points.append(
            Point(
                workload=table.workload,
                options={**table.options, **options},
                measured=tuple(measured),
            )
        )

    def _add_device(self, line: int, device: Device, port: Port) -> None:
        if self._device is None:
            self._device = line, device, port
            return
        first, known, used = self._device
        if (device, port.layer) != (known, used.layer):
            raise Unreadable(
                f"found {described(device, port)}, and in line {first} "
                f"{described(known, used)}: a trace is of one adapter; divide it",
                line,
            )
        if port != used:
            self._device = first, known, used.model_copy(update={"mtu": None})

    def _trace(self) -> Trace:
        if self._device is None:
            raise CatalogError([f"{self.source.name}: found no results; is the output whole?"])
        _, device, port = self._device
        notes = [*self.notes, *self._passed[:_NOTED]]
        if (more := len(self._passed) - _NOTED) > 0:
            notes.append(f"{more} further such lines were passed over")
        header = Header(
            tool=Tool.model_validate(
                {"name": self.tool, "version": self.version, "command": "; ".join(self.commands)}
            ),
            source=self.source.provenance,
            device=device,
            port=port,
            notes=tuple(notes),
        )
        end = End(points=len(self.points), complete=True)
        return Trace(header, tuple(self.points), end=end, sha256=self.source.sha256)


def described(device: Device, port: Port) -> str:
    """Name an adapter and its link in a message."""
    words = [device.name or "an adapter without name", device.transport or port.layer]
    return " over ".join(word for word in words if word)
