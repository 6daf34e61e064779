"""Flows of messages between many nodes at once: many to one, or all to all.

Each sender keeps a window of messages in flight, over its connections in turn.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from hcasim.catalog import CatalogError, Machine
from hcasim.cluster import Cluster, Node
from hcasim.engine import Event, Simulator
from hcasim.verbs import MR, QP, SGE, Access, Context, RecvWR, SendWR, WROpcode
from hcasim.workloads.explain import Utilisation
from hcasim.workloads.options import Options
from hcasim.workloads.result import Result
from hcasim.workloads.roles import clients_and_server, first_nodes

PACKETS = 30_000
"""Packets after which a run is long enough unless all of it is asked for."""

FEWEST = 8
"""Messages of each sender that are timed at least, and as many before them."""

_ACCESS = Access.LOCAL_WRITE | Access.REMOTE_WRITE | Access.REMOTE_READ
Steps = Generator[Event, Any, None]


class Party:
    """A process on one node that sends over its connections in turn, and receives.

    Attributes:
        done: times in ps at which messages that it sent were complete.
    """

    def __init__(self, sim: Simulator, node: Node, options: Options, opcode: WROpcode) -> None:
        self.sim = sim
        self.options = options
        self.opcode = opcode
        self.context = Context(sim, node)
        self.pd = self.context.alloc_pd()
        self.mr: MR = self.pd.reg_mr(options.size, _ACCESS, page_size=options.page_size)
        self.sends_cq = self.context.create_cq(options.window)
        self.receives_cq = self.context.create_cq(1 << 16)
        self.ways: list[tuple[QP, MR]] = []
        self.incoming: list[QP] = []
        self.done: list[int] = []
        self._awaited: list[tuple[int, Event]] = []

    def new_qp(self) -> QP:
        """A queue pair for one direction of a connection."""
        depth = self.options.window
        return self.pd.create_qp(
            self.sends_cq, self.receives_cq, max_send_wr=depth, max_recv_wr=depth
        )

    def connect(self, target: Party) -> None:
        """Let messages flow to another party."""
        here, there = self.new_qp(), target.new_qp()
        here.connect(there)
        there.connect(here)
        self.ways.append((here, target.mr))
        target.incoming.append(there)

    def after(self, messages: int) -> Event:
        """An event for when so many messages are complete."""
        event = self.sim.event()
        self._awaited.append((messages, event))
        return event

    def prepare(self) -> Steps:
        """Post the receives that messages need, if they need any."""
        for qp in self.incoming if self.opcode is WROpcode.SEND else ():
            for _ in range(self.options.window):
                yield from self._receive(qp)

    def _receive(self, qp: QP) -> Steps:
        yield from qp.post_recv(RecvWR(SGE(self.mr.addr, self.mr.length, self.mr.lkey)))

    def receive(self) -> Steps:
        """Take messages and post a receive for each, for ever."""
        while True:
            completion = yield from self.receives_cq.wait()
            yield from self._receive(self.receives_cq.qps[completion.qpn])

    def send(self) -> Steps:
        """Keep the window full, for ever."""
        source = SGE(self.mr.addr, self.options.size, self.mr.lkey)
        posted = 0
        while True:
            while posted - len(self.done) < self.options.window:
                qp, target = self.ways[posted % len(self.ways)]
                posted += 1
                yield from qp.post_send(
                    SendWR(self.opcode, source, remote_addr=target.addr, rkey=target.rkey)
                )
            completion = yield from self.sends_cq.wait()
            self.done.append(completion.timestamp_ps)
            for messages, event in self._awaited:
                if messages == len(self.done):
                    event.succeed()


def _rate(times: list[int], begin: int) -> float:
    """Messages per second from a moment on."""
    counted = [time for time in times if time > begin]
    return (len(counted) - 1) / (counted[-1] - counted[0]) * 1e12


def measure(
    sim: Simulator, cluster: Cluster, parties: list[Party], senders: list[Party]
) -> tuple[list[float], Utilisation]:
    """Let all send at once, and measure while all do.

    Returns:
        MB/s of each sender, and how busy everything was meanwhile.
    """
    options, opcode = senders[0].options, senders[0].opcode
    packets = cluster.nodes[0].adapter.packets(opcode.value, options.size)
    each = max(FEWEST, PACKETS // (packets * len(senders)))
    warmup = options.warmup if options.exact else min(options.warmup, each)
    iters = options.iters if options.exact else min(options.iters, each)
    for party in parties:
        sim.run(until=sim.process(party.prepare()))
    sim.run()
    warm = sim.all_of([party.after(max(1, warmup)) for party in senders])
    finished = sim.all_of([party.after(max(1, warmup) + iters + 1) for party in senders])
    for party in parties:
        if opcode is WROpcode.SEND and party.incoming:
            sim.process(party.receive())
    for party in senders:
        sim.process(party.send())
    usage = Utilisation(cluster)
    try:
        sim.run(until=warm)
        begin = sim.now
        usage.mark()
        sim.run(until=finished)
    except RuntimeError:
        fault = (
            "found packets that wait for each other in a circle of switches with full buffers; "
            "allowed: routes without circles, or less traffic"
        )
        raise CatalogError([f"{cluster.machine.id}: {fault}"]) from None
    return [_rate(party.done, begin) * options.size / 1e6 for party in senders], usage


def _result(
    sim: Simulator, cluster: Cluster, parties: list[Party], senders: list[Party], role: str
) -> Result:
    options = senders[0].options
    rates, usage = measure(sim, cluster, parties, senders)
    total = sum(rates)
    row = {
        "size": options.size,
        f"{role}s": len(senders),
        "bandwidth_MBps": total,
        "rate_Mps": total / options.size,
        f"{role}_min_MBps": min(rates),
        f"{role}_max_MBps": max(rates),
    }
    return Result(row, cluster.counters(), usage.report() if options.explain else {})


def many_to_one(sim: Simulator, machine: Machine, options: Options, opcode: WROpcode) -> Result:
    """Several clients that send to one server or read from it."""
    cluster = Cluster(sim, machine, clients_and_server(machine, options))
    *clients, server = (Party(sim, node, options, opcode) for node in cluster.nodes)
    for client in clients:
        for _ in range(options.qps):
            client.connect(server)
    return _result(sim, cluster, [*clients, server], clients, "client")


def all_to_all(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Each node writes to each other one, beginning with the next."""
    cluster = Cluster(sim, machine, first_nodes(machine, options))
    parties = [Party(sim, node, options, WROpcode.RDMA_WRITE) for node in cluster.nodes]
    for place, party in enumerate(parties):
        for other in (*parties[place + 1 :], *parties[:place]):
            party.connect(other)
    return _result(sim, cluster, parties, parties, "node")
