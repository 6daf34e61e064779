"""One process of a bandwidth test: it sends windows of messages, or receives them, or both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from math import gcd
from statistics import fmean

from hcasim.cluster import Cluster
from hcasim.engine import Simulator, mean_error
from hcasim.verbs import CQ, MR, PD, QP, SGE, Access, Completion, Context, RecvWR, SendWR, WROpcode
from hcasim.verbs.memory import Watch
from hcasim.workloads.end import Steps
from hcasim.workloads.laps import Laps
from hcasim.workloads.options import Options
from hcasim.workloads.windows.buffers import FurtherBuffers, is_mixed
from hcasim.workloads.windows.plan import WindowPlan, find_pace

REPLY_SIZE = 4
CONTROL_SIZE = 4
SPARE_RECEIVES = 8
SLACK = 2e-4
ERROR = 2e-3
MIXED_SAMPLES = 3
MIXED_ERROR = 1e-3
CUT_ERROR = 5e-3
"""Relative error of the pace of a cut window, whose streams are less in step than in a whole."""
DISAGREE = 4e-3
"""Relative difference of what cut windows say, from which on longer ones are tried."""
PAGE = 4096
"""Bytes of the pages on which queues lie."""
COLD_PACKETS = 8192
"""Packets beside which translating a page of each queue for the first time does not count."""
_REMOTE = Access.LOCAL_WRITE | Access.REMOTE_WRITE | Access.REMOTE_READ


def _make_laps(options: Options, depth: int, on_page: int, packets: int) -> Laps:
    """How windows are timed.

    Args:
        depth: entries of each send queue.
        on_page: how many of them lie on a page, which is looked up.
        packets: of a message.
    """
    cycle = options.qps // gcd(options.qps, options.window)
    if not is_mixed(options.reuse) or options.exact:
        cold, together, drift = cycle, 1, 0.0
        if options.qps > 1 or options.mode == "binding":
            # Queue pairs drift against each other. A single one, or stripes that wait for each
            # other, are known by three windows that are alike.
            most = COLD_PACKETS // packets
            used, seen = (min(entries * options.qps, most) for entries in (depth, on_page))
            cold = max(cycle, options.warmup, -(-used // options.window))
            together, drift = -(-seen // options.window), ERROR
        return Laps(
            options.warmup,
            options.iters,
            options.exact,
            cycle=cycle,
            cold=cold,
            together=together,
            repeats=3,
            slack=SLACK,
            drift=drift,
            error=ERROR,
        )
    # Which entries of a cache displace which others differs from window to window.
    warmup = min(options.warmup, cycle)
    return Laps(warmup, options.iters, exact=False, samples=MIXED_SAMPLES, error=MIXED_ERROR)


@dataclass
class Lane:
    """A queue pair that carries messages, and where they go."""

    qp: QP
    target: MR


class Process:
    """One process of a pair: it sends windows, or receives them, or both."""

    def __init__(
        self,
        sim: Simulator,
        cluster: Cluster,
        node: int,
        core: int,
        options: Options,
        opcode: WROpcode,
    ) -> None:
        self.sim = sim
        self.options = options
        self.opcode = opcode
        self.context = Context(sim, cluster.nodes[node], core)
        self.pd = PD(self.context)
        self.depth = 2 * options.window * max(1, options.ports) + 16
        self.cq = CQ(self.context, 8 * self.depth * options.qps)
        self.source = self._register(max(options.size, CONTROL_SIZE))
        self.further_sources = FurtherBuffers(self.pd, options, _REMOTE)
        self.further_targets = FurtherBuffers(self.pd, options, _REMOTE, self._watch)
        self.qps: dict[int, QP] = {}
        self.receiver: Process | None = None
        self.lanes_out: list[Lane] = []
        self.incoming: list[MR] = []
        self.control = self.pd.reg_mr(CONTROL_SIZE)
        self.reply_qp: QP | None = None
        self.sends = False
        self.receives = False
        adapter = cluster.nodes[node].adapter
        packets = adapter.packets(opcode.value, options.size)
        on_page = PAGE // adapter.description.wqe.stride
        self.laps = _make_laps(options, self.depth, on_page, packets)
        self.finished = sim.event()
        self.on_first_lap: Callable[[], None] = lambda: None
        self._watches: dict[int, Watch] = {}
        self._expected: Counter[int] = Counter()
        self._incoming = 0
        self._notices = 0
        self._replies = 0
        self._completions: list[int] = []
        self._took: list[int] = []
        self._disagreement = 1.0
        self._too_short = 0
        self._shorter: tuple[int, float, float] | None = None
        self._posted = 0
        self._turn = 0
        self._data_qps: dict[int, int] = {}
        self._receives: Counter[int] = Counter()

    @property
    def striped(self) -> bool:
        """Whether control messages announce the data."""
        return self.options.mode == "striping"

    @property
    def notified(self) -> bool:
        """Whether the receiver learns of messages from its completion queue."""
        return self.striped or self.opcode is WROpcode.SEND

    def new_qp(self, port: int) -> QP:
        """A queue pair on a port, numbered from 0."""
        inline = self.options.size if self.options.inline else 0
        qp = QP(
            self.pd,
            self.cq,
            self.cq,
            max_send_wr=self.depth,
            max_recv_wr=self.depth,
            max_inline_data=inline,
            port_num=port + 1,
        )
        self.qps[qp.qp_num] = qp
        return qp

    def new_buffer(self) -> MR:
        """A buffer for the messages of one lane."""
        mr = self._register(max(self.options.size, CONTROL_SIZE))
        self.incoming.append(mr)
        self._watch(mr)
        return mr

    def _register(self, length: int) -> MR:
        return self.pd.reg_mr(length, _REMOTE, page_size=self.options.page_size)

    def _watch(self, mr: MR) -> None:
        self._watches[mr.lkey] = mr.watch(mr.addr + self.options.size - 1)

    # Sending.

    def message_parts(self) -> list[tuple[Lane, int, int]]:
        """Lane, offset and bytes of each part of the next message."""
        size, turn = self.options.size, self._turn
        self._turn += 1
        if self.striped:
            ports = self.options.ports
            first = turn % self.options.qps * ports
            lanes = self.lanes_out[first : first + ports]
            if size <= self.options.threshold:
                return [(lanes[0], 0, size)]
            share = -(-size // len(lanes))
            cuts = [min(size, index * share) for index in range(len(lanes) + 1)]
            return [
                (lane, cuts[index], cuts[index + 1] - cuts[index])
                for index, lane in enumerate(lanes)
            ]
        lane = self.lanes_out[turn % len(self.lanes_out)]
        return [(lane, 0, size)]

    def post_message(self) -> Steps:
        """Post one message and what announces it."""
        assert self.receiver is not None
        source = self.further_sources.find(self._turn) or self.source
        further = self.receiver.further_targets.find(self._turn)
        for lane, offset, length in self.message_parts():
            target = further or lane.target
            yield from lane.qp.post_send(
                SendWR(
                    self.opcode,
                    SGE(source.addr + offset, length, source.lkey),
                    remote_addr=target.addr + offset,
                    rkey=target.rkey,
                    inline=self.options.inline,
                )
            )
            self._posted += 1
            if self.striped:
                yield from lane.qp.post_send(
                    SendWR(WROpcode.SEND, SGE(self.source.addr, CONTROL_SIZE, self.source.lkey))
                )
                self._posted += 1

    # Receiving.

    def prepare(self) -> Steps:
        """Post the receives that the first window needs."""
        assert self.reply_qp is not None
        for _ in range(2):
            yield from self._post_receive(self.reply_qp)
        if self.notified and self.receives:
            for qpn in sorted(self._data_qps):
                for _ in range(self.options.window + SPARE_RECEIVES):
                    yield from self._post_receive(self.qps[qpn])

    def expect_on(self, qp: QP) -> None:
        """Receive messages on this queue pair."""
        self._data_qps[qp.qp_num] = len(self._data_qps)

    def _post_receive(self, qp: QP) -> Steps:
        buffer = self.control
        if qp.qp_num in self._data_qps and self.opcode is WROpcode.SEND:
            turn = self._receives[qp.qp_num]
            self._receives[qp.qp_num] += 1
            message = turn * len(self._data_qps) + self._data_qps[qp.qp_num]
            buffer = self.further_targets.find(message) or self.incoming[0]
        yield from qp.post_recv(RecvWR(SGE(buffer.addr, buffer.length, buffer.lkey)))

    def _progress(self) -> Steps:
        completion: Completion = yield from self.cq.wait()
        qp = self.qps[completion.qpn]
        if completion.is_receive:
            if qp is self.reply_qp:
                self._replies += 1
            else:
                self._notices += 1
            yield from self._post_receive(qp)
        elif qp is not self.reply_qp:
            self._completions.append(completion.timestamp_ps)

    def await_messages(self, number: int) -> Steps:
        """Wait until ``number`` more messages have come in."""
        if self.notified:
            parts = 1
            if self.striped and self.options.size > self.options.threshold:
                parts = self.options.ports
            self._notices -= number * parts
            while self._notices < 0:
                yield from self._progress()
            return
        awaited: set[int] = set()
        for message in range(self._incoming, self._incoming + number):
            lane = self.incoming[message % len(self.incoming)]
            last = (self.further_targets.find(message) or lane).lkey
            self._expected[last] += 1
            awaited.add(last)
        self._incoming += number
        for key in sorted(awaited):
            watch = self._watches[key]
            if watch.count < self._expected[key] or key == last:
                yield from watch.poll(self._expected[key])

    # Windows.

    def window(self, length: int) -> Steps:
        """One window: send, receive and reply, await the reply and the completions."""
        assert self.reply_qp is not None
        if self.sends:
            for _ in range(length):
                yield from self.post_message()
        if self.receives:
            yield from self.await_messages(length)
            yield from self.reply_qp.post_send(
                SendWR(WROpcode.SEND, SGE(self.source.addr, REPLY_SIZE, self.source.lkey))
            )
            while self.cq.queue.entries:
                yield from self._progress()
        if self.sends:
            self._replies -= 1
            while self._replies < 0 or len(self._completions) < self._posted:
                yield from self._progress()

    def run(self, plan: WindowPlan) -> Steps:
        """Windows for ever, timed at the sender."""
        for index in count():
            length = plan.length(index)
            begin = self.sim.now
            self._completions.clear()
            self._posted = 0
            yield from self.window(length)
            if self.sends and not self.finished.triggered:
                self._note(index, length, self.sim.now - begin, plan)

    def _note(self, index: int, length: int, duration: int, plan: WindowPlan) -> None:
        if not plan.shortened:
            self.laps.lap(duration)
        elif index > 0:
            self._note_short(length, duration, plan)
        if index == 0:
            self.on_first_lap()
        if self.laps.done:
            self.finished.succeed()

    def _note_short(self, length: int, duration: int, plan: WindowPlan) -> None:
        """Work out what a whole window would have taken, from windows of two lengths at least.

        Each message more takes the time between the completions of two. The windows' durations
        have to say the same: what piles up behind the completions, and what streams do at the end,
        is seen in them alone.
        """
        if length <= self._too_short:
            return
        self._took.append(duration)
        error = 0.0
        if length < plan.full:
            abreast = self.options.qps
            parts = abreast * len(self._completions) // length
            pace = find_pace(sorted(self._completions)[parts - 1 :: parts])
            if pace is None:
                self._lengthen(length, plan)
                return
            if not pace.periodic and len(self._took) < plan.repeats(length):
                return
            whole = self._whole(length, plan.full, pace.step_ps / abreast)
            if self._disagreement > DISAGREE:
                self._lengthen(length, plan)
                return
            error = max(CUT_ERROR, pace.error) * (1 - fmean(self._took) / whole)
            error = max(error, self._disagreement)
        elif len(self._took) < plan.repeats(length):
            return
        else:
            whole = fmean(self._took)
        self.laps.settle(round(whole), max(error, mean_error(self._took)))

    def _whole(self, length: int, full: int, step_ps: float) -> float:
        """What a whole window takes, by the time from completion to completion or by two windows.

        The relative difference of what agrees best is the disagreement.
        """
        took, rest = fmean(self._took), full - length
        by_pace = took + rest * step_ps
        self._disagreement = 1.0
        if not self._shorter:
            self._shorter = (length, took, 0.0)
            return by_pace
        shorter, before, foretold = self._shorter
        by_windows = took + rest * (took - before) / (length - shorter)
        self._shorter = (length, took, by_windows)
        found = by_pace
        for one, other in ((by_pace, by_windows), (by_windows, foretold)):
            if abs(one - other) / one < self._disagreement:
                self._disagreement = abs(one - other) / one
                found = one
        return found

    def _lengthen(self, length: int, plan: WindowPlan) -> None:
        plan.lengthen(length)
        self._took.clear()
        self._too_short = length


class ReadProcess(Process):
    """A process that fetches its messages itself, so nobody has to reply."""

    def window(self, length: int) -> Steps:
        for _ in range(length):
            yield from self.post_message()
        while len(self._completions) < self._posted:
            yield from self._progress()
