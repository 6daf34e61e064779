"""The time of a message, or of an operation there and back, one after the other.

The method is that of perftest and of liu2004 section IV.B.1: half a round trip for send and
write, a whole one for read and atomics. Others are those of sur2005 section 3 and 4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from typing import Any, Protocol, TypeVar

from hcasim.catalog import Machine
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.verbs import CQ, MR, PD, QP, SGE, Access, Context, RecvWR, SendWR, WROpcode
from hcasim.workloads.end import ALL_ACCESS, ATOMICS, Endpoint, Steps, hold, join
from hcasim.workloads.explain import Follower, Utilisation
from hcasim.workloads.laps import Laps, draw_turns, make_laps, repeats
from hcasim.workloads.options import Options
from hcasim.workloads.result import Result
from hcasim.workloads.roles import both_ends, clients_and_server

SLACK = 1e-4
ERROR = 1e-3
_TARGET = Access.LOCAL_WRITE | Access.REMOTE_WRITE


class RoundTrips:
    """Iterations of a process, timed one by one until their mean is known.

    Args:
        once: one iteration.
        parts: equal parts of an iteration, of which one is reported.
        every: of which iterations one is reported.

    Attributes:
        usage: how busy everything is after the first iteration.
    """

    def __init__(
        self,
        cluster: Cluster,
        options: Options,
        laps: Laps,
        once: Callable[[], Steps],
        parts: int = 1,
        every: int = 1,
    ) -> None:
        self.cluster, self.sim = cluster, cluster.sim
        self.options, self.laps = options, laps
        self.once, self._parts, self._every = once, parts, every
        self.usage = Utilisation(cluster.sim)

    def row(self, latency_us: float) -> dict[str, Any]:
        """What is measured."""
        return {
            "size": self.options.size,
            "qps": self.options.qps,
            "latency_us": latency_us,
            "error_percent": self.laps.error_percent,
        }

    def explain(self) -> dict[str, Any]:
        """What was busy."""
        return self.usage.report()

    def _loop(self) -> Steps:
        while not self.laps.done:
            begin = self.sim.now
            yield from self.once()
            self.laps.lap(self.sim.now - begin)
            if len(self.laps.durations_ps) == 1:
                self.usage.mark()

    def run(self) -> Result:
        """Measure."""
        self.sim.run(until=self.sim.process(self._loop()))
        row = self.row(self.laps.mean_ps(self._every) / self._parts / 1e6)
        counters = self.cluster.counters()
        return Result(row, counters, self.explain() if self.options.explain else {})


class Party(Protocol):
    """One of two who answer each other; ``operation`` is that of its last message."""

    operation: int

    def prepare(self) -> Steps:
        """What it does before the first message."""

    def send(self) -> Steps:
        """Send one message."""

    def receive(self) -> Steps:
        """Wait for one message and be ready for the next."""


class PingPong(RoundTrips):
    """Two parties that answer each other; half a round trip is reported.

    Args:
        typical: whether one message is like the others.
        every: of which round trips one is reported.
    """

    def __init__(
        self,
        cluster: Cluster,
        options: Options,
        laps: Laps,
        parties: tuple[Party, Party],
        typical: bool,
        every: int = 1,
    ) -> None:
        super().__init__(cluster, options, laps, self._there_and_back, 2, every)
        self.client, self.server = parties
        self._typical = typical
        self._half: dict[str, Any] | None = None

    def _there_and_back(self) -> Steps:
        yield from self.client.send()
        yield from self.client.receive()

    def _serve(self) -> Steps:
        while True:
            yield from self.server.receive()
            if self._half is not None:
                self._half |= self.usage.report()
            yield from self.server.send()

    def run(self) -> Result:
        for party in (self.client, self.server):
            self.sim.run(until=self.sim.process(party.prepare()))
        self.sim.run()
        self.sim.process(self._serve())
        return super().run()

    def explain(self) -> dict[str, Any]:
        """One more round trip: what limits its first half, and the stages of that."""
        follower, self._half = Follower(self.sim), {}
        self.usage.mark()
        self.sim.run(until=self.sim.process(self.once()))
        return self._half | follower.stages(self.client.operation, typical=self._typical)


class End(Endpoint):
    """One of two processes, whose queue pairs are used in turn."""

    def __init__(
        self, cluster: Cluster, node: int, options: Options, opcode: WROpcode, core: int
    ) -> None:
        super().__init__(cluster, node, options, opcode, core, 4 * options.qps + 16)
        self._turns = draw_turns(options)
        self.received = self.operation = 0
        self._peer = self

    def register(self, pd: PD) -> None:
        size, region, page_size = self.options.size, self.options.region, self.options.page_size
        self.source: MR = pd.reg_mr(max(region, size), ALL_ACCESS, page_size=page_size)
        self.sink: MR = pd.reg_mr(max(region, self.room), ALL_ACCESS, page_size=page_size)
        if region:
            hold(self.source, page_size)
            hold(self.sink, page_size)
        self.arrivals = self.sink.watch(self.sink.addr + size - 1)

    def connect(self, other: End) -> None:
        """Connect each queue pair with its peer."""
        self._peer = other
        self.activate(other)

    def post(self) -> Steps:
        """Move a message to or from the peer, over the queue pair whose turn it is."""
        number, place = next(self._turns), next(self.places) if self.places else 0
        request = self.request(number, self.source, place, self._peer.sink, place)
        self.operation = yield from self.qps[number].post_send(request)

    def mark(self, stage: str) -> None:
        """Tell the end of a stage of the message that this end has just received."""
        self.context.probe.event(stage, self._peer.operation)

    def prepare(self) -> Steps:
        yield from ()


class WriteEnd(End):
    """It polls the last byte of its buffer, after its own completion."""

    def send(self) -> Steps:
        yield from self.post()
        yield from self.cq.wait()

    def receive(self) -> Steps:
        self.received += 1
        yield from self.arrivals.poll(self.received)
        self.mark("poll memory")


class SendEnd(End):
    """It polls its completion queue and keeps a receive posted."""

    def prepare(self) -> Steps:
        for qp in self.qps:
            yield from self._post_receive(qp)

    def send(self) -> Steps:
        yield from self.post()

    def receive(self) -> Steps:
        while not (completion := (yield from self.cq.wait())).is_receive:
            pass
        self.mark("poll CQ")
        yield from self._post_receive(self.qps[self.numbers[completion.qpn]])
        self.mark("post_recv")

    def _post_receive(self, qp: QP) -> Steps:
        yield from qp.post_recv(RecvWR(SGE(self.sink.addr, self.room, self.sink.lkey)))


OneEnd = TypeVar("OneEnd", bound=End)


def _two(
    kind: type[OneEnd], cluster: Cluster, options: Options, opcode: WROpcode
) -> tuple[OneEnd, OneEnd]:
    """Client and server, connected; on one node each has a processor of its own."""
    client, server = (
        kind(cluster, node, options, opcode, number * options.loopback)
        for number, node in enumerate(both_ends(options))
    )
    client.connect(server)
    server.connect(client)
    return client, server


def _ping_pong(
    sim: Simulator, machine: Machine, options: Options, opcode: WROpcode, laps: Laps, every: int = 1
) -> Result:
    cluster = Cluster(sim, machine, clients_and_server(machine, options))
    ends: tuple[Party, Party]
    if opcode is WROpcode.RDMA_WRITE:
        ends = _two(WriteEnd, cluster, options, opcode)
    else:
        ends = _two(SendEnd, cluster, options, opcode)
    return PingPong(cluster, options, laps, ends, repeats(options), every).run()


def write_lat(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Latency of RDMA writes."""
    return _ping_pong(sim, machine, options, WROpcode.RDMA_WRITE, make_laps(options))


