"""NetPIPE: its file np.out, and what it prints on the terminal while it runs.

Versions differ in columns and units; which it is follows from size, throughput and time, which
have to say the same:

- 3: bytes, Mbps of 2^20 bits, seconds; of some versions Mbps of 10^6 bits
- 4: bytes, best, mean and worst Mbps of 10^6 bits, seconds of the best
- 5: bytes, mean, least and greatest Gbps of 10^9 bits, microseconds of the mean

A time is half a round trip. With both directions at once (-2, --bidir) np.out counts the bytes of
both, which --workload netpipe_bi says. On the terminal versions 3 and 4 print bytes of one,
microseconds, and Mbps as in their files. What is written here has the layout of version 3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hcasim.ground.errors import CatalogError, one_of
from hcasim.ground.faults import shown
from hcasim.traces.figures import (
    Figure,
    all_numbers,
    bandwidth,
    count,
    figure,
    measured,
    time_fits,
)
from hcasim.traces.simulated import Run
from hcasim.traces.source import Source, Unreadable
from hcasim.traces.tool_output import Hints, Reader, Row, Table

_TERMINAL = re.compile(
    r"\s*[0-9]{1,15}:\s+(?P<size>\S+)\s+(?P<size_unit>bytes|B|KB|MB|GB|TB)\s+"
    r"(?P<times>[0-9]+)\s+times\s+-->(?P<rest>.*)"
)
_RESULT = re.compile(r"\s+(\S+)\s+(\S+)\s+in\s+(\S+)\s+(\S+)\s*")
_HALF_RESULT = re.compile(r"-->|\bbps\b|Mbps|\busec\b|(?<![0-9])[0-9]+:\s+[0-9]+\s+bytes\b")
_MODES = (
    (re.compile(r"(?>.*?stream(?:ing)?\b).*\bone direction", re.IGNORECASE), "netpipe_stream"),
    (re.compile(r".*(?:both directions|bidirectional mode)", re.IGNORECASE), "netpipe_bi"),
)
_INVALIDATED = re.compile(r"without cache effects|different memory buffer each time", re.IGNORECASE)


@dataclass(frozen=True)
class _Form:
    """A layout: where bytes, throughput and time stand, in which units, and of how many ways."""

    version: str
    columns: int
    rate_unit: str
    time: int
    time_unit: str
    ways: int = 1

    def fits(self, row: Sequence[Figure]) -> bool:
        """Whether a throughput is that of a size and a time."""
        size, rate, time = row[0], row[1], row[self.time]
        if size.value % 1 or not size.value or not time.between()[1]:
            return False
        moved = int(size.value) * self.ways
        return time_fits(rate, self.rate_unit, time, self.time_unit, moved)


_FILE_FORMS = (
    _Form("3", 3, "Mibit/s", 2, "s"),
    _Form("", 3, "Mbit/s", 2, "s"),
    _Form("4", 5, "Mbit/s", 4, "s"),
    _Form("5", 5, "Gbit/s", 4, "us"),
)
_TERMINAL_FORMS = tuple(
    _Form(version, 3, unit, 2, "us", ways)
    for version, unit in (("3", "Mibit/s"), ("4", "Mbit/s"))
    for ways in (1, 2)
)


def write_netpipe(run: Run) -> Iterator[str]:
    """Yield the lines that a run prints on the terminal."""
    yield from run.comments(("size", "iters"))
    for number, row in enumerate(run.rows):
        yield (
            f"{number:3}: {row['size']:7} bytes {run.options['iters']:6} times --> "
            f" {row['throughput_Mbps']:8.2f} Mbps in {row['latency_us']:10.2f} usec"
        )


def write_np_out(run: Run) -> Iterator[str]:
    """Yield the lines of the file np.out: bytes, Mbps of 2^20 bits, and seconds one way."""
    yield from run.comments(("size",))
    for row in run.rows:
        seconds = row["latency_us"] / 1e6
        yield f"{row['size']:8} {row['throughput_Mbps']:f} {seconds:12.8f}"


class _NetpipeReader(Reader):
    """Reads rows of one layout."""

    tool = "netpipe"
    workloads = ("netpipe", "netpipe_bi", "netpipe_stream")
    """A ping-pong, messages in both directions at once, and in one direction without a reply."""
    units = ("Mibit/s", "Mbit/s", "Gbit/s")
    needless = ("nodes", "processes", "algorithm")
    forms: tuple[_Form, ...]

    def __init__(self, source: Source, hints: Hints) -> None:
        super().__init__(source, hints)
        self.rows: list[tuple[int, list[Figure], int | None]] = []
        self.workload = hints.workload

    def close(self) -> None:
        """Add the points; only a ping-pong has a latency."""
        if not self.rows:
            raise CatalogError([f"{self.source.name}: found no figures"])
        form = self._form()
        self.version = form.version
        table = Table(0, "netpipe_bi" if form.ways == 2 else self.workload or "netpipe", self.told)
        for line, figures, times in self.rows:
            self.line = line
            size = count(figures[0].text, "bytes", 1)
            if form in _FILE_FORMS and table.workload == "netpipe_bi":
                if size % 2:
                    raise Unreadable(
                        f"found {size} bytes, which is odd: not those of both directions"
                    )
                size //= 2
            rate, time = ({"mean": figures[place]} for place in (1, form.time))
            found = bandwidth(rate, form.rate_unit, "", times)
            if table.workload == "netpipe":
                found.insert(0, measured(time, form.time_unit, times))
            self.add(table, table.keep(Row(self.line, size, times)), found)

    def _form(self) -> _Form:
        """Find the layout in whose units size, throughput and time of all lines say the same."""
        width, unit = len(self.rows[0][1]), self.hints.unit
        left = [one for one in self.forms if one.columns == width and unit in ("", one.rate_unit)]
        if not left:
            raise CatalogError([f"--unit: found {unit}, which no version prints"])
        for line, figures, _ in self.rows:
            left = [form for form in left if form.fits(figures)]
            if not left:
                raise Unreadable(
                    "found a size, a throughput and a time that do not fit together in the units "
                    "of any version of NetPIPE",
                    line,
                )
        if len(left) > 1:
            units = one_of([*dict.fromkeys(form.rate_unit for form in left)])
            ways = ", and --workload whether both directions are counted" * (
                len({form.ways for form in left}) - 1
            )
            raise Unreadable(
                "found too few digits to tell the unit of the throughput; --unit says which it "
                f"is: {units}{ways}",
                self.rows[0][0],
            )
        return left[0]


class NpOutReader(_NetpipeReader):
    """Reads np.out."""

    name = "NetPIPE"
    forms = _FILE_FORMS

    def take(self, text: str) -> None:
        """Read one line."""
        if not text.strip() or self.take_comment(text) or text.lstrip().startswith("#"):
            return
        words = text.split()
        numbers = [figure(word, f"column {place}") for place, word in enumerate(words, start=1)]
        if len(numbers) not in (3, 5):
            raise Unreadable(f"found {len(numbers)} columns; allowed: 3 or 5")
        if self.rows and len(numbers) != len(self.rows[0][1]):
            raise Unreadable(f"found {len(numbers)} columns; above: {len(self.rows[0][1])}")
        self.rows.append((self.line, numbers, None))

    def close(self) -> None:
        """Add the points."""
        if not self.workload:
            if _counts_both_ways({int(figures[0].value) for _, figures, _ in self.rows}):
                raise Unreadable(
                    "found even sizes only, as if the bytes of both directions were counted "
                    f"(-2, --bidir); --workload says: {one_of(self.workloads)}",
                    self.rows[0][0],
                )
            self.note("np.out does not say what was measured, nor over what; read as a ping-pong")
        super().close()


def _counts_both_ways(sizes: set[int]) -> bool:
    """Whether sizes are those of NetPIPE's ladder doubled: 2, 4, 6, 8 or 64 - 6, 64, 64 + 6."""
    if any(size % 2 for size in sizes):
        return False
    return {2, 4, 6, 8, 12} <= sizes or any(
        {size - 6, size + 6} <= sizes for size in sizes if size >= 48
    )


