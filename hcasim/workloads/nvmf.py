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
from hcasim.engine import Event, Simulator
from hcasim.verbs import CQ, MR, PD, QP, SGE, Context, RecvWR, SendWR, WROpcode
from hcasim.workloads.end import ALL_ACCESS, Steps, join, rate_columns
from hcasim.workloads.options import Options
from hcasim.workloads.rdma_bench.meter import Meter, metered
from hcasim.workloads.result import Result
from hcasim.workloads.workload import Run

CAPSULE = 64
"""Bytes of a command (NVM Express over Fabrics 1.0, 2.1)."""
RESPONSE = 16
"""Bytes of a completion (NVM Express over Fabrics 1.0, 2.2)."""
LISTED = 2
"""Requests that are posted at once."""


class Queue:
    """One end of a queue of commands.

    Parameters:
        number: of the queue, which says its processor.
        sent, received: bytes of the messages that go out and come in.
    """

    def __init__(
        self, sim: Simulator, node: Node, number: int, options: Options, sent: int, received: int
    ) -> None:
        context = Context(sim, node, number % len(node.cores))
        self.home = node
        self.size, depth = options.size, options.window
        self.in_flight = depth
        self.pd = PD(context)
        self.cq = CQ(context, (LISTED + 1) * depth)
        self.qp = QP(self.pd, self.cq, self.cq, max_send_wr=LISTED * depth, max_recv_wr=depth)
        self._out = self.pd.reg_mr(depth * sent, ALL_ACCESS)
        self._in = self.pd.reg_mr(depth * received, ALL_ACCESS)
        self._sent, self._received = sent, received
        for slot in range(depth):
            self.qp.prepost_recv(self._receive(slot))

    def _receive(self, slot: int) -> RecvWR:
        place = self._in.addr + slot * self._received
        return RecvWR(SGE(place, self._received, self._in.lkey), wr_id=slot)

    def post(self, request: SendWR, slot: int) -> Steps:
        """Post a request, and a capsule or response behind it."""
        place = self._out.addr + slot * self._sent
        message = SendWR(WROpcode.SEND, SGE(place, self._sent, self._out.lkey))
        yield from self.qp.post_send_list([request, message])

    def take(self) -> Generator[Event, object, int]:
        """Wait for a message, whose receive is posted again; the slots have their turns."""
        while not (completion := (yield from self.cq.wait())).is_receive:
            pass
        yield from self.qp.post_recv(self._receive(completion.wr_id))
        return completion.wr_id


class HostQueue(Queue):
    """Keeps so many commands in flight, each with a block of memory."""

    def __init__(self, sim: Simulator, node: Node, number: int, options: Options) -> None:
        super().__init__(sim, node, number, options, CAPSULE, RESPONSE)
        self.blocks: list[MR] = [
            self.pd.alloc_mr(options.size, ALL_ACCESS) for _ in range(options.window)
        ]

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

    def __init__(self, sim: Simulator, node: Node, number: int, options: Options) -> None:
        super().__init__(sim, node, number, options, RESPONSE, CAPSULE)
        self._data = self.pd.reg_mr(options.window * options.size, ALL_ACCESS)

    def run(self, blocks: list[MR]) -> Steps:
        """Write the block of each command where the host has its memory."""
        while True:
            slot = yield from self.take()
            write = SendWR(
                WROpcode.RDMA_WRITE,
                SGE(self._data.addr + slot * self.size, self.size, self._data.lkey),
                remote_addr=blocks[slot].addr,
                rkey=blocks[slot].rkey,
                signaled=False,
            )
            yield from self.post(write, slot)


def nvmf_read(run: Run) -> Result:
    """Blocks that a host reads in a second over so many queues, with a window of each in flight."""
    sim, options = run.sim, run.options
    host, target = run.cluster.nodes
    hosts = [HostQueue(sim, host, number, options) for number in range(options.qps)]
    for number, asks in enumerate(hosts):
        answers = TargetQueue(sim, target, number, options)
        join(asks.qp, answers.qp)
        sim.process(answers.run(asks.blocks))
    meter = metered(run, hosts)
    (rate,) = meter.rates()
    return run.result(rate_columns(rate, options.size) | {"error_percent": 100 * meter.error})
