"""What NetPIPE writes: its file np.out, and what it prints while it runs.

Versions differ in columns and units; which it is follows from size, throughput and time, which
have to say the same:

- 2: seconds, Mbps of 2^20 bits, bits, bytes, variance
- 3: bytes, Mbps of 2^20 bits, seconds
- 4: bytes, best, mean and worst Mbps of 10^6 bits, seconds of the best
- 5: bytes, mean, least and greatest Gbps of 10^9 bits, microseconds of the mean

A time is half a round trip. With both directions at once (-2, --bidir) np.out counts the bytes of
both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from hcasim.catalog.errors import CatalogError, one_of
from hcasim.traces.imported import Imported
from hcasim.traces.reading import (
    UNIT_FACTORS,
    Figure,
    Hints,
    Quantity,
    Source,
    Unreadable,
    agree,
    check_workload,
    count,
    figure,
    same_decimals,
    shown,
)
from hcasim.traces.schema import Device, Point, Port

TERMINAL = re.compile(
    r"\s*(?P<number>[0-9]+):\s+(?P<size>\S+)\s+(?P<size_unit>bytes|B|KB|MB|GB|TB)\s+"
    r"(?P<times>[0-9]+)\s+times\s+-->(?:\s+(?P<rate>\S+)\s+(?P<rate_unit>[KMGT]?bps)\s+in\s+"
    r"(?P<time>\S+)\s+(?P<time_unit>nsecs|usecs?|msecs|secs))?(?P<rest>.*)"
)
_NUMBERS = re.compile(r"\s*-?[0-9][0-9.e+-]*(?:\s+-?[0-9][0-9.e+-]*)+\s*", re.ASCII)
WORKLOADS = ("netpipe", "netpipe_bi", "netpipe_stream")
"""A ping-pong, messages in both directions at once, and in one direction without a reply."""
_MODES = (
    (re.compile(r"stream(ing)?\b.*\bone direction", re.IGNORECASE), "netpipe_stream"),
    (re.compile(r"both directions|bidirectional mode", re.IGNORECASE), "netpipe_bi"),
)
_INVALIDATED = re.compile(r"without cache effects|different memory buffer each time", re.IGNORECASE)
_CUT = "the output was cut short; --partial takes what is there"
_EXACT = {"bytes": 1, "B": 1, "KB": 1000}
_TIMES = {"nsecs": "ns", "usec": "us", "usecs": "us", "msecs": "ms", "secs": "s"}
_MODEST = 3


@dataclass(frozen=True)
class _Form:
    """A layout of np.out: where bytes, throughput and time stand, and in which units."""

    version: str
    columns: int
    size: int
    rate: int
    rate_unit: str
    time: int
    time_unit: str


_FORMS = (
    _Form("3", 3, 0, 1, "Mibit/s", 2, "s"),
    _Form("", 3, 0, 1, "Mbit/s", 2, "s"),
    _Form("4", 5, 0, 1, "Mbit/s", 4, "s"),
    _Form("5", 5, 0, 1, "Gbit/s", 4, "us"),
    _Form("2", 5, 3, 1, "Mibit/s", 0, "s"),
)


@dataclass(frozen=True)
class _Row:
    """A line: bytes, throughput and time."""

    line: int
    size: int
    rate: Figure
    time: Figure
    times: int | None = None


def read_netpipe(source: Source, hints: Hints) -> Imported:
    """Read np.out, or what NetPIPE printed.

    Parameters:
        source: the file.
        hints: what it does not say: above all what was measured.

    Raises:
        CatalogError: every line that cannot be read, and why.
    """
    check_workload(hints, WORKLOADS)
    found = Imported(source, "netpipe")
    lines = [(number, line) for number, line in enumerate(source.lines, start=1) if line.strip()]
    if any(TERMINAL.fullmatch(line) for _, line in lines):
        _read_terminal(found, lines, hints)
    else:
        _read_np_out(found, lines, hints)
    return found


def _read_np_out(found: Imported, lines: Sequence[tuple[int, str]], hints: Hints) -> None:
    source = found.source
    faults: list[str] = []
    rows: list[tuple[int, list[Figure]]] = []
    for number, line in lines:
        if line.lstrip().startswith("#"):
            continue
        try:
            rows.append((number, _numbers(line)))
        except Unreadable as error:
            faults.append(source.fault(number, error))
    width = len(rows[0][1]) if rows else 0
    for number, numbers in rows:
        if len(numbers) != width:
            faults.append(source.fault(number, f"found {len(numbers)} columns; above: {width}"))
    if not faults and rows and (cut := same_decimals(rows, _CUT)):
        if hints.partial:
            found.note(f"line {rows.pop()[0]} was cut short and passed over")
            found.cut = True
        else:
            faults.append(source.fault(*cut))
    if faults or not rows:
        raise CatalogError(faults or [f"{source.name}: found no figures"])
    form = _form(source, rows, hints)
    found.version = form.version
    read = []
    for number, numbers in rows:
        try:
            size = count(numbers[form.size].text, "bytes", 1)
            read.append(_Row(number, size, numbers[form.rate], numbers[form.time]))
        except Unreadable as error:
            faults.append(source.fault(number, error))
    faults += _repeated(source, read)
    if faults:
        raise CatalogError(faults)
    workload = hints.workload
    if not workload:
        if _counts_both_ways([row.size for row in read]):
            raise CatalogError(
                [
                    source.fault(
                        read[0].line,
                        "found even sizes only, as if the bytes of both directions were counted "
                        f"(-2, --bidir); --workload says: {one_of(WORKLOADS)}",
                    )
                ]
            )
        workload = "netpipe"
        found.note("np.out does not say what was measured, nor over what; read as a ping-pong")
    _add(found, read, form, workload, {}, hints, halves=workload == "netpipe_bi")


def _numbers(line: str) -> list[Figure]:
    words = line.split()
    if "failures" in line or (len(words) == 2 and _NUMBERS.fullmatch(line)):
        raise Unreadable("found an integrity check, which measures nothing")
    numbers = [figure(word, f"column {place}") for place, word in enumerate(words, start=1)]
    if len(numbers) not in (3, 5):
        raise Unreadable(f"found {len(numbers)} columns; allowed: 3 or 5")
    return numbers


def _form(source: Source, rows: Sequence[tuple[int, list[Figure]]], hints: Hints) -> _Form:
    """Find the version whose units make size, throughput and time say the same."""
    width = len(rows[0][1])
    forms = [one for one in _FORMS if one.columns == width]
    if hints.unit:
        forms = [one for one in forms if one.rate_unit == hints.unit]
        if not forms:
            raise CatalogError([f"--unit: found {hints.unit}, which np.out does not have"])
    misses = {form: [line for line, numbers in rows if not _fits(form, numbers)] for form in forms}
    best = min(forms, key=lambda form: len(misses[form]))
    if misses[best]:
        raise CatalogError(
            source.fault(
                line,
                "found a size, a throughput and a time that do not fit together in the units of "
                "any version of NetPIPE",
            )
            for line in misses[best][:_MODEST]
        )
    fitting = [form for form in forms if not misses[form]]
    if len(fitting) > 1:
        raise CatalogError(
            [
                source.fault(
                    rows[0][0],
                    "found too few digits to tell the unit of the throughput; --unit says which "
                    f"it is: {one_of([form.rate_unit for form in fitting])}",
                )
            ]
        )
    return best


def _fits(form: _Form, numbers: Sequence[Figure]) -> bool:
    size = numbers[form.size]
    if size.value % 1 or not size.value:
        return False
    if form.version == "2" and numbers[2].value != 8 * size.value:
        return False
    return _agree(
        size.value, numbers[form.rate], form.rate_unit, numbers[form.time], form.time_unit
    )


def _agree(size: Decimal, rate: Figure, rate_unit: str, time: Figure, time_unit: str) -> bool:
    """Whether a throughput is that of a size and a time."""
    least, most = time.between(UNIT_FACTORS[time_unit][1])
    if not most:
        return False
    # Bytes in a nanosecond are 1000 times MB/s.
    bound = size * 1000 / least if least else Decimal("1e30")
    return agree(rate.between(UNIT_FACTORS[rate_unit][1]), (size * 1000 / most, bound))


def _counts_both_ways(sizes: Sequence[int]) -> bool:
    """Whether sizes are those of NetPIPE's ladder doubled: 2, 4, 6, 8 or 64 - 6, 64, 64 + 6."""
    known = set(sizes)
    if any(size % 2 for size in sizes):
        return False
    return {2, 4, 6, 8, 12} <= known or any(
        {size - 6, size + 6} <= known for size in sizes if size >= 48
    )