def send_lat(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Latency of sends."""
    return _ping_pong(sim, machine, options, WROpcode.SEND, make_laps(options))


def qp_lat(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Latency of RDMA writes on the first of the queue pairs that are used in turn.

    It is what it costs to come back to a queue pair after all the others (sur2005 section 4.1).
    """
    options, count = replace(options, pattern="cyclic"), options.qps
    whole = replace(options, warmup=options.warmup * count, iters=options.iters * count)
    laps = Laps.of(whole, cycle=count, slack=SLACK)
    return _ping_pong(sim, machine, options, WROpcode.RDMA_WRITE, laps, count)


class _Fetching(RoundTrips):
    """The client posts a request and polls its completion queue; the server is passive."""

    def __init__(self, cluster: Cluster, options: Options, opcode: WROpcode) -> None:
        super().__init__(cluster, options, make_laps(options), self._fetch)
        self._client, _ = _two(End, cluster, options, opcode)

    def _fetch(self) -> Steps:
        client = self._client
        yield from client.post()
        yield from client.cq.wait()
        client.context.probe.event("poll CQ", client.operation)

    def explain(self) -> dict[str, Any]:
        follower = Follower(self.sim)
        self.usage.mark()
        self.sim.run(until=self.sim.process(self.once()))
        stages = follower.stages(self._client.operation, typical=repeats(self.options))
        return self.usage.report() | stages


def read_lat(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Latency of RDMA reads."""
    cluster = Cluster(sim, machine, clients_and_server(machine, options))
    return _Fetching(cluster, options, WROpcode.RDMA_READ).run()


def atomic_lat(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Latency of fetch-and-add or compare-and-swap."""
    cluster = Cluster(sim, machine, clients_and_server(machine, options))
    return _Fetching(cluster, options, ATOMICS[options.op]).run()


def _write(source: MR, size: int, target: MR, place: int = 0, inline: bool = False) -> SendWR:
    return SendWR(
        WROpcode.RDMA_WRITE,
        SGE(source.addr, size, source.lkey),
        remote_addr=target.addr + place,
        rkey=target.rkey,
        inline=inline,
    )


def scatter(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Time of a scatter of buffers over all queue pairs.

    As in sur2005 section 4.2 a different registered buffer is posted on each queue pair, back to
    back, and then the completions of all are awaited, so that the contexts of queue pairs are
    fetched while the bus has other work. The receiver has one buffer with a place for each.
    """
    cluster = Cluster(sim, machine, clients_and_server(machine, options))
    pds = [PD(Context(sim, node)) for node in cluster.nodes]
    cqs = [CQ(pd.context, options.qps) for pd in pds]
    size, page_size = options.size, options.page_size
    target = pds[1].reg_mr(size * options.qps, _TARGET, page_size=page_size)
    messages: list[tuple[QP, SendWR]] = []
    for number in range(options.qps):
        source = pds[0].reg_mr(size, page_size=page_size)
        mine, theirs = (
            QP(pd, cq, cq, max_inline_data=size if options.inline else 0)
            for pd, cq in zip(pds, cqs, strict=True)
        )
        join(mine, theirs)
        messages.append((mine, _write(source, size, target, number * size, options.inline)))

    def once() -> Steps:
        for qp, request in messages:
            yield from qp.post_send(request)
        for _ in messages:
            yield from cqs[0].wait()

    laps = Laps.of(options, slack=SLACK, error=ERROR)
    return RoundTrips(cluster, options, laps, once).run()


def loopback_lat(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Latency of an RDMA write inside the adapter, half of there and back.

    As in sur2005 section 3 a process moves data by RDMA write from one of its buffers to another
    and back, over two queue pairs on the same port, so that nothing goes onto the link. The buffers
    are in the host's memory or in the adapter's own: that is memory as its DMA engines see it.
    """
    cluster = Cluster(sim, machine, 2)
    pd = PD(Context(sim, cluster.nodes[0]))
    cq, size = CQ(pd.context, 2 * options.qps), options.size
    first, second = (
        pd.reg_mr(size, _TARGET, page_size=options.page_size, memory=options.memory)
        for _ in range(2)
    )
    pairs = [(QP(pd, cq, cq), QP(pd, cq, cq)) for _ in range(options.qps)]
    for pair in pairs:
        join(*pair)
    moves = _write(first, size, second), _write(second, size, first)
    turns = cycle(pairs)

    def once() -> Steps:
        for qp, request in zip(next(turns), moves, strict=True):
            yield from qp.post_send(request)
            yield from cq.wait()

    laps = Laps.of(options, cycle=options.qps, slack=SLACK, error=ERROR)
    return RoundTrips(cluster, options, laps, once, parts=2).run()
