"""How long flows take from beginning to end, and how equally they share what they use."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

from hcasim.catalog import CatalogError
from hcasim.cluster import Cluster
from hcasim.verbs import WROpcode
from hcasim.workloads.explain import Utilisation
from hcasim.workloads.flows.patterns import Pairs
from hcasim.workloads.options import Options
from hcasim.workloads.perftest.flows import CIRCLE
from hcasim.workloads.perftest.side import Side, join, start
from hcasim.workloads.perftest.stream import in_columns
from hcasim.workloads.result import Result


def run_flows(cluster: Cluster, options: Options, opcode: WROpcode, pairs: Pairs) -> list[Side]:
    """Run a flow from place to place in the cluster for each pair, all at once, to their ends.

    Returns:
        The senders, in the order of the pairs.

    Raises:
        CatalogError: packets block each other for good.
    """
    sim = cluster.sim
    sides = [side for pair in pairs for side in join(cluster, pair, options, opcode)]
    try:
        sim.run(until=start(sim, sides))
    except RuntimeError:
        raise CatalogError([f"{cluster.machine.id}: {CIRCLE}"]) from None
    return sides[::2]


def percentile(values: Sequence[int], percent: int) -> int:
    """The least of some values that so many percent of them do not exceed (nearest rank)."""
    return sorted(values)[ceil(len(values) * percent / 100) - 1]


def jain(rates: Sequence[float]) -> float:
    """Jain's fairness index: 1 if all are equal, 1/n if one of n has everything.

    Source: Jain, Chiu and Hawe, DEC-TR-301 (1984).
    """
    return sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates))


def complete(cluster: Cluster, options: Options, opcode: WROpcode, pairs: Pairs) -> Result:
    """Run flows and measure them: what they carry together, and how long each takes."""
    usage = Utilisation(cluster.sim) if options.explain else None
    senders = run_flows(cluster, options, opcode, pairs)
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
    return Result(row, cluster.counters(), usage.report() if usage is not None else {})
