"""Patterns of flows between many nodes, and how long each flow takes.

A flow is a test of perftest's from one node to another; all begin at once. Its completion time goes
from its first request to its last completion, as the sender sees them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from math import ceil, prod
from random import Random
from typing import Any

from hcasim.catalog import CatalogError, Machine
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.verbs import WROpcode
from hcasim.workloads.end import OPCODES
from hcasim.workloads.explain import Utilisation
from hcasim.workloads.options import Options
from hcasim.workloads.perftest.side import Side, join, movement, start
from hcasim.workloads.perftest.stream import Span, in_columns
from hcasim.workloads.result import Result
from hcasim.workloads.roles import clients_and_server, first_nodes

PACKETS = 30_000
"""Packets after which a run is long enough unless all of it is asked for."""

ENDLESS = 1 << 20
"""Messages of a flow that nobody waits for."""

CIRCLE = (
    "found packets that wait for each other in a circle of switches with full buffers; "
    "allowed: routes without circles, or less traffic"
)
Pairs = list[tuple[int, int]]


def each_to_each(nodes: int) -> Pairs:
    """Each node to each other, beginning with the next."""
    return [(n, (n + away) % nodes) for n in range(nodes) for away in range(1, nodes)]


def into_one(nodes: int) -> Pairs:
    """All others to the first node."""
    return [(n, 0) for n in range(1, nodes)]


def shifted(nodes: int, by: int) -> Pairs:
    """Each node to the one so many places behind it, in a circle."""
    return [(n, (n + by) % nodes) for n in range(nodes)]


def permuted(nodes: int, seed: int) -> Pairs:
    """Each node to another one and from another one, drawn: no node sends to itself."""
    draw, targets = Random(seed), list(range(nodes))
    while any(n == target for n, target in enumerate(targets)):
        draw.shuffle(targets)
    return list(enumerate(targets))


def torus(nodes: int, dimensions: int) -> tuple[int, ...]:
    """The nodes along each dimension of a torus, as equal as they can be, the longest first.

    As MPI_Dims_create has it (MPI 4.0, 8.5.2).
    """
    best, least = (nodes,) + (1,) * (dimensions - 1), nodes
    for shape in _shapes(nodes, dimensions, nodes):
        if (spread := shape[0] - shape[-1]) < least:
            best, least = shape, spread
    return best


def _shapes(nodes: int, dimensions: int, most: int) -> list[tuple[int, ...]]:
    """All ways to write a number as a product of factors that do not grow."""
    if dimensions == 1:
        return [(nodes,)] if nodes <= most else []
    factors = (one for one in range(1, min(nodes, most) + 1) if nodes % one == 0)
    return [(one, *rest) for one in factors for rest in _shapes(nodes // one, dimensions - 1, one)]


def neighbours(nodes: int, dimensions: int) -> Pairs:
    """Each node to those before and behind it along each dimension of a torus.

    Nodes are numbered along the last dimension first.
    """
    shape = torus(nodes, dimensions)
    strides = [prod(shape[axis + 1 :]) for axis in range(dimensions)]
    found: Pairs = []
    for place in product(*map(range, shape)):
        number = sum(at * stride for at, stride in zip(place, strides, strict=True))
        for at, length, stride in zip(place, shape, strides, strict=True):
            # A dimension of two has the same node on both sides.
            others = dict.fromkeys(((at + 1) % length, (at - 1) % length))
            found += [(number, number + (other - at) * stride) for other in others if other != at]
    return found


@contextmanager
def _circles_told(cluster: Cluster) -> Iterator[None]:
    """Say what it means that nothing more is to come."""
    try:
        yield
    except RuntimeError:
        raise CatalogError([f"{cluster.machine.id}: {CIRCLE}"]) from None


def measure(
    cluster: Cluster, options: Options, opcode: WROpcode, pairs: Pairs
) -> tuple[list[float], float, dict[str, Any]]:
    """Let flows run from place to place in the cluster, all at once.

    Returns:
        Bytes a second of each node that is the first of a pair, in their order there, the relative
        error of their sum, and, if that was asked for, how busy everything was meanwhile.

    Raises:
        CatalogError: packets block each other for good.
    """
    endless = replace(options, iters=ENDLESS, exact=True)
    sides = [side for pair in pairs for side in join(cluster, pair, endless, opcode)]
    start(cluster.sim, sides)
    usage = Utilisation(cluster.sim)
    size = whole = len(pairs) * options.iters * options.qps * options.size
    if not options.exact:
        packets = cluster.nodes[0].adapter.packets(opcode.value, options.size)
        size = min(size, PACKETS * options.size // packets)
    flows: dict[int, tuple[list[Side], list[Side]]] = {}
    for (source, _), side, peer in zip(pairs, sides[::2], sides[1::2], strict=True):
        senders, peers = flows.setdefault(source, ([], []))
        senders.append(side)
        peers.append(peer)
    span = Span(cluster.sim, [movement(*both) for both in flows.values()], size)
    with _circles_told(cluster):
        usage.between(span.begun, span.over)
    error = span.error if size < whole else 0.0
    return span.rates(), error, usage.report() if options.explain else {}


def rates_of_nodes(
    cluster: Cluster, options: Options, opcode: WROpcode, pairs: Pairs, role: str
) -> Result:
    """What each node that sends carries, and all of them together.

    Parameters:
        role: what such a node is called.
    """
    each, error, explained = measure(cluster, options, opcode, pairs)
    row = in_columns(options, sum(each)) | {
        f"{role}s": len(each),
        f"{role}_min_MBps": min(each) / 1e6,
        f"{role}_max_MBps": max(each) / 1e6,
        "error_percent": 100 * error,
    }
    return Result(row, cluster.counters(), explained)


def many_to_one(sim: Simulator, machine: Machine, options: Options, opcode: WROpcode) -> Result:
    """Several clients that send to one server or read from it."""
    cluster = Cluster(sim, machine, clients_and_server(machine, options))
    pairs = [(client, options.clients) for client in range(options.clients)]
    return rates_of_nodes(cluster, options, opcode, pairs, "client")


def run_flows(cluster: Cluster, options: Options, opcode: WROpcode, pairs: Pairs) -> list[Side]:
    """Run a flow from place to place in the cluster for each pair, all at once, to their ends.

    Returns:
        The senders, in the order of the pairs.

    Raises:
        CatalogError: packets block each other for good.
    """
    sides = [side for pair in pairs for side in join(cluster, pair, options, opcode)]
    with _circles_told(cluster):
        cluster.sim.run(until=start(cluster.sim, sides))
    return sides[::2]


def percentile(values: Sequence[int], percent: int) -> int:
    """The least of some values that so many percent of them do not exceed (nearest rank)."""
    return sorted(values)[ceil(len(values) * percent / 100) - 1]


def jain(rates: Sequence[float]) -> float:
    """Jain's fairness index: 1 if all are equal, 1/n if one of n has everything.

    Source: Jain, Chiu and Hawe, DEC-TR-301 (1984).
    """
    return sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))


def shifted_nodes(machine: Machine, options: Options) -> list[int]:
    """Return the first nodes, among which a shift has to leave each with another one.

    Raises:
        ValueError: the machine has fewer, or the shift goes around.
    """
    if options.shift >= options.nodes:
        raise ValueError(
            f"shift: found {options.shift} with {options.nodes} nodes; "
            f"allowed: up to {options.nodes - 1}, or 0 to draw"
        )
    return first_nodes(machine, options)


def _complete(sim: Simulator, machine: Machine, options: Options, pairs: Pairs) -> Result:
    """Run flows and measure them: what they carry together, and how long each takes."""
    cluster = Cluster(sim, machine, first_nodes(machine, options))
    usage = Utilisation(sim)
    senders = run_flows(cluster, options, OPCODES[options.verb], pairs)
    begun, ended = min(s.began_ps for s in senders), max(s.ended_ps for s in senders)
    took = [side.ended_ps - side.began_ps for side in senders]
    size = options.iters * options.qps * options.size
    row: dict[str, Any] = in_columns(options, len(pairs) * size / ((ended - begun) / 1e12))
    row |= {
        "nodes": len(cluster.nodes),
        "flows": len(pairs),
        "completion_mean_us": sum(took) / len(took) / 1e6,
        "completion_p50_us": percentile(took, 50) / 1e6,
        "completion_p99_us": percentile(took, 99) / 1e6,
        "completion_max_us": max(took) / 1e6,
        "fairness": jain([size / one for one in took]),
    }
    return Result(row, cluster.counters(), usage.report() if options.explain else {})


def all_to_all(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Each node sends to each other one, beginning with the next.

    Flows of no more messages than are in flight at once, or all that --exact asks for, are run from
    beginning to end; of longer ones what they carry while all run is measured.
    """
    pairs = each_to_each(options.nodes)
    if options.exact or options.iters <= options.tx_depth:
        return _complete(sim, machine, options, pairs)
    cluster = Cluster(sim, machine, first_nodes(machine, options))
    return rates_of_nodes(cluster, options, OPCODES[options.verb], pairs, "node")


def incast(sim: Simulator, machine: Machine, options: Options) -> Result:
    """All other nodes send to the first one."""
    return _complete(sim, machine, options, into_one(options.nodes))


def permutation(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Each node sends to one other and receives from one other: drawn, or shifted."""
    if options.shift:
        return _complete(sim, machine, options, shifted(options.nodes, options.shift))
    return _complete(sim, machine, options, permuted(options.nodes, options.seed))


def neighbour(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Each node sends to its neighbours in a ring or torus, on both sides."""
    pairs = neighbours(options.nodes, options.dimensions)
    return _complete(sim, machine, options, pairs)
