"""The forms in which a benchmark's result is printed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.breakdowns import print_breakdown
from hcasim.cli.output import print_json, print_lines, to_csv
from hcasim.cli.tables import print_table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from hcasim.runs.benchmark import Benchmark
    from hcasim.runs.point import Point
    from hcasim.workloads import Options, Workload

    Row = Mapping[str, Any]

FORMATS = ("text", "json", "csv", "perftest", "osu", "netpipe")
BANDED = ("text", "json", "csv")
"""Those of them that also have the quantiles of --uncertainty."""
_PERFTEST_TITLES = {
    "write_lat": "RDMA_Write Latency Test",
    "send_lat": "Send Latency Test",
    "read_lat": "RDMA_Read Latency Test",
    "atomic_lat": "Atomic FETCH_AND_ADD Latency Test",
    "write_bw": "RDMA_Write BW Test",
    "write_bibw": "RDMA_Write Bidirectional BW Test",
    "send_bw": "Send BW Test",
    "send_bibw": "Send Bidirectional BW Test",
    "read_bw": "RDMA_Read BW Test",
    "read_bibw": "RDMA_Read Bidirectional BW Test",
}
_TOLD = {"size", "qps", "tx_depth", "cq_mod", "op", "iters", "inline"}
"""The options that perftest's output says."""
_BUS_ALONE = ("bw_rd", "bw_wr", "bw_rdwr", "lat_rd", "lat_wrrd")
_RULE = "-" * 87
_MIB = 2**20


def format_faults(form: str, workload: str, explain: bool) -> Iterator[str]:
    """Say why a result cannot be printed in a form, before anything is simulated."""
    from hcasim.catalog import nearest, one_of
    from hcasim.workloads import WORKLOADS

    if form not in FORMATS:
        yield f"format: found {form!r}; allowed: {one_of(FORMATS)}{nearest(form, FORMATS)}"
    elif explain and form not in ("text", "json"):
        yield f"--explain: found with format {form}; allowed: text or json"
    known = WORKLOADS.get(workload)
    if known is None or form not in ("perftest", "osu", "netpipe"):
        return
    fitting = [one for one in FORMATS if _has_test(one, known)]
    if form not in fitting:
        what = "test of the bus alone" if workload in _BUS_ALONE else f"test like {workload}"
        yield f"format: {form} has no {what}; allowed: {one_of(fitting)}"


def _has_test(form: str, workload: Workload) -> bool:
    """Whether the results of a workload can be printed in the layout of a tool."""
    measured = set(workload.fields)
    if form in ("perftest", "osu") and workload.name in _BUS_ALONE:
        return False
    if form == "perftest":
        return workload.name in _PERFTEST_TITLES
    if form == "osu":
        return bool(measured & {"latency_us", "bandwidth_MBps"})
    return form != "netpipe" or "throughput_Mbps" in measured


def untold(form: str, points: Iterable[Point]) -> Iterator[str]:
    """Say which options perftest's output does not: it would be that of another experiment."""
    from hcasim.runs.options import changed
    from hcasim.workloads import WORKLOADS

    if form != "perftest":
        return
    found = (changed(WORKLOADS[one.workload], one.options) for one in points)
    for name in sorted({name for one in found for name in one} - _TOLD):
        option = name.replace("_", "-")
        yield (
            f"--{option}: found with format perftest, which does not say it; "
            "allowed: text, json, csv or osu"
        )


def print_benchmark(result: Benchmark, form: str) -> None:
    """Print a result.

    Parameters:
        result: what was measured.
        form: one of FORMATS.
    """
    if form == "json":
        print_json(result.to_dict())
    elif form == "csv":
        print_lines(to_csv(result.curve.rows))
    elif form in ("perftest", "osu"):
        of_run = _perftest if form == "perftest" else _osu
        print_lines("\n".join(line for run in _runs(result) for line in of_run(result, *run)))
    elif form == "netpipe":
        lines = terminal_lines(result.curve.rows, result.options.iters)
        print_lines("\n".join((*settings(result.changed, ("size", "iters")), *lines)))
    else:
        _print_text(result)


