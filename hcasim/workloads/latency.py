"""Ping-pong of sends and writes, and round trips of reads and atomics.

The method is that of perftest and of liu2004 section IV.B.1: half a round trip for send and
write, a whole one for read and atomics.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from hcasim.catalog import Machine
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.verbs import WROpcode
from hcasim.workloads.end import End, Steps, two_ends
from hcasim.workloads.explain import Follower, Utilisation
from hcasim.workloads.options import Options
from hcasim.workloads.result import Result
from hcasim.workloads.roles import clients_and_server
from hcasim.workloads.turns import make_laps, repeats

ATOMICS = {
    "fetch_add": WROpcode.ATOMIC_FETCH_AND_ADD,
    "cmp_swap": WROpcode.ATOMIC_CMP_AND_SWP,
}


class PingPong(ABC):
    """Two ends that answer each other; half a round trip is reported.

    Attributes:
        opcode: of the messages.
    """

    opcode: WROpcode

    def __init__(self, sim: Simulator, machine: Machine, options: Options) -> None:
        self.sim = sim
        self.options = options
        self.cluster = Cluster(sim, machine, clients_and_server(machine, options))
        self.client, self.server = two_ends(self.cluster, options, self.opcode)
        self.laps = make_laps(options)
        self._use: Utilisation | None = None
        self._breakdown: dict[str, Any] = {}

    @abstractmethod
    def send(self, end: End, peer: End) -> Steps:
        """Send one message."""

    @abstractmethod
    def receive(self, end: End) -> Steps:
        """Wait for one message and be ready for the next."""

    def prepare(self, end: End) -> Steps:
        """What an end does before the first message."""
        yield from ()

    def mark(self, end: End, stage: str) -> None:
        """Tell the end of a stage of the message that this end has just received."""
        peer = self.client if end is self.server else self.server
        end.context.probe.event(stage, peer.operation)

    def run_server(self) -> Steps:
        """Answer every message."""
        while True:
            yield from self.receive(self.server)
            if self._use is not None:
                self._breakdown = self._use.report()
            yield from self.send(self.server, self.client)

    def run_client(self) -> Steps:
        """Send, await the answer, take the time."""
        while not self.laps.done:
            begin = self.sim.now
            yield from self.send(self.client, self.server)
            yield from self.receive(self.client)
            self.laps.lap(self.sim.now - begin)

    def follow(self) -> Steps:
        """One more round trip, the first half of which is explained."""
        self._use = Utilisation(self.cluster.sim)
        yield from self.send(self.client, self.server)
        yield from self.receive(self.client)

    def mean_ps(self) -> float:
        """Mean duration of the round trips that are reported."""
        return self.laps.mean_ps()

    def run(self) -> Result:
        """Measure."""
        for end in (self.client, self.server):
            self.sim.run(until=self.sim.process(self.prepare(end)))
        self.sim.run()
        self.sim.process(self.run_server())
        self.sim.run(until=self.sim.process(self.run_client()))
        row = {
            "size": self.options.size,
            "qps": self.options.qps,
            "latency_us": self.mean_ps() / 2 / 1e6,
            "error_percent": self.laps.error_percent,
        }
        counters = self.cluster.counters()
        if self.options.explain:
            follower = Follower(self.sim)
            self.sim.run(until=self.sim.process(self.follow()))
            self._breakdown |= follower.stages(self.client.operation, typical=repeats(self.options))
        return Result(row, counters, self._breakdown)


class WritePingPong(PingPong):
    """Each end polls the last byte of its buffer, after its own completion."""

    opcode = WROpcode.RDMA_WRITE

    def send(self, end: End, peer: End) -> Steps:
        yield from end.post(peer)
        yield from end.cq.wait()

    def receive(self, end: End) -> Steps:
        end.received += 1
        yield from end.arrivals.poll(end.received)
        self.mark(end, "poll memory")


class SendPingPong(PingPong):
    """Each end polls its completion queue and keeps a receive posted."""

    opcode = WROpcode.SEND

    def prepare(self, end: End) -> Steps:
        for qp in end.qps:
            yield from end.prepare_receive(qp)

    def send(self, end: End, peer: End) -> Steps:
        yield from end.post(peer)

    def receive(self, end: End) -> Steps:
        qp = yield from end.await_receive()
        self.mark(end, "poll CQ")
        yield from end.prepare_receive(qp)
        self.mark(end, "post_recv")


def write_lat(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Latency of RDMA writes."""
    return WritePingPong(sim, machine, options).run()


def send_lat(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Latency of sends."""
    return SendPingPong(sim, machine, options).run()


def _round_trip(sim: Simulator, machine: Machine, options: Options, opcode: WROpcode) -> Result:
    """The initiator posts a request and polls its completion queue; the target is passive."""
    cluster = Cluster(sim, machine, clients_and_server(machine, options))
    initiator, target = two_ends(cluster, options, opcode)
    laps = make_laps(options)

    def once() -> Steps:
        yield from initiator.post(target)
        yield from initiator.cq.wait()
        initiator.context.probe.event("poll CQ", initiator.operation)

    def loop() -> Steps:
        while not laps.done:
            begin = sim.now
            yield from once()
            laps.lap(sim.now - begin)

    sim.run(until=sim.process(loop()))
    row = {
        "size": options.size,
        "qps": options.qps,
        "latency_us": laps.mean_ps() / 1e6,
        "error_percent": laps.error_percent,
    }
    counters = cluster.counters()
    breakdown: dict[str, Any] = {}
    if options.explain:
        follower, use = Follower(sim), Utilisation(cluster.sim)
        sim.run(until=sim.process(once()))
        breakdown = use.report() | follower.stages(initiator.operation, typical=repeats(options))
    return Result(row, counters, breakdown)


def read_lat(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Latency of RDMA reads."""
    return _round_trip(sim, machine, options, WROpcode.RDMA_READ)


def atomic_lat(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Latency of fetch-and-add or compare-and-swap."""
    return _round_trip(sim, machine, options, ATOMICS[options.op])
