"""Patterns of flows between many nodes, and how long each flow takes.

A flow is a test of perftest's from one node to another; all begin at once. Its completion time goes
from its first request to its last completion, as the sender sees them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations_with_replacement, product
from math import ceil, prod
from random import Random

from hcasim.catalog import CatalogError
from hcasim.cluster import Cluster
from hcasim.verbs import WROpcode
from hcasim.verbs.requests import WIRE
from hcasim.workloads.end import ATOMICS, OPCODES
from hcasim.workloads.options import Options
from hcasim.workloads.perftest.side import Side, join, movement, start
from hcasim.workloads.perftest.stream import Span, Stream, in_columns
from hcasim.workloads.result import Result
from hcasim.workloads.run import Run

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
    divisors = [one for one in range(nodes, 0, -1) if nodes % one == 0]
    shapes = combinations_with_replacement(divisors, dimensions)
    whole = (shape for shape in shapes if prod(shape) == nodes)
    return min(whole, key=lambda shape: (shape[0] - shape[-1], shape))


def neighbours(nodes: int, dimensions: int) -> Pairs:
    """Each node to those before and behind it along each dimension of a torus.

    Nodes are numbered along the last dimension first.
    """
    shape = torus(nodes, dimensions)
    strides = [prod(shape[axis + 1 :]) for axis in range(dimensions)]
    found: Pairs = []
    for number, place in enumerate(product(*map(range, shape))):
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
        if cluster.machine.loses:
            raise
        raise CatalogError([f"{cluster.machine.id}: {CIRCLE}"]) from None


def measure(run: Run, opcode: WROpcode, pairs: Pairs) -> tuple[list[float], float]:
    """Let flows run from place to place in the cluster, all at once.

    Returns bytes a second of each node that is the first of a pair, and the error of their sum.
    """
    cluster, options = run.cluster, run.options
    endless = replace(options, iters=ENDLESS, exact=True)
    sides = [side for pair in pairs for side in join(cluster, pair, endless, opcode)]
    start(run.sim, sides)
    size = whole = len(pairs) * options.iters * options.qps * options.size
    if not options.exact:
        packets = cluster.nodes[0].adapter.packets(WIRE[opcode], options.size)
        size = min(size, PACKETS * options.size // packets)
    flows: dict[int, tuple[list[Side], list[Side]]] = {}
    for (source, _), side, peer in zip(pairs, sides[::2], sides[1::2], strict=True):
        senders, peers = flows.setdefault(source, ([], []))
        senders.append(side)
        peers.append(peer)
    span = Span(run.sim, [movement(*both) for both in flows.values()], size)
    with _circles_told(cluster):
        run.usage.between(span.begun, span.over)
    return span.rates(), span.error if size < whole else 0.0


def rates_of_nodes(run: Run, opcode: WROpcode, pairs: Pairs, role: str) -> Result:
    """What each node that sends, which is called as its role, carries, and all of them together."""
    each, error = measure(run, opcode, pairs)
    row = in_columns(run.options, sum(each)) | {
        f"{role}s": len(each),
        f"{role}_min_MBps": min(each) / 1e6,
        f"{role}_max_MBps": max(each) / 1e6,
        "error_percent": 100 * error,
    }
    return run.result(row)


def perftest(run: Run) -> Result:
    """A test of perftest's, or of several clients that send to one server or read from it."""
    verb, _, way = run.name.partition("_")
    opcode = ATOMICS[run.options.op] if verb == "atomic" else OPCODES[verb]
    clients = run.options.clients
    if clients == 1:
        return Stream(run, opcode, way == "bibw").measure()
    return rates_of_nodes(run, opcode, [(client, clients) for client in range(clients)], "client")


def run_flows(cluster: Cluster, options: Options, opcode: WROpcode, pairs: Pairs) -> list[Side]:
    """Run a flow for each pair, all at once, to their ends; return the senders in their order."""
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


def _complete(run: Run, pairs: Pairs) -> Result:
    options = run.options
    senders = run_flows(run.cluster, options, OPCODES[options.verb], pairs)
    begun, ended = min(s.began_ps for s in senders), max(s.ended_ps for s in senders)
    took = [side.ended_ps - side.began_ps for side in senders]
    size = options.iters * options.qps * options.size
    row = in_columns(options, len(pairs) * size / ((ended - begun) / 1e12)) | {
        "nodes": len(run.cluster.nodes),
        "flows": len(pairs),
        "completion_mean_us": sum(took) / len(took) / 1e6,
        "completion_p50_us": percentile(took, 50) / 1e6,
        "completion_p99_us": percentile(took, 99) / 1e6,
        "completion_max_us": max(took) / 1e6,
        "fairness": jain([size / one for one in took]),
    }
    return run.result(row)


def all_to_all(run: Run) -> Result:
    """Each node sends to each other one, beginning with the next.

    Flows of no more messages than are in flight at once, or all that --exact asks for, are run from
    beginning to end; of longer ones what they carry while all run is measured.
    """
    options, pairs = run.options, each_to_each(run.options.nodes)
    if options.exact or options.iters <= options.tx_depth:
        return _complete(run, pairs)
    return rates_of_nodes(run, OPCODES[options.verb], pairs, "node")


def incast(run: Run) -> Result:
    """All other nodes send to the first one."""
    return _complete(run, into_one(run.options.nodes))


def permutation(run: Run) -> Result:
    """Each node sends to one other and receives from one other: drawn, or shifted."""
    nodes, shift = run.options.nodes, run.options.shift
    return _complete(run, shifted(nodes, shift) if shift else permuted(nodes, run.options.seed))


def neighbour(run: Run) -> Result:
    """Each node sends to its neighbours in a ring or torus, on both sides."""
    return _complete(run, neighbours(run.options.nodes, run.options.dimensions))
