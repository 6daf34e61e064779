"""Ping-pong as NetPIPE does it over InfiniBand, on the level of verbs.

The method is that of NetPIPE 3.6 (src/ib.c). Sends are not signaled, and the next receive is posted
before the answer. The receiver learns of a message from the completion queue, which costs a
doorbell for each completion that is consumed (``-c vapi_poll``), or from the last byte of its
buffer (``-c local_poll``); then receives are not signaled either. Messages may also travel by RDMA
write (``-t rdma_write``), which needs no receive and is only noticed in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any

from hcasim.catalog import Adapter, Machine
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.verbs import CQ, PD, QP, SGE, Context, RecvWR, SendWR
from hcasim.verbs.memory import Watch
from hcasim.workloads.end import OPCODES, Steps
from hcasim.workloads.explain import Follower, Utilisation
from hcasim.workloads.laps import Laps
from hcasim.workloads.options import Options
from hcasim.workloads.pool import places, rotation, spacing
from hcasim.workloads.result import Result
from hcasim.workloads.roles import clients_and_server

SLACK = 1e-4
ERROR = 1e-3
QUEUE = 50_000
"""Entries of a work queue in NetPIPE (max_wq in src/ib.c)."""

MEGABIT = 2**20
"""Bits of NetPIPE's Mbps (src/netpipe.c: bps)."""


@dataclass(frozen=True)
class _Start:
    """How a run gets to where iterations repeat.

    Attributes:
        cycle: iterations after which the same place has its turn and things look the same.
        cold: iterations at the start that are not like the others.
        short: iterations before those that carry no more than a page.
        repeats: how often the pattern has to be seen.
    """

    cycle: int
    cold: int
    short: int = 0
    repeats: int = 2


