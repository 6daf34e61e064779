"""What perftest writes with --out_json: JSON since 2024, something like it before.

From 2021 to January 2024 names and words came without quotation marks, and with commas before
closing braces. Its bandwidths have no unit; their message rates tell which it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from hcasim.ground.errors import one_of
from hcasim.ground.faults import shown
from hcasim.traces.figures import Figure, count, figure
from hcasim.traces.perftest.run import (
    COLUMNS,
    SETTINGS,
    TITLES,
    UNITS,
    Run,
    fitting_units,
    is_nothing,
)
from hcasim.traces.schema import Measured
from hcasim.traces.source import Source, Unreadable
from hcasim.traces.tool_output import Hints, Reader, Row, Table

_SETTINGS = {name.replace(" ", "_").replace("-", "_"): name for name in SETTINGS}
_SETTINGS["Test with events"] = "events"
_COLUMNS = {title.replace(" ", "_"): name for title, (name, _) in COLUMNS.items()}
_COLUMNS |= {"MsgSize": "size", "n_iterations": "iters", "sl": "sl", "CPU_util": "cpu"}
_COLUMNS |= {"percentile_99": "99", "percentile_99.9": "99.9", "tps_average": "tps"}
_ALONE = ("bw_avg", "msgRate_avg", "avg_lat")
_MARK = "\0"
"""Between the line of a value and the value; no text has it."""
_Section = dict[str, tuple[int, str]]
"""By name, the line and the word of each value."""


class PerftestJsonReader(Reader):
    """Reads a file of --out_json, of one run or of several behind each other."""

    tool = "perftest"
    name = "perftest's JSON"
    marks = (re.compile(r'\s*(?:\{\s*)?"?(test_info|results)"?\s*:\s*\{.*'),)
    workloads = tuple(TITLES)
    units = UNITS
    needless = ("nodes", "processes", "algorithm")
    ends_itself = True
    invalid = False

    def __init__(self, source: Source, hints: Hints) -> None:
        super().__init__(source, hints)
        self.text: list[str] = []

    def take(self, text: str) -> None:
        """Read one line: a value is written with its line, a name in quotation marks."""
        name, colon, value = (part.strip() for part in text.partition(":"))
        key = json.dumps(name.strip('"'))
        if colon and value == "{":
            text = f"{key}: {{"
        elif colon and not set("{}") & set(text):
            self.invalid = self.invalid or not name.startswith('"')
            word = value.removesuffix(",").strip().strip('"')
            text = f"{key}: {json.dumps(f'{self.line}{_MARK}{word}')},"
        self.text.append(text)

    def close(self) -> None:
        """Add the points."""
        if self.invalid:
            self.note("its JSON was not valid and was read by its lines")
        for line, document in self._documents():
            self.line = line
            self._read_run(document)

    def _documents(self) -> Iterator[tuple[int, Any]]:
        # No comma stands before a closing brace.
        text = re.sub(r",(?=[ \n]*\})", "", "\n".join(self.text)).rstrip()
        decoder = json.JSONDecoder(
            object_pairs_hook=_unique, parse_int=str, parse_float=str, parse_constant=str
        )
        place = line = 0
        while place < len(text):
            while text[place].isspace():
                line += text[place] == "\n"
                place += 1
            begin = place
            try:
                document, place = decoder.raw_decode(text, place)
            except json.JSONDecodeError as error:
                allowed = "allowed: a whole file of perftest's --out_json"
                raise Unreadable(f"found no JSON: {error.msg}; {allowed}", error.lineno) from None
            except RecursionError:
                raise Unreadable("found braces too deep in each other", line + 1) from None
            yield line + 1, document
            line += text.count("\n", begin, place)

    def _read_run(self, document: Any) -> None:
        info, results = (self._section(document, name) for name in ("test_info", "results"))
        run, begin = Run(self.hints), self.line
        if "test" not in info:
            raise Unreadable("test_info: found no test")
        self.line, title = info["test"]
        run.set_title(title)
        self.check_title(run.workload)
        run.settings = {_SETTINGS[key]: word for key, (_, word) in info.items() if key in _SETTINGS}
        cells: dict[str, Figure] = {}
        counts = {"size": 0, "iters": 0, "sl": 0}
        for key, (self.line, word) in results.items():
            name = _COLUMNS.get(key)
            if key in _ALONE:
                raise Unreadable(
                    f"results: found {key} alone, without a size: that is --output; leave it out"
                )
            if name is None:
                self.note(f"results: {shown(key)} in line {self.line} was passed over")
            elif name in counts:
                counts[name] = count(word, key, 0 if name == "sl" else 1)
            elif is_nothing(name, word):
                self.note(f"line {self.line}: {key} is {word}, which says nothing; passed over")
            else:
                cells[name] = figure(word, key)
        self.line = begin
        _check_names(run, results)
        self.line, _ = results["BW_average" if "BW_average" in results else "MsgSize"]
        options = run.point_options(counts["size"], counts["iters"])
        options |= {"sl": counts["sl"]} if counts["sl"] else {}
        table = Table(self.line, run.workload, options)
        found = self._measured(run, cells, counts["size"], counts["iters"])
        self.add(table, Row(self.line, None, None), found, run.device(), run.port())

    def _section(self, document: Any, name: str) -> _Section:
        section = document.get(name) if isinstance(document, dict) else None
        if not isinstance(section, dict):
            raise Unreadable(f"found no {name}; allowed: a file of perftest's --out_json")
        return {key: _entry(one, self.line) for key, one in section.items()}

    def _measured(
        self, run: Run, cells: dict[str, Figure], size: int, iters: int
    ) -> list[Measured]:
        if run.is_latency:
            return [run.latency(cells, iters)]
        unit = self.hints.unit
        if not unit:
            units = fitting_units(cells, size)
            if len(units) != 1:
                raise Unreadable(
                    "BW_average: perftest's JSON has no unit, and the message rate does not tell "
                    f"it; --unit says which it is: {one_of(UNITS)}"
                )
            unit = units[0]
            self.note(f"bandwidths of {size} bytes are in {unit}, as their message rate tells")
        return run.bandwidth(cells, size, iters, unit)


def _entry(value: object, line: int) -> tuple[int, str]:
    """The line and the word of a value; JSON that was written anew has words alone."""
    known, _, word = str(value).rpartition(_MARK)
    return int(known) if re.fullmatch("[0-9]{1,9}", known) else line, word


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for key, value in pairs:
        if key in table:
            raise Unreadable(f"{key}: found a second time", _entry(value, 0)[0])
        table[key] = value
    return table


def _check_names(run: Run, results: _Section) -> None:
    needed = ["MsgSize", "n_iterations"]
    if not run.is_latency:
        needed += ["BW_average", "MsgRate"]
    elif "tps_average" in results:
        needed += ["t_avg"]
    else:
        needed += ["t_min", "t_max", "t_typical"]
    if missing := [name for name in needed if name not in results]:
        raise Unreadable(f"results: found no {one_of(missing)}")
