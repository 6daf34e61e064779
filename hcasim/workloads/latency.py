"""Ping-pong of sends and writes, and round trips of reads and atomics.

The method is that of perftest and of liu2004 section IV.B.1: half a round trip for send and
write, a whole one for read and atomics.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import Any

from simpy.events import Event

from hcasim.catalog import Machine
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.verbs import CQ, MR, PD, QP, SGE, Access, Context, RecvWR, SendWR, WROpcode
from hcasim.workloads.explain import stages
from hcasim.workloads.laps import Laps
from hcasim.workloads.options import Options
from hcasim.workloads.result import Result

ALL_ACCESS = Access.LOCAL_WRITE | Access.REMOTE_WRITE | Access.REMOTE_READ | Access.REMOTE_ATOMIC
_ATOMIC = {
    "fetch_add": WROpcode.ATOMIC_FETCH_AND_ADD,
    "cmp_swap": WROpcode.ATOMIC_CMP_AND_SWP,
}
Steps = Generator[Event, Any, None]


class End:
    """One process of a pair: a buffer, a completion queue, and queue pairs used in turn."""

    def __init__(self, sim: Simulator, cluster: Cluster, node: int, options: Options) -> None:
        self.sim = sim
        self.context = Context(sim, cluster.nodes[node])
        self.pd: PD = self.context.alloc_pd()
        self.size = options.size
        self.cq: CQ = self.context.create_cq(4 * options.qps + 16)
        self.source: MR = self.pd.reg_mr(options.size, ALL_ACCESS)
        self.sink: MR = self.pd.reg_mr(options.size, ALL_ACCESS)
        self.arrivals = self.sink.watch(self.sink.addr + options.size - 1)
        self.inline = options.inline
        self.qps: list[QP] = [
            self.pd.create_qp(
                self.cq,
                self.cq,
                max_inline_data=options.size if options.inline else 0,
            )
            for _ in range(options.qps)
        ]
        self.turn = 0
        self.received = 0

    def connect(self, other: End) -> None:
        """Connect each queue pair with its peer."""
        for mine, theirs in zip(self.qps, other.qps, strict=True):
            mine.connect(theirs)

    def next_qp(self) -> QP:
        """The queue pair whose turn it is."""
        qp = self.qps[self.turn % len(self.qps)]
        self.turn += 1
        return qp

    def request(self, opcode: WROpcode, peer: End, trace: list[tuple[int, str]] | None) -> SendWR:
        """A request that moves the whole buffer."""
        return SendWR(
            opcode,
            SGE(self.source.addr, self.size, self.source.lkey),
            remote_addr=peer.sink.addr,
            rkey=peer.sink.rkey,
            inline=self.inline,
            compare_add=1,
            trace=trace,
        )

    def prepare_receive(self, qp: QP) -> Steps:
        """Post one receive."""
        yield from qp.post_recv(RecvWR(SGE(self.sink.addr, self.size, self.sink.lkey)))

    def await_receive(self) -> Steps:
        """Poll the completion queue until a message has arrived, passing over sends."""
        while True:
            completion = yield from self.cq.wait()
            if completion.is_receive:
                return


class PingPong(ABC):
    """Two ends that answer each other; half a round trip is reported."""

    def __init__(self, sim: Simulator, machine: Machine, options: Options) -> None:
        self.sim = sim
        self.options = options
        self.cluster = Cluster(sim, machine, 2)
        self.client, self.server = (End(sim, self.cluster, node, options) for node in range(2))
        self.client.connect(self.server)
        self.server.connect(self.client)
        self.laps = Laps(options.warmup, options.iters, options.exact, cycle=options.qps)
        self._trace: list[tuple[int, str]] | None = None

    @abstractmethod
    def send(self, end: End, peer: End, trace: list[tuple[int, str]] | None) -> Steps:
        """Send one message."""

    @abstractmethod
    def receive(self, end: End) -> Steps:
        """Wait for one message and be ready for the next."""

    def prepare(self, end: End) -> Steps:
        """What an end does before the first message."""
        yield from ()

    def mark(self, end: End, stage: str) -> None:
        """Note the end of a stage at the server, if this message is followed."""
        if self._trace is not None and end is self.server:
            self._trace.append((int(self.sim.now), stage))

    def run_server(self) -> Steps:
        """Answer every message."""
        while True:
            yield from self.receive(self.server)
            yield from self.send(self.server, self.client, None)

    def run_client(self) -> Steps:
        """Send, await the answer, take the time."""
        while not self.laps.done:
            begin = int(self.sim.now)
            yield from self.send(self.client, self.server, None)
            yield from self.receive(self.client)
            self.laps.lap(int(self.sim.now) - begin)

    def follow(self, trace: list[tuple[int, str]]) -> Steps:
        """One more round trip, the first half of it with a trace."""
        self._trace = trace
        yield from self.send(self.client, self.server, trace)
        yield from self.receive(self.client)

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
            "latency_us": self.laps.mean_ps() / 2 / 1e6,
        }
        counters = self.cluster.counters()
        breakdown: dict[str, Any] = {}
        if self.options.explain:
            trace: list[tuple[int, str]] = []
            begin = int(self.sim.now)
            self.sim.run(until=self.sim.process(self.follow(trace)))
            breakdown = stages(trace, begin)
        return Result(row, counters, breakdown)


class WritePingPong(PingPong):
    """Each end polls the last byte of its buffer, after its own completion."""

    def send(self, end: End, peer: End, trace: list[tuple[int, str]] | None) -> Steps:
        yield from end.next_qp().post_send(end.request(WROpcode.RDMA_WRITE, peer, trace))
        yield from end.cq.wait()

    def receive(self, end: End) -> Steps:
        end.received += 1
        yield from end.arrivals.poll(end.received)
        self.mark(end, "poll memory")


class SendPingPong(PingPong):
    """Each end polls its completion queue and keeps a receive posted."""

    def prepare(self, end: End) -> Steps:
        for qp in end.qps:
            yield from end.prepare_receive(qp)

    def send(self, end: End, peer: End, trace: list[tuple[int, str]] | None) -> Steps:
        yield from end.next_qp().post_send(end.request(WROpcode.SEND, peer, trace))

    def receive(self, end: End) -> Steps:
        yield from end.await_receive()
        self.mark(end, "poll CQ")
        yield from end.prepare_receive(end.qps[end.received % len(end.qps)])
        self.mark(end, "post_recv")
        end.received += 1


def write_lat(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Latency of RDMA writes."""
    return WritePingPong(sim, machine, options).run()


