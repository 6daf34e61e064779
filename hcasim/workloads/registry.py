"""The benchmarks by name, and how to run one point of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from hcasim.catalog import Adapter, Machine, NodeGroup
from hcasim.engine import Simulator, seldom_collected
from hcasim.verbs import WROpcode
from hcasim.verbs.qp import ATOMIC_SIZE
from hcasim.workloads import (
    bus,
    footprint,
    latency,
    memory,
    netpipe,
    nvmf,
)
from hcasim.workloads.end import ATOMICS
from hcasim.workloads.explain import Sample
from hcasim.workloads.flows import (
    all_to_all,
    incast,
    many_to_one,
    neighbour,
    permutation,
    shifted_nodes,
)
from hcasim.workloads.limits import latency_bound
from hcasim.workloads.mpi.benchmarks import MPI
from hcasim.workloads.options import Options
from hcasim.workloads.perftest.stream import Stream
from hcasim.workloads.rdma_bench import rates, request_reply
from hcasim.workloads.result import Result
from hcasim.workloads.roles import first_nodes, the_first
from hcasim.workloads.windows import bandwidth
from hcasim.workloads.workload import (
    COMMON,
    ROLES,
    STREAM_FIELDS,
    Round,
    Run,
    Workload,
    once,
    queue_pairs_of,
    twice,
)

Listen = Callable[[Simulator], None]


def _windows(options: Options) -> int:
    return -(-options.qps // options.window)


def _both_ends(options: Options) -> int:
    return 2 * options.qps


def _of_a_node(options: Options) -> int:
    return options.clients * (_both_ends(options) if options.loopback else options.qps)


def _lanes(options: Options) -> int:
    """Those that carry messages, and one for the replies of each process."""
    ports = options.ports if options.mode == "striping" else 1
    return options.processes * (options.qps * ports + 1)


def _lanes_each_way(options: Options) -> int:
    if options.mode == "binding":
        return options.processes * (2 * options.qps + 1)
    return _lanes(options)


_BUFFERS = COMMON | {"page_size"}
_MANY = frozenset(_BUFFERS | {"qps"} | ROLES)
_LATENCY = _MANY | {"pattern", "loopback"}
_INLINE = _LATENCY | {"inline", "inline_size", "connection"}
_WRITE, _SEND, _READ = WROpcode.RDMA_WRITE, WROpcode.SEND, WROpcode.RDMA_READ
_REGION = frozenset({"region", "access"})
_PORTS = frozenset({"ports", "mode", "threshold", "processes"})
_WINDOWED = _MANY | _PORTS | {"window", "reuse", "buffers", "inline", "verb"}
_DEVICE = frozenset(COMMON - {"explain"} | {"window_bytes", "cache", "iommu"})
_BUS = _DEVICE | {"window", "explain"}
_ONE = _DEVICE | {"path"}
_BY_ITSELF: dict[str, Any] = {"rdma": False, "nodes": the_first}
_NETPIPE = frozenset(_BUFFERS | ROLES | {"buffers", "completion", "invalidate", "verb"})
_LAT = Options(iters=10_000, warmup=1000, inline_size=-1)
_BW = Options(size=65536, iters=100, warmup=10)
_TWO_SIDED = {"verb": ("write", "send")}
_CONNECTED = {"connection": ("RC", "UC")}
_RATED = {"verb": ("write", "read"), **_CONNECTED}
_FEW = Options(iters=100, warmup=10)


def _measure(
    title: str, fields: tuple[str, ...], options: frozenset[str], run: Run, **more: Any
) -> Workload:
    """A benchmark named as the function that runs it."""
    return Workload(run.__name__, title, fields, options, run=run, **more)


def _latency(title: str, options: frozenset[str], run: Run, **more: Any) -> Workload:
    usual = {"defaults": _LAT, "round": queue_pairs_of, "queue_pairs": _of_a_node}
    return _measure(title, ("latency_us",), options, run, **{**usual, **more})


def _stream(title: str, options: frozenset[str], run: Run, **more: Any) -> Workload:
    return _measure(title, STREAM_FIELDS, options, run, **{"defaults": _BW, **more})


def _sections_of_host_memory(group: NodeGroup, options: Options) -> Iterator[str]:
    for part, section in ((group.stack, "driver"), (group.adapter, "tables")):
        if getattr(part, section) is None:
            yield (
                f"host_memory: found with {part.id}, which has no section {section}; "
                "allowed: with one that says what takes host memory"
            )


def _memory_registered_by_requests(group: NodeGroup, options: Options) -> Iterator[str]:
    assert isinstance(group.adapter, Adapter)
    if group.adapter.umr is None:
        yield (
            f"nvmf_read: found with {group.adapter.id}, which has no section umr; "
            "allowed: with one that registers memory by work requests"
        )
    else:
        yield from twice(options.window, "of two requests each", group.adapter)


_FULL_QUEUES = (_MANY - {"warmup"}) | {"tx_depth", "cq_mod", "post_list"}
_SENT = {"inline", "inline_size", "connection", "rate_limit"}
FLOW_FIELDS = (
    *STREAM_FIELDS,
    "completion_mean_us",
    "completion_p50_us",
    "completion_p99_us",
    "completion_max_us",
    "fairness",
)


def _flows(
    title: str,
    run: Run,
    of_a_node: Round,
    *,
    options: frozenset[str] = frozenset(),
    **more: Any,
) -> Workload:
    """A pattern of flows, each over a connection; ``of_a_node`` counts their ends on a node."""
    usual = {
        "defaults": Options(size=65536, iters=1, tx_depth=4),
        "nodes": first_nodes,
        "words": _TWO_SIDED,
    }
    understood = _FULL_QUEUES - ROLES - {"exact"} | {"nodes", "verb"}
    return _measure(
        title,
        FLOW_FIELDS,
        frozenset(understood | options),
        run,
        queue_pairs=lambda options: options.qps * of_a_node(options),
        **{**usual, **more},
    )


_THREADS = frozenset(
    _BUFFERS
    | {"qps", "processes", "window", "tx_depth", "post_list", "cq_mod", "pattern"}
    | _REGION
)
_MOVING = frozenset({"verb", "inline", "connection"})
_REPLYING = frozenset(
    _BUFFERS
    | ROLES
    | {"qps", "processes", "window", "tx_depth", "post_list", "cq_mod", "inline_size"}
    | {"clients", "client_processes", "reply_size", "ports", "mode"}
)
# rdma_bench's own values: HRD_Q_DEPTH, BUF_SIZE, the window of its published sweeps, and the pages
# that hrd_ctrl_blk_init takes.
_THREADED = Options(size=32, warmup=10, window=16, cq_mod=1)
_SWARM = replace(_THREADED, pattern="random", region=2**21, page_size=2**21)


def _rates(title: str, options: frozenset[str], run: Run, **more: Any) -> Workload:
    usual = {"defaults": _THREADED, "round": rates.thread_warm_up, "words": _RATED}
    return _measure(title, STREAM_FIELDS, _THREADS | options, run, **{**usual, **more})


def _perftest(
    title: str, opcode: WROpcode | None, name: str, iters: int, both_ways: bool = False
) -> Workload:
    """A bandwidth test; without an opcode that of the atomic operation that options name."""

    def run(sim: Simulator, machine: Machine, options: Options) -> Result:
        moved = opcode or ATOMICS[options.op]
        if options.clients > 1:
            return many_to_one(sim, machine, options, moved)
        return Stream(sim, machine, options, moved, both_ways).run()

    understood = _FULL_QUEUES | {"loopback"}
    if not both_ways:
        understood = understood | {"clients"}
    if opcode is not WROpcode.SEND:
        understood = understood | _REGION
    if opcode is None:
        understood = understood | {"op"}
    elif opcode is not WROpcode.RDMA_READ:
        understood = understood | _SENT
    usual = Options(size=65536 if opcode else ATOMIC_SIZE, iters=iters, warmup=0)
    return Workload(
        name,
        title,
        STREAM_FIELDS,
        frozenset(understood),
        usual,
        run,
        queue_pairs=_of_a_node,
        words={} if opcode is WROpcode.SEND else _CONNECTED,
        both_ways=both_ways,
    )


_ALL = (
    _latency("RDMA write ping-pong, memory polled", _INLINE, latency.write_lat, words=_CONNECTED),
    _latency("send/receive ping-pong, CQ polled", _INLINE, latency.send_lat),
    _latency("RDMA read round trip", _LATENCY | _REGION, latency.read_lat),
    _latency("atomic round trip", _LATENCY | _REGION | {"op"}, latency.atomic_lat),
    _latency(
        "write ping-pong over queue pairs in turn, the first one's",
        _MANY | {"inline"},
        latency.qp_lat,
        defaults=_FEW,
        round=once,
    ),
    _latency(
        "a buffer on each queue pair, all completions",
        _MANY | {"inline"},
        latency.scatter,
        defaults=_FEW,
        round=once,
    ),
    _latency(
        "RDMA write within one port, there and back",
        _MANY | {"memory"},
        latency.loopback_lat,
        queue_pairs=_both_ends,
    ),
    _measure(
        "NetPIPE ping-pong over its ladder of sizes",
        ("latency_us", "bandwidth_MBps", "throughput_Mbps"),
        _NETPIPE,
        netpipe.netpipe,
        defaults=Options(size=65536, iters=100, warmup=3, verb="send"),
        round=netpipe.rotation,
        words=_TWO_SIDED,
        ladder=True,
    ),
    # perftest's iterations (DEF_ITERS_WB and DEF_ITERS in its perftest_parameters.h).
    _perftest("RDMA writes, full queues", _WRITE, "write_bw", 5000),
    _perftest("RDMA writes both ways, full queues", _WRITE, "write_bibw", 5000, True),
    _perftest("sends, full queues", _SEND, "send_bw", 1000),
    _perftest("sends both ways, full queues", _SEND, "send_bibw", 1000, True),
    _perftest("RDMA reads, full queues", _READ, "read_bw", 1000),
    _perftest("RDMA reads both ways, full queues", _READ, "read_bibw", 1000, True),
    _perftest("atomics, full queues", None, "atomic_bw", 1000),
    _perftest("atomics both ways, full queues", None, "atomic_bibw", 1000, True),
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
        words=_TWO_SIDED,
        both_ways=True,
        round=_windows,
        queue_pairs=_lanes_each_way,
    ),
    _flows(
        "messages of each node to each other",
        all_to_all,
        lambda options: 2 * (options.nodes - 1),
        options=frozenset({"exact"}),
        defaults=Options(size=65536, iters=100, tx_depth=4),
    ),
    _flows(
        "messages of all other nodes to one",
        incast,
        lambda options: options.nodes - 1,
        flows=lambda options: options.nodes - 1,
    ),
    _flows(
        "messages of each node to one other, drawn or shifted",
        permutation,
        lambda options: 2,
        options=frozenset({"shift", "seed"}),
        nodes=shifted_nodes,
        flows=lambda options: options.nodes,
    ),
    _flows(
        "messages of each node to its neighbours in a ring or torus",
        neighbour,
        lambda options: 4 * options.dimensions,
        options=frozenset({"dimensions"}),
        flows=lambda options: 2 * options.dimensions * options.nodes,
    ),
    _rates(
        "small requests of threads of each node to each other",
        _MOVING | {"nodes"},
        rates.rc_swarm,
        defaults=_SWARM,
        round=rates.swarm_warm_up,
        queue_pairs=rates.swarm_queue_pairs,
        nodes=first_nodes,
    ),
    _rates(
        "small requests of many clients' threads to a server",
        _MOVING | ROLES | {"clients"},
        rates.rw_tput_receiver,
        queue_pairs=rates.receiver_queue_pairs,
    ),
    _rates(
        "atomics of many clients' threads at words of a server",
        ROLES | {"clients", "op"},
        rates.atomics,
        # Each brings back the word, as a read does.
        defaults=replace(_THREADED, size=8, region=2**21, verb="read"),
        queue_pairs=rates.receiver_queue_pairs,
    ),
    _rates(
        "small requests of a server's threads to many clients",
        _MOVING | ROLES | {"clients"},
        rates.rw_tput_sender,
        queue_pairs=rates.sender_queue_pairs,
    ),
    _stream(
        "requests by writes, which a server's threads answer by datagrams",
        _REPLYING,
        request_reply.request_reply,
        # Those of ws-sequencer/main.h: WINDOW_SIZE and UNSIG_BATCH.
        defaults=replace(_THREADED, window=32, cq_mod=64, page_size=2**21, inline_size=-1),
        round=request_reply.round_of,
        queue_pairs=request_reply.queue_pairs,
        replies=True,
    ),
    _stream(
        "reads of NVMe over Fabrics: registration, command, write and response",
        frozenset(COMMON | ROLES | {"qps", "window"}),
        nvmf.nvmf_read,
        defaults=Options(size=4096, window=16, iters=100, warmup=20),
        node_faults=_memory_registered_by_requests,
    ),
    *MPI,
    _stream("DMA reads by the adapter, bus alone", _BUS, bus.bw_rd, **_BY_ITSELF),
    _stream("DMA writes by the adapter, bus alone", _BUS, bus.bw_wr, **_BY_ITSELF),
    _measure(
        "DMA reads and writes together, bus alone",
        (*STREAM_FIELDS, "each_way_MBps"),
        _BUS,
        bus.bw_rdwr,
        defaults=_BW,
        **_BY_ITSELF,
    ),
    _latency("one DMA read, bus alone", _ONE, bus.lat_rd, **_BY_ITSELF),
    _latency("a DMA write and a read behind it, bus alone", _ONE, bus.lat_wrrd, **_BY_ITSELF),
    _measure(
        "registering memory and deregistering it",
        ("registration_us", "deregistration_us"),
        frozenset({"size", "page_size", "memory", "explain"}),
        memory.reg_mr,
        defaults=Options(size=65536),
    ),
    _stream(
        "copies by processors of one node",
        frozenset(COMMON | {"buffers", "processes"}),
        memory.copy_bw,
    ),
    Workload(
        "host_memory",
        "host memory of connected queue pairs",
        ("pinned_KiB", "total_KiB", "mapped_KiB"),
        frozenset({"qps", "depth", "explain"}),
        Options(),
        footprint.measure,
        node_faults=_sections_of_host_memory,
    ),
)
__all__ = ["WORKLOADS", "Listen", "Workload", "run_point"]
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
    sim = Simulator(options.exact)
    if listen is not None:
        listen(sim)
    with seldom_collected():
        found = workload.run(sim, machine, options)
        if options.explain and "binds" in found.breakdown:
            found.breakdown.update(_stages_of(workload, machine, options, found.breakdown))
    if "processes" in workload.options:
        found.row.setdefault("processes", options.processes)
    return found


def _stages_of(
    workload: Workload, machine: Machine, options: Options, found: Mapping[str, Any]
) -> dict[str, Any]:
    """What an operation takes where that limits, by another run that is listened to."""
    if found.keys() & {"stages", "steps", "path"} or not latency_bound(found["binds"]):
        return {}
    sim = Simulator(options.exact)
    sample = Sample(sim)
    workload.run(sim, machine, replace(options, explain=False))
    return {"operation": stages} if (stages := sample.stages()) else {}
