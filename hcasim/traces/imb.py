"""The Intel MPI Benchmarks, and those of Pallas before them: a table for each test.

Their Mbytes are 2^20 bytes up to version 4.1 and 10^6 bytes since 2018; time and rate of a line
tell. What is printed here has the layout since 2018.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import prod

from hcasim.traces.figures import bandwidth, count, measured, time_fits
from hcasim.traces.placement import PAIR, of_all, of_pair
from hcasim.traces.simulated import Run
from hcasim.traces.source import Unreadable
from hcasim.traces.tool_output import CUT, Columns, Options, Reader, Row, Table, read_head

_NAMES = (
    *("PingPong", "PingPing", "Sendrecv", "Exchange"),
    *("Allreduce", "Reduce", "Reduce_scatter", "Allgather", "Allgatherv", "Gather", "Gatherv"),
    *("Scatter", "Scatterv", "Alltoall", "Alltoallv", "Bcast", "Barrier"),
)
TITLES = {f"imb_{name.lower()}": name for name in _NAMES}
"""What each workload is called in the output (IMB_bnames_mpi1.h)."""
_COLUMNS: Columns = {
    "#bytes": ("size", ()),
    "#repetitions": ("iters", ()),
    "t": ("mean", ("usec",)),
    "t_min": ("minimum", ("usec",)),
    "t_max": ("maximum", ("usec",)),
    "t_avg": ("mean", ("usec",)),
    "Mbytes/sec": ("bandwidth", ()),
    "defects": ("defects", ()),
}
_MESSAGES = {"imb_sendrecv": 2, "imb_exchange": 4}
"""Messages of a process of which the rate is, where there are several."""
_WIDTH = 13
_TITLE = re.compile(r"\s*#\s*Benchmarking\s+(?P<multi>Multi-)?(?P<name>\w+)\s*")
_HEAD = re.compile(r"\s*(?:Group\s+)?(?:#bytes\s+)?#repetitions\s.*")
_VERSION = re.compile(
    r"\s*#\s*(?:PALLAS|Intel ?\(R\)) MPI Benchmark(?: Suite|s) "
    r"V?(?P<version>[\w. -]*\w), .*part\b.*"
)
_PROCESSES = re.compile(r"\s*#\s*\(?\s*#processes = (?P<each>[0-9]{1,7})\b[^0-9]*")
_GROUPS = re.compile(
    r"\s*#\s*\(\s*(?P<groups>[0-9]{1,7}) groups of (?P<each>[0-9]{1,7}) processes each running.*"
)


def write_imb(run: Run) -> Iterator[str]:
    """Yield the lines that a run prints.

    Of collectives the fastest and the slowest process have times of their own. Elsewhere the mean
    stands for them, from which the rate follows. Benchmarks of two processes have one time.
    """
    first = run.rows[0]
    placed = {name: first[name] for name in ("nodes", "processes") if "nodes" in first}
    processes = prod(placed.values()) if placed else PAIR
    yield ""
    yield run.title
    yield from run.comments(("size", "iters"), [placed])
    name = TITLES[run.workload]
    single = name.startswith("PingP") and processes == PAIR
    heads = ["#bytes", "#repetitions", *(["t"] if single else ["t_min", "t_max", "t_avg"])]
    heads = heads[0 if "size" in first else 1 :]
    heads += ["Mbytes/sec"] if "bandwidth_MBps" in first else []
    rule = f"#{'-' * (_WIDTH * len(heads) - 1)}"
    yield rule
    groups = processes // PAIR if name == "PingPing" else 1
    if groups > 1:
        yield f"# Benchmarking Multi-{name} "
        yield f"# ( {groups} groups of {PAIR} processes each running simultaneous ) "
    else:
        yield f"# Benchmarking {name} "
        yield f"# #processes = {processes} "
    yield rule
    yield "".join(f"{one + '[usec]' * (one[0] == 't'):>{_WIDTH}}" for one in heads)
    for row in run.rows:
        mean = row["latency_us"]
        cells = {"mean": mean, "bandwidth": row.get("bandwidth_MBps")}
        for what in ("minimum", "maximum"):
            key = f"process_{what[:3]}_us"
            cells[what] = mean if "Mbytes/sec" in heads else row.get(key, mean)
        counts = {"size": row.get("size"), "iters": run.options["iters"]}
        yield "".join(
            f"{counts[what]:{_WIDTH}}" if what in counts else f"{cells[what]:{_WIDTH}.2f}"
            for what, _ in map(_COLUMNS.__getitem__, heads)
        )


class ImbReader(Reader):
    """Reads the output of IMB-MPI1 or PMB-MPI1."""

    tool = "imb"
    name = "an Intel MPI benchmark"
    marks = (_TITLE, _HEAD)
    workloads = tuple(TITLES)
    needless = ("unit",)
    processes: int | None = None
    skipped = False

    def take(self, text: str) -> None:
        """Read one line."""
        if match := _TITLE.fullmatch(text):
            self._begin(match["name"], match["multi"] or "")
        elif match := _VERSION.fullmatch(text):
            self.close()
            self.set_version(match["version"])
        elif text.startswith("# hcasim "):
            self.close()
            self.take_comment(text)
        elif self.take_comment(text) or self.skipped:
            pass
        elif match := _PROCESSES.fullmatch(text) or _GROUPS.fullmatch(text):
            groups = count(match.groupdict().get("groups", "1"), "groups", 1)
            self.processes = groups * count(match["each"], "processes", 1)
        elif _HEAD.fullmatch(text):
            table = self.headed("imb_pingpong")
            table.titles, _ = read_head(text, _COLUMNS, ("mean",))
        elif not text.lstrip().startswith("#") and self.is_row(text):
            assert self.table is not None
            self.table.row(self.line, text.split())

    def _begin(self, name: str, multi: str) -> None:
        self.close()
        workload = f"imb_{name.lower()}"
        # Of several groups at once only that of pairs is a workload, too.
        self.skipped = workload not in TITLES or (multi != "" and workload != "imb_pingping")
        self.processes = None
        if self.skipped:
            self.note(f"line {self.line}: {multi}{name} was passed over")
        else:
            self.begin(workload)

    def close(self) -> None:
        """Add the points of a table."""
        table, self.table, self.skipped = self.table, None, False
        if table is None:
            return
        if not table.rows:
            raise Unreadable(f"{table.workload}: found no results: {CUT}", table.line)
        try:
            table.options = self._placed(table.workload)
            unit = _unit_of(table)
        except Unreadable as error:
            raise Unreadable(error, table.line) from None
        end = self.line
        for row in table.rows:
            self.line = row.line
            self._add(table, row, unit)
        self.line = end

    def _placed(self, workload: str) -> Options:
        if workload != "imb_pingpong":
            return self.told | of_all(workload, self.told, self.hints, self.processes)
        if self.processes not in (None, PAIR):
            raise Unreadable(f"found {self.processes} processes; allowed: {PAIR}")
        return of_pair(self.hints) | self.told

    def _add(self, table: Table, row: Row, unit: str) -> None:
        cells = row.cells
        if "defects" in cells and cells["defects"].value:
            raise Unreadable(f"found defects {cells['defects'].text}: not the data that were sent")
        if not cells["mean"].value:
            self.note(f"line {row.line}: a time of 0 says nothing; passed over")
            return
        found = [measured(cells, "us", row.iters)]
        if unit:
            found += bandwidth({"mean": cells["bandwidth"]}, unit, "", row.iters)
        self.add(table, row, found)


def _unit_of(table: Table) -> str:
    """The unit in which rates and times of a table say the same; empty if both do."""
    if "bandwidth" not in table.titles or not table.rows:
        return ""
    fitting = [
        unit for unit in ("MB/s", "MiB/s") if all(_fits(table, unit, row) for row in table.rows)
    ]
    if not fitting:
        raise Unreadable("found sizes, times and rates that do not fit together")
    return fitting[0] if len(fitting) == 1 else ""


def _fits(table: Table, unit: str, row: Row) -> bool:
    slowest = row.cells.get("maximum", row.cells["mean"])
    moved = _MESSAGES.get(table.workload, 1) * (row.size or 0)
    return time_fits(row.cells["bandwidth"], unit, slowest, "us", moved)
