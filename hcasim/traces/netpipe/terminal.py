"""What NetPIPE 3 and 4 print while they run: a line for each size, with an arrow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise

from hcasim.ground.errors import CatalogError
from hcasim.ground.faults import shown
from hcasim.traces.imported import Imported
from hcasim.traces.netpipe.rows import Form, Row, add, check_repeats, fitting
from hcasim.traces.printed import Hints, Unreadable, count, figure, is_row
from hcasim.traces.source import CUT, Source

TERMINAL = re.compile(
    r"\s*(?P<number>[0-9]+):\s+(?P<size>\S+)\s+(?P<size_unit>bytes|B|KB|MB|GB|TB)\s+"
    r"(?P<times>[0-9]+)\s+times\s+-->(?:\s+(?P<rate>\S+)\s+(?P<rate_unit>\S+)\s+in\s+"
    r"(?P<time>\S+)\s+(?P<time_unit>\S+))?(?P<rest>.*)"
)
_BEGUN = re.compile(
    r"\s*(?:[0-9]+(?::\s*(?:[0-9]+\s*(?:b[a-z]*\s*(?:[0-9]+\s*(?:t[a-z]*\s*-{0,2})?)?)?)?)?)?"
)
"""A result that ends before its arrow."""
_RESULT = re.compile(r"-->|\bbps\b|Mbps|\busec\b|(?<![0-9])[0-9]+:\s+[0-9]+\s+bytes\b")
_MODES = (
    (re.compile(r"(?>.*?stream(?:ing)?\b).*\bone direction", re.IGNORECASE), "netpipe_stream"),
    (re.compile(r".*(?:both directions|bidirectional mode)", re.IGNORECASE), "netpipe_bi"),
)
_INVALIDATED = re.compile(r"without cache effects|different memory buffer each time", re.IGNORECASE)
_FORMS = tuple(
    Form(version, 3, 0, 1, unit, 2, "us", ways)
    for version, unit in (("3", "Mibit/s"), ("4", "Mbit/s"))
    for ways in (1, 2)
)
_ROUNDED = (
    "found the terminal output of NetPIPE 5, rounded to three decimals of changing units; "
    "import its np.out"
)


def read_terminal(found: Imported, lines: Sequence[tuple[int, str]], hints: Hints) -> None:
    """Add what was printed on a terminal.

    Parameters:
        found: gets the points.
        lines: numbered from 1.
        hints: what they do not say.

    Raises:
        CatalogError: every line that cannot be read, and why.
    """
    source = found.source
    rows: list[Row] = []
    options: dict[str, bool | int | str] = {}
    workload = hints.workload
    numbered: list[int] = []
    for number, line in lines:
        match = TERMINAL.fullmatch(line)
        if line.lstrip().startswith("#"):
            options |= found.simulated(line)
            continue
        if match and match["size_unit"] != "bytes":
            raise source.refusal(number, _ROUNDED)
        if not match and _INVALIDATED.search(line):
            options["invalidate"] = True
            continue
        mode = next((name for pattern, name in _MODES if pattern.match(line)), "")
        if not match and mode:
            workload = hints.workload or mode
            continue
        try:
            if match:
                numbered.append(count(match["number"][:15], "number"))
                rows.append(_terminal_row(number, line, match))
            elif source.is_open(number) and _BEGUN.fullmatch(line):
                raise Unreadable(f"found {shown(line.strip())}: {CUT}")
            elif _RESULT.search(line) and "max bandwidth" not in line:
                raise Unreadable(f"found {shown(line.strip())}, which is no result")
            elif is_row(line):
                found.passed_over(number, line)
        except Unreadable as error:
            found.refuse(number, error, hints.partial and source.is_open(number))
    check_repeats(found, rows)
    found.whole()
    _note_gaps(found, numbered)
    if not rows:
        raise CatalogError([f"{source.name}: found no whole result"])
    form = _terminal_form(source, rows, workload, hints.unit)
    found.version = form.version
    if form.ways == 2:
        workload = "netpipe_bi"
    add(found, rows, form, workload or "netpipe", options, hints)


def _terminal_row(number: int, line: str, match: re.Match[str]) -> Row:
    if match["rate"] is None or match["rest"].strip():
        rest = line[match.end("times") :].partition("-->")[2].strip()
        if "ntegrity check" in rest or "failures" in rest:
            raise Unreadable("found an integrity check, which measures nothing")
        raise Unreadable(f"found {shown(rest)} behind the arrow; allowed: N Mbps in N usec")
    if match["rate_unit"] != "Mbps" or match["time_unit"] != "usec":
        found = f"{shown(match['rate_unit'])} and {shown(match['time_unit'])}"
        raise Unreadable(f"found {found}; allowed: Mbps and usec")
    size, times = count(match["size"], "size", 1), count(match["times"], "times", 1)
    rate, time = figure(match["rate"], "throughput"), figure(match["time"], "time")
    return Row(number, size, rate, time, times)


def _terminal_form(source: Source, rows: Sequence[Row], workload: str, unit: str) -> Form:
    """Find the unit of Mbps, and whether both directions are counted."""
    ways = (2,) if workload == "netpipe_bi" else (1,) if workload else (1, 2)
    misses = {
        form: [row.line for row in rows if not form.fits(Decimal(row.size), row.rate, row.time)]
        for form in _FORMS
        if form.ways in ways and unit in ("", form.rate_unit)
    }
    if not misses:
        raise CatalogError([f"--unit: found {unit}, in which no version prints Mbps"])
    forms = fitting(source, misses, "")
    if len(forms) > 1:
        raise source.refusal(
            rows[0].line,
            "found too few digits to tell the unit and the directions; "
            "--unit and --workload say them, or np.out",
        )
    return forms[0]


def _note_gaps(found: Imported, numbered: Sequence[int]) -> None:
    for before, after in pairwise(numbered):
        if after > before + 1:
            found.note(f"points {before + 1} to {after - 1} are missing in the output")
