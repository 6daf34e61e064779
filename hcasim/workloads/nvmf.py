"""NVMe over Fabrics: blocks that a host reads from a target, each registered by a work request.

The method is that of fio with the drivers of Linux. The host (drivers/nvme/host/rdma.c) posts the
registration of a block's memory and the capsule of its command as one list. The target
(drivers/nvme/target/rdma.c) takes the capsule, writes the block and sends its response, also as one
list; that send makes the registration invalid. Each queue has a queue pair, and a processor at both
ends if there are enough of them. The device answers at once, as a null block device does; what file
system, block layer and interrupts take of the processors is left out.
"""

from __future__ import annotations

from collections.abc import Generator

from hcasim.cluster import Node
from hcasim.engine import Event
from hcasim.verbs import CQ, MR, QP, SGE, RecvWR, SendWR, WROpcode
from hcasim.workloads.end import ALL_ACCESS, Program, Steps, join, rate_columns, receive, request
from hcasim.workloads.rdma_bench.meter import Meter, metered
from hcasim.workloads.result import Result
from hcasim.workloads.run import Run

CAPSULE = 64
"""Bytes of a command (NVM Express over Fabrics 1.0, 2.1)."""
RESPONSE = 16
"""Bytes of a completion (NVM Express over Fabrics 1.0, 2.2)."""
WRITE = WROpcode.RDMA_WRITE
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
        place = self._out.addr + slot * self._sent
        message = SendWR(WROpcode.SEND, (SGE(place, self._sent, self._out.lkey),))
        yield from self.qp.post_send_list([first, message])

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

    def run(self, meter: Meter) -> Steps:
        """Read blocks for ever, and have them counted."""
        for slot in range(len(self.blocks)):
            yield from self._ask(slot)
        while True:
            slot = yield from self.take()
            self.blocks[slot].invalidate()
            meter.posted(self.home.index, 1)
            yield from self._ask(slot)

    def _ask(self, slot: int) -> Steps:
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


def nvmf_read(run: Run) -> Result:
    """Blocks that a host reads in a second over so many queues, with a window of each in flight."""
    options = run.options
    host, target = run.cluster.nodes
    hosts = [HostQueue(host, number, run) for number in range(options.qps)]
    for number, asks in enumerate(hosts):
        answers = TargetQueue(target, number, run)
        join(asks.qp, answers.qp)
        run.sim.process(answers.run(asks.blocks))
    meter = metered(run, hosts)
    (rate,) = meter.rates()
    return run.result(rate_columns(rate, options.size) | {"error_percent": 100 * meter.error})
