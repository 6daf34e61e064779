"""Flows of messages between many nodes at once: many to one, or all to all.

Each flow is a test of perftest's; all are measured while all run.
"""

from __future__ import annotations

from dataclasses import replace

from hcasim.catalog import CatalogError, Machine
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.verbs import WROpcode
from hcasim.workloads.explain import Utilisation
from hcasim.workloads.options import Options, Verb
from hcasim.workloads.perftest import Side, moderation
from hcasim.workloads.process import OPCODES
from hcasim.workloads.result import Result
from hcasim.workloads.roles import clients_and_server, first_nodes

PACKETS = 30_000
"""Packets after which a run is long enough unless all of it is asked for."""

FEWEST = 8
"""Laps of each flow that are timed at least: so many messages as one completion stands for."""

ENDLESS = 1 << 20
"""Messages of a flow that nobody waits for."""

CIRCLE = (
    "found packets that wait for each other in a circle of switches with full buffers; "
    "allowed: routes without circles, or less traffic"
)


class Flow:
    """Messages from one node to another, or that the one reads from the other.

    Attributes:
        times: when laps were complete, in ps.
        warm, finished: events for the laps before those that are timed, and for these.
    """

    def __init__(
        self,
        cluster: Cluster,
        options: Options,
        opcode: WROpcode,
        source: int,
        target: int,
        laps: int,
    ) -> None:
        self.sim = cluster.sim
        lap = moderation(options)
        endless = replace(options, iters=ENDLESS, exact=True)
        sent = opcode is WROpcode.SEND
        self.sides = a, b = (
            Side(self.sim, cluster, source, endless, opcode, True, False, lap, 0),
            Side(self.sim, cluster, target, endless, opcode, False, sent, lap, 0),
        )
        a.connect(b)
        b.connect(a)
        a.on_lap = self._lapped
        self.lap_bytes = lap * options.qps * options.size
        self.times: list[int] = []
        self.warm, self.finished = self.sim.event(), self.sim.event()
        self._events = {-(-laps // 4): self.warm, -(-laps // 4) + laps + 1: self.finished}

    def _lapped(self) -> None:
        self.times.append(self.sim.now)
        if len(self.times) in self._events:
            self._events[len(self.times)].succeed()

    def rate(self, begin: int) -> float:
        """MB/s from a moment on."""
        counted = [time for time in self.times if time > begin]
        return (len(counted) - 1) * self.lap_bytes / (counted[-1] - counted[0]) * 1e6


def measure(
    cluster: Cluster, options: Options, verb: Verb, pairs: list[tuple[int, int]]
) -> tuple[list[float], Utilisation]:
    """Let flows run from place to place in the cluster, all at once.

    Returns:
        MB/s of each, and how busy everything was meanwhile.

    Raises:
        CatalogError: packets block each other for good.
    """
    sim, opcode = cluster.sim, OPCODES[verb]
    lap = moderation(options) * options.qps
    packets = lap * cluster.nodes[0].adapter.packets(opcode.value, options.size)
    laps = -(-options.iters // lap)
    if not options.exact:
        laps = min(laps, PACKETS // (packets * len(pairs)))
    flows = [Flow(cluster, options, opcode, *pair, max(FEWEST, laps)) for pair in pairs]
    sides = [side for flow in flows for side in flow.sides]
    for side in sides:
        sim.run(until=sim.process(side.prepare()))
    sim.run()
    for side in sides:
        sim.process(side.run())
    usage = Utilisation(cluster)
    try:
        sim.run(until=sim.all_of([flow.warm for flow in flows]))
        begin = sim.now
        usage.mark()
        sim.run(until=sim.all_of([flow.finished for flow in flows]))
    except RuntimeError:
        raise CatalogError([f"{cluster.machine.id}: {CIRCLE}"]) from None
    return [flow.rate(begin) for flow in flows], usage


def _result(
    cluster: Cluster, options: Options, verb: Verb, pairs: list[tuple[int, int]], role: str
) -> Result:
    rates, usage = measure(cluster, options, verb, pairs)
    each: dict[int, float] = {}
    for (source, _), rate in zip(pairs, rates, strict=True):
        each[source] = each.get(source, 0.0) + rate
    row = {
        "size": options.size,
        "qps": options.qps,
        f"{role}s": len(each),
        "bandwidth_MBps": sum(rates),
        "rate_Mps": sum(rates) / options.size,
        f"{role}_min_MBps": min(each.values()),
        f"{role}_max_MBps": max(each.values()),
    }
    return Result(row, cluster.counters(), usage.report() if options.explain else {})


def many_to_one(sim: Simulator, machine: Machine, options: Options, verb: Verb) -> Result:
    """Several clients that send to one server or read from it."""
    cluster = Cluster(sim, machine, clients_and_server(machine, options))
    pairs = [(client, options.clients) for client in range(options.clients)]
    return _result(cluster, options, verb, pairs, "client")


def all_to_all(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Each node writes to each other one, beginning with the next."""
    cluster = Cluster(sim, machine, first_nodes(machine, options))
    count = options.nodes
    pairs = [(n, (n + away) % count) for n in range(count) for away in range(1, count)]
    return _result(cluster, options, "write", pairs, "node")
