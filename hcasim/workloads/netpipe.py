"""Ping-pong as NetPIPE does it over InfiniBand, on the level of verbs.

The method is that of NetPIPE 3.6 (src/ib.c) with send and receive: sends are not signaled, the
next receive is posted before the answer, and the completion of the receive is polled for. One
buffer serves sending and receiving, but it is registered once for each, so the adapter translates
it by two sets of entries. With -I, which benjegerdes2004 section 3.3 uses, the messages rotate
through many buffers instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

from hcasim.catalog import Machine
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.verbs import MR, SGE, Context, RecvWR, SendWR, WROpcode
from hcasim.workloads.end import Steps
from hcasim.workloads.laps import Laps
from hcasim.workloads.options import Options
from hcasim.workloads.result import Result

SLACK = 1e-4
ERROR = 1e-3
QUEUE = 50_000
"""Entries of a work queue in NetPIPE (max_wq in src/ib.c)."""


@dataclass(frozen=True)
class Buffer:
    """Memory with its two registrations."""

    sending: MR
    receiving: MR


class Player:
    """One of the two processes."""

    def __init__(self, sim: Simulator, cluster: Cluster, node: int, options: Options) -> None:
        self.size = options.size
        self.context = Context(sim, cluster.nodes[node])
        pd = self.context.alloc_pd()
        self._depth = min(QUEUE, cluster.machine.adapter.limits.max_wr)
        self.cq = self.context.create_cq(self._depth)
        self.qp = pd.create_qp(self.cq, self.cq, max_send_wr=self._depth, max_recv_wr=self._depth)
        self._buffers = [
            Buffer(*(pd.reg_mr(options.size, page_size=options.page_size) for _ in range(2)))
            for _ in range(options.buffers)
        ]
        self._sends = count()
        self._receives = count()

    def connect(self, other: Player) -> None:
        """Connect this end."""
        self.qp.connect(other.qp)

    def _buffer(self, message: int) -> Buffer:
        return self._buffers[message % len(self._buffers)]

    def prepare_to_receive(self) -> Steps:
        """Post the receive of the next message."""
        memory = self._buffer(next(self._receives)).receiving
        yield from self.qp.post_recv(RecvWR(SGE(memory.addr, self.size, memory.lkey)))

    def send(self) -> Steps:
        """Post the next message."""
        message = next(self._sends)
        memory = self._buffer(message).sending
        # NetPIPE empties the queue between its trials by one signaled message.
        signaled = (message + 1) % self._depth == 0
        yield from self.qp.post_send(
            SendWR(
                WROpcode.SEND,
                SGE(memory.addr, self.size, memory.lkey),
                signaled=signaled,
            )
        )

    def receive(self) -> Steps:
        """Await the next message."""
        while True:
            completion = yield from self.cq.wait()
            if completion.is_receive:
                return


def _serve(player: Player) -> Steps:
    while True:
        yield from player.receive()
        yield from player.prepare_to_receive()
        yield from player.send()


def _play(sim: Simulator, player: Player, laps: Laps) -> Steps:
    while not laps.done:
        begin = sim.now
        yield from player.send()
        yield from player.receive()
        yield from player.prepare_to_receive()
        laps.lap(sim.now - begin)


def netpipe(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Half a round trip of send and receive, and the bandwidth that it stands for."""
    cluster = Cluster(sim, machine, 2)
    transmitter, receiver = (Player(sim, cluster, node, options) for node in range(2))
    transmitter.connect(receiver)
    receiver.connect(transmitter)
    for player in (transmitter, receiver):
        sim.run(until=sim.process(player.prepare_to_receive()))
    sim.run()
    laps = Laps(
        options.warmup,
        options.iters,
        options.exact,
        cycle=options.buffers,
        repeats=2,
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
        "buffers": options.buffers,
    }
    return Result(row, cluster.counters())