def send_lat(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Latency of sends."""
    return SendPingPong(sim, machine, options).run()


def _round_trip(sim: Simulator, machine: Machine, options: Options, opcode: WROpcode) -> Result:
    """The initiator posts a request and polls its completion queue; the target is passive."""
    cluster = Cluster(sim, machine, 2)
    initiator, target = (End(sim, cluster, node, options) for node in range(2))
    initiator.connect(target)
    target.connect(initiator)
    laps = Laps(options.warmup, options.iters, options.exact, cycle=options.qps)

    def once(trace: list[tuple[int, str]] | None) -> Steps:
        yield from initiator.next_qp().post_send(initiator.request(opcode, target, trace))
        yield from initiator.cq.wait()
        if trace is not None:
            trace.append((int(sim.now), "poll CQ"))

    def loop() -> Steps:
        while not laps.done:
            begin = int(sim.now)
            yield from once(None)
            laps.lap(int(sim.now) - begin)

    sim.run(until=sim.process(loop()))
    row = {"size": options.size, "qps": options.qps, "latency_us": laps.mean_ps() / 1e6}
    counters = cluster.counters()
    breakdown: dict[str, Any] = {}
    if options.explain:
        trace: list[tuple[int, str]] = []
        begin = int(sim.now)
        sim.run(until=sim.process(once(trace)))
        breakdown = stages(trace, begin)
    return Result(row, counters, breakdown)


def read_lat(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Latency of RDMA reads."""
    return _round_trip(sim, machine, options, WROpcode.RDMA_READ)


def atomic_lat(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Latency of fetch-and-add or compare-and-swap."""
    return _round_trip(sim, machine, options, _ATOMIC[options.op])
