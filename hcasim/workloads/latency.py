"""The time of a message, or of an operation there and back, one after the other.

The method is that of perftest and of liu2004 section IV.B.1: half a round trip for send and
write, a whole one for read and atomics. Others are those of sur2005 section 3 and 4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from typing import Any, Protocol, TypeVar

from hcasim.verbs import CQ, PD, QP, Access, Context, SendWR, WROpcode
from hcasim.workloads.end import ATOMICS, Endpoint, Steps, hold, join, receive, request
from hcasim.workloads.explain import Follower
from hcasim.workloads.laps import Laps, draw_turns, make_laps, repeats
from hcasim.workloads.result import Result
from hcasim.workloads.roles import both_ends
from hcasim.workloads.run import Run

SLACK = 1e-4
ERROR = 5e-3
_WRITE = WROpcode.RDMA_WRITE
_TARGET = Access.LOCAL_WRITE | Access.REMOTE_WRITE


def measure(
    run: Run, laps: Laps, once: Callable[[], Steps], parts: int = 1, every: int = 1
) -> float:
    """Time iterations of a process one by one until their mean is known, and return it in us.

    Parameters:
        parts: equal parts of an iteration, of which one is reported.
        every: of which iterations one is reported.
    """

    def loop() -> Steps:
        while not laps.done:
            begin = run.sim.now
            yield from once()
            laps.lap(run.sim.now - begin)
            if len(laps.durations_ps) == 1:
                run.usage.mark()

    run.sim.run(until=run.sim.process(loop()))
    return laps.mean_ps(every) / parts / 1e6


def _result(
    run: Run, laps: Laps, latency_us: float, explain: Callable[[], dict[str, Any]] | None = None
) -> Result:
    return run.result({"latency_us": latency_us, "error_percent": laps.error_percent}, explain)


class Party(Protocol):
    """One of two who answer each other; ``operation`` is that of its last message."""

    operation: int

    def prepare(self) -> Steps: ...
    def send(self) -> Steps: ...
    def receive(self) -> Steps: ...


class PingPong:
    """Two parties that answer each other; one message is like the others if that is typical."""

    def __init__(self, run: Run, client: Party, server: Party, *, typical: bool) -> None:
        self._run, self._client, self._server = run, client, server
        self._typical = typical
        self._half: dict[str, Any] | None = None

    def _there_and_back(self) -> Steps:
        yield from self._client.send()
        yield from self._client.receive()

    def _serve(self) -> Steps:
        while True:
            yield from self._server.receive()
            if self._half is not None:
                self._half |= self._run.usage.report()
            yield from self._server.send()

    def measure(
        self, laps: Laps, every: int = 1, beside: Callable[[], None] = lambda: None
    ) -> float:
        """Return the mean of half a round trip in us, of one of so many; ``beside`` begins what
        else is to run."""
        sim = self._run.sim
        for party in (self._client, self._server):
            sim.run(until=sim.process(party.prepare()))
        sim.run()
        beside()
        sim.process(self._serve())
        return measure(self._run, laps, self._there_and_back, 2, every)

    def explain(self) -> dict[str, Any]:
        """One more round trip: what limits its first half, and the stages of that."""
        sim = self._run.sim
        follower, self._half = Follower(sim), {}
        self._run.usage.mark()
        sim.run(until=sim.process(self._there_and_back()))
        return self._half | follower.stages(self._client.operation, typical=self._typical)


class End(Endpoint):
    """One of two processes, whose queue pairs are used in turn."""

    def __init__(self, run: Run, node: int, core: int, opcode: WROpcode) -> None:
        home, entries = run.cluster.nodes[node], 4 * run.options.qps + 16
        super().__init__(run.sim, home, core, run.options, opcode, entries)
        self._turns = draw_turns(run.options)
        self.received = self.operation = 0
        self._peer = self

    def register(self) -> None:
        size, region = self.options.size, self.options.region
        self.source, self.sink = self.memory(max(region, size)), self.memory(max(region, self.room))
        if region:
            hold(self.source, self.options.page_size)
            hold(self.sink, self.options.page_size)
        self.arrivals = self.sink.watch(self.sink.addr + size - 1)

    def connect(self, other: End) -> None:
        """Connect each queue pair with its peer."""
        self._peer = other
        self.activate(other)

    def post(self) -> Steps:
        """Move a message to or from the peer, over the queue pair whose turn it is."""
        number, place = next(self._turns), next(self.places) if self.places else 0
        message = self.request(number, self.source, place, self._peer.sink, place)
        self.operation = yield from self.qps[number].post_send(message)

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
        for number in range(len(self.qps)):
            yield from self._post_receive(number)

    def send(self) -> Steps:
        yield from self.post()

    def receive(self) -> Steps:
        while not (completion := (yield from self.cq.wait())).is_receive:
            pass
        self.mark("poll CQ")
        yield from self._post_receive(self.numbers[completion.qpn])
        self.mark("post_recv")

    def _post_receive(self, number: int) -> Steps:
        yield from self.receivers[number].post_recv(receive(self.sink, 0, self.room))


OneEnd = TypeVar("OneEnd", bound=End)


def two_ends(kind: type[OneEnd], run: Run, opcode: WROpcode) -> tuple[OneEnd, OneEnd]:
    """Client and server, connected; on one node each has a processor of its own."""
    nodes, apart = both_ends(run.options), run.options.loopback
    client, server = (kind(run, node, n * apart, opcode) for n, node in enumerate(nodes))
    client.connect(server)
    server.connect(client)
    return client, server


def _ping_pong(
    run: Run, kind: type[WriteEnd | SendEnd], laps: Laps | None = None, every: int = 1
) -> Result:
    opcode = WROpcode.SEND if kind is SendEnd else WROpcode.RDMA_WRITE
    laps = laps or make_laps(run.options)
    test = PingPong(run, *two_ends(kind, run, opcode), typical=repeats(run.options))
    return _result(run, laps, test.measure(laps, every), test.explain)


def write_lat(run: Run) -> Result:
    """Latency of RDMA writes."""
    return _ping_pong(run, WriteEnd)


def send_lat(run: Run) -> Result:
    """Latency of sends."""
    return _ping_pong(run, SendEnd)


def qp_lat(run: Run) -> Result:
    """Latency of RDMA writes on the first of the queue pairs that are used in turn.

    It is what it costs to come back to a queue pair after all the others (sur2005 section 4.1).
    """
    options, count = replace(run.options, pattern="cyclic"), run.options.qps
    whole = replace(options, warmup=options.warmup * count, iters=options.iters * count)
    laps = Laps.of(whole, cycle=count, slack=SLACK)
    return _ping_pong(replace(run, options=options), WriteEnd, laps, count)


def _fetch(run: Run, opcode: WROpcode) -> Result:
    """The client posts a request and polls its completion queue; the server is passive."""
    client, _ = two_ends(End, run, opcode)

    def once() -> Steps:
        yield from client.post()
        yield from client.cq.wait()
        client.context.probe.event("poll CQ", client.operation)

    def explain() -> dict[str, Any]:
        follower = Follower(run.sim)
        run.usage.mark()
        run.sim.run(until=run.sim.process(once()))
        stages = follower.stages(client.operation, typical=repeats(run.options))
        return run.usage.report() | stages

    laps = make_laps(run.options)
    return _result(run, laps, measure(run, laps, once), explain)


def read_lat(run: Run) -> Result:
    """Latency of RDMA reads."""
    return _fetch(run, WROpcode.RDMA_READ)


def atomic_lat(run: Run) -> Result:
    """Latency of fetch-and-add or compare-and-swap."""
    return _fetch(run, ATOMICS[run.options.op])


def scatter(run: Run) -> Result:
    """Time of a scatter of buffers over all queue pairs.

    As in sur2005 section 4.2 a different registered buffer is posted on each queue pair, back to
    back, and then the completions of all are awaited, so that the contexts of queue pairs are
    fetched while the bus has other work. The receiver has one buffer with a place for each.
    """
    options = run.options
    pds = [PD(Context(run.sim, node)) for node in run.cluster.nodes]
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
        write = request(_WRITE, source, 0, size, target, number * size, inline=options.inline)
        messages.append((mine, write))

    def once() -> Steps:
        for qp, message in messages:
            yield from qp.post_send(message)
        for _ in messages:
            yield from cqs[0].wait()

    laps = Laps.of(options, slack=SLACK, error=ERROR)
    return _result(run, laps, measure(run, laps, once))


def loopback_lat(run: Run) -> Result:
    """Latency of an RDMA write inside the adapter, half of there and back.

    As in sur2005 section 3 a process moves data by RDMA write from one of its buffers to another
    and back, over two queue pairs on the same port, so that nothing goes onto the link. The buffers
    are in the host's memory or in the adapter's own: that is memory as its DMA engines see it.
    """
    options, size = run.options, run.options.size
    pd = PD(Context(run.sim, run.cluster.nodes[0]))
    cq = CQ(pd.context, 2 * options.qps)
    first, second = (
        pd.reg_mr(size, _TARGET, page_size=options.page_size, memory=options.memory)
        for _ in range(2)
    )
    pairs = [(QP(pd, cq, cq), QP(pd, cq, cq)) for _ in range(options.qps)]
    for pair in pairs:
        join(*pair)
    moves = (
        request(_WRITE, first, 0, size, second, 0),
        request(_WRITE, second, 0, size, first, 0),
    )
    turns = cycle(pairs)

    def once() -> Steps:
        for qp, move in zip(next(turns), moves, strict=True):
            yield from qp.post_send(move)
            yield from cq.wait()

    laps = Laps.of(options, cycle=options.qps, slack=SLACK, error=ERROR)
    return _result(run, laps, measure(run, laps, once, parts=2))
