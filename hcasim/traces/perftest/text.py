"""What perftest prints: ib_write_lat, ib_read_bw and the like, since its first versions.

The layout follows linux-rdma/perftest, src/perftest_parameters.h and .c. Its MB are 2^20 bytes;
times of writes and sends are half a round trip as printed, those of reads and atomics a whole one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from hcasim.ground.errors import one_of
from hcasim.ground.faults import shown
from hcasim.traces import simulated
from hcasim.traces.figures import Figure, agree, all_numbers, count, figure
from hcasim.traces.perftest.run import BANDWIDTH_UNITS, COLUMNS, OPS, TITLES, UNITS, Run, is_nothing
from hcasim.traces.schema import Measured
from hcasim.traces.source import Unreadable
from hcasim.traces.tool_output import CUT, Reader, Row, Table, read_head

_TITLE = re.compile(r"\s*((?:Send|RDMA_Write|RDMA_Read|Atomic)(?:_imm)?(?: [A-Za-z_-]+)* Test)\s*")
_OTHER_TITLE = re.compile(r" {4,}(\S.* Test)\s*")
_HEAD = re.compile(r"\s*#bytes(?!\s+#repetitions)\s.*")
# Behind the table of both directions, each one's again.
_ONE_WAY = re.compile(r"\s*(Local|Remote) results:\s*")
_RULE = re.compile(r"\s*-{40,}\s*")
# --use_cuda and the like print this before the title.
_ACCELERATOR = re.compile(r"\s*allocated .*\bGPU buffer\b.*")
_LISTING = re.compile(r"#, (\S+)\s*")
_LISTED = re.compile(r"([0-9]+), (\S+)\s*", re.ASCII)
_COMMAND = re.compile(r"(?:^|[\s/])(ib_(?:write|send|read|atomic)_(?:lat|bw)(?:\s.*)?)$")
_TROUBLE = re.compile(
    r"couldn't|failed|failure|error|unable|timed? ?out|refused|cannot|can't", re.IGNORECASE
)
_RULES = 4
"""Lines of dashes that an end prints: before the title, the addresses and the head, and last."""
_ONE_END = "allowed: what one end prints, such as `ib_write_lat > server.txt` beside it"
_TAIL = 2
"""Longest samples that versions since 2017 leave out of a line and of -H, but not of -U."""

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


@dataclass
class _Samples:
    """The samples of -U, in the order of time, or of -H, sorted."""

    unit: str
    values: list[Figure] = field(default_factory=list)
    is_open: bool = True


class PerftestReader(Reader):
    """Reads the text that perftest prints; of two ends on one terminal their lines may be mixed."""

    tool = "perftest"
    name = "perftest's text"
    marks = (_TITLE, _HEAD)
    workloads = tuple(TITLES)
    units = UNITS
    needless = ("nodes", "processes", "algorithm")
    ends_itself = True
    run: Run | None = None
    table: Table | None = None
    unit = ""
    """Of the bandwidths of the table."""
    closed = skipped = False
    rules = 0
    """Lines of dashes since the last table."""
    samples: _Samples | None = None
    trouble = ""
    accelerated = False
    untold = "without the title of its test"

    def take(self, text: str) -> None:
        """Read one line."""
        if _TROUBLE.search(text) and not self.trouble:
            self.trouble = text.strip()
        if match := _TITLE.fullmatch(text):
            self._begin(match[1])
        elif _ACCELERATOR.fullmatch(text):
            self.accelerated = True
        elif match := _ONE_WAY.fullmatch(text):
            self.close()
            self.skipped = True
            way = match[1].lower()
            self.note(f"line {self.line}: {way} results (--report-both) passed over")
        elif match := _OTHER_TITLE.fullmatch(text):
            self.untold = f"of {shown(match[1])}, which is not known"
        elif self.skipped:
            # The heads and lines of one direction.
            pass
        elif _HEAD.fullmatch(text):
            self._head(text)
        elif match := _LISTING.fullmatch(text):
            self._list(match[1])
        elif _RULE.fullmatch(text):
            self._rule()
        elif self.table is None or not self.table.titles:
            if all_numbers(text, 3):
                if self.table is not None:
                    raise Unreadable(
                        f"found figures behind the title of line {self.table.line} and before its "
                        f"head, as of two ends on one terminal; {_ONE_END}"
                    )
                self.pass_over(text)
            self._take_settings(text)
        elif self.closed:
            if all_numbers(text, 3):
                raise Unreadable("found a line of figures behind the end of its table")
        elif self.samples and self.samples.is_open and (match := _LISTED.fullmatch(text)):
            values = self.samples.values
            if int(match[1][:15]) != len(values) + 1:
                raise Unreadable(f"found sample {match[1]} after {len(values)}: lines are missing")
            values.append(figure(match[2], f"sample {match[1]}"))
        elif self.is_row(text, self.table):
            assert self.run is not None
            self._row(self.run, self.table, text.split())

    def _begin(self, title: str) -> None:
        run, table = self.run, self.table
        begun = table is not None and table.ends == 1 and not (table.titles or self.trouble)
        if table and begun and run and run.title == title.replace("_", " "):
            table.ends = 2
            self.note(f"line {self.line}: the other end prints here, too")
            return
        self.close()
        self.run, self.table = Run(self.hints), Table(self.line, words=("sl",), least=1)
        self.run.set_title(title)
        self.check_title(self.run.workload)
        self.table.workload = self.run.workload
        if self.accelerated:
            self.run.options["accelerator"] = True
        self.accelerated = False

    def _take_settings(self, text: str) -> None:
        if match := _COMMAND.search(text):
            self.commands[match[1].strip()] = None
        if self.run is None or self.table is None:
            return
        before = dict(self.run.settings)
        self.run.take_settings(text)
        for name, value in before.items() if self.table.ends > 1 else ():
            if (found := self.run.settings[name]) != value:
                both = f"{shown(value)} and {shown(found)} of two ends on one terminal"
                raise Unreadable(f"{name}: found {both}; {_ONE_END}")

    def _head(self, text: str) -> None:
        titles, units = read_head(text, COLUMNS, ("median", "mean", "bandwidth"))
        units = {BANDWIDTH_UNITS[unit] for unit in units & {*BANDWIDTH_UNITS}}
        if len(units) > 1 or "iters" not in titles:
            found = f"bandwidths in {one_of(sorted(units))}" if units else "no iterations"
            raise Unreadable(f"head of the table: found {found}")
        unit = "".join(units)
        table, samples = self.table, self.samples
        if table is not None and table.titles and not self.closed and (samples or table.ends > 1):
            # -U and -H print the head again behind their samples.
            if titles != table.titles:
                raise Unreadable("found another head than above in the same table")
            if samples:
                samples.is_open = False
            return
        if table is None or table.titles or self.run is None:
            self.close()
            if not self.hints.workload:
                raise Unreadable(
                    f"found a table {self.untold}; --workload says which it is: {one_of([*TITLES])}"
                )
            self.run = Run(self.hints, self.hints.workload)
            self.table = table = Table(self.line, self.run.workload, words=("sl",), least=1)
        if self.hints.unit and unit and self.hints.unit != unit:
            raise Unreadable(f"found {unit}; --unit says {self.hints.unit}")
        if self.run.is_latency == ("bandwidth" in titles):
            name = self.run.title or self.run.workload
            raise Unreadable(f"found the columns of another test than {name}")
        table.titles, table.line, self.unit = titles, self.line, unit

    def _list(self, unit: str) -> None:
        if self.table is None or not self.table.titles:
            raise Unreadable("found samples before the head of their table")
        if unit not in ("usec", "cycles"):
            raise Unreadable(f"samples: found {shown(unit)}; allowed: usec or cycles")
        self.samples = _Samples(unit)

    def _rule(self) -> None:
        if self.samples and self.samples.is_open:
            self.samples.is_open = False
            return
        self.rules += 1
        table = self.table
        if self.closed or table is None or not table.titles:
            return
        if table.ends == 1 or self.rules >= _RULES * table.ends:
            self.rules, self.closed = 0, True
            # What went wrong in a run with results is not why the next one has none.
            self.trouble = "" if table.rows else self.trouble

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
            found = [self._latency(run, row.cells, iters)]
        else:
            found = run.bandwidth(row.cells, size, iters, self.unit)
        own = Row(row.line, None, None)
        self.add(table, own, found, run.device(), run.port())

    def _latency(self, run: Run, cells: dict[str, Figure], iters: int) -> Measured:
        samples, self.samples = self.samples, None
        if samples and samples.unit == "cycles" and self.hints.cpu_mhz is None:
            raise Unreadable(
                "found cycles (-C); --cpu-mhz says how many of them make a microsecond"
            )
        printed = run.latency(cells, iters)
        if samples is None or "median" not in cells:
            return printed
        cycles = self.hints.cpu_mhz or Decimal(1)
        return _sampled(printed, samples.values, iters, cells["median"], cycles)

    def close(self) -> None:
        """End a table; one that is cut off is refused."""
        table, run, closed = self.table, self.run, self.closed
        self.table = self.run = self.samples = None
        self.closed = self.skipped = False
        if table is None or run is None:
            return
        if not table.rows and (self.trouble or closed):
            reason = self.trouble or "nothing was printed, as on the server of a one-way test"
            self.fail(run.workload, {}, reason, table.line)
        elif not (table.titles and closed):
            if table.ends > 1:
                reason = f"found two ends on one terminal, of which one is cut; {_ONE_END}"
            elif not table.titles:
                reason = f"found no table behind the title: {CUT}"
            else:
                reason = f"found no line of dashes behind the table: {CUT}"
            raise Unreadable(reason, table.line)


def _sampled(
    printed: Measured, samples: list[Figure], iters: int, middle: Figure, cycles: Decimal
) -> Measured:
    """Put the samples in the place of their statistics, if both say the same."""
    if len(samples) not in (iters - 1, iters - 1 - _TAIL):
        raise Unreadable(
            f"found {len(samples)} samples above for {iters} iterations; "
            f"allowed: {iters - 1}: lines are missing"
        )
    numbers = [one.value for one in samples]
    in_order = sorted(numbers)
    rough = Decimal("1e-5")
    for tail in (0, _TAIL):
        some = in_order[: len(in_order) - tail]
        if some:
            low, high = some[(len(some) - 1) // 2], some[len(some) // 2]
            if agree(middle.between(), (low * (1 - rough), high * (1 + rough))):
                break
    else:
        raise Unreadable(f"found a typical time of {middle.text}, which is not that of the samples")
    values = [float(one / cycles * 1000) for one in numbers]
    form: dict[str, object] = {"samples": tuple(values)}
    if len(samples) != iters - 1 or (numbers == in_order and len(samples) > _TAIL):
        form = {"histogram": tuple(sorted(Counter(values).items()))}
    same = {"quantity": printed.quantity, "unit": printed.unit, "printed": printed.printed}
    return Measured.model_validate(same | form)
