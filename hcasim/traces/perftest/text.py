"""What perftest prints: ib_write_lat, ib_read_bw and the like, since its first versions.

The layout follows linux-rdma/perftest, src/perftest_parameters.h and .c. Its MB are 2^20 bytes;
times of writes and sends are half a round trip as printed, those of reads and atomics a whole one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hcasim.ground.errors import one_of
from hcasim.traces import simulated
from hcasim.traces.figures import all_numbers, count
from hcasim.traces.perftest.run import BANDWIDTH_UNITS, COLUMNS, OPS, TITLES, UNITS, Run, is_nothing
from hcasim.traces.source import Source, Unreadable
from hcasim.traces.tool_output import CUT, LOOPBACK, Hints, Reader, Row, Table, read_head

_TITLE = re.compile(r"\s*((?:Send|RDMA_Write|RDMA_Read|Atomic)(?:_imm)?(?: [A-Za-z_-]+)* Test)\s*")
_HEAD = re.compile(r"\s*#bytes(?!\s+#repetitions)\s.*")
_RULE = re.compile(r"\s*-{40,}\s*")
# --use_cuda and the like print this before the title.
_ACCELERATOR = re.compile(r"\s*allocated .*\bGPU buffer\b.*")
_COMMAND = re.compile(r"(?:^|[\s/])(ib_(?:write|send|read|atomic)_(?:lat|bw)(?:\s.*)?)$")
_ADDRESS = re.compile(r"\s*(local|remote) address:\s+LID (\w+)\b.*")
_GID = re.compile(r"\s*GID: (\S+)\s*")

TOLD = {
    *("size", "qps", "tx_depth", "cq_mod", "op", "iters", "inline", "inline_size", "post_list"),
    "connection",
}
"""The options that the text says."""
_TRANSPORTS = {"infiniband": "IB", "rocev2": "IB", "iwarp": "IW"}
_LINKS = {"infiniband": "IB", "ethernet": "Ethernet"}
_LATENCY_HEAD = (
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
    "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] "
)
_BANDWIDTH_HEAD = " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]"


def write_perftest(run: simulated.Run) -> Iterator[str]:
    """Yield the lines that a run prints.

    The simulator has one value where a measurement has many: it stands in all columns.
    """
    options, rows = run.options, run.rows
    latency = run.workload.endswith("_lat")
    rule = "-" * 87
    yield rule
    title = TITLES[run.workload].replace(OPS["fetch_add"], OPS[options["op"]])
    yield f"                    {title}"
    dual = "ON" if options["ports"] > 1 else "OFF"
    yield f" Dual-port       : {dual}\t\tDevice         : hcasim-{run.adapter}"
    yield f" Number of qps   : {rows[0]['qps']}\t\tTransport type : {_TRANSPORTS[run.transport]}"
    yield f" Connection type : {options['connection']}\t\tUsing SRQ      : OFF"
    yield f" TX depth        : {1 if latency else min(options['tx_depth'], options['iters'])}"
    if options["post_list"] > 1:
        yield f" Post List       : {options['post_list']}"
    if not latency:
        yield f" CQ Moderation   : {options['cq_mod']}"
    yield f" Mtu             : {run.mtu}[B]"
    if options["inline"]:
        yield f" Max inline data : {max(row['size'] for row in rows)}[B]"
    elif options["inline_size"] > 0 or (latency and not options["inline_size"]):
        yield f" Max inline data : {options['inline_size']}[B]"
    yield f" Link type       : {_LINKS[run.link]}"
    yield rule
    yield _LATENCY_HEAD if latency else _BANDWIDTH_HEAD
    for row in rows:
        # Of a bandwidth, it counts those of all queue pairs.
        iters = options["iters"] * (1 if latency else row["qps"])
        yield (_latency_line if latency else _bandwidth_line)(row, iters)
    yield rule


def _latency_line(row: Mapping[str, Any], iters: int) -> str:
    one = f"{row['latency_us']:<7.2f}"
    return (
        f" {row['size']:<7} {iters}          {one}        {one}      {one}  \t       {one}"
        f"     \t{0:<7.2f}\t\t{one} \t\t{one}"
    )


def _bandwidth_line(row: Mapping[str, Any], iters: int) -> str:
    one = f"{row['bandwidth_MBps'] * 1e6 / 2**20:<7.2f}"
    rate = row["bandwidth_MBps"] / row["size"]
    return f" {row['size']:<7}    {iters:<10}       {one}            {one}\t\t   {rate:<7.6f}"


class PerftestReader(Reader):
    """Reads the text that perftest prints."""

    tool = "perftest"
    name = "perftest's text"
    marks = (_TITLE, _HEAD)
    workloads = tuple(TITLES)
    units = UNITS
    needless = ("nodes", "processes", "algorithm")
    ends_itself = True
    run: Run | None = None
    unit = ""
    """Of the bandwidths of the table."""
    closed = accelerated = False
    end = ""
    """Local or remote: whose address is being read."""

    def __init__(self, source: Source, hints: Hints) -> None:
        super().__init__(source, hints)
        self.ends: dict[str, str] = {}

    def take(self, text: str) -> None:
        """Read one line."""
        if match := _TITLE.fullmatch(text):
            self.close()
            self.run = Run(self.hints)
            self.run.set_title(match[1])
            self.begin(self.run.workload)
            if self.accelerated:
                self.run.options["accelerator"] = True
            self.accelerated = False
        elif _ACCELERATOR.fullmatch(text):
            self.accelerated = True
        elif _HEAD.fullmatch(text):
            self._head(text)
        elif _RULE.fullmatch(text):
            self.closed = self.table is not None and bool(self.table.rows)
        elif self.table is None or not self.table.titles:
            if all_numbers(text, 3):
                if self.table is not None:
                    raise Unreadable(
                        f"found figures behind the title of line {self.table.line} and before its "
                        "head"
                    )
                self.pass_over(text)
            if match := _COMMAND.search(text):
                self.commands[match[1].strip()] = None
            if match := _ADDRESS.fullmatch(text):
                self.end = match[1]
                self.ends[self.end] = match[2].removeprefix("0x").lstrip("0")
            elif match := _GID.fullmatch(text):
                self.ends[self.end] = match[1]
            if self.run is not None:
                self.run.take_settings(text)
        elif self.closed:
            if all_numbers(text, 3):
                raise Unreadable("found a line of figures behind the end of its table")
        elif self.is_row(text):
            assert self.run is not None
            self._row(self.run, self.table, text.split())

    def _head(self, text: str) -> None:
        titles, units = read_head(text, COLUMNS, ("median", "mean", "bandwidth"))
        units = {BANDWIDTH_UNITS[unit] for unit in units & {*BANDWIDTH_UNITS}}
        if len(units) > 1 or "iters" not in titles:
            found = f"bandwidths in {one_of(sorted(units))}" if units else "no iterations"
            raise Unreadable(f"head of the table: found {found}")
        unit = "".join(units)
        table = self.table
        if table is not None and titles == table.titles and not table.rows:
            return  # -U and -H print it again behind their samples
        table = self.headed("write_lat")
        if self.run is None:
            self.run = Run(self.hints, table.workload)
        if self.hints.unit and unit and self.hints.unit != unit:
            raise Unreadable(f"found {unit}; --unit says {self.hints.unit}")
        if self.run.is_latency == ("bandwidth" in titles):
            name = self.run.title or self.run.workload
            raise Unreadable(f"found the columns of another test than {name}")
        table.titles, table.line, table.least, self.unit = titles, self.line, 1, unit
        here, there = self.ends.get("local", ""), self.ends.get("remote", "")
        if here and here == there:
            self.note(LOOPBACK)
        self.ends.clear()

    def _row(self, run: Run, table: Table, words: list[str]) -> None:
        if len(words) == len(table.titles) + 1 and [*table.titles][-1] == "99.9":
            # Printed for a while in 2017, without meaning.
            self.note("figures behind the last column were passed over")
            words = words[:-1]
        nothing = [one for one in zip(table.titles, words, strict=False) if is_nothing(*one)]
        table.words = ("sl", *(name for name, _ in nothing))
        for _, word in nothing:
            self.note(f"line {self.line}: t_stdev is {word}, which says nothing; passed over")
        row = table.row(self.line, words)
        size, iters = row.size or 0, row.iters or 0
        table.options = run.point_options(size, iters)
        if lane := row.words.get("sl"):
            table.options["sl"] = count(lane, "#sl")
        if run.is_latency:
            found = [run.latency(row.cells, iters)]
        else:
            found = run.bandwidth(row.cells, size, iters, self.unit)
        self.add(table, Row(row.line, None, None), found, run.device(), run.port())

    def close(self) -> None:
        """End a table; one that is cut off is refused."""
        table, closed = self.table, self.closed
        self.table = self.run = None
        self.closed = False
        if table is not None and not closed:
            reason = "no line of dashes behind the table"
            if not table.rows:
                reason = "no line of figures behind the title, as on the server of a one-way test"
            raise Unreadable(f"found {reason}: {CUT}", table.line)
