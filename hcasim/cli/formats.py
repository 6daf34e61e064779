"""The forms in which a benchmark's result is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from hcasim.cli.output import print_json, print_table, to_csv

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hcasim.study import Benchmark

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
}
_RULE = "-" * 87
_MIB = 2**20


def format_faults(form: str, workload: str) -> Iterator[str]:
    """Say why a result cannot be printed in a form, before anything is simulated."""
    from hcasim.catalog import nearest, one_of
    from hcasim.cli.bench import FORMATS

    if form not in FORMATS:
        yield f"format: found {form!r}; allowed: {one_of(FORMATS)}{nearest(form, FORMATS)}"
    if form in ("perftest", "osu") and workload.startswith(("bw_", "lat_")):
        yield f"format: {form} has no test of the bus alone; allowed: text, json or csv"


def print_benchmark(result: Benchmark, form: str) -> None:
    """Print a result.

    Parameters:
        result: what was measured.
        form: one of bench.FORMATS.
    """
    if form == "json":
        print_json(result.to_dict())
    elif form == "csv":
        click.echo(to_csv(result.curve.rows), nl=False)
    elif form == "perftest":
        click.echo("\n".join(_perftest(result)))
    elif form == "osu":
        click.echo("\n".join(_osu(result)))
    else:
        _print_text(result)


def _print_text(result: Benchmark) -> None:
    from hcasim.study import axis_label
    from hcasim.study.curve import TITLES

    machine, fields = result.machine, result.curve.fields
    what_if = "".join(f", {path}={value}" for path, value in machine.overrides.items())
    columns = ("Size", *(TITLES[name] for name in fields))
    rows = (
        (axis_label(row["size"]), *(_number(row[n]) for n in fields)) for row in result.curve.rows
    )
    title = f"{result.workload} on {machine.id}, {machine.adapter.id}{what_if}"
    print_table(title, columns, rows, right=columns)
    for size, breakdown in result.breakdowns.items():
        click.echo()
        _print_breakdown(axis_label(size), breakdown)


def _number(value: float) -> str:
    return f"{value:.4f}" if value < 1 else f"{value:.2f}"


def _print_breakdown(size: str, breakdown: Mapping[str, Any]) -> None:
    if "stages" in breakdown:
        total = breakdown["total_us"]
        stages = [(one["stage"], one["us"]) for one in breakdown["stages"]]
        columns = ("Stage", "us", "Share")
        rows = [(name, f"{us:.3f}", f"{100 * us / total:.1f} %") for name, us in stages]
        rows.append(("total", f"{total:.3f}", "100.0 %"))
        print_table(f"Where the time of {size} goes", columns, rows, right=columns[1:])
        return
    columns = ("Resource", "Busy", "Waited for")
    rows = [
        (one["name"], _share(one, "busy"), _share(one, "waited")) for one in breakdown["resources"]
    ]
    title = f"What limits {size}: {breakdown['binds']}"
    print_table(title, columns, rows, right=columns[1:])


def _share(resource: Mapping[str, Any], name: str) -> str:
    return f"{100 * resource[name]:.1f} %" if name in resource else ""


def _perftest(result: Benchmark) -> Iterator[str]:
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
    yield f" Number of qps   : {options.qps}\t\tTransport type : IB"
    yield " Connection type : RC\t\tUsing SRQ      : OFF"
    yield f" TX depth        : {1 if latency else options.window}"
    yield f" Mtu             : {machine.mtu}[B]"
    yield " Link type       : IB"
    yield _RULE
    yield (_LATENCY_HEAD if latency else _BANDWIDTH_HEAD)
    for row in result.curve.rows:
        yield _latency_line(row, options.iters) if latency else _bandwidth_line(row, options.iters)
    yield _RULE


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


def _osu(result: Benchmark) -> Iterator[str]:
    """The layout of the OSU micro-benchmarks, whose bandwidths are in 10^6 bytes per second."""
    from hcasim import __version__

    latency = "latency_us" in result.curve.fields
    field, title = (
        ("latency_us", "Latency (us)")
        if latency
        else (
            "bandwidth_MBps",
            "Bandwidth (MB/s)",
        )
    )
    yield f"# hcasim {result.workload} ({result.machine.adapter.id}) v{__version__}"
    yield f"{'# Size':<10}{title:>18}"
    for row in result.curve.rows:
        yield f"{row['size']:<10}{row[field]:>18.2f}"