def _print_text(result: Benchmark) -> None:
    from hcasim.ground.quantities import heading, written
    from hcasim.workloads import WORKLOADS

    machine, axes, fields = result.machine, result.axes, result.fields
    what_if = "".join(f", {path}={value}" for path, value in machine.overrides.items())
    ends = [name for name in result.curve.rows[-1] if name.endswith(("_min_MBps", "_max_MBps"))]
    fields = (*fields, *ends)
    columns = (*(axis.title for axis in axes), *(heading(name) for name in fields))
    rows = (
        (
            *(axis.label(row[axis.name]) for axis in axes),
            *(written(row[name], name) if name in row else "" for name in fields),
        )
        for row in result.curve.rows
    )
    modes = [p for p in machine.parameters if p.path.endswith("adapter.firmware_mode")]
    loud = {mode.value for mode in modes if mode.value != "tavor" or mode.evidence == "assumed"}
    taking = WORKLOADS[result.workload].nodes(machine, result.options)
    adapters = [machine.place(node)[0].adapter for node in taking]
    adapter = " and ".join(
        dict.fromkeys(
            f"{one.id} ({one.firmware_mode})" if one.firmware_mode in loud else one.id
            for one in adapters
        )
    )
    machine_in_words = f"{result.workload} on {machine.id}, {adapter}{what_if}"
    print_table(machine_in_words, columns, rows, right=columns)
    for point, breakdown in zip(result.points, result.breakdowns, strict=False):
        click.echo()
        print_breakdown(_named(point), breakdown)


def _named(point: Mapping[str, int]) -> str:
    """A point in words: "4096 B", "4096 B, 128 QPs" or "64 KiB, 50 % reuse"."""
    from hcasim.ground.units import format_size

    def word(name: str, value: int) -> str:
        if name == "size":
            return format_size(value)
        if name == "reuse":
            return f"{value} % reuse"
        return f"{value} QP" if value == 1 else f"{value} QPs"

    return ", ".join(word(name, value) for name, value in point.items())


def _runs(result: Benchmark) -> Iterator[tuple[list[Row], list[Row]]]:
    """The rows that one run of such a tool prints, those that differ in size only; and of each the
    options that are not the defaults."""
    runs: dict[tuple[Any, ...], tuple[list[Row], list[Row]]] = {}
    others = [axis.name for axis in result.axes if axis.name != "size"]
    for row, options in zip(result.curve.rows, result.changed, strict=True):
        apart = (*(row[name] for name in others), _moderation(result.options, row))
        rows, changed = runs.setdefault(apart, ([], []))
        rows.append(row)
        changed.append(options)
    yield from runs.values()


def _moderation(options: Options, row: Row) -> int:
    from hcasim.workloads.perftest.side import moderation

    return moderation(replace(options, size=row.get("size", options.size)))


