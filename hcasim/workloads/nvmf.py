"""NVMe over Fabrics: blocks that a host reads from a target or writes there, each registered by a
work request.

The method is that of fio with the drivers of Linux. The host (drivers/nvme/host/rdma.c) posts the
registration of a block's memory and the capsule of its command as one list. The target
(drivers/nvme/target/rdma.c) takes the capsule. What the host reads it writes there, and sends its
response, also as one list; what the host writes it fetches by an RDMA read, and sends the response
once that is there. The response makes the registration invalid. Each queue has a queue pair, and a
processor at both ends if there are enough of them. The device answers at once, as a null block
device does; what file system, block layer and interrupts take of the processors is left out.
"""

from __future__ import annotations

from collections.abc import Generator

from hcasim.cluster import Node
from hcasim.engine import Event
from hcasim.verbs import CQ, MR, QP, SGE, RecvWR, SendWR, WCOpcode, WROpcode
from hcasim.workloads.end import (
    ALL_ACCESS,
    OPCODES,
    Program,
    Steps,
    join,
    rate_columns,
    receive,
    request,
)
from hcasim.workloads.flows import percentile
from hcasim.workloads.rdma_bench.meter import Meter, metered
from hcasim.workloads.result import Result
from hcasim.workloads.run import Run

CAPSULE = 64
"""Bytes of a command (NVM Express over Fabrics 1.0, 2.1)."""
RESPONSE = 16
"""Bytes of a completion (NVM Express over Fabrics 1.0, 2.2)."""
WRITE, READ = OPCODES["write"], OPCODES["read"]
LISTED = 2
"""Requests that are posted at once."""


class Queue(Program):
    """One end of a queue of commands, whose messages have so many bytes that go out and come in."""

    def __init__(
        self, home: Node, number: int, run: Run, sent: int = CAPSULE, received: int = RESPONSE
    ) -> None:
        super().__init__(run.sim, home, number, run.options)
        self.in_flight = depth = run.options.window
        self.cq = CQ(self.context, (LISTED + 1) * depth)
        self.qp = QP(self.pd, self.cq, self.cq, max_send_wr=LISTED * depth, max_recv_wr=depth)
        self._out, self._in = self.memory(depth * sent), self.memory(depth * received)
        self._sent, self._received = sent, received
        for slot in range(depth):
            self.qp.prepost_recv(self._receive(slot))

    def _receive(self, slot: int) -> RecvWR:
        return receive(self._in, slot * self._received, self._received, wr_id=slot)

    def post(self, first: SendWR, slot: int) -> Steps:
        """Post a request, and a capsule or response behind it."""
        yield from self.qp.post_send_list([first, self.message(slot)])

    def message(self, slot: int) -> SendWR:
        """A capsule or response."""
        place = self._out.addr + slot * self._sent
        return SendWR(WROpcode.SEND, (SGE(place, self._sent, self._out.lkey),))

    def take(self) -> Generator[Event, object, int]:
        """Wait for a message, whose receive is posted again; the slots have their turns."""
        while not (completion := (yield from self.cq.wait())).is_receive:
            pass
        yield from self.qp.post_recv(self._receive(completion.wr_id))
        return completion.wr_id


class HostQueue(Queue):
    """Keeps so many commands in flight, each with a block of memory."""

    def __init__(self, home: Node, number: int, run: Run) -> None:
        super().__init__(home, number, run)
        size, window = run.options.size, run.options.window
        self.blocks = [self.pd.alloc_mr(size, ALL_ACCESS) for _ in range(window)]
        self._asked_ps = [0] * window
        self.took_ps: list[int] = []

    def run(self, meter: Meter) -> Steps:
        """Read or write blocks for ever, and have them counted."""
        for slot in range(len(self.blocks)):
            yield from self._ask(slot)
        while True:
            slot = yield from self.take()
            self.blocks[slot].invalidate()
            self.took_ps.append(self.sim.now - self._asked_ps[slot])
            meter.posted(self.home.index, 1)
            yield from self._ask(slot)

    def _ask(self, slot: int) -> Steps:
        self._asked_ps[slot] = self.sim.now
        yield from self.post(SendWR(WROpcode.REG_MR, mr=self.blocks[slot], signaled=False), slot)


class TargetQueue(Queue):
    """Answers each command."""

    def __init__(self, home: Node, number: int, run: Run) -> None:
        super().__init__(home, number, run, RESPONSE, CAPSULE)
        self._data = self.memory(run.options.window * run.options.size)

    def run(self, blocks: list[MR]) -> Steps:
        """Write the block of each command where the host has its memory."""
        size = self.options.size
        while True:
            slot = yield from self.take()
            write = request(WRITE, self._data, slot * size, size, blocks[slot], 0, signaled=False)
            yield from self.post(write, slot)


class FetchingQueue(TargetQueue):
    """Fetches the block of each command from the host's memory, and answers when it is there."""

    def run(self, blocks: list[MR]) -> Steps:
        size = self.options.size
        while True:
            completion = yield from self.cq.wait()
            if completion.is_receive:
                slot = completion.wr_id
                yield from self.qp.post_recv(self._receive(slot))
                fetch = request(READ, self._data, slot * size, size, blocks[slot], 0)
                fetch.wr_id = slot
                yield from self.qp.post_send(fetch)
            elif completion.opcode is WCOpcode.RDMA_READ:
                yield from self.qp.post_send(self.message(completion.wr_id))


def _blocks(run: Run, kind: type[TargetQueue]) -> Result:
    """Blocks that a host moves in a second over so many queues, with a window of each in flight."""
    options = run.options
    host, target = run.cluster.nodes
    hosts = [HostQueue(host, number, run) for number in range(options.qps)]
    for number, asks in enumerate(hosts):
        answers = kind(target, number, run)
        join(asks.qp, answers.qp)
        run.sim.process(answers.run(asks.blocks))
    # The slowest of a hundred are those of the start, and of whichever commands meet.
    meter = metered(run, hosts, whole=True)
    (rate,) = meter.rates()
    took = [one for asks in hosts for one in asks.took_ps[options.warmup :] or asks.took_ps]
    late = {f"latency_p{share}_us": percentile(took, share) / 1e6 for share in (50, 99)}
    row = rate_columns(rate, options.size) | late
    return run.result(row | {"error_percent": 100 * meter.error})


def nvmf_read(run: Run) -> Result:
    """Blocks that a host reads."""
    return _blocks(run, TargetQueue)


def nvmf_write(run: Run) -> Result:
    """Blocks that a host writes."""
    return _blocks(run, FetchingQueue)
