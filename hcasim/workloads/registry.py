"""The benchmarks by name, and how to run one point of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hcasim.catalog import Machine
from hcasim.engine import Listener, Simulator
from hcasim.workloads import (
    bandwidth,
    bus,
    copying,
    flows,
    footprint,
    latency,
    loopback,
    netpipe,
    perftest,
    pool,
    qp_lat,
    registration,
    scatter,
)
from hcasim.workloads.options import Options, Verb
from hcasim.workloads.result import Result
from hcasim.workloads.roles import clients_and_server, first_nodes

Run = Callable[[Simulator, Machine, Options], Result]


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
    """

    name: str
    title: str
    fields: tuple[str, ...]
    options: frozenset[str]
    defaults: Options
    run: Run
    round: Callable[[Options], int] = lambda _: 1
    queue_pairs: Callable[[Options], int] = lambda options: options.qps
    ladder: bool = False
    nodes: Callable[[Machine, Options], list[int]] = clients_and_server


def _queue_pairs(options: Options) -> int:
    return options.qps


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
_LATENCY_FIELDS = ("latency_us",)
_MANY_DEFAULTS = Options(iters=100, warmup=10)
_NETPIPE_DEFAULTS = Options(size=65536, iters=100, warmup=3, verb="send")
_STREAM_FIELDS = ("bandwidth_MBps", "rate_Mps")

_FULL_QUEUES = (_MANY - {"warmup"}) | {"tx_depth", "cq_mod"}


def _perftest(name: str, title: str, verb: Verb, iters: int, both_ways: bool = False) -> Workload:
    def run(sim: Simulator, machine: Machine, options: Options) -> Result:
        if options.clients > 1:
            return flows.many_to_one(sim, machine, options, verb)
        return perftest.Stream(sim, machine, options, verb, both_ways).run()

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


WORKLOADS: dict[str, Workload] = {
    workload.name: workload
    for workload in (
        Workload(
            "write_lat",
            "RDMA write ping-pong, memory polled",
            _LATENCY_FIELDS,
            _INLINE,
            _LAT,
            latency.write_lat,
            _queue_pairs,
        ),
        Workload(
            "send_lat",
            "send/receive ping-pong, CQ polled",
            _LATENCY_FIELDS,
            _INLINE,
            _LAT,
            latency.send_lat,
            _queue_pairs,
        ),
        Workload(
            "read_lat",
            "RDMA read round trip",
            _LATENCY_FIELDS,
            _LATENCY,
            _LAT,
            latency.read_lat,
            _queue_pairs,
        ),
        Workload(
            "atomic_lat",
            "atomic round trip",
            _LATENCY_FIELDS,
            _LATENCY | {"op"},
            _LAT,
            latency.atomic_lat,
            _queue_pairs,
        ),
        Workload(
            "qp_lat",
            "write ping-pong over queue pairs in turn, the first one's",
            _LATENCY_FIELDS,
            _MANY | {"inline"},
            _MANY_DEFAULTS,
            qp_lat.qp_lat,
        ),
        Workload(
            "scatter",
            "a buffer on each queue pair, all completions",
            _LATENCY_FIELDS,
            _MANY | {"inline"},
            _MANY_DEFAULTS,
            scatter.scatter,
        ),
        Workload(
            "loopback_lat",
            "RDMA write within one port, there and back",
            _LATENCY_FIELDS,
            _MANY | {"memory"},
            _LAT,
            loopback.loopback_lat,
            _queue_pairs,
            _both_ends,
        ),
        Workload(
            "netpipe",
            "NetPIPE ping-pong over its ladder of sizes",
            ("latency_us", "bandwidth_MBps", "throughput_Mbps"),
            _NETPIPE,
            _NETPIPE_DEFAULTS,
            netpipe.netpipe,
            pool.rotation,
            ladder=True,
        ),
        # perftest's iterations (DEF_ITERS_WB and DEF_ITERS in its perftest_parameters.h).
        _perftest("write_bw", "RDMA writes, full queues", "write", 5000),
        _perftest("write_bibw", "RDMA writes both ways, full queues", "write", 5000, True),
        _perftest("send_bw", "sends, full queues", "send", 1000),
        _perftest("send_bibw", "sends both ways, full queues", "send", 1000, True),
        _perftest("read_bw", "RDMA reads, full queues", "read", 1000),
        _perftest("read_bibw", "RDMA reads both ways, full queues", "read", 1000, True),
        Workload(
            "window_bw",
            "one-way windows with a reply: write, send or read",
            _STREAM_FIELDS,
            _WINDOWED,
            _BW,
            bandwidth.window_bw,
            _windows,
            _lanes,
        ),
        Workload(
            "window_bibw",
            "two-way windows with replies: write or send",
            _STREAM_FIELDS,
            _WINDOWED,
            _BW,
            bandwidth.window_bibw,
            _windows,
            _lanes_each_way,
        ),
        Workload(
            "all_to_all",
            "RDMA writes of each node to each other",
            _STREAM_FIELDS,
            frozenset(_FULL_QUEUES - _ROLES | {"nodes"}),
            Options(size=65536, iters=100, tx_depth=4),
            flows.all_to_all,
            queue_pairs=lambda options: 2 * options.qps * (options.nodes - 1),
            nodes=first_nodes,
        ),
        Workload(
            "bw_rd", "DMA reads by the adapter, bus alone", _STREAM_FIELDS, _BUS, _BW, bus.bw_rd
        ),
        Workload(
            "bw_wr", "DMA writes by the adapter, bus alone", _STREAM_FIELDS, _BUS, _BW, bus.bw_wr
        ),
        Workload(
            "bw_rdwr",
            "DMA reads and writes together, bus alone",
            _STREAM_FIELDS,
            _BUS,
            _BW,
            bus.bw_rdwr,
        ),
        Workload(
            "lat_rd",
            "one DMA read, bus alone",
            _LATENCY_FIELDS,
            _ALONE,
            _LAT,
            bus.lat_rd,
        ),
        Workload(
            "lat_wrrd",
            "a DMA write and a read behind it, bus alone",
            _LATENCY_FIELDS,
            _ALONE,
            _LAT,
            bus.lat_wrrd,
        ),
        Workload(
            "reg_mr",
            "registering memory and deregistering it",
            ("registration_us", "deregistration_us"),
            frozenset({"size", "page_size", "memory", "explain"}),
            Options(size=65536),
            registration.reg_mr,
        ),
        Workload(
            "copy_bw",
            "copies by processors of one node",
            _STREAM_FIELDS,
            frozenset(_COMMON | {"buffers", "processes"}),
            _BW,
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
}


def run_point(
    name: str, machine: Machine, options: Options, listener: Listener | None = None
) -> Result:
    """Run one benchmark once on a fresh machine.

    Args:
        name: a key of :data:`WORKLOADS`.
        machine: a resolved machine.
        listener: told what happens in the blocks.

    Raises:
        KeyError: for an unknown name.
    """
    workload = WORKLOADS[name]
    sim = Simulator()
    if listener is not None:
        sim.listeners.append(listener)
    return workload.run(sim, machine, options)
