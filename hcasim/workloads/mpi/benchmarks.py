"""The benchmarks of MPI libraries by name; what they run is imported when they run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

from hcasim.catalog import Machine, NodeGroup
from hcasim.catalog.algorithms import NAMES as COLLECTIVES
from hcasim.engine import Simulator
from hcasim.workloads import netpipe
from hcasim.workloads.options import Options
from hcasim.workloads.result import Result
from hcasim.workloads.roles import clients_and_server, first_nodes, hub_and_halves, paired_nodes
from hcasim.workloads.workload import (
    COMMON,
    ROLES,
    STREAM_FIELDS,
    Nodes,
    Round,
    Run,
    Workload,
    queue_pairs_of,
)

_LAT = Options(iters=10_000, warmup=1000)
_BW = Options(size=65536, iters=100, warmup=10)
_CALL = Options(size=1024, iters=100, warmup=10)
_PAIR = frozenset(COMMON | ROLES | {"processes"})
_ALL = frozenset(COMMON | {"nodes", "processes"})


def _later(module: str, function: str, *args: object) -> Run:
    """What a module of `hcasim.workloads.mpi` runs: MPI takes long to import, few runs need it."""

    def run(sim: Simulator, machine: Machine, options: Options) -> Result:
        found = getattr(import_module(f"hcasim.workloads.mpi.{module}"), function)
        result: Result = found(sim, machine, options, *args)
        return result

    return run


def _table(name: str) -> str:
    """The sizes that OSU's and Intel's programs measure; OSU reduces numbers of 4 B.

    Sources: OSU benchmarks, osu_latency.c and the like; IMB 2.3, IMB_settings.h.
    """
    tool, _, test = name.partition("_")
    if tool not in ("osu", "imb") or test == "barrier":
        return ""
    if tool == "imb" or test in ("latency", "multi_lat"):
        return "0..4M"
    if test not in COLLECTIVES:
        return "1..4M"
    return "4..1M" if "reduce" in test else "1..1M"


def _mpi(
    name: str,
    title: str,
    fields: tuple[str, ...],
    options: frozenset[str],
    usual: Options,
    run: Run,
    lanes: Round,
    nodes: Nodes = first_nodes,
    **more: Any,
) -> Workload:
    """All processes of some nodes, unless others are named."""
    return Workload(
        name,
        title,
        fields,
        options,
        usual,
        run,
        queue_pairs=lanes,
        nodes=nodes,
        mpi=True,
        table=_table(name),
        both_ways="bibw" in name,
        **more,
    )


def _pair(
    name: str,
    title: str,
    fields: tuple[str, ...],
    usual: Options,
    options: frozenset[str] = _PAIR,
    lanes: Round = queue_pairs_of,
    nodes: Nodes = clients_and_server,
) -> Workload:
    """Two processes, each on a node or both on one."""
    run = _later("windows", "bandwidth", name)
    if fields != STREAM_FIELDS:
        run = _later("pairs", name)
    return _mpi(name, title, fields, options, usual, run, lanes, nodes)


def _pairs(
    name: str, title: str, fields: tuple[str, ...], options: frozenset[str], usual: Options
) -> Workload:
    """All processes of some nodes, two by two."""
    usual = replace(usual, nodes=2)
    return _pair(
        name, title, fields, usual, options, lambda options: options.processes, paired_nodes
    )


def _windows(name: str, title: str) -> Workload:
    return _pairs(name, title, STREAM_FIELDS, _ALL | {"window"}, _BW)


def _hotspot(way: str, title: str, nodes: Nodes = first_nodes) -> Workload:
    """One process, and all those of other nodes."""
    return _pair(
        f"hotspot_{way}",
        title,
        STREAM_FIELDS,
        _BW,
        _ALL | {"window"},
        lambda options: (options.nodes - 1) * options.processes,
        nodes,
    )


def _overlap(call: str, title: str) -> Workload:
    fields = ("communication_us", "overlap_percent")
    return _pair(f"overlap_{call}", title, fields, _BW, _PAIR)


def _collective(tool: str, name: str) -> Workload:
    how = "each call by itself" if tool == "osu" else "calls one behind the other"
    unsized = {"size"} if name == "barrier" else set()
    return _mpi(
        f"{tool}_{name}",
        f"MPI {name} of all processes, {how}",
        ("latency_us",),
        (_ALL | {"algorithm"}) - unsized,
        _CALL,
        _later("collectives", "collective", name, tool == "osu"),
        lambda options: options.processes * options.processes * (options.nodes - 1),
    )


def _nas(name: str, title: str) -> Workload:
    def nodes(machine: Machine, options: Options) -> list[int]:
        """The first ones, if the kernel runs on so many processes."""
        from hcasim.apps.nas import KERNELS

        faults = KERNELS[name].processes(options.nas_class, options.nodes * options.processes)
        if faults:
            each = f"found {options.nodes} with {options.processes} processes on each"
            raise ValueError(f"nodes: {each}; {'; '.join(faults)}")
        return first_nodes(machine, options)

    def node_faults(group: NodeGroup, options: Options) -> Iterator[str]:
        if getattr(group.host.computing, f"nas_{name}", None) is None:
            lacking = f"{group.host.id}, which has no host.computing.nas_{name}"
            needed = f"needed: --set host.computing.nas_{name}, such as '500 Mop/s'"
            yield f"nas_{name}: found with {lacking}; {needed}"

    return _mpi(
        f"nas_{name}",
        f"{title}, of the NAS benchmarks",
        ("run_s", "communication_s"),
        frozenset({"nodes", "processes", "nas_class", "exact"}),
        Options(),
        _later("kernels", "nas", name),
        lambda options: options.processes * options.processes * (options.nodes - 1),
        nodes,
        node_faults=node_faults,
    )


def _exchange(name: str, title: str) -> Workload:
    return _mpi(
        f"imb_{name}",
        title,
        ("latency_us", "bandwidth_MBps"),
        _ALL,
        _CALL,
        _later("collectives", "exchange", name),
        lambda options: 2 * options.processes,
        # None is left without a partner.
        paired_nodes if name == "pingping" else first_nodes,
    )


MPI = (
    _pair("osu_latency", "MPI ping-pong", ("latency_us",), _LAT),
    _pairs(
        "osu_multi_lat",
        "MPI ping-pong of several pairs at once, the mean",
        ("latency_us",),
        _ALL,
        _LAT,
    ),
    Workload(
        "netpipe_mpi",
        "NetPIPE ping-pong over MPI and its ladder of sizes",
        ("latency_us", "bandwidth_MBps", "throughput_Mbps"),
        _PAIR | {"buffers", "invalidate"},
        Options(size=65536, iters=100, warmup=3, verb="send"),
        _later("pairs", "netpipe_mpi"),
        round=netpipe.rotation,
        ladder=True,
        mpi=True,
    ),
    _pair("osu_bw", "MPI windows one way, with a reply", STREAM_FIELDS, _BW, _PAIR | {"window"}),
    _pair("osu_bibw", "MPI windows both ways", STREAM_FIELDS, _BW, _PAIR | {"window"}),
    _windows("osu_mbw_mr", "MPI windows one way of several pairs, together"),
    _windows("multi_bibw", "MPI windows both ways of several pairs, together"),
    _hotspot("send", "MPI windows of one process to several peers"),
    _hotspot("recv", "MPI windows of several peers to one process"),
    _hotspot(
        "both",
        "MPI windows of some peers to one process, and of it to others",
        nodes=hub_and_halves,
    ),
    _overlap("isend", "computing beside an MPI send without blocking"),
    _overlap("irecv", "computing beside an MPI receive without blocking"),
    _pair("imb_pingpong", "MPI ping-pong", ("latency_us", "bandwidth_MBps"), _LAT),
    _exchange("pingping", "MPI messages of two processes to each other at once"),
    _exchange("sendrecv", "MPI messages around a ring of all processes"),
    _exchange("exchange", "MPI messages with both neighbours, both ways"),
    *(_collective(tool, name) for tool in ("osu", "imb") for name in COLLECTIVES),
    _nas("is", "integer sort"),
    _nas("ft", "three-dimensional Fourier transform"),
    _nas("mg", "multigrid"),
    _nas("lu", "lower-upper symmetric Gauss-Seidel"),
    _nas("cg", "conjugate gradient"),
)
