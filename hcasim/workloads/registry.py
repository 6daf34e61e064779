"""The benchmarks by name, and how to run one point of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hcasim.catalog import Machine
from hcasim.catalog.algorithms import NAMES as COLLECTIVES
from hcasim.engine import Simulator
from hcasim.workloads import (
    bus,
    copying,
    footprint,
    latency,
    loopback,
    netpipe,
    pool,
    qp_lat,
    registration,
    scatter,
)
from hcasim.workloads.options import Options, Verb
from hcasim.workloads.perftest import flows
from hcasim.workloads.perftest.stream import Stream
from hcasim.workloads.result import Result
from hcasim.workloads.roles import clients_and_server, first_nodes
from hcasim.workloads.windows import bandwidth

Run = Callable[[Simulator, Machine, Options], Result]
Round = Callable[[Options], int]
Listen = Callable[[Simulator], None]


def _once(options: Options) -> int:
    return 1


def _queue_pairs(options: Options) -> int:
    return options.qps


@dataclass(frozen=True)
class Workload:
    """A benchmark.

    Attributes:
        name: as users know it from perftest or pcie-bench.
        title: one line for a list.
        fields: columns of numbers that it measures.
        options: names of the options that mean something to it.
        defaults: options unless the user says otherwise.
        round: iterations after which everything that is used in turn has been used once.
        queue_pairs: those that it makes on a node.
        ladder: whether it runs NetPIPE's message sizes unless the user names some.
        nodes: the numbers of those that take part.
        mpi: whether it needs an MPI library.
    """

    name: str
    title: str
    fields: tuple[str, ...]
    options: frozenset[str]
    defaults: Options
    run: Run
    round: Round = _once
    queue_pairs: Round = _queue_pairs
    ladder: bool = False
    nodes: Callable[[Machine, Options], list[int]] = clients_and_server
    mpi: bool = False


def _windows(options: Options) -> int:
    return -(-options.qps // options.window)


def _both_ends(options: Options) -> int:
    return 2 * options.qps


def _lanes(options: Options) -> int:
    """Those that carry messages, and one for the replies of each process."""
    ports = options.ports if options.mode == "striping" else 1
    return options.processes * (options.qps * ports + 1)


def _lanes_each_way(options: Options) -> int:
    if options.mode == "binding":
        return options.processes * (2 * options.qps + 1)
    return _lanes(options)


_COMMON = {"size", "iters", "warmup", "exact", "explain"}
_BUFFERS = _COMMON | {"page_size"}
_ROLES = {"client", "server"}
_MANY = frozenset(_BUFFERS | {"qps"} | _ROLES)
_LATENCY = _MANY | {"pattern"}
_INLINE = _LATENCY | {"inline"}
_PORTS = frozenset({"ports", "mode", "threshold", "processes"})
_WINDOWED = _MANY | _PORTS | {"window", "reuse", "buffers", "inline", "verb"}
_ALONE = frozenset(_COMMON - {"explain"})
_BUS = _ALONE | {"window"}
_NETPIPE = frozenset(_BUFFERS | _ROLES | {"buffers", "completion", "invalidate", "verb"})
_LAT = Options(iters=10_000, warmup=1000)
_BW = Options(size=65536, iters=100, warmup=10)
_FEW = Options(iters=100, warmup=10)
_STREAM_FIELDS = ("bandwidth_MBps", "rate_Mps")


def _measure(
    title: str, fields: tuple[str, ...], options: frozenset[str], run: Run, **more: Any
) -> Workload:
    """A benchmark named as the function that runs it."""
    return Workload(run.__name__, title, fields, options, run=run, **more)


def _latency(title: str, options: frozenset[str], run: Run, **more: Any) -> Workload:
    usual = {"defaults": _LAT, "round": _queue_pairs}
    return _measure(title, ("latency_us",), options, run, **{**usual, **more})


def _stream(title: str, options: frozenset[str], run: Run, **more: Any) -> Workload:
    return _measure(title, _STREAM_FIELDS, options, run, **{"defaults": _BW, **more})


_FULL_QUEUES = (_MANY - {"warmup"}) | {"tx_depth", "cq_mod"}


def _perftest(name: str, title: str, verb: Verb, iters: int, both_ways: bool = False) -> Workload:
    def run(sim: Simulator, machine: Machine, options: Options) -> Result:
        if options.clients > 1:
            return flows.many_to_one(sim, machine, options, verb)
        return Stream(sim, machine, options, verb, both_ways).run()

    understood = _FULL_QUEUES if verb == "read" else _FULL_QUEUES | {"inline"}
    understood = understood if both_ways else understood | {"clients"}
    usual = Options(size=65536, iters=iters, warmup=0)
    return Workload(
        name,
        title,
        _STREAM_FIELDS,
        understood,
        usual,
        run,
        queue_pairs=lambda options: options.clients * options.qps,
    )


_PAIR = frozenset(_COMMON - {"explain"} | _ROLES | {"processes"})


def _osu_pair(name: str, title: str, fields: tuple[str, ...], **more: Any) -> Workload:
    def run(sim: Simulator, machine: Machine, options: Options) -> Result:
        # Here and below: MPI takes long to import, and few runs need it.
        from hcasim.workloads.mpi import pairs

        return pairs.PAIRS[name](sim, machine, options)

    usual = {"mpi": True, "defaults": Options(size=65536, iters=100, warmup=10)}
    understood = _PAIR if name in ("osu_latency", "imb_pingpong") else _PAIR | {"window"}
    return Workload(name, title, fields, understood, run=run, **{**usual, **more})


def _netpipe_mpi(sim: Simulator, machine: Machine, options: Options) -> Result:
    from hcasim.workloads.mpi.netpipe import netpipe_mpi

    return netpipe_mpi(sim, machine, options)


def _collective(tool: str, name: str) -> Workload:
    apart = tool == "osu"

    def run(sim: Simulator, machine: Machine, options: Options) -> Result:
        from hcasim.workloads.mpi.collectives import CALLS, Collective

        return Collective(sim, machine, options, CALLS[name], apart=apart).run()

    how = "each call by itself" if apart else "calls one behind the other"
    return Workload(
        f"{tool}_{name}",
        f"MPI {name} of all processes, {how}",
        ("latency_us",),
        frozenset({"size", "iters", "warmup", "exact", "nodes", "processes", "algorithm"}),
        Options(size=1024, iters=100, warmup=10),
        run,
        queue_pairs=lambda options: options.processes * options.processes * (options.nodes - 1),
        nodes=first_nodes,
        mpi=True,
    )


def _exchange(name: str, title: str) -> Workload:
    def run(sim: Simulator, machine: Machine, options: Options) -> Result:
        from hcasim.workloads.mpi.collectives import exchange

        return exchange(sim, machine, options, name)

    return Workload(
        f"imb_{name}",
        title,
        ("latency_us", "bandwidth_MBps"),
        frozenset({"size", "iters", "warmup", "exact", "nodes", "processes"}),
        Options(size=1024, iters=100, warmup=10),
        run,
        queue_pairs=lambda options: 2 * options.processes,
        nodes=first_nodes,
        mpi=True,
    )


_ALL = (
    _latency("RDMA write ping-pong, memory polled", _INLINE, latency.write_lat),
    _latency("send/receive ping-pong, CQ polled", _INLINE, latency.send_lat),
    _latency("RDMA read round trip", _LATENCY, latency.read_lat),
    _latency("atomic round trip", _LATENCY | {"op"}, latency.atomic_lat),
    _latency(
        "write ping-pong over queue pairs in turn, the first one's",
        _MANY | {"inline"},
        qp_lat.qp_lat,
        defaults=_FEW,
        round=_once,
    ),
    _latency(
        "a buffer on each queue pair, all completions",
        _MANY | {"inline"},
        scatter.scatter,
        defaults=_FEW,
        round=_once,
    ),
    _latency(
        "RDMA write within one port, there and back",
        _MANY | {"memory"},
        loopback.loopback_lat,
        queue_pairs=_both_ends,
    ),
    _measure(
        "NetPIPE ping-pong over its ladder of sizes",
        ("latency_us", "bandwidth_MBps", "throughput_Mbps"),
        _NETPIPE,
        netpipe.netpipe,
        defaults=Options(size=65536, iters=100, warmup=3, verb="send"),
        round=pool.rotation,
        ladder=True,
    ),
    # perftest's iterations (DEF_ITERS_WB and DEF_ITERS in its perftest_parameters.h).
    _perftest("write_bw", "RDMA writes, full queues", "write", 5000),
    _perftest("write_bibw", "RDMA writes both ways, full queues", "write", 5000, True),
    _perftest("send_bw", "sends, full queues", "send", 1000),
    _perftest("send_bibw", "sends both ways, full queues", "send", 1000, True),
    _perftest("read_bw", "RDMA reads, full queues", "read", 1000),
    _perftest("read_bibw", "RDMA reads both ways, full queues", "read", 1000, True),
    _stream(
        "one-way windows with a reply: write, send or read",
        _WINDOWED,
        bandwidth.window_bw,
        round=_windows,
        queue_pairs=_lanes,
    ),
    _stream(
        "two-way windows with replies: write or send",
        _WINDOWED,
        bandwidth.window_bibw,
        round=_windows,
        queue_pairs=_lanes_each_way,
    ),
    _stream(
        "RDMA writes of each node to each other",
        frozenset(_FULL_QUEUES - _ROLES | {"nodes"}),
        flows.all_to_all,
        defaults=Options(size=65536, iters=100, tx_depth=4),
        queue_pairs=lambda options: 2 * options.qps * (options.nodes - 1),
        nodes=first_nodes,
    ),
    _osu_pair("osu_latency", "MPI ping-pong", ("latency_us",), defaults=_LAT),
    Workload(
        "netpipe_mpi",
        "NetPIPE ping-pong over MPI and its ladder of sizes",
        ("latency_us", "bandwidth_MBps", "throughput_Mbps"),
        _PAIR | {"buffers", "invalidate"},
        Options(size=65536, iters=100, warmup=3, verb="send"),
        _netpipe_mpi,
        round=pool.rotation,
        ladder=True,
        mpi=True,
    ),
    _osu_pair("osu_bw", "MPI windows one way, with a reply", _STREAM_FIELDS),
    _osu_pair("osu_bibw", "MPI windows both ways", _STREAM_FIELDS),
    _osu_pair("imb_pingpong", "MPI ping-pong", ("latency_us", "bandwidth_MBps"), defaults=_LAT),
    _exchange("pingping", "MPI messages of two processes to each other at once"),
    _exchange("sendrecv", "MPI messages around a ring of all processes"),
    _exchange("exchange", "MPI messages with both neighbours, both ways"),
    *(_collective(tool, name) for tool in ("osu", "imb") for name in COLLECTIVES),
    _stream("DMA reads by the adapter, bus alone", _BUS, bus.bw_rd),
    _stream("DMA writes by the adapter, bus alone", _BUS, bus.bw_wr),
    _stream("DMA reads and writes together, bus alone", _BUS, bus.bw_rdwr),
    _latency("one DMA read, bus alone", _ALONE, bus.lat_rd),
    _latency("a DMA write and a read behind it, bus alone", _ALONE, bus.lat_wrrd),
    _measure(
        "registering memory and deregistering it",
        ("registration_us", "deregistration_us"),
        frozenset({"size", "page_size", "memory", "explain"}),
        registration.reg_mr,
        defaults=Options(size=65536),
    ),
    _stream(
        "copies by processors of one node",
        frozenset(_COMMON | {"buffers", "processes"}),
        copying.copy_bw,
    ),
    Workload(
        "host_memory",
        "host memory of connected queue pairs",
        ("pinned_KiB", "total_KiB", "mapped_KiB"),
        frozenset({"qps", "depth", "explain"}),
        Options(),
        footprint.measure,
    ),
)
WORKLOADS: dict[str, Workload] = {workload.name: workload for workload in _ALL}


def run_point(
    name: str, machine: Machine, options: Options, listen: Listen | None = None
) -> Result:
    """Run one benchmark once on a fresh machine.

    Args:
        name: a key of :data:`WORKLOADS`.
        machine: a resolved machine.
        listen: is given the simulator before anything happens, to listen to its blocks.

    Raises:
        KeyError: for an unknown name.
    """
    workload = WORKLOADS[name]
    sim = Simulator()
    if listen is not None:
        listen(sim)
    return workload.run(sim, machine, options)