def _read_terminal(found: Imported, lines: Sequence[tuple[int, str]], hints: Hints) -> None:
    source = found.source
    faults: list[str] = []
    rows: list[tuple[_Row, str, str]] = []
    options: dict[str, bool | int | str] = {}
    workload = hints.workload
    numbered: list[int] = []
    for number, line in lines:
        match = TERMINAL.fullmatch(line)
        if match:
            numbered.append(count(match["number"][:15], "number"))
            try:
                rows.append(_terminal_row(number, match))
            except Unreadable as error:
                if hints.partial and number == lines[-1][0]:
                    found.note(f"line {number} was cut short and passed over")
                    found.cut = True
                else:
                    faults.append(source.fault(number, error))
        elif _INVALIDATED.search(line):
            options["invalidate"] = True
        elif mode := next((name for pattern, name in _MODES if pattern.search(line)), ""):
            workload = hints.workload or mode
        elif re.search(r"-->|\bbps\b|Mbps|\busec\b", line) and "max bandwidth" not in line:
            faults.append(source.fault(number, f"found {shown(line.strip())}, which is no result"))
    faults += _repeated(source, [row for row, _, _ in rows])
    if faults:
        raise CatalogError(faults)
    _note_gaps(found, numbered)
    if not rows:
        raise CatalogError([f"{source.name}: found no results: {_CUT}"])
    form, ways = _terminal_form(source, rows, workload)
    found.version = form.version
    if ways == 2:
        workload = "netpipe_bi"
    _add(found, [row for row, _, _ in rows], form, workload or "netpipe", options, hints)


