"""perftest's bandwidth tests: so many requests of each queue pair are in flight all the time.

The method is that of ib_write_bw, ib_send_bw and ib_read_bw (linux-rdma/perftest,
src/perftest_resources.c: run_iter_bw, run_iter_bw_server, run_iter_bi): the sender fills each send
queue in turn up to a depth and then polls; a completion, which is asked for with each so many
requests, makes room for as many. What counts is the time from before the first post to the last
completion at the sender. Who is sent to keeps a receive queue filled. Completions of sends and of
receives share a queue here.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from math import inf, lcm
from statistics import fmean
from typing import Any

from hcasim.catalog import Machine
from hcasim.cluster import Cluster
from hcasim.engine import Event, Simulator
from hcasim.verbs import MR, QP, SGE, Access, Completion, Context, RecvWR, SendWR, WROpcode
from hcasim.workloads.explain import Utilisation
from hcasim.workloads.laps import Laps
from hcasim.workloads.options import Options, Verb
from hcasim.workloads.process import OPCODES
from hcasim.workloads.result import Result
from hcasim.workloads.roles import clients_and_server

RX_DEPTH = 512
"""Receives of a queue pair that are posted ahead (DEF_RX_SEND)."""

MODERATION = 100
MODERATED = 8192
"""Longest message in bytes of which a completion stands for several unless the user says so
(MSG_SIZE_CQ_MOD_LIMIT)."""

BATCH = 16
"""Completions that are taken before queues are filled again (CTX_POLL_BATCH)."""

PACKETS = 32
"""Least packets of a lap: a lap of fewer may hide what happens every so many packets."""
MANY = 4096
"""Packets in flight of which one message is like the next."""
ENOUGH_LAPS = 16
ERROR = 1e-3
UNEQUAL = 1e-3
"""Relative difference of the paces of two directions that are still in step."""
MOST = 60_000
"""Packets with data of which the pace is taken at the latest, after a quarter as many."""
SLICE_PS = 10_000_000

_PAGE = 4096
_ACCESS = Access.LOCAL_WRITE | Access.REMOTE_WRITE | Access.REMOTE_READ
Steps = Generator[Event, Any, None]


def moderation(options: Options) -> int:
    """Requests of a queue pair for one completion (force_dependecies in perftest_parameters.c)."""
    usual = MODERATION if options.size <= MODERATED else 1
    return min(options.cq_mod or usual, options.tx_depth, options.iters)


class Side:
    """One process: it sends, or receives, or both.

    Args:
        cluster: where it runs.
        node: its number there.
        options: of the test.
        opcode: of its messages.
        sends, receives: whether it does; who receives first waits for a message.
        lap: messages of each queue pair after which the run may repeat itself.
        cold: laps that are never taken for a repetition.

    Attributes:
        iters: messages of each queue pair.
        sent, done: those of each queue pair that were posted, and are known to be complete.
        awaited, received: those of each queue pair with a receive, and that have come in.
        saved_ps: time that messages take which were left out.
    """

    def __init__(
        self,
        cluster: Cluster,
        node: int,
        options: Options,
        opcode: WROpcode,
        sends: bool,
        receives: bool,
        lap: int,
        cold: int,
    ) -> None:
        sim = self.sim = cluster.sim
        self.options = options
        self.opcode = opcode
        self.lap = lap
        self.iters = options.iters
        self.depth = min(options.tx_depth, options.iters)
        self.every = moderation(options)
        context = Context(sim, cluster.nodes[node])
        pd = context.alloc_pd()
        self.sends, self.receives = sends, receives
        ahead = self.ahead = min(RX_DEPTH, options.iters) if receives else 0
        self.cq = context.create_cq((self.depth + ahead) * options.qps)
        # Each queue pair has a place to send from and one to receive in, on pages of their own.
        self.room = -(-options.size // _PAGE) * _PAGE
        size = 2 * options.qps * self.room
        self.buffer: MR = pd.reg_mr(size, _ACCESS, page_size=options.page_size)
        self.qps: list[QP] = [
            pd.create_qp(
                self.cq,
                self.cq,
                max_send_wr=self.depth,
                max_recv_wr=max(1, ahead),
                max_inline_data=options.size if options.inline else 0,
            )
            for _ in range(options.qps)
        ]
        self._numbers = {qp.qp_num: number for number, qp in enumerate(self.qps)}
        self.peer: MR = self.buffer
        self.may_send = True
        self.sent, self.done, self.awaited, self.received = ([0] * options.qps for _ in range(4))
        self.began_ps = self.ended_ps = self.saved_ps = 0
        self.laps = Laps(
            0, options.iters, options.exact, cold=cold, error=ERROR, enough=ENOUGH_LAPS
        )
        self.lapped_ps = 0
        self._leads: list[int] = []
        self.on_lap: Callable[[], None] = lambda: None

    def connect(self, other: Side) -> None:
        """Connect each queue pair with its peer."""
        self.peer = other.buffer
        for mine, theirs in zip(self.qps, other.qps, strict=True):
            mine.connect(theirs)

    def prepare(self) -> Steps:
        """Fill the receive queues."""
        for number in range(len(self.qps)):
            for _ in range(self.ahead):
                yield from self._post_receive(number)

    def run(self) -> Steps:
        """Send and receive everything."""
        self.began_ps = self.lapped_ps = self.sim.now
        while self._remains():
            if self.sends and self.may_send:
                yield from self._fill()
            yield from self._take((yield from self.cq.wait()))
            for _ in range(BATCH - 1):
                if not self.cq.queue.entries:
                    break
                for completion in (yield from self.cq.poll()):
                    yield from self._take(completion)

    def _remains(self) -> bool:
        return (self.sends and min(self.done) < self.iters) or (
            self.receives and min(self.received) < self.iters
        )

    def _fill(self) -> Steps:
        for number in range(len(self.qps)):
            while self.sent[number] < min(self.iters, self.done[number] + self.depth):
                yield from self._post(number)

    def _post(self, number: int) -> Steps:
        turn = self.sent[number]
        self.sent[number] = turn + 1
        size, options = self.options.size, self.options
        place = number * self.room
        far = place if self.opcode is WROpcode.RDMA_READ else place + len(self.qps) * self.room
        yield from self.qps[number].post_send(
            SendWR(
                self.opcode,
                SGE(self.buffer.addr + place, size, self.buffer.lkey),
                remote_addr=self.peer.addr + far,
                rkey=self.peer.rkey,
                inline=options.inline,
                signaled=(turn + 1) % self.every == 0 or turn + 1 == self.iters,
            )
        )

    def _post_receive(self, number: int) -> Steps:
        self.awaited[number] += 1
        address = self.buffer.addr + (len(self.qps) + number) * self.room
        sge = SGE(address, self.options.size, self.buffer.lkey)
        yield from self.qps[number].post_recv(RecvWR(sge))

    def _take(self, completion: Completion) -> Steps:
        number = self._numbers[completion.qpn]
        if completion.is_receive:
            self.may_send = True
            self.received[number] += 1
            if self.awaited[number] < self.iters:
                yield from self._post_receive(number)
            return
        self.done[number] = min(self.done[number] + self.every, self.iters)
        self.ended_ps = self.sim.now
        if min(self.done) // self.lap > len(self.laps.durations_ps):
            self.laps.lap(self.ended_ps - self.lapped_ps)
            self.lapped_ps = self.ended_ps
            self._leads.append(max(self.sent) - min(self.sent))
            self.on_lap()

    @property
    def pattern_ps(self) -> list[int]:
        """The laps that repeat, if no queue pair gains on another in them."""
        pattern = self.laps.pattern_ps
        keeps = len(self._leads) > len(pattern) and (
            abs(self._leads[-1] - self._leads[-1 - len(pattern)]) < self.every
        )
        return pattern if keeps else []

    @property
    def per_second(self) -> float:
        """Messages a second."""
        took_ps = self.ended_ps - self.began_ps + self.saved_ps
        return self.options.iters * self.options.qps / (took_ps / 1e12)


def join(
    cluster: Cluster,
    nodes: tuple[int, int],
    options: Options,
    opcode: WROpcode,
    both_ways: bool = False,
    lap: int = 1,
    cold: int = 0,
) -> list[Side]:
    """Two sides that are connected, the one that sends in any case first."""
    sent = opcode is WROpcode.SEND
    ways = ((True, sent and both_ways), (both_ways, sent))
    a, b = sides = [
        Side(cluster, node, options, opcode, *way, lap, cold)
        for node, way in zip(nodes, ways, strict=True)
    ]
    a.connect(b)
    b.connect(a)
    b.may_send = not sent
    return sides


def start(sim: Simulator, sides: list[Side]) -> Event:
    """Fill the receive queues, then let all run; return the event of their end."""
    for side in sides:
        sim.run(until=sim.process(side.prepare()))
    sim.run()
    return sim.all_of([sim.process(side.run()) for side in sides])


class Window:
    """What each node sends or reads in a part of a run, looked at every so often.

    Args:
        cluster: the nodes.
        verb: how messages travel.
        size: bytes to time; a quarter as many go before.

    Attributes:
        begun, over: events of its two ends.
    """

    def __init__(self, cluster: Cluster, verb: Verb, size: int) -> None:
        self.sim = cluster.sim
        self._ports = [node.adapter.ports for node in cluster.nodes]
        self._reads = verb == "read"
        self._ends = self.begun, self.over = self.sim.event(), self.sim.event()
        self._limits = size // 4, size + size // 4
        self._seen: list[tuple[int, list[int]]] = []
        self.sim.call_after(SLICE_PS, self._look)

    def _look(self) -> None:
        moved = [
            sum(p.payload_received if self._reads else p.transmitter.payload_bytes for p in ports)
            for ports in self._ports
        ]
        number = len(self._seen)
        if sum(moved) > self._limits[number]:
            self._seen.append((self.sim.now, moved))
            self._ends[number].succeed()
        # Where nothing else is to come, nobody waits in vain.
        if not self.over.triggered and self.sim.peek() < inf:
            self.sim.call_after(SLICE_PS, self._look)

    def rates(self) -> list[float]:
        """Bytes a second of each node."""
        (begin, before), (end, after) = self._seen
        return [(b - a) / (end - begin) * 1e12 for a, b in zip(before, after, strict=True)]


def in_columns(options: Options, rate: float) -> dict[str, Any]:
    """A row, from bytes a second."""
    return {
        "size": options.size,
        "qps": options.qps,
        "bandwidth_MBps": rate / 1e6,
        "rate_Mps": rate / options.size / 1e6,
    }


class Stream:
    """A test: two sides, and when enough of it is known to leave out the rest.

    Once the laps of all who send repeat themselves, as many repetitions as there is time for are
    left out: the run ends as the whole one does. If even what is in flight is many packets, it
    ends at once, because one message is then like the next. If nothing repeats itself for long,
    the pace of MOST packets stands for that of all.

    Args:
        sim: the simulator.
        machine: what it runs on, from a client to the server.
        options: of the test.
        verb: how messages travel.
        both_ways: whether both sides send; what they reach is added up.
    """

    def __init__(
        self,
        sim: Simulator,
        machine: Machine,
        options: Options,
        verb: Verb,
        both_ways: bool,
    ) -> None:
        opcode = OPCODES[verb]
        self.sim = sim
        self.options = options
        self.verb: Verb = verb
        self.cluster = Cluster(sim, machine, clients_and_server(machine, options))
        self.packets = self.cluster.nodes[0].adapter.packets(opcode.value, options.size)
        packets = self.packets * options.qps
        every, depth = moderation(options), min(options.tx_depth, options.iters)
        lap = every * -(-PACKETS // (every * packets))
        self.ends_at_once = depth * packets > MANY
        # Each entry of each queue has been used once, its page being translated for the first time.
        entries = depth + RX_DEPTH * (opcode is WROpcode.SEND)
        cold = min(entries, MANY // packets) // lap + 2
        self.sides = join(self.cluster, (0, 1), options, opcode, both_ways, lap, cold)
        # Of few packets, what is posted ahead counts too: at the end no more is posted.
        self.counts_ahead = opcode is not WROpcode.SEND or RX_DEPTH * packets <= MANY
        self.senders = [side for side in self.sides if side.sends]
        self.enough = sim.event()
        self.usage = Utilisation(self.cluster)
        for side in self.senders:
            side.on_lap = self._lapped

    def run(self) -> Result:
        """Run it, and return what it measures."""
        sim, options = self.sim, self.options
        whole = start(sim, self.sides)
        self.usage.mark()
        ends = [whole, self.enough]
        if not options.exact:
            window = Window(self.cluster, self.verb, MOST * options.size // self.packets)
            ends.append(window.over)
        sim.run(until=sim.any_of(ends))
        if not options.exact and window.over.triggered:
            rate = sum(window.rates())
        else:
            rate = sum(side.per_second for side in self.senders) * options.size
        explained = self.usage.report() if options.explain else {}
        return Result(in_columns(options, rate), self.cluster.counters(), explained)

    def _lapped(self) -> None:
        patterns = [side.pattern_ps for side in self.senders]
        means = [fmean(pattern) if pattern else 0.0 for pattern in patterns]
        if not min(means) or self.enough.triggered or any(side.saved_ps for side in self.sides):
            return
        if max(means) > (1 + UNEQUAL) * min(means):
            return
        if self.ends_at_once:
            for side, mean in zip(self.senders, means, strict=True):
                laps = side.iters / side.lap - len(side.laps.durations_ps)
                side.ended_ps, side.saved_ps = side.lapped_ps, round(laps * mean)
            self.enough.succeed()
            return
        # Means of what does not repeat may be taken of any number of laps.
        together = lcm(*(len(p) if len(p) < ENOUGH_LAPS else 1 for p in patterns))
        counted = self.counts_ahead
        # One more at least, for which who receives may be waiting.
        ahead = max(max(side.sent + side.awaited * counted) for side in self.sides) + (not counted)
        laps = (self.options.iters - ahead) // (self.senders[0].lap * together) * together
        for side in self.sides:
            side.iters -= laps * side.lap
        for side, mean in zip(self.senders, means, strict=True):
            side.saved_ps = round(laps * mean)