def _start(adapter: Adapter, options: Options) -> _Start:
    """Find iterations that need not be run, as nothing they leave behind is ever found again.

    A message with as many pages as the adapter holds translations displaces all others: after the
    first round trip each finds what the one before has found, and one is enough.

    Where the places together have twice the translations that the adapter holds, none is held when
    its turn comes again: each message misses all of its own, the first as the hundredth. That
    leaves the entries that protect the buffers. A pool has one for all messages. Separate
    buffers have one each, which a short message brings in as well as a long one, if the first long
    one then displaces all translations.
    """
    turns = rotation(options)
    whole = _Start(cycle=turns, cold=turns)
    if options.exact or "random" in (adapter.mtt.policy, adapter.mpt.policy):
        return whole
    pages = -(-options.size // options.page_size)
    alone = 1 if pages >= adapter.mtt.entries else 2
    if turns == 1:
        return _Start(cycle=1, cold=1, repeats=alone)
    if options.invalidate:
        all_pages = min(turns * pages, turns * spacing(options.size) // options.page_size)
        if all_pages >= adapter.mtt.entries:
            return _Start(cycle=1, cold=1, repeats=alone)
        return whole
    displaces = 2 * pages >= adapter.mtt.entries
    if displaces and options.warmup >= turns:
        return _Start(cycle=1, cold=turns + 1, short=turns)
    return whole


@dataclass
class _Followed:
    """What is noted on the way of one message."""

    use: Utilisation
    limits: dict[str, Any] = field(default_factory=dict)


class Player:
    """One of the two processes."""

    def __init__(
        self, sim: Simulator, cluster: Cluster, node: int, options: Options, short: int
    ) -> None:
        self._options = options
        self._short = short
        self.context = Context(sim, cluster.nodes[node])
        pd = PD(self.context)
        self._depth = min(QUEUE, cluster.machine.hca.limits.max_wr)
        self.cq = CQ(self.context, self._depth)
        self.qp = QP(pd, self.cq, self.cq, max_send_wr=self._depth, max_recv_wr=self._depth)
        self._places = places(pd, options)
        self._sends = count()
        self._receives = count()
        self._peer = self
        self._watch: Watch | None = None
        self._awaits_completion = True
        self._completed = {False: 0, True: 0}
        self.operation = 0
        self.followed: _Followed | None = None

    def connect(self, other: Player) -> None:
        """Connect this end."""
        self.qp.connect(other.qp)
        self._peer = other

    def _length(self, message: int) -> int:
        size = self._options.size
        return min(size, self._options.page_size) if message < self._short else size

    def _empties_queue(self, message: int) -> bool:
        # NetPIPE empties its queues between its trials by one signaled message.
        return (message + 1) % self._depth == 0

    def prepare_to_receive(self) -> Steps:
        """Post the receive of the next message, or only know where it will be written."""
        message = next(self._receives)
        place, length = self._places[message % len(self._places)], self._length(message)
        polls_memory = self._options.completion == "memory"
        if polls_memory:
            self._watch = place.receiving.watch(place.target + length - 1)
        if self._options.verb == "write":
            self._awaits_completion = False
            return
        self._awaits_completion = not polls_memory or self._empties_queue(message)
        sge = SGE(place.target, self._options.size, place.receiving.lkey)
        yield from self.qp.post_recv(RecvWR(sge, signaled=self._awaits_completion))
        self._mark("post_recv")

    def send(self) -> Steps:
        """Post the next message."""
        message = next(self._sends)
        turn = message % len(self._places)
        place, remote = self._places[turn], self._peer._places[turn]
        signaled = self._empties_queue(message)
        request = SendWR(
            OPCODES[self._options.verb],
            SGE(place.source, self._length(message), place.sending.lkey),
            remote_addr=remote.target,
            rkey=remote.receiving.rkey,
            signaled=signaled,
        )
        self.operation = yield from self.qp.post_send(request)
        if signaled and self._options.completion == "memory":
            yield from self._await_completion(receive=False)

    def receive(self) -> Steps:
        """Await the next message."""
        if self._watch is not None:
            yield from self._watch.poll(1)
            self._watch.close()
            self._mark("poll memory")
        if self._awaits_completion:
            yield from self._await_completion(receive=True)
            self._mark("poll CQ")

    def _await_completion(self, *, receive: bool) -> Steps:
        while not self._completed[receive]:
            completion = yield from self.cq.wait()
            self._completed[completion.is_receive] += 1
        self._completed[receive] -= 1

    def _mark(self, stage: str) -> None:
        self.context.probe.event(stage, self._peer.operation)


def _serve(player: Player) -> Steps:
    while True:
        yield from player.receive()
        yield from player.prepare_to_receive()
        if player.followed is not None:
            player.followed.limits = player.followed.use.report()
            player.followed = None
        yield from player.send()


def _play(sim: Simulator, player: Player, laps: Laps) -> Steps:
    while not laps.done:
        begin = sim.now
        yield from player.send()
        yield from player.receive()
        yield from player.prepare_to_receive()
        laps.lap(sim.now - begin)


def _follow(
    sim: Simulator, cluster: Cluster, transmitter: Player, receiver: Player, typical: bool
) -> dict[str, Any]:
    """One more round trip: what limits its first half, and what each half takes of the bus."""
    before = cluster.counters()
    receiver.followed = followed = _Followed(Utilisation(cluster.sim))
    follower = Follower(sim)

    def once() -> Steps:
        yield from transmitter.send()
        yield from transmitter.receive()
        yield from transmitter.prepare_to_receive()

    sim.run(until=sim.process(once()))
    after = cluster.counters()
    names = [name for name in after if name.startswith("bus_")]
    bus = {name: (after[name] - before[name]) / 2 for name in names}
    found = followed.limits | follower.stages(transmitter.operation, typical=typical)
    return {**found, "bus_per_message": bus}


def netpipe(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Half a round trip, and the bandwidth that it stands for."""
    cluster = Cluster(sim, machine, clients_and_server(machine, options))
    start = _start(machine.hca, options)
    transmitter, receiver = (Player(sim, cluster, node, options, start.short) for node in range(2))
    transmitter.connect(receiver)
    receiver.connect(transmitter)
    for player in (transmitter, receiver):
        sim.run(until=sim.process(player.prepare_to_receive()))
    sim.run()
    laps = Laps(
        options.warmup,
        options.iters,
        options.exact,
        cycle=start.cycle,
        cold=start.cold,
        repeats=start.repeats,
        slack=SLACK,
        error=ERROR,
    )
    sim.process(_serve(receiver))
    sim.run(until=sim.process(_play(sim, transmitter, laps)))
    latency_us = laps.mean_ps() / 2 / 1e6
    row = {
        "size": options.size,
        "qps": 1,
        "latency_us": latency_us,
        "bandwidth_MBps": options.size / latency_us,
        "throughput_Mbps": options.size * 8 / MEGABIT / (latency_us / 1e6),
        "error_percent": laps.error_percent,
        "buffers": rotation(options),
        "completion": options.completion,
        "invalidate": options.invalidate,
        "verb": options.verb,
    }
    counters = cluster.counters()
    if not options.explain:
        return Result(row, counters)
    typical = rotation(options) == 1
    return Result(row, counters, _follow(sim, cluster, transmitter, receiver, typical))
