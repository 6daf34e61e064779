"""What flows of messages between many nodes carry while all of them run.

Each flow is a test of perftest's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hcasim.catalog import CatalogError, Machine
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.verbs import WROpcode
from hcasim.workloads.explain import Utilisation
from hcasim.workloads.options import Options
from hcasim.workloads.perftest.side import ANSWERED, Side, join, start
from hcasim.workloads.perftest.span import Span, moved_bytes
from hcasim.workloads.perftest.stream import in_columns
from hcasim.workloads.result import Result
from hcasim.workloads.roles import clients_and_server

PACKETS = 30_000
"""Packets after which a run is long enough unless all of it is asked for."""

ENDLESS = 1 << 20
"""Messages of a flow that nobody waits for."""

CIRCLE = (
    "found packets that wait for each other in a circle of switches with full buffers; "
    "allowed: routes without circles, or less traffic"
)


def measure(
    cluster: Cluster, options: Options, opcode: WROpcode, pairs: list[tuple[int, int]]
) -> tuple[list[float], float, dict[str, Any]]:
    """Let flows run from place to place in the cluster, all at once.

    Returns:
        Bytes a second of each node that is the first of a pair, in their order there, the relative
        error of their sum, and, if that was asked for, how busy everything was meanwhile.

    Raises:
        CatalogError: packets block each other for good.
    """
    sim = cluster.sim
    endless = replace(options, iters=ENDLESS, exact=True)
    sides = [side for pair in pairs for side in join(cluster, pair, endless, opcode)]
    start(sim, sides)
    usage = Utilisation(cluster.sim) if options.explain else None
    size = whole = len(pairs) * options.iters * options.qps * options.size
    if not options.exact:
        packets = cluster.nodes[0].adapter.packets(opcode.value, options.size)
        size = min(size, PACKETS * options.size // packets)
    peers: dict[int, list[Side]] = {}
    for (source, _), peer in zip(pairs, sides[1::2], strict=True):
        peers.setdefault(source, []).append(peer)

    def movement(source: int) -> Callable[[], float]:
        """What tells the bytes that a node has moved; what is sent again counts once."""
        if opcode is WROpcode.SEND and peers[source][0].reliable:
            return lambda: sum(sum(peer.received) for peer in peers[source]) * options.size
        node = cluster.nodes[source]
        return lambda: moved_bytes(node, opcode in ANSWERED)

    span = Span(sim, [movement(source) for source in peers], size)
    try:
        sim.run(until=span.begun)
        if usage is not None:
            usage.mark()
        sim.run(until=span.over)
    except RuntimeError:
        raise CatalogError([f"{cluster.machine.id}: {CIRCLE}"]) from None
    rates = span.rates()
    error = span.error if size < whole else 0.0
    return rates, error, {} if usage is None else usage.report()


def rates_of_nodes(
    cluster: Cluster, options: Options, opcode: WROpcode, pairs: list[tuple[int, int]], role: str
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