def _perftest(result: Benchmark, rows: list[Row], changed: list[Row]) -> Iterator[str]:
    """The layout of linux-rdma/perftest, whose bandwidths are in 2^20 bytes per second.

    The simulator has one value where a measurement has many: it stands in all columns.
    """
    machine, options = result.machine, result.options
    latency = "latency_us" in result.curve.fields
    title = _PERFTEST_TITLES[result.workload]
    if options.op == "cmp_swap":
        title = title.replace("FETCH_AND_ADD", "CMP_AND_SWAP")
    yield _RULE
    yield f"                    {title}"
    dual = "ON" if options.ports > 1 else "OFF"
    yield f" Dual-port       : {dual}\t\tDevice         : hcasim-{machine.adapter.id}"
    transport = _TRANSPORT[machine.adapter.protocol.kind]
    yield f" Number of qps   : {rows[0]['qps']}\t\tTransport type : {transport}"
    yield " Connection type : RC\t\tUsing SRQ      : OFF"
    yield f" TX depth        : {1 if latency else min(options.tx_depth, options.iters)}"
    if not latency:
        yield f" CQ Moderation   : {_moderation(options, rows[0])}"
    yield f" Mtu             : {machine.mtu}[B]"
    if options.inline:
        yield f" Max inline data : {max(row['size'] for row in rows)}[B]"
    yield f" Link type       : {_LINK[machine.link.kind]}"
    yield _RULE
    yield (_LATENCY_HEAD if latency else _BANDWIDTH_HEAD)
    for row in rows:
        # Of a bandwidth, it counts those of all queue pairs.
        iters = options.iters if latency else options.iters * row["qps"]
        yield (_latency_line if latency else _bandwidth_line)(row, iters)
    yield _RULE


_TRANSPORT = {"infiniband": "IB", "iwarp": "IW"}
_LINK = {"infiniband": "IB", "ethernet": "Ethernet"}
_LATENCY_HEAD = (
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
    "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] "
)
_BANDWIDTH_HEAD = " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]"


def _latency_line(row: Mapping[str, Any], iters: int) -> str:
    one = f"{row['latency_us']:<7.2f}"
    return (
        f" {row['size']:<7} {iters}          {one}        {one}      {one}  \t       {one}"
        f"     \t{0:<7.2f}\t\t{one} \t\t{one}"
    )


def _bandwidth_line(row: Mapping[str, Any], iters: int) -> str:
    one = f"{row['bandwidth_MBps'] * 1e6 / _MIB:<7.2f}"
    rate = row["bandwidth_MBps"] / row["size"]
    return f" {row['size']:<7}    {iters:<10}       {one}            {one}\t\t   {rate:<7.6f}"


def terminal_lines(rows: Iterable[Mapping[str, Any]], iters: int) -> Iterator[str]:
    """The lines that it prints while it runs; its Mbps are 2^20 bits per second.

    Parameters:
        rows: what was measured, size by size.
        iters: round trips that were timed for each.
    """
    for number, row in enumerate(rows):
        yield (
            f"{number:3}: {row['size']:7} bytes {iters:6} times --> "
            f" {row['throughput_Mbps']:8.2f} Mbps in {row['latency_us']:10.2f} usec"
        )


def settings(changed: Iterable[Row], said: Collection[str]) -> Iterator[str]:
    """A comment for each option that `import` is to know.

    Parameters:
        changed: those of each point that are not the defaults.
        said: those that the form says itself.
    """
    for name, value in {name: one[name] for one in changed for name in one}.items():
        if name not in said:
            yield f"# [ {name}: {'yes' if value is True else value} ]"


def _osu(result: Benchmark, rows: list[Row], changed: list[Row]) -> Iterator[str]:
    """The layout of the OSU micro-benchmarks, whose bandwidths are in 10^6 bytes per second."""
    from hcasim import __version__

    if result.workload == "osu_mbw_mr":
        columns = {"MB/s": ("bandwidth_MBps", 1.0), "Messages/s": ("rate_Mps", 1e6)}
    elif "latency_us" in result.curve.fields:
        columns = {"Latency (us)": ("latency_us", 1.0)}
    else:
        columns = {"Bandwidth (MB/s)": ("bandwidth_MBps", 1.0)}
    yield f"# hcasim {result.workload} ({result.machine.adapter.id}) v{__version__}"
    axes = {axis.name: rows[0][axis.name] for axis in result.axes}
    yield from settings([axes, *changed], ("size",))
    yield "".join((f"{'# Size':<10}", *(f"{title:>18}" for title in columns)))
    for row in rows:
        cells = (f"{scale * row[field]:>18.2f}" for field, scale in columns.values())
        yield "".join((f"{row['size']:<10}", *cells))