class TerminalReader(_NetpipeReader):
    """Reads what versions 3 and 4 print while they run: a line for each size, with an arrow."""

    name = "NetPIPE's terminal output"
    marks = (_TERMINAL,)
    forms = _TERMINAL_FORMS

    def take(self, text: str) -> None:
        """Read one line."""
        if self.take_comment(text):
            return
        if match := _TERMINAL.fullmatch(text):
            self._result(match)
        elif _INVALIDATED.search(text):
            self.told["invalidate"] = True
        elif mode := next((name for pattern, name in _MODES if pattern.match(text)), ""):
            self.workload = self.hints.workload or mode
        elif _HALF_RESULT.search(text) and "max bandwidth" not in text:
            raise Unreadable(f"found {shown(text.strip())}, which is no result")
        elif all_numbers(text, 3):
            self.pass_over(text)

    def _result(self, match: re.Match[str]) -> None:
        if match["size_unit"] != "bytes":
            raise Unreadable(
                "found the terminal output of NetPIPE 5, rounded to three decimals of changing "
                "units; import its np.out"
            )
        result = _RESULT.fullmatch(match["rest"])
        if result is None or (result[2], result[4]) != ("Mbps", "usec"):
            found = shown(match["rest"].strip())
            raise Unreadable(f"found {found} behind the arrow; allowed: N Mbps in N usec")
        size = figure(str(count(match["size"], "size", 1)), "size")
        numbers = [size, figure(result[1], "throughput"), figure(result[3], "time")]
        self.rows.append((self.line, numbers, count(match["times"], "times", 1)))

    def close(self) -> None:
        """Add the points."""
        ways = {"": (1, 2), "netpipe_bi": (2,)}.get(self.workload, (1,))
        self.forms = tuple(form for form in _TERMINAL_FORMS if form.ways in ways)
        super().close()
