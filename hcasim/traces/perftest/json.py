"""What perftest writes with --out_json: JSON since 2024, something like it before.

From 2021 to January 2024 names and words came without quotation marks, and with commas before
closing braces. Its bandwidths have no unit; their message rates tell which it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hcasim.ground.errors import CatalogError, one_of
from hcasim.ground.faults import shown
from hcasim.traces.imported import Imported
from hcasim.traces.perftest.figures import UNITS, bandwidth, fitting_units, latency, says_nothing
from hcasim.traces.perftest.run import Run
from hcasim.traces.printed import (
    Hints,
    Unreadable,
    check_title,
    count,
    figure,
    known_word,
)
from hcasim.traces.schema import Measured, Point
from hcasim.traces.source import Source

_TOKEN = re.compile(r'\s*(?:([{}])|"([^"]*)"|([^\s{}:,"][^{}:,"\n]*)|([:,]))')
_WORDS = (
    *("Device", "Number of qps", "Transport type", "Connection type", "Using SRQ", "TX depth"),
    *("CQ Moderation", "Post List", "Mtu", "Link type", "Max inline data", "Use ROCm memory"),
)
_SETTINGS = {"Dual_port": "Dual-port", "Test with events": "events"}
_SETTINGS |= {name.replace(" ", "_"): name for name in _WORDS}
_PARTS = ("min", "max", "typical", "avg", "stdev")
_TIMES = {name: name for name in ("percentile_99", "percentile_99.9")}
_TIMES |= {f"t_{name}": f"t_{name}" for name in _PARTS} | {"tps_average": "tps"}
_BANDWIDTHS = {name: name for name in ("BW_peak", "BW_average", "MsgRate")}
_OTHER = ("MsgSize", "n_iterations", "sl", "CPU_util")
CUT = "the file was cut short; --partial cannot help, as an unfinished object has no results"
_ALONE = ("bw_avg", "msgRate_avg", "avg_lat")


@dataclass
class _Entry:
    """A name with its value and where it stands."""

    line: int
    value: str


Section = dict[str, _Entry]


def read_perftest_json(source: Source, hints: Hints) -> Imported:
    """Read a file of --out_json, of one run or of several behind each other.

    Parameters:
        source: the file.
        hints: what it does not say.

    Raises:
        CatalogError: every place that cannot be read, and why.
    """
    if hints.unit and (wrong := known_word("--unit", hints.unit, UNITS)):
        raise CatalogError(wrong)
    found = Imported(source, "perftest")
    try:
        documents, repaired = _documents(source)
    except _Damaged as error:
        cut = f"; {CUT}" if source.is_open(error.line) and CUT not in str(error) else ""
        raise source.refusal(error.line, f"{error}{cut}") from None
    if repaired:
        found.note("its JSON was not valid and was read by its lines")
    for line, sections in documents:
        try:
            _read_run(found, line, sections, hints)
        except _Damaged as error:
            found.fault(error.line, error)
    return found.whole()


class _Damaged(Unreadable):
    """What cannot be read, and its line."""

    def __init__(self, line: int, reason: object) -> None:
        super().__init__(str(reason))
        self.line = line


def _documents(source: Source) -> tuple[list[tuple[int, dict[str, Section]]], bool]:
    """Take the file apart: a document for each run, with its sections."""
    documents: list[tuple[int, dict[str, Section]]] = []
    depth, section, repaired = 0, "", False
    pending: tuple[int, str] | None = None
    named: tuple[int, str] | None = None
    comma = False
    number = 0
    for number, line in enumerate(source.lines, start=1):
        for brace, quoted, bare, mark in _tokens(number, line):
            word, is_quoted = quoted or (bare or "").strip(), quoted is not None
            if brace == "{":
                depth += 1
                if depth == 1:
                    documents.append((number, {}))
                elif depth == 2 and named is not None:
                    section = named[1]
                    if section in documents[-1][1]:
                        raise _Damaged(number, f"{section}: found a second time")
                    documents[-1][1][section] = {}
                else:
                    raise _Damaged(number, "found a brace out of place")
                named, comma = None, False
            elif brace:
                if named is not None or pending is not None:
                    raise _Damaged(number, "found a name without a value")
                depth -= 1
                repaired = repaired or comma
                comma = False
                if depth < 0:
                    raise _Damaged(number, "found a closing brace too many")
            elif mark == ",":
                comma = True
            elif mark == ":":
                if pending is None:
                    raise _Damaged(number, "found a value without a name")
                named, pending = pending, None
            elif depth == 0 or (depth == 1 and named is not None):
                raise _Damaged(number, f"found {shown(word)} out of place")
            elif named is not None:
                entries = documents[-1][1][section]
                if named[1] in entries:
                    raise _Damaged(number, f"{named[1]}: found a second time")
                repaired = repaired or not (is_quoted or re.fullmatch(r"-?[0-9.e+-]+", word))
                entries[named[1]] = _Entry(number, word)
                named, comma = None, False
            elif pending is not None:
                raise _Damaged(pending[0], f"found {shown(pending[1])}; allowed: NAME: VALUE")
            else:
                pending, comma = (number, word), False
                repaired = repaired or not is_quoted
    if depth or pending or named:
        raise _Damaged(number, f"found no closing brace: {CUT}")
    return documents, repaired


def _tokens(number: int, line: str) -> Iterator[tuple[str | None, ...]]:
    text, place = line.rstrip(), 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if not match:
            raise _Damaged(number, f"found {shown(text[place:].strip())}; allowed: NAME: VALUE")
        place = match.end()
        yield match.groups()


def _read_run(found: Imported, line: int, sections: dict[str, Section], hints: Hints) -> None:
    for name in ("test_info", "results"):
        if name not in sections:
            raise _Damaged(line, f"found no {name}; allowed: a file of perftest's --out_json")
    info, results = sections["test_info"], sections["results"]
    if "test" not in info:
        raise _Damaged(line, "test_info: found no test")
    run = Run(line)
    try:
        run.set_title(info["test"].value)
        check_title(hints, run.workload)
    except Unreadable as error:
        raise _Damaged(info["test"].line, error) from None
    run.settings = {_SETTINGS[key]: one.value for key, one in info.items() if key in _SETTINGS}
    _check_names(line, results, _TIMES if run.is_latency else _BANDWIDTHS)
    for key, entry in results.items():
        if key not in (*_OTHER, *_TIMES, *_BANDWIDTHS):
            found.note(f"results: {shown(key)} in line {entry.line} was passed over")
    try:
        _take(found, run, results, hints)
    except _Damaged:
        raise
    except Unreadable as error:
        raise _Damaged(results["MsgSize"].line, error) from None


def _check_names(line: int, results: Section, columns: dict[str, str]) -> None:
    alone = [name for name in _ALONE if name in results]
    if alone:
        raise _Damaged(
            results[alone[0]].line,
            f"results: found {alone[0]} alone, without a size: that is --output; leave it out",
        )
    needed = ["MsgSize", "n_iterations"]
    if "MsgRate" in columns:
        needed += ["BW_average", "MsgRate"]
    elif "tps_average" in results:
        needed += ["t_avg"]
    else:
        needed += ["t_min", "t_max", "t_typical"]
    missing = [name for name in needed if name not in results]
    if missing:
        raise _Damaged(line, f"results: found no {one_of(missing)}")


def _take(found: Imported, run: Run, results: Section, hints: Hints) -> None:
    size = count(results["MsgSize"].value, "MsgSize", 1)
    iters = count(results["n_iterations"].value, "n_iterations", 1)
    cells = {}
    for name, column in (_TIMES if run.is_latency else _BANDWIDTHS).items():
        if name in results and says_nothing(name, word := results[name].value):
            where = f"line {results[name].line}"
            found.note(f"{where}: {name} is {word}, which says nothing; passed over")
        elif name in results:
            try:
                cells[column] = figure(results[name].value, name)
            except Unreadable as error:
                raise _Damaged(results[name].line, error) from None
    options = run.point_options(size, iters)
    if "sl" in results and (level := count(results["sl"].value, "sl")):
        options["sl"] = level
    if run.is_latency:
        measured: tuple[Measured, ...] = (latency(run, cells, iters, hints),)
    else:
        units = fitting_units(cells, size)
        if not hints.unit and len(units) != 1:
            raise _Damaged(
                results["BW_average"].line,
                "BW_average: perftest's JSON has no unit, and the message rate does not tell it; "
                f"--unit says which it is: {one_of(UNITS)}",
            )
        unit = hints.unit or units[0]
        if not hints.unit:
            found.note(f"bandwidths of {size} bytes are in {unit}, as their message rate tells")
        measured = bandwidth(run, cells, size, iters, unit)
    if not measured:
        raise _Damaged(results["BW_average"].line, "BW_average: found 0, which says nothing")
    found.add_adapter(run.line, run.device(hints), run.port())
    found.add(Point(workload=run.workload, options=options, measured=measured))
