"""What perftest writes with --out_json: JSON since 2024, something like it before.

From 2021 to January 2024 names and words came without quotation marks, and with commas before
closing braces, so it is read by its lines. Its bandwidths have no unit; their message rates tell
which it is.
"""

from __future__ import annotations

import re

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
_SECTION = re.compile(r'\s*\{?\s*"?(test_info|results)"?\s*:\s*\{\s*')
_VALUE = re.compile(r'\s*"?([^":{}]+?)"?\s*:\s*"?([^"{}]*?)"?\s*,?\s*')
_BRACES = re.compile(r"[\s{},]*")
_ALLOWED = "allowed: a whole file of perftest's --out_json"


class PerftestJsonReader(Reader):
    """Reads a file of --out_json, of one run or of several behind each other."""

    tool = "perftest"
    name = "perftest's JSON"
    marks = (re.compile(r'\s*(?:\{\s*)?"?(test_info|results)"?\s*:\s*\{.*'),)
    workloads = tuple(TITLES)
    units = UNITS
    needless = ("nodes", "processes", "algorithm")
    ends_itself = True

    def __init__(self, source: Source, hints: Hints) -> None:
        super().__init__(source, hints)
        self.sections: dict[str, dict[str, tuple[int, str]]] = {}
        self.section = ""
        self.depth = 0

    def take(self, text: str) -> None:
        """Read one line."""
        if match := _SECTION.fullmatch(text):
            self.section = match[1]
            if self.section in self.sections:
                raise Unreadable(f"{self.section}: found a second time")
            self.sections[self.section] = {}
        elif match := _VALUE.fullmatch(text):
            values = self.sections.get(self.section)
            if values is None or match[1] in values:
                where = "outside of test_info and results" if values is None else "a second time"
                raise Unreadable(f"{match[1]}: found {where}")
            values[match[1]] = self.line, match[2].strip()
        elif not _BRACES.fullmatch(text):
            raise Unreadable(f"found no JSON: {shown(text.strip())}; {_ALLOWED}")
        self.depth += text.count("{") - text.count("}")
        if self.depth == 0 and self.sections:
            self._read_run()
            self.sections, self.section = {}, ""

    def close(self) -> None:
        """Refuse a file that is cut off."""
        if self.depth or self.sections:
            raise Unreadable(f"found no JSON: braces are open; {_ALLOWED}")

    def _read_run(self) -> None:
        if missing := [name for name in ("test_info", "results") if name not in self.sections]:
            raise Unreadable(f"found no {missing[0]}; allowed: a file of perftest's --out_json")
        info, results = self.sections["test_info"], self.sections["results"]
        run, end = Run(self.hints), self.line
        if "test" not in info:
            raise Unreadable("test_info: found no test")
        self.line, title = info["test"]
        run.set_title(title)
        self.begin(run.workload)
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
        self.line = end
        needed = ["MsgSize", "n_iterations"]
        if not run.is_latency:
            needed += ["BW_average", "MsgRate"]
        elif "tps_average" in results:
            needed += ["t_avg"]
        else:
            needed += ["t_min", "t_max", "t_typical"]
        if missing := [name for name in needed if name not in results]:
            raise Unreadable(f"results: found no {one_of(missing)}")
        self.line, _ = results["BW_average" if "BW_average" in results else "MsgSize"]
        options = run.point_options(counts["size"], counts["iters"])
        options |= {"sl": counts["sl"]} if counts["sl"] else {}
        table = Table(self.line, run.workload, options)
        found = self._measured(run, cells, counts["size"], counts["iters"])
        self.add(table, Row(self.line, None, None), found, run.device(), run.port())
        self.line = end

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
