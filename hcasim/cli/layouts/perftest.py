"""The layout of linux-rdma/perftest, whose bandwidths are in 2^20 bytes per second."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hcasim.cli.layouts.runs import moderated

if TYPE_CHECKING:
    from hcasim.runs.benchmark import Benchmark

    Row = Mapping[str, Any]

TITLES = {
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
    "atomic_bw": "Atomic FETCH_AND_ADD BW Test",
    "atomic_bibw": "Atomic FETCH_AND_ADD Bidirectional BW Test",
}
TOLD = {"size", "qps", "tx_depth", "cq_mod", "op", "iters", "inline"} | {
    "inline_size",
    "post_list",
    "connection",
}
"""The options that it says."""
_RULE = "-" * 87
_MIB = 2**20


def lines(result: Benchmark, rows: list[Row], changed: list[Row]) -> Iterator[str]:
    """What a run prints.

    The simulator has one value where a measurement has many: it stands in all columns.

    Parameters:
        result: what was measured.
        rows: those of the run.
        changed: of each row the options that are not the defaults; all that it may be are said.
    """
    machine, options = result.machine, result.options
    latency = "latency_us" in result.curve.fields
    title = TITLES[result.workload]
    if options.op == "cmp_swap":
        title = title.replace("FETCH_AND_ADD", "CMP_AND_SWAP")
    yield _RULE
    yield f"                    {title}"
    dual = "ON" if options.ports > 1 else "OFF"
    yield f" Dual-port       : {dual}\t\tDevice         : hcasim-{machine.adapter.id}"
    transport = _TRANSPORTS[machine.hca.protocol.kind]
    yield f" Number of qps   : {rows[0]['qps']}\t\tTransport type : {transport}"
    yield f" Connection type : {options.connection}\t\tUsing SRQ      : OFF"
    yield f" TX depth        : {1 if latency else min(options.tx_depth, options.iters)}"
    if options.post_list > 1:
        yield f" Post List       : {options.post_list}"
    if not latency:
        yield f" CQ Moderation   : {moderated(options, rows[0])}"
    yield f" Mtu             : {machine.mtu}[B]"
    if options.inline:
        yield f" Max inline data : {max(row['size'] for row in rows)}[B]"
    elif options.inline_size > 0 or (latency and not options.inline_size):
        yield f" Max inline data : {options.inline_size}[B]"
    yield f" Link type       : {_LINKS[machine.link.kind]}"
    yield _RULE
    yield (_LATENCY_HEAD if latency else _BANDWIDTH_HEAD)
    for row in rows:
        # Of a bandwidth, it counts those of all queue pairs.
        iters = options.iters if latency else options.iters * row["qps"]
        yield (_latency_line if latency else _bandwidth_line)(row, iters)
    yield _RULE


_TRANSPORTS = {"infiniband": "IB", "rocev2": "IB", "iwarp": "IW"}
_LINKS = {"infiniband": "IB", "ethernet": "Ethernet"}
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
