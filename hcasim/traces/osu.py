"""The OSU micro-benchmarks, version 2 to 7: a title, a head, and a line for each size.

Their MB are 10^6 bytes; latencies of a point-to-point test are half a round trip as printed. What
is printed here has the layout of 5.6.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from hcasim.ground.errors import one_of
from hcasim.ground.faults import shown
from hcasim.traces.figures import bandwidth, count, measured, rate_fits
from hcasim.traces.placement import PAIR, of_all, of_pair
from hcasim.traces.schema import Measured
from hcasim.traces.simulated import Run
from hcasim.traces.source import Unreadable
from hcasim.traces.tool_output import CUT, Columns, Reader, Row, read_head

_VERSION = "5.6.3"
TITLES = {
    "osu_latency": "Latency",
    "osu_bw": "Bandwidth",
    "osu_bibw": "Bi-Directional Bandwidth",
    "osu_mbw_mr": "Multiple Bandwidth / Message Rate",
    "osu_multi_lat": "Multi Latency",
    "osu_alltoall": "All-to-All Personalized Exchange Latency",
    "osu_allreduce": "Allreduce Latency",
    "osu_allgather": "Allgather Latency",
    "osu_barrier": "Barrier Latency",
    "osu_bcast": "Broadcast Latency",
    "osu_gather": "Gather Latency",
    "osu_reduce": "Reduce Latency",
    "osu_reduce_scatter": "Reduce_scatter Latency",
    "osu_scatter": "Scatter Latency",
}
"""What the programs that are workloads call themselves, between "OSU MPI" and "Test"."""
_NAMES = {title.lower(): name for name, title in TITLES.items()} | {
    "bidirectional bandwidth": "osu_bibw",
    "multi pairs latency": "osu_multi_lat",
    "alltoall latency": "osu_alltoall",
}
_PAIRS = ("osu_latency", "osu_bw", "osu_bibw")
"""Those of two processes."""
_MANY_PAIRS = ("osu_mbw_mr", "osu_multi_lat")
"""Those of several pairs; the first says how many, and prints a rate."""
_COLLECTIVES = tuple(name for name in TITLES if name not in (*_PAIRS, *_MANY_PAIRS))
"""Those whose times are of calls of all processes."""
_TITLE = re.compile(
    r"\s*(?:#\s*)?OSU (?:One Sided )?MPI(?P<name>.*?) Test"
    r"(?:\s+\(?(?:v|Version )\s?(?P<version>[\w.]+)\)?)?\s*"
)
# Pages and editors take the number sign for a mark of their own; then a unit tells the head.
_HEAD = re.compile(
    r"\s*(?:#\s*Size\s.*|Size\s.*(?:\((?:us|MB/s)\)|\bMB/s).*|(?:#\s*)?Avg Latency ?\(us\).*)"
)
_COLUMNS: Columns = {
    "Latency": ("mean", ("us",)),
    "Avg Latency": ("mean", ("us",)),
    "Min Latency": ("minimum", ("us",)),
    "Max Latency": ("maximum", ("us",)),
    "Bandwidth": ("bandwidth", ("MB/s",)),
    "Bi-Bandwidth": ("bandwidth", ("MB/s",)),
    "MB/s": ("bandwidth", ()),
    "Messages/s": ("rate", ()),
    "Size": ("size", ()),
    "Iterations": ("iters", ()),
    "Validation": ("validation", ()),
    "Transmit Size": ("transmit", ()),
    **{f"P{percent} Tail Lat": (str(percent), ("us",)) for percent in range(100)},
    **{f"P{percent} Tail BW": (str(percent), ("MB/s",)) for percent in range(100)},
}
_WINDOW = re.compile(r"\s*(?:#\s*)?\[ pairs: ([0-9]{1,6}) \]\s*\[ window size: (\w+) \]")
_SETUP = re.compile(r"\s*#\s*(Rank 0 Memory on|Send Buffer on)\b.*")


def write_osu(run: Run) -> Iterator[str]:
    """Yield the lines that a run prints."""
    name, first = run.workload, run.rows[0]
    yield f"# OSU MPI {TITLES[name]} Test v{_VERSION}"
    yield run.title
    told: dict[str, Any] = {one: first[one] for one in run.axes}
    if name in _COLLECTIVES or name in _MANY_PAIRS:
        told |= {one: first.get(one, run.options[one]) for one in ("nodes", "processes")}
    yield from run.comments(("size",), [told])
    if name == "osu_mbw_mr":
        pairs = told["nodes"] * told["processes"] // 2
        yield f"# [ pairs: {pairs} ] [ window size: {run.options['window']} ]"
    heads = [("Bandwidth (MB/s)", "bandwidth_MBps", 1.0)]
    if name == "osu_mbw_mr":
        heads = [("MB/s", "bandwidth_MBps", 1.0), ("Messages/s", "rate_Mps", 1e6)]
    elif "latency_us" in first:
        title = "Avg Latency(us)" if name in _COLLECTIVES else "Latency (us)"
        heads = [(title, "latency_us", 1.0)]
    if "size" not in first:
        yield f"# {heads[0][0]}"
        yield from (f"{row['latency_us']:17.2f}" for row in run.rows)
        return
    yield f"{'# Size':<10}{''.join(f'{head:>18}' for head, *_ in heads)}"
    for row in run.rows:
        cells = (f"{row[key] * factor:18.2f}" for _, key, factor in heads)
        yield f"{row['size']:<10}{''.join(cells)}"


class OsuReader(Reader):
    """Reads the output of OSU's programs."""

    tool = "osu"
    name = "an OSU benchmark"
    marks = (_TITLE, _HEAD)
    workloads = tuple(TITLES)
    needless = ("unit",)
    processes: int | None = None

    def take(self, text: str) -> None:
        """Read one line."""
        if match := _TITLE.fullmatch(text):
            self._begin(match["name"], match["version"] or "")
        elif self.take_comment(text):
            pass
        elif _HEAD.fullmatch(text):
            self._head(text)
        elif match := _WINDOW.match(text):
            self._window(match[1], match[2])
        elif re.match(r"\s*#.*\b(pairs|window size)\b", text):
            raise Unreadable(f"found {shown(text.strip())}; not pairs and a window size")
        elif _SETUP.match(text):
            if "DEVICE" in text:
                raise Unreadable(f"found {shown(text.strip())}; allowed: memory of the host")
            self.note(text.strip().lstrip("# "))
        elif not text.lstrip().startswith("#") and self.is_row(text):
            assert self.table is not None
            row = self.table.row(self.line, text.split())
            if (verdict := row.words.get("validation", "Pass")) != "Pass":
                raise Unreadable(f"Validation: found {shown(verdict)}; allowed: Pass")
            self.add(self.table, row, _measured(row))

    def _begin(self, name: str, version: str) -> None:
        self.close()
        if version:
            self.set_version(version)
        name = re.sub(r"\s+", " ", name).strip()
        workload = _NAMES.get(name.lower())
        if workload is None:
            raise Unreadable(f"found {shown(name)}; allowed: {one_of(self.workloads)}")
        self.adapter, self.told, self.processes = "", {}, None
        self.begin(workload)

    def _head(self, text: str) -> None:
        table, hints = self.headed("osu_latency"), self.hints
        text = text.strip().lstrip("#").strip()
        table.titles, _ = read_head(text, _COLUMNS, ("mean", "bandwidth"))
        table.words = ("validation", "transmit")
        if table.workload in _PAIRS:
            table.options = of_pair(hints) | table.options | self.told
            return
        pairs = table.workload in _MANY_PAIRS
        placed = of_all(table.workload, self.told, hints, self.processes, in_pairs=pairs)
        table.options |= self.told | placed

    def _window(self, pairs: str, window: str) -> None:
        if self.table is None:
            raise Unreadable("found pairs before the title of their test")
        self.processes = PAIR * count(pairs, "pairs", 1)
        self.table.options["window"] = count(window, "window", 1)

    def close(self) -> None:
        """Refuse a table without results."""
        table, self.table = self.table, None
        if table is not None and not table.rows:
            raise Unreadable(f"{table.workload}: found no results: {CUT}", table.line)


def _measured(row: Row) -> list[Measured]:
    """What a line says: a latency, or bandwidth and message rate; nothing if all digits are 0."""
    cells, size = row.cells, row.size or 0
    if "mean" in cells:
        return [measured(cells, "us", row.iters)]
    found, rate = cells["bandwidth"], cells.get("rate")
    if rate and rate.value and size and not rate_fits(found, "MB/s", rate, "1/s", size):
        raise Unreadable(
            f"found {found.text} MB/s and {rate.text} messages a second, "
            f"which do not fit together at {size} bytes"
        )
    return bandwidth(cells | {"mean": found}, "MB/s", "1/s", row.iters)
