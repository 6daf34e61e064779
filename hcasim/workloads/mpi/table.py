"""The benchmarks of MPI libraries by name: what each understands and measures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from hcasim.catalog import Machine, NodeGroup
from hcasim.catalog.algorithms import NAMES as COLLECTIVES
from hcasim.workloads.netpipe import rotation
from hcasim.workloads.options import Options
from hcasim.workloads.roles import (
    first_nodes,
    hub_and_halves,
    paired_nodes,
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

_PAIR = "size iters warmup exact explain client server processes "
_ALL = "size iters warmup exact explain nodes processes "
_CALL = Options(size=1024, iters=100, warmup=10)
_OVERLAP = "communication_us overlap_percent"

How = tuple[str, Round]
"""Options that mean something, and the queue pairs of a node."""
_TWO: How = _PAIR, lambda options: options.qps
"""Two processes, each on a node or both on one."""
_BY_TWO: How = _ALL, lambda options: options.processes
"""All processes of some nodes, two by two."""
_HUB: How = _ALL, lambda options: (options.nodes - 1) * options.processes
"""One process, and all those of other nodes."""
_RING: How = _ALL, lambda options: 2 * options.processes


def _mpi(
    name: str, title: str, fields: str, usual: Options, how: How, program: str = "", **more: Any
) -> Workload:
    options, more["queue_pairs"] = how
    if fields == RATE:
        options, program = options + "window", "mpi.windows.bandwidth"
    if how is _BY_TWO:
        usual, more["nodes"] = replace(usual, nodes=2), paired_nodes
    tool, _, test = name.partition("_")
    # The sizes that the tools measure; OSU reduces numbers of 4 B. Sources: OSU benchmarks,
    # osu_latency.c and the like; IMB 2.3, IMB_settings.h.
    table = ""
    if tool == "imb" or name in ("osu_latency", "osu_multi_lat"):
        table = "0..4M"
    elif tool == "osu":
        table = "1..4M" if test not in COLLECTIVES else "4..1M" if "reduce" in test else "1..1M"
    if test == "barrier":
        options, table = options.removeprefix("size"), ""
    more |= {"defaults": usual, "mpi": True, "table": table, "both_ways": "bibw" in name}
    return described(name, title, fields, options, program or "mpi.pairs", **more)


def _to_all(options: Options) -> int:
    """Queue pairs of all processes of a node, each with those of the others."""
    return options.processes * options.processes * (options.nodes - 1)


def _collective(tool: str, name: str) -> Workload:
    when = "each call by itself" if tool == "osu" else "calls one behind the other"
    title = f"MPI {name} of all processes, {when}"
    how, program = (_ALL + "algorithm", _to_all), "mpi.collectives.collective"
    return _mpi(f"{tool}_{name}", title, LATENCY_US, _CALL, how, program)


def _exchange(name: str, title: str, **more: Any) -> Workload:
    fields, program = "latency_us bandwidth_MBps", "mpi.collectives.exchange"
    return _mpi(f"imb_{name}", title, fields, _CALL, _RING, program, **more)


def _nas(name: str, title: str) -> Workload:
    return _mpi(
        f"nas_{name}",
        f"{title}, of the NAS benchmarks",
        "run_s communication_s",
        Options(),
        ("nodes processes nas_class exact", _to_all),
        "mpi.kernels.nas",
        nodes=partial(_nodes_of_kernel, name),
        node_faults=partial(_rate_of_kernel, name),
    )


def _nodes_of_kernel(name: str, machine: Machine, options: Options) -> list[int]:
    """The first nodes, if the kernel runs on so many processes."""
    from hcasim.apps.nas import KERNELS

    faults = KERNELS[name].processes(options.nas_class, options.nodes * options.processes)
    if faults:
        each = f"found {options.nodes} with {options.processes} processes on each"
        raise ValueError(f"nodes: {each}; {'; '.join(faults)}")
    return first_nodes(machine, options)


def _rate_of_kernel(name: str, group: NodeGroup, options: Options) -> Iterator[str]:
    if getattr(group.host.computing, f"nas_{name}", None) is None:
        lacking = f"{group.host.id}, which has no host.computing.nas_{name}"
        needed = f"needed: --set host.computing.nas_{name}, such as '500 Mop/s'"
        yield f"nas_{name}: found with {lacking}; {needed}"


MPI = (
    _mpi("osu_latency", "MPI ping-pong", LATENCY_US, LAT, _TWO),
    _mpi(
        "osu_multi_lat",
        "MPI ping-pong of several pairs at once, the mean",
        LATENCY_US,
        LAT,
        _BY_TWO,
    ),
    described(
        "netpipe_mpi",
        "NetPIPE ping-pong over MPI and its ladder of sizes",
        THROUGHPUT,
        _PAIR + "buffers invalidate",
        "mpi.pairs",
        defaults=NETPIPE,
        round=rotation,
        ladder=True,
        mpi=True,
    ),
    _mpi("osu_bw", "MPI windows one way, with a reply", RATE, BW, _TWO),
    _mpi("osu_bibw", "MPI windows both ways", RATE, BW, _TWO),
    _mpi("osu_mbw_mr", "MPI windows one way of several pairs, together", RATE, BW, _BY_TWO),
    _mpi("multi_bibw", "MPI windows both ways of several pairs, together", RATE, BW, _BY_TWO),
    _mpi("hotspot_send", "MPI windows of one process to several peers", RATE, BW, _HUB),
    _mpi("hotspot_recv", "MPI windows of several peers to one process", RATE, BW, _HUB),
    _mpi(
        "hotspot_both",
        "MPI windows of some peers to one process, and of it to others",
        RATE,
        BW,
        _HUB,
        nodes=hub_and_halves,
    ),
    _mpi("overlap_isend", "computing beside an MPI send without blocking", _OVERLAP, BW, _TWO),
    _mpi("overlap_irecv", "computing beside an MPI receive without blocking", _OVERLAP, BW, _TWO),
    _mpi("imb_pingpong", "MPI ping-pong", "latency_us bandwidth_MBps", LAT, _TWO),
    # None is left without a partner.
    _exchange(
        "pingping", "MPI messages of two processes to each other at once", nodes=paired_nodes
    ),
    _exchange("sendrecv", "MPI messages around a ring of all processes"),
    _exchange("exchange", "MPI messages with both neighbours, both ways"),
    *(_collective(tool, name) for tool in ("osu", "imb") for name in COLLECTIVES),
    _nas("is", "integer sort"),
    _nas("ft", "three-dimensional Fourier transform"),
    _nas("mg", "multigrid"),
    _nas("lu", "lower-upper symmetric Gauss-Seidel"),
    _nas("cg", "conjugate gradient"),
)
"""Those of OSU, Intel, NetPIPE and NAS, and others of MPI libraries."""
