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

from hcasim.ground.errors import CatalogError, one_of
from hcasim.traces.imported import Imported
from hcasim.traces.netpipe.rows import WORKLOADS, Form, Row, add, check_repeats, fitting
from hcasim.traces.netpipe.terminal import TERMINAL, read_terminal
from hcasim.traces.printed import (
    Figure,
    Hints,
    Unreadable,
    count,
    figure,
    is_cut,
    same_decimals,
)
from hcasim.traces.source import OPEN, Source

_NUMBERS = re.compile(r"\s*-?[0-9][0-9.e+-]*(?:\s+-?[0-9][0-9.e+-]*)+\s*", re.ASCII)
_RUN = 3
"""Rows one after the other that agree with a version of NetPIPE: those are no accident."""
_FORMS = (
    Form("3", 3, 0, 1, "Mibit/s", 2, "s"),
    Form("", 3, 0, 1, "Mbit/s", 2, "s"),
    Form("4", 5, 0, 1, "Mbit/s", 4, "s"),
    Form("5", 5, 0, 1, "Gbit/s", 4, "us"),
    Form("2", 5, 3, 1, "Mibit/s", 0, "s"),
)


def read_netpipe(source: Source, hints: Hints) -> Imported:
    """Read np.out, or what NetPIPE printed.

    Parameters:
        source: the file.
        hints: what it does not say: above all what was measured.

    Raises:
        CatalogError: every line that cannot be read, and why.
    """
    found = Imported(source, "netpipe")
    lines = [
        (number, line)
        for number, line in enumerate(source.lines, start=1)
        # Lines begin with spaces: those alone are the beginning of one.
        if line.strip() or source.is_open(number)
    ]
    if any(TERMINAL.fullmatch(line) for _, line in lines):
        read_terminal(found, lines, hints)
    else:
        _read_np_out(found, lines, hints)
    return found


def first_row(source: Source) -> int | None:
    """Return the first line of a table of np.out, whatever else a file holds.

    What another tool printed may have as many columns; but its size, throughput and time do not
    say the same in several lines, one after the other.
    """
    # By form, how many rows one after the other have agreed with it.
    agreed: dict[Form, int] = {}
    for number, line in enumerate(source.lines, start=1):
        agreed = {form: agreed.get(form, 0) + 1 for form in _forms_of(line.split())}
        if _RUN in agreed.values():
            return number - _RUN + 1
    return None


def _forms_of(words: Sequence[str]) -> set[Form]:
    # NetPIPE prints decimals; iterations and the like are whole numbers.
    if len(words) not in (3, 5) or not words[0][:1].isdigit():
        return set()
    try:
        row = [figure(word, "") for word in words]
    except Unreadable:
        return set()
    return {
        form
        for form in _FORMS
        if form.columns == len(row)
        and row[form.rate].decimals
        and row[form.time].decimals
        and _fits(form, row)
    }


def _read_np_out(found: Imported, lines: Sequence[tuple[int, str]], hints: Hints) -> None:
    source = found.source
    rows: list[tuple[int, list[Figure]]] = []
    options: dict[str, bool | int | str] = {}
    for number, line in lines:
        if line.lstrip().startswith("#"):
            options |= found.simulated(line)
            continue
        above = rows[-1][1] if rows else None
        try:
            numbers = _numbers(line)
            if above is not None and len(numbers) != len(above):
                raise Unreadable(f"found {len(numbers)} columns; above: {len(above)}")
            if source.is_open(number) and is_cut(above, numbers):
                raise Unreadable(OPEN)
            rows.append((number, numbers))
        except Unreadable as error:
            found.refuse(number, error, hints.partial and number == lines[-1][0])
    if not found.faults and (cut := same_decimals(rows)):
        if hints.partial:
            found.went_without(rows.pop()[0])
        else:
            found.fault(*cut)
    found.whole()
    if not rows:
        raise CatalogError([f"{source.name}: found no figures"])
    form = _form(source, rows, hints)
    found.version = form.version
    read = []
    for number, numbers in rows:
        try:
            size = count(numbers[form.size].text, "bytes", 1)
            read.append(Row(number, size, numbers[form.rate], numbers[form.time]))
        except Unreadable as error:
            found.fault(number, error)
    check_repeats(found, read)
    found.whole()
    workload = hints.workload
    if not workload:
        if _counts_both_ways([row.size for row in read]):
            raise source.refusal(
                read[0].line,
                "found even sizes only, as if the bytes of both directions were counted "
                f"(-2, --bidir); --workload says: {one_of(WORKLOADS)}",
            )
        workload = "netpipe"
        found.note("np.out does not say what was measured, nor over what; read as a ping-pong")
    add(found, read, form, workload, options, hints, halves=workload == "netpipe_bi")


def _numbers(line: str) -> list[Figure]:
    words = line.split()
    if "failures" in line:
        raise Unreadable("found an integrity check, which measures nothing")
    if len(words) == 2 and _NUMBERS.fullmatch(line):
        raise Unreadable("found 2 columns, an integrity check or half a row; allowed: 3 or 5")
    numbers = [figure(word, f"column {place}") for place, word in enumerate(words, start=1)]
    if len(numbers) not in (3, 5):
        raise Unreadable(f"found {len(numbers)} columns; allowed: 3 or 5")
    return numbers


def _form(source: Source, rows: Sequence[tuple[int, list[Figure]]], hints: Hints) -> Form:
    """Find the version whose units make size, throughput and time say the same."""
    width = len(rows[0][1])
    misses = {
        form: [line for line, numbers in rows if not _fits(form, numbers)]
        for form in _FORMS
        if form.columns == width and hints.unit in ("", form.rate_unit)
    }
    if not misses:
        raise CatalogError([f"--unit: found {hints.unit}, which np.out does not have"])
    forms = fitting(source, misses, " in the units of any version of NetPIPE")
    if len(forms) > 1:
        raise source.refusal(
            rows[0][0],
            "found too few digits to tell the unit of the throughput; --unit says which "
            f"it is: {one_of([form.rate_unit for form in forms])}",
        )
    return forms[0]


def _fits(form: Form, numbers: Sequence[Figure]) -> bool:
    size = numbers[form.size]
    if size.value % 1 or not size.value:
        return False
    if form.version == "2" and numbers[2].value != 8 * size.value:
        return False
    return form.fits(size.value, numbers[form.rate], numbers[form.time])


def _counts_both_ways(sizes: Sequence[int]) -> bool:
    """Whether sizes are those of NetPIPE's ladder doubled: 2, 4, 6, 8 or 64 - 6, 64, 64 + 6."""
    known = set(sizes)
    if any(size % 2 for size in sizes):
        return False
    return {2, 4, 6, 8, 12} <= known or any(
        {size - 6, size + 6} <= known for size in sizes if size >= 48
    )
