"""One process of a bandwidth test: it sends windows of messages, or receives them, or both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count, pairwise

from hcasim.catalog import Adapter
from hcasim.verbs import CQ, MR, PD, QP, SGE, Access, SendWR, WROpcode
from hcasim.verbs.memory import Watch
from hcasim.verbs.requests import WIRE
from hcasim.workloads.end import Program, Steps, receive, request
from hcasim.workloads.options import Options
from hcasim.workloads.run import Run
from hcasim.workloads.windows.plan import ALL, Timing, WindowPlan

REPLY_SIZE = 4
CONTROL_SIZE = 4
SPARE_RECEIVES = 8
_REMOTE = Access.LOCAL_WRITE | Access.REMOTE_WRITE | Access.REMOTE_READ


@dataclass
class Lane:
    """A queue pair that carries messages, and where they go."""

    qp: QP
    target: MR


class FurtherBuffers:
    """The buffers of those messages of a process that do not reuse the common one.

    A percentage of the messages reuses one buffer, spread evenly over all of them; each of the
    others takes the next of these in turn. Unless the author of the benchmark says how many, there
    are so many that the adapter no longer holds the translations of any of them when it has its
    turn again. They are registered when they are first used, which takes no simulated time. The
    method is that of MIBA, which sur2005 section 4.3 uses.
    """

    def __init__(self, pd: PD, options: Options) -> None:
        self._pd, self._options = pd, options
        self._count = options.buffers
        if options.buffers == 1:
            self._count = enough_buffers(pd.context.adapter.description, options)
        self._registered: list[MR] = []
        self.on_new: Callable[[MR], object] = lambda _: None

    @property
    def rotation(self) -> int:
        """Windows after which all have been used."""
        each = self._options.window * (ALL - self._options.reuse)
        return -(-self._count * ALL // each) if each else 0

    def find(self, message: int) -> MR | None:
        """The buffer of a message, counted from 0, or None if it reuses the common one."""
        options = self._options
        before = message * options.reuse // ALL
        if (message + 1) * options.reuse // ALL > before:
            return None
        turn = (message - before) % self._count
        while turn >= len(self._registered):
            mr = self._pd.reg_mr(options.size, _REMOTE, page_size=options.page_size)
            self._registered.append(mr)
            self.on_new(mr)
        return self._registered[turn]


def enough_buffers(adapter: Adapter, options: Options) -> int:
    """How many buffers it takes to displace their own translations from both caches.

    Twice the capacity leaves none behind even where the sets of a cache fill unevenly.
    """
    pages = -(-options.size // options.page_size)
    return 1 + 2 * max(adapter.mpt.entries, adapter.mtt.entries // pages)


class Process(Program):
    """One process of a pair: it sends windows, or receives them, or both."""

    def __init__(self, run: Run, node: int, core: int, opcode: WROpcode) -> None:
        options, sim = run.options, run.sim
        super().__init__(sim, run.cluster.nodes[node], core, options)
        self.opcode, context = opcode, self.context
        self.depth = 2 * options.window * max(1, options.ports) + 16
        most = context.query_device().max_cqe
        self.cq = CQ(context, min(8 * self.depth * options.qps, most))
        self.source = self._register()
        self.further_sources = FurtherBuffers(self.pd, options)
        self.further_targets = FurtherBuffers(self.pd, options)
        self.further_targets.on_new = self._watch
        self.qps: dict[int, QP] = {}
        self.receiver: Process | None = None
        self.lanes_out: list[Lane] = []
        self.incoming: list[MR] = []
        self.control = self.pd.reg_mr(CONTROL_SIZE)
        self.reply_qp: QP
        self.sends = self.receives = False
        packets = context.adapter.packets(WIRE[opcode], options.size)
        rotation = self.further_targets.rotation
        self.timing = Timing(options, self.depth, packets, rotation)
        self.finished = sim.event()
        self.on_first_lap: Callable[[], None] = lambda: None
        self._watches: dict[int, Watch] = {}
        self._expected: Counter[int] = Counter()
        self._incoming = self._notices = self._replies = self._posted = self._turn = 0
        self._completions: list[int] = []
        self._data_qps: dict[int, int] = {}
        self._receives: Counter[int] = Counter()

        # Whether control messages announce the data, and whether the completion queue does.
        self.striped = options.mode == "striping"
        self.notified = self.striped or opcode is WROpcode.SEND

    def new_qp(self, port: int) -> QP:
        """A queue pair on a port, numbered from 0."""
        qp = QP(
            self.pd,
            self.cq,
            self.cq,
            max_send_wr=self.depth,
            max_recv_wr=self.depth,
            max_inline_data=self.options.size if self.options.inline else 0,
            port_num=port + 1,
        )
        self.qps[qp.qp_num] = qp
        return qp

    def new_buffer(self) -> MR:
        """A buffer for the messages of one lane."""
        mr = self._register()
        self.incoming.append(mr)
        self._watch(mr)
        return mr

    def _register(self) -> MR:
        length = max(self.options.size, CONTROL_SIZE)
        return self.pd.reg_mr(length, _REMOTE, page_size=self.options.page_size)

    def _watch(self, mr: MR) -> None:
        self._watches[mr.lkey] = mr.watch(mr.addr + self.options.size - 1)

    def message_parts(self) -> list[tuple[Lane, int, int]]:
        """Lane, offset and bytes of each part of the next message."""
        size, turn, lanes = self.options.size, self._turn, self.lanes_out
        self._turn += 1
        if not self.striped:
            return [(lanes[turn % len(lanes)], 0, size)]
        ports = self.options.ports
        first = turn % self.options.qps * ports
        if size <= self.options.threshold:
            return [(lanes[first], 0, size)]
        share = -(-size // ports)
        cuts = [min(size, index * share) for index in range(ports + 1)]
        stripes = zip(lanes[first : first + ports], pairwise(cuts), strict=True)
        return [(lane, begin, end - begin) for lane, (begin, end) in stripes]

    def _post_message(self) -> Steps:
        """Post one message and what announces it."""
        assert self.receiver is not None
        source = self.further_sources.find(self._turn) or self.source
        further = self.receiver.further_targets.find(self._turn)
        inline = self.options.inline
        for lane, offset, length in self.message_parts():
            target = further or lane.target
            to = target, offset
            message = request(self.opcode, source, offset, length, *to, inline=inline)
            yield from lane.qp.post_send(message)
            self._posted += 1
            if self.striped:
                yield from self._say(lane.qp, CONTROL_SIZE)
                self._posted += 1

    def _say(self, qp: QP, size: int) -> Steps:
        sge = SGE(self.source.addr, size, self.source.lkey)
        yield from qp.post_send(SendWR(WROpcode.SEND, (sge,)))

    def prepare(self) -> Steps:
        """Post the receives that the first window needs."""
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
        yield from qp.post_recv(receive(buffer, 0, buffer.length))

    def _progress(self) -> Steps:
        completion = yield from self.cq.wait()
        qp = self.qps[completion.qpn]
        if completion.is_receive:
            if qp is self.reply_qp:
                self._replies += 1
            else:
                self._notices += 1
            yield from self._post_receive(qp)
        elif qp is not self.reply_qp:
            self._completions.append(completion.timestamp_ps)

    def _await_messages(self, number: int) -> Steps:
        """Wait until ``number`` more messages have come in."""
        if self.notified:
            divided = self.striped and self.options.size > self.options.threshold
            self._notices -= number * (self.options.ports if divided else 1)
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

    def window(self, length: int) -> Steps:
        """One window: send, receive and reply, await the reply and the completions."""
        if self.sends:
            for _ in range(length):
                yield from self._post_message()
        if self.receives:
            yield from self._await_messages(length)
            yield from self._say(self.reply_qp, REPLY_SIZE)
            while self.cq.queue.entries:
                yield from self._progress()
        if self.sends:
            # Nobody has to reply to who fetches messages itself.
            self._replies -= self.opcode is not WROpcode.RDMA_READ
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
                took = self.sim.now - begin
                self.timing.note(index, length, took, self._completions, plan)
                if index == 0:
                    self.on_first_lap()
                if self.timing.laps.done:
                    self.finished.succeed()
