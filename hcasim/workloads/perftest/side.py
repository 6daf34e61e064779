"""One process of a test: it keeps its send queues filled, or its receive queues, or both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import gcd
from typing import ClassVar

from hcasim.cluster import Cluster
from hcasim.engine import Event, Simulator
from hcasim.engine.changes import Changes
from hcasim.verbs import MR, Completion, SendWR, WCStatus, WROpcode
from hcasim.verbs.context import VerbsError
from hcasim.workloads.end import ANSWERED, Endpoint, Steps, hold, receive
from hcasim.workloads.options import ACKNOWLEDGED, Options

RNR_TIMER_PS = 640_000_000
"""What a side asks for that has no receive (MIN_RNR_TIMER, 12: 0.64 ms)."""
MODERATION = 100
MODERATED = 8192
"""Longest message in bytes of which a completion stands for several unless the user says so
(MSG_SIZE_CQ_MOD_LIMIT)."""
BATCH = 16
"""Completions that are taken before queues are filled again (CTX_POLL_BATCH)."""
_PAGE = 4096
_ENDLESS = 1 << 60
_FAILED = {
    WCStatus.RNR_RETRY_EXC_ERR: "a request failed, as when no receive was posted (--rx-depth)",
    WCStatus.RETRY_EXC_ERR: "a request had no answer, however often it was sent again",
}


def moderation(options: Options) -> int:
    """Requests of a queue pair for one completion (force_dependecies in perftest_parameters.c)."""
    usual = MODERATION if options.size <= MODERATED else 1
    if options.post_list > 1:
        usual = options.post_list
    return min(options.cq_mod or usual, options.tx_depth, options.iters)


class Side(Endpoint):
    """One process: it sends, or receives, or both; who receives first waits for a message.

    Attributes:
        lap: messages of each queue pair after which the run may repeat itself.
        iters: messages of each queue pair.
        sent, done: those of each queue pair that were posted, and are known to be complete.
        awaited, received: those of each queue pair with a receive, and that have come in.
        allowed: messages of each queue pair up to the next pause.
        starts_ps: when it begins, from the start of all on.
        saved_ps, pace_error: time of messages that were left out, and its relative error.
        laps: that are complete; `lapped_ps` is when the last one was, which `on_lap` is told.
        moved: tells how many bytes have left its node, or come there if it reads.
    """

    changes: ClassVar[Changes] = Changes(
        counts="sent done allowed awaited received laps full_ps _taken",
        since="began_ps ended_ps lapped_ps",
    )

    def __init__(
        self,
        cluster: Cluster,
        node: int,
        options: Options,
        opcode: WROpcode,
        sends: bool,
        receives: bool,
        lap: int,
        core: int = 0,
    ) -> None:
        self.lap, self.iters = lap, options.iters
        self.depth = min(options.tx_depth, options.iters)
        self.every = gcd(moderation(options), options.burst)
        self.allowed = options.burst or _ENDLESS
        self.sends, self.receives = sends, receives
        self.ahead = min(options.rx_depth, options.iters) if receives else 0
        entries = (self.depth + self.ahead) * options.qps
        depths = self.depth, max(1, self.ahead)
        super().__init__(cluster.sim, cluster.nodes[node], core, options, opcode, entries, depths)
        self.context.costs.run(options.work)
        self.reliable = options.connection in ACKNOWLEDGED
        self.peer: MR = self.buffer
        self.may_send = True
        self.sent, self.done, self.awaited, self.received = ([0] * options.qps for _ in range(4))
        self.began_ps = self.ended_ps = self.saved_ps = self.full_ps = self.starts_ps = 0
        self.pace_error = 0.0
        self.laps = self.lapped_ps = self._taken = 0
        self.moved: Callable[[], float] = lambda: 0.0
        self.on_lap: Callable[[], None] = lambda: None

    def register(self) -> None:
        # Each queue pair has a place to send from and one to receive in, on pages of their own.
        self.stride = -(-self.room // _PAGE) * _PAGE
        # Or any place of a region, of which each has one to send from and one to receive in.
        self._half = self.options.region or self.options.qps * self.stride
        self.buffer = self.memory(2 * self._half)

    def connect(self, other: Side) -> None:
        """Connect each queue pair with its peer."""
        self.peer = other.buffer
        if self.places is not None:
            half, answers = self._half, self.opcode in ANSWERED
            near = [(0, half)] * (self.sends or answers)
            far = [(half, half)] * (other.sends and not answers)
            hold(self.buffer, self.options.page_size, near + far)
        self.activate(other, RNR_TIMER_PS)

    def prepare(self) -> Steps:
        """Fill the receive queues."""
        for number in range(len(self.qps)):
            for _ in range(self.ahead):
                yield from self._post_receive(number)

    def run(self) -> Steps:
        """Send and receive everything."""
        if self.starts_ps:
            yield self.sim.timeout(self.starts_ps)
        self.began_ps = self.lapped_ps = self.sim.now
        while self._remains():
            if self.sends and min(self.done) == self.allowed:
                yield self.sim.timeout(self.options.pause * 1_000_000)
                self.allowed += self.options.burst
            if self.sends and self.may_send:
                yield from self._fill()
            began = self.sim.now
            completion = yield from self.cq.wait()
            self.full_ps += (self.sim.now - began) * self.sends
            self._taken = 1
            yield from self._take(completion)
            while self._taken < BATCH and self.cq.queue.entries:
                self._taken += 1
                for completion in (yield from self.cq.poll()):
                    yield from self._take(completion)

    def _remains(self) -> bool:
        if self.sends and min(self.done) < self.iters:
            return True
        # What is not acknowledged may be lost: who sends too does not wait for it.
        awaits = self.receives and (self.reliable or not self.sends)
        return awaits and min(self.received) < self.iters

    def _fill(self) -> Steps:
        count = self.options.post_list
        for number, qp in enumerate(self.qps):
            while self.sent[number] + count <= min(
                self.iters, self.allowed, self.done[number] + self.depth
            ):
                if count == 1:
                    yield from qp.post_send(self._request(number))
                else:
                    yield from qp.post_send_list([self._request(number) for _ in range(count)])

    def _request(self, number: int) -> SendWR:
        """The next request of a queue pair."""
        turn = self.sent[number]
        self.sent[number] = turn + 1
        place = number * self.stride if self.places is None else next(self.places)
        far = place if self.opcode in ANSWERED else place + self._half
        signaled = (turn + 1) % self.every == 0 or turn + 1 == self.iters
        return self.request(number, self.buffer, place, self.peer, far, signaled)

    def _post_receive(self, number: int) -> Steps:
        self.awaited[number] += 1
        place = self._half + number * self.stride
        yield from self.receivers[number].post_recv(receive(self.buffer, place, self.room))

    def _take(self, completion: Completion) -> Steps:
        number = self.numbers[completion.qpn]
        if completion.status is not WCStatus.SUCCESS:
            status = completion.status
            raise VerbsError(status.name, _FAILED.get(status, "a request failed"))
        if completion.is_receive:
            self.may_send = True
            self.received[number] += 1
            if self.awaited[number] < self.iters:
                yield from self._post_receive(number)
            return
        self.done[number] = min(self.done[number] + self.every, self.iters)
        self.ended_ps = self.sim.now
        if min(self.done) // self.lap > self.laps:
            self.laps += 1
            self.lapped_ps = self.ended_ps
            self.on_lap()

    @property
    def took_ps(self) -> int:
        """Its time in ps, with that of messages that were left out."""
        return self.ended_ps - self.began_ps + self.saved_ps

    @property
    def per_second(self) -> float:
        """Messages a second."""
        return self.options.iters * self.options.qps / (self.took_ps / 1e12)

    @property
    def error(self) -> float:
        """Relative error of that: of what was left out, as a share of the whole time."""
        return self.pace_error * self.saved_ps / self.took_ps


def join(
    cluster: Cluster,
    nodes: tuple[int, int],
    options: Options,
    opcode: WROpcode,
    both_ways: bool = False,
    lap: int = 1,
) -> list[Side]:
    """Two sides that are connected, the one that sends in any case first."""
    sent = opcode is WROpcode.SEND
    ways = ((True, sent and both_ways), (both_ways, sent))
    a, b = sides = [
        Side(cluster, node, options, opcode, *way, lap, number * options.loopback)
        for number, (node, way) in enumerate(zip(nodes, ways, strict=True))
    ]
    a.connect(b)
    b.connect(a)
    b.may_send = not sent
    return sides


def start(sim: Simulator, sides: list[Side]) -> Event:
    """Fill the receive queues, then let all run; return the event of their end.

    Of messages that are not acknowledged it is that of their senders, because some may be lost.
    """
    for side in sides:
        if side.ahead:
            sim.run(until=sim.process(side.prepare()))
    sim.run()
    running = [(side, sim.process(side.run())) for side in sides]
    return sim.all_of([process for side, process in running if side.reliable or side.sends])


def whole(peers: Sequence[Side]) -> Callable[[], int]:
    """What tells the bytes of messages that have come to sides without a gap."""
    halves = [
        qp.responder for one in peers for qp in one.home.adapter.every_qp() if qp.qpn in one.numbers
    ]
    return lambda: sum([half.msn for half in halves]) * peers[0].options.size


def movement(
    sides: Sequence[Side], peers: Sequence[Side], share: int = 1, kept: bool = False
) -> Callable[[], float]:
    """What tells the bytes that sides of a node, which so many share, have moved to their peers.

    What is sent again counts once. Where switches keep or drop much of it, only what is
    acknowledged does, or has come in whole if nobody acknowledges it.
    """
    one, ports = sides[0], sides[0].home.adapter.ports
    if one.opcode is WROpcode.SEND and one.reliable:
        return lambda: sum(sum(peer.received) for peer in peers) * one.options.size
    if kept and one.reliable:
        return lambda: sum(sum(side.done) for side in sides) * one.options.size
    if kept:
        return whole(peers)
    if one.opcode in ANSWERED:
        return lambda: sum(port.payload_received for port in ports) / share
    return lambda: sum(port.egress.payload_bytes for port in ports) / share