def _terminal_row(line: int, match: re.Match[str]) -> tuple[_Row, str, str]:
    if match["rate"] is None or match["rest"].strip():
        rest = match["rest"].strip()
        if "ntegrity check" in rest or "failures" in rest:
            raise Unreadable("found an integrity check, which measures nothing")
        raise Unreadable(f"found {shown(rest)} behind the arrow: {_CUT}")
    if match["size_unit"] not in _EXACT:
        raise Unreadable(
            f"found {match['size']} {match['size_unit']}, which is rounded: import np.out instead"
        )
    size = figure(match["size"], "size").value * _EXACT[match["size_unit"]]
    if size % 1 or not 0 < size < 10**12:
        raise Unreadable(f"found {match['size']} {match['size_unit']}, which is no whole number")
    times = count(match["times"], "times", 1)
    row = _Row(
        line, int(size), figure(match["rate"], "throughput"), figure(match["time"], "time"), times
    )
    return row, match["rate_unit"], match["time_unit"]


def _terminal_form(
    source: Source, rows: Sequence[tuple[_Row, str, str]], workload: str
) -> tuple[_Form, int]:
    """Find the unit of Mbps, and whether both directions are counted."""
    later = any(time_unit != "usec" for _, _, time_unit in rows)
    if later:
        rounded = "rounded to three decimals of changing units"
        raise CatalogError(
            [f"{source.name}: found the terminal output of NetPIPE 5, {rounded}: import np.out"]
        )
    strange = [row.line for row, rate_unit, _ in rows if rate_unit != "Mbps"]
    if strange:
        raise CatalogError(source.fault(line, "found another unit than Mbps") for line in strange)
    forms = (_Form("3", 3, 0, 1, "Mibit/s", 2, "us"), _Form("4", 5, 0, 1, "Mbit/s", 4, "us"))
    ways_allowed = (2,) if workload == "netpipe_bi" else (1,) if workload else (1, 2)
    best: list[tuple[int, int, _Form, list[int]]] = []
    for form in forms:
        for ways in ways_allowed:
            misses = [
                row.line
                for row, _, _ in rows
                if not _agree(Decimal(row.size * ways), row.rate, form.rate_unit, row.time, "us")
            ]
            best.append((len(misses), ways, form, misses))
    fewest = min(one[0] for one in best)
    fitting = [one for one in best if one[0] == fewest]
    if fewest:
        raise CatalogError(
            source.fault(line, "found a size, a throughput and a time that do not fit together")
            for line in fitting[0][3][:_MODEST]
        )
    if len(fitting) > 1:
        raise CatalogError(
            [
                source.fault(
                    rows[0][0].line, "found too few digits to tell the unit: import np.out instead"
                )
            ]
        )
    return fitting[0][2], fitting[0][1]


def _note_gaps(found: Imported, numbered: Sequence[int]) -> None:
    for before, after in pairwise(numbered):
        if after > before + 1:
            found.note(f"points {before + 1} to {after - 1} are missing in the output")


def _repeated(source: Source, rows: Sequence[_Row]) -> list[str]:
    seen: dict[int, int] = {}
    faults = []
    for row in rows:
        if row.size in seen:
            first = seen[row.size]
            faults.append(
                source.fault(row.line, f"found {row.size} bytes again, as in line {first}")
            )
        seen.setdefault(row.size, row.line)
    return faults


def _add(
    found: Imported,
    rows: Sequence[_Row],
    form: _Form,
    workload: str,
    options: dict[str, bool | int | str],
    hints: Hints,
    halves: bool = False,
) -> None:
    """Add the points; only a ping-pong has a latency."""
    device = Device.model_validate({"name": hints.device, "transport": hints.transport})
    faults = []
    for row in rows:
        if halves and row.size % 2:
            reason = f"found {row.size} bytes, which is odd: not those of both directions"
            faults.append(found.source.fault(row.line, reason))
            continue
        quantities = []
        if workload == "netpipe":
            if not row.time.value:
                faults.append(found.source.fault(row.line, f"found a time of {row.time.text}"))
                continue
            quantities.append(Quantity(form.time_unit, row.time, count=row.times))
        if row.rate.value:
            quantities.append(Quantity(form.rate_unit, row.rate, count=row.times))
        if not quantities:
            faults.append(found.source.fault(row.line, "found no throughput"))
            continue
        own: dict[str, bool | int | str] = {"size": row.size // 2 if halves else row.size}
        if row.times is not None:
            own["iters"] = row.times
        measured = tuple(one.measured() for one in quantities)
        found.points.append(Point(workload=workload, options=own | options, measured=measured))
        found.add_adapter(row.line, device, Port())
    if faults:
        raise CatalogError(faults)
