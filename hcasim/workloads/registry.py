"""The benchmarks by name, and how to run one point of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from hcasim.catalog import Adapter, Machine, NodeGroup
from hcasim.engine import Simulator, seldom_collected
from hcasim.verbs.qp import ATOMIC_SIZE
from hcasim.workloads import own
from hcasim.workloads.explain import Sample
from hcasim.workloads.limits import latency_bound
from hcasim.workloads.mpi.table import MPI
from hcasim.workloads.netpipe import rotation
from hcasim.workloads.options import Options
from hcasim.workloads.rdma_bench import request_reply
from hcasim.workloads.rdma_bench.worker import warm_up
from hcasim.workloads.result import Result
from hcasim.workloads.roles import (
    dealt_nodes,
    shifted_nodes,
    the_first,
)
from hcasim.workloads.workload import (
    BW,
    LAT,
    LATENCY_US,
    NETPIPE,
    RATE,
    THROUGHPUT,
    Round,
    Workload,
    described,
)

Listen = Callable[[Simulator], None]

RETRY_FOR_EVER = 7
_COMMON = "size iters warmup exact explain "
_ROLES = "client server "
_BUFFERS = _COMMON + "page_size iommu "
_MANY = _BUFFERS + _ROLES + "qps "
_LATENCY = _MANY + "pattern loopback "
_PEER: dict[str, Any] = {"memory": ("host", "gpu")}
_INLINE = _LATENCY + "inline inline_size connection "
_REGION = "region access "
_WINDOWED = _MANY + "ports mode threshold processes window reuse buffers inline verb "
_DEVICE = "size iters warmup exact window_bytes cache iommu "
_QUEUES = "size iters page_size iommu explain qps tx_depth cq_mod post_list work "
_THREADS = _BUFFERS + "qps processes window tx_depth post_list cq_mod work locks rounds "
_MOVING = _THREADS + _REGION + "pattern verb inline connection "

_COMPLETIONS = "completion_mean_us completion_p50_us completion_p99_us completion_max_us "
_SLOWDOWNS = " ".join(f"slowdown_{share}_times" for share in ("p50", "p95", "p99", "p999"))

_LOADED = (
    " amplification_times retransmissions_count discards_count marks_count pauses_count paused_us "
    "largest_queue_KiB"
)

_COUNTED_OF_CLIENT = (
    "local_ack_timeout_err roce_adp_retrans rp_cnp_handled rnr_nak_retry_err "
    "req_rnr_retries_exceeded req_transport_retries_exceeded req_remote_access_errors "
    "req_cqe_flush_error "
)
_COUNTED_OF_SERVER = "out_of_buffer rx_write_requests resp_cqe_error resp_remote_access_errors"
_FAULT = (
    "time_us adaptive_us regular_us interval_us transmissions_count retransmissions_count "
    + " ".join(
        [f"{name}_count" for name in _COUNTED_OF_CLIENT.split()]
        + [f"server_{name}_count" for name in _COUNTED_OF_SERVER.split()]
    )
)

_TWO_SIDED = {"verb": ("write", "send")}
_CONNECTED = {"connection": ("RC", "UC", "DC")}
_RELIABLE = {"connection": ("RC", "DC")}
_STATIC = {"connection": ("RC", "UC")}
_BY_ITSELF: dict[str, Any] = {"program": "bus", "rdma": False, "nodes": the_first}

_FEW = Options(iters=100, warmup=10)
# Loop of perftest's bandwidth tests, in cycles: run_iter_bw in perftest_resources.c reads the clock
# for each request, divides twice by --cq-mod, moves both addresses, and calls through a pointer.
_PERFTEST_WORK = 150
# rdma_bench's own values: HRD_Q_DEPTH, BUF_SIZE, the window of its published sweeps, and the pages
# that hrd_ctrl_blk_init takes. Its loops draw a place and count.
_THREADED = Options(size=32, warmup=10, window=16, cq_mod=1, work=20)


def _of_a_node(options: Options) -> int:
    return options.clients * options.qps * (2 if options.loopback else 1)


def _latency(name: str, title: str, options: str, **more: Any) -> Workload:
    usual = {
        "program": "latency",
        "defaults": replace(LAT, inline_size=-1),
        "round": lambda options: options.qps,
        "queue_pairs": _of_a_node,
    }
    return described(name, title, LATENCY_US, options, **{**usual, **more})


def _few(name: str, title: str) -> Workload:
    once = {"defaults": _FEW, "round": lambda options: 1}
    return _latency(name, title, _MANY + "inline", **once)


def _perftest(verb: str, title: str, iters: int, way: str) -> Workload:
    understood = _QUEUES + _ROLES + "exact loopback "
    words: dict[str, Any] = {} if verb == "send" else dict(_CONNECTED)
    if way == "bw":
        understood += "clients "
    understood += "rx_depth " if verb == "send" else _REGION
    if verb == "atomic":
        understood += "op connection "
        words = dict(_RELIABLE)
    else:
        understood += "memory connection "
        words |= _PEER | (_RELIABLE if verb == "read" else {})
    if verb not in ("read", "atomic"):
        understood += "inline inline_size rate_limit sl "
    return described(
        f"{verb}_{way}",
        f"{title}{' both ways' if way == 'bibw' else ''}, full queues",
        RATE,
        understood,
        "flows.perftest",
        defaults=Options(
            size=ATOMIC_SIZE if verb == "atomic" else 65536,
            iters=iters,
            warmup=0,
            work=_PERFTEST_WORK,
        ),
        queue_pairs=_of_a_node,
        words=words,
        both_ways=way == "bibw",
    )


def _windows(name: str, title: str, **more: Any) -> Workload:
    def lanes(options: Options) -> int:
        """Those that carry messages, and one for the replies of each process."""
        times = options.ports if options.mode == "striping" else 1
        if options.mode == "binding" and name == "window_bibw":
            times = 2
        return options.processes * (options.qps * times + 1)

    return described(
        name,
        title,
        RATE,
        _WINDOWED,
        "windows.bandwidth.measure",
        defaults=BW,
        round=lambda options: -(-options.qps // options.window),
        queue_pairs=lanes,
        **more,
    )


def _flows(name: str, title: str, of_a_node: Round, understood: str = "", **more: Any) -> Workload:
    """A pattern of flows, each over a connection; ``of_a_node`` counts their ends on a node."""
    more = {"defaults": Options(size=65536, iters=1, tx_depth=4), "words": _TWO_SIDED, **more}
    more["queue_pairs"] = lambda options: options.qps * of_a_node(options)
    understood = _QUEUES + "nodes verb connection sl burst pause " + understood
    fields = RATE + _COMPLETIONS + "fairness" + _LOADED
    return described(name, title, fields, understood, "flows", **more)


def _rates(name: str, title: str, queue_pairs: Round, options: str = "", **more: Any) -> Workload:
    """Threads that keep a window of requests in flight, unless said otherwise to a server."""
    understood = _MOVING + (options or "client server clients")
    usual: dict[str, Any] = {
        "defaults": _THREADED,
        "round": lambda options: warm_up(options, options.qps),
        "words": {"verb": ("write", "read"), **_STATIC},
        "queue_pairs": queue_pairs,
    }
    if "op" in options.split():
        understood = _THREADS + _REGION + "pattern " + options
    return described(name, title, RATE, understood, "rdma_bench.rates", **{**usual, **more})


def _bus(name: str, title: str, fields: str = RATE) -> Workload:
    options = _DEVICE + "window explain"
    return described(name, title, fields, options, defaults=BW, **_BY_ITSELF)


def _sections_of_host_memory(group: NodeGroup, options: Options) -> Iterator[str]:
    for part, section in ((group.stack, "driver"), (group.adapter, "tables")):
        if getattr(part, section) is None:
            yield (
                f"host_memory: found with {part.id}, which has no section {section}; "
                "allowed: with one that says what takes host memory"
            )


def _memory_registered_by_requests(name: str, group: NodeGroup, options: Options) -> Iterator[str]:
    assert isinstance(group.adapter, Adapter)
    if group.adapter.umr is None:
        yield (
            f"{name}: found with {group.adapter.id}, which has no section umr; "
            "allowed: with one that registers memory by work requests"
        )
    else:
        yield from twice(options.window, "of two requests each", group.adapter)


def _ends_some_time(group: NodeGroup, options: Options) -> Iterator[str]:
    """Say that an operation would wait for ever."""
    if options.silent_for or options.fault == "key":
        return
    if options.fault == "silent" and not options.timeout:
        yield "timeout: found 0, for ever, with a peer that is silent for ever; allowed: 1 to 31"
    if options.fault == "not-ready" and options.rnr_retry == RETRY_FOR_EVER:
        yield "rnr_retry: found 7, for ever, with a peer that is never ready; allowed: 0 to 6"


def twice(window: int, why: str, adapter: Adapter) -> Iterator[str]:
    """Say that a window is too long of which each request takes two places of a queue."""
    if 2 * window > adapter.limits.max_wr:
        yield (
            f"window: found {window}, {why}; "
            f"allowed: up to {adapter.limits.max_wr // 2}, as a queue of {adapter.id} holds"
        )


_EVERY = (
    _latency("write_lat", "RDMA write ping-pong, memory polled", _INLINE, words=_CONNECTED),
    _latency("send_lat", "send/receive ping-pong, CQ polled", _INLINE + "memory ", words=_PEER),
    _latency(
        "read_lat",
        "RDMA read round trip",
        _LATENCY + _REGION + "memory connection",
        words=_PEER | _RELIABLE,
    ),
    _latency(
        "atomic_lat", "atomic round trip", _LATENCY + _REGION + "op connection", words=_RELIABLE
    ),
    _few("qp_lat", "write ping-pong over queue pairs in turn, the first one's"),
    _few("scatter", "a buffer on each queue pair, all completions"),
    _latency(
        "loopback_lat",
        "RDMA write within one port, there and back",
        _MANY + "memory",
        words={"memory": ("host", "adapter")},
        queue_pairs=lambda options: 2 * options.qps,
    ),
    described(
        "netpipe",
        "NetPIPE ping-pong over its ladder of sizes",
        THROUGHPUT,
        _BUFFERS + _ROLES + "buffers completion invalidate verb",
        "netpipe.netpipe",
        defaults=NETPIPE,
        round=rotation,
        words=_TWO_SIDED,
        ladder=True,
    ),
    # perftest's iterations (DEF_ITERS_WB and DEF_ITERS in its perftest_parameters.h).
    *(_perftest("write", "RDMA writes", 5000, way) for way in ("bw", "bibw")),
    *(_perftest("send", "sends", 1000, way) for way in ("bw", "bibw")),
    *(_perftest("read", "RDMA reads", 1000, way) for way in ("bw", "bibw")),
    *(_perftest("atomic", "atomics", 1000, way) for way in ("bw", "bibw")),
    _windows("window_bw", "one-way windows with a reply: write, send or read"),
    _windows(
        "window_bibw",
        "two-way windows with replies: write or send",
        words=_TWO_SIDED,
        both_ways=True,
    ),
    _flows(
        "all_to_all",
        "messages of each node to each other",
        lambda options: 2 * (options.nodes - 1),
        "exact",
        defaults=Options(size=65536, iters=100, tx_depth=4),
    ),
    _flows(
        "incast",
        "messages of all other nodes to one",
        lambda options: options.nodes - 1,
        "stagger",
        flows=lambda options: options.nodes - 1,
    ),
    _flows(
        "permutation",
        "messages of each node to one other, drawn or shifted",
        lambda options: 2,
        "shift seed senders stagger",
        nodes=shifted_nodes,
        flows=lambda options: options.senders or options.nodes,
    ),
    _flows(
        "neighbour",
        "messages of each node to its neighbours in a ring or torus",
        lambda options: 4 * options.dimensions,
        "dimensions",
        flows=lambda options: 2 * options.dimensions * options.nodes,
    ),
    described(
        "open_loop",
        "flows of drawn sizes between drawn nodes, at a load that is given",
        f"bandwidth_MBps {_COMPLETIONS}{_SLOWDOWNS}{_LOADED}",
        "iters page_size iommu explain work nodes verb connection sl load flow_sizes seed",
        "flows",
        # A message is as long as flows are in the mean, and their memory has few pages.
        defaults=Options(size=2**20, iters=1000, page_size=2**21),
        words={**_TWO_SIDED, **_CONNECTED},
        queue_pairs=lambda options: options.iters,
        flows=lambda options: 1,
    ),
    described(
        "probe_lat",
        "ping-pong of two nodes while others load the network, beside one in an idle network",
        "latency_us latency_p50_us latency_p99_us latency_p999_us idle_p50_us slowdown_p50_times "
        "slowdown_p99_times background_MBps",
        "size iters warmup page_size iommu explain nodes verb connection background "
        "background_size load flow_sizes seed",
        "probe.probe_lat",
        defaults=Options(iters=200, warmup=20),
        words={**_TWO_SIDED, **_CONNECTED},
        queue_pairs=lambda options: options.nodes,
        flows=lambda options: 100 * (options.nodes - 1),
    ),
    described(
        "training",
        "jobs that compute and reduce around rings again and again, beside one alone",
        "iteration_mean_us iteration_p99_us iteration_max_us network_us alone_us slowdown_times"
        + _LOADED,
        "size iters page_size iommu explain nodes verb connection sl rings compute",
        "training.training",
        defaults=Options(size=2**20, iters=10),
        words={**_TWO_SIDED, **_RELIABLE},
        nodes=dealt_nodes,
        queue_pairs=lambda options: 2,
        flows=lambda options: 2 * options.nodes,
    ),
    _rates(
        "rc_swarm",
        "small requests of threads of each node to each other",
        lambda options: options.processes * options.nodes * options.qps,
        "nodes ports mode",
        # Its loop divides three times: for the queue pair, its process and the completion's turn.
        defaults=replace(_THREADED, pattern="random", region=2**21, page_size=2**21, work=150),
        words={"verb": ("write", "read"), **_STATIC, "mode": ("single", "binding")},
        round=lambda options: warm_up(options, options.qps * (options.nodes - 1)),
    ),
    _rates(
        "rw_tput_receiver",
        "small requests of many clients' threads to a server",
        lambda options: options.clients * options.processes * options.qps,
    ),
    _rates(
        "atomics",
        "atomics of many clients' threads at words of a server",
        lambda options: options.clients * options.processes * options.qps,
        "client server clients op",
        # Each brings back the word, as a read does.
        defaults=replace(_THREADED, size=8, region=2**21, verb="read"),
    ),
    _rates(
        "rw_tput_sender",
        "small requests of a server's threads to many clients",
        lambda options: options.processes * options.qps,
    ),
    described(
        "request_reply",
        "requests by writes, which a server's threads answer by datagrams",
        RATE,
        _THREADS + _ROLES + "inline_size clients client_processes reply_size ports mode counter",
        "rdma_bench.request_reply.request_reply",
        # Those of ws-sequencer/main.h: WINDOW_SIZE and UNSIG_BATCH.
        defaults=replace(_THREADED, window=32, cq_mod=64, page_size=2**21, inline_size=-1),
        round=request_reply.round_of,
        queue_pairs=request_reply.queue_pairs,
        replies=True,
    ),
    *(
        described(
            f"nvmf_{way}",
            f"{way}s of NVMe over Fabrics: registration, command, {data} and response",
            RATE + "latency_p50_us latency_p99_us",
            _COMMON + _ROLES + "qps window iommu",
            f"nvmf.nvmf_{way}",
            defaults=Options(size=4096, window=16, iters=100, warmup=20),
            node_faults=partial(_memory_registered_by_requests, f"nvmf_{way}"),
        )
        for way, data in (("read", "write"), ("write", "RDMA read"))
    ),
    described(
        "put_lat",
        "RDMA writes one at a time, from their posting to their completion",
        f"{_COMPLETIONS}packet_seq_err_count rp_cnp_handled_count retransmissions_count",
        "size iters warmup page_size iommu client server explain",
        "put.put_lat",
        defaults=Options(size=65536, iters=100, warmup=10),
    ),
    described(
        "fault",
        "an operation whose peer is silent, not ready, or refuses it",
        _FAULT,
        "size client server fault silent_for timeout retry_cnt rnr_retry min_rnr_timer explain",
        "fault.fault",
        defaults=Options(size=64),
        node_faults=_ends_some_time,
    ),
    *MPI,
    _bus("bw_rd", "DMA reads by the adapter, bus alone"),
    _bus("bw_wr", "DMA writes by the adapter, bus alone"),
    _bus("bw_rdwr", "DMA reads and writes together, bus alone", RATE + "each_way_MBps"),
    _latency("lat_rd", "one DMA read, bus alone", _DEVICE + "path", **_BY_ITSELF),
    _latency(
        "lat_wrrd", "a DMA write and a read behind it, bus alone", _DEVICE + "path", **_BY_ITSELF
    ),
    described(
        "reg_mr",
        "registering memory and deregistering it",
        "registration_us deregistration_us",
        "size page_size memory explain",
        "memory.reg_mr",
        words={"memory": ("host", "adapter")},
        defaults=Options(size=65536),
    ),
    described(
        "copy_bw",
        "copies by processors of one node",
        RATE,
        _COMMON + "buffers processes",
        "memory.copy_bw",
        defaults=BW,
    ),
    described(
        "host_memory",
        "host memory of connected queue pairs",
        "pinned_KiB total_KiB mapped_KiB",
        "qps depth explain",
        "footprint.measure",
        node_faults=_sections_of_host_memory,
    ),
)
__all__ = ["WORKLOADS", "Listen", "Workload", "run_point"]


class Workloads(dict[str, Workload]):
    """Those of hcasim by name; those of users are found by theirs, too, but are no items."""

    def __missing__(self, name: str) -> Workload:
        if (found := own.find(name)) is None:
            raise KeyError(name)
        return found

    def names(self) -> list[str]:
        """Those of packages are among them, but none of a file."""
        return list(dict.fromkeys((*self, *own.installed())))


WORKLOADS = Workloads({one.name: one for one in _EVERY})


def run_point(
    name: str, machine: Machine, options: Options, listen: Listen | None = None
) -> Result:
    """Run one benchmark of `WORKLOADS` once on a fresh machine.

    `listen` is given the simulator before anything happens, to listen to its blocks. Where links
    lose packets or another device uses the bus, no iteration is like another, and all are run.
    """
    workload = WORKLOADS[name]
    if machine.never_repeats:
        options = replace(options, exact=True)
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
    return {"operation": stages} if (stages := sample.mean()) else {}
