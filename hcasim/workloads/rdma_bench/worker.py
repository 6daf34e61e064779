"""A thread that keeps requests in flight, and the send queues that it posts them to."""

from __future__ import annotations

from collections.abc import Generator
from itertools import chain

from hcasim.cluster import Node
from hcasim.engine import Event, Simulator
from hcasim.verbs import CQ, MR, PD, QP, QPType, SendWR, WROpcode
from hcasim.workloads.end import ATOMICS, Program, Steps, hold, places, request, stride
from hcasim.workloads.laps import turns
from hcasim.workloads.options import Access, Options
from hcasim.workloads.rdma_bench.meter import Meter

ATOMIC = 8
"""Bytes of a word of atomics; other addresses stay as they are drawn, as in rc-swarm."""


def windowed(options: Options) -> bool:
    """Whether each request waits until the one that is a window before it is complete."""
    return options.cq_mod <= 1 or not (options.rounds or options.verb == "write")


def in_flight(options: Options, queue_pairs: int) -> int:
    """Requests that a thread with so many connected queue pairs has in flight at most."""
    return options.window if windowed(options) else 2 * options.cq_mod * queue_pairs


def warm_up(options: Options, queue_pairs: int) -> int:
    """Requests after which each queue pair was used, and what is in flight has been replaced."""
    return options.post_list * queue_pairs + 2 * in_flight(options, queue_pairs)


class SendQueue:
    """A queue pair whose requests ask for few completions, each of which stands for several.

    Parameters:
        size, inline: bytes of its messages, and of the longest inside the request.
        receives: that its receive queue holds; their completions go to ``received``, if given.

    Attributes:
        sent, complete: requests that were posted, and those that are known to be complete.
    """

    def __init__(
        self,
        pd: PD,
        cq: CQ,
        options: Options,
        kind: QPType,
        size: int,
        inline: int,
        receives: int = 1,
        received: CQ | None = None,
        port: int = 0,
    ) -> None:
        self._every = max(1, options.cq_mod)
        self._depth = options.tx_depth
        self.inline = size <= inline
        self._cq = cq
        self.sent = self.complete = self._taken = 0
        self.qp = QP(
            pd,
            cq,
            received or cq,
            max_send_wr=self._depth,
            max_recv_wr=receives,
            max_inline_data=inline,
            port_num=port + 1,
            qp_type=kind,
        )

    def count(self) -> bool:
        """Count one more request, and tell whether it asks for a completion."""
        self.sent += 1
        return (self.sent - 1) % self._every == 0

    def take(self) -> Steps:
        """Wait for the next completion; what was posted before its request is complete, too."""
        yield from self._cq.wait()
        self.complete = self._taken * self._every + 1
        self._taken += 1

    def room(self, wanted: int) -> Steps:
        """Wait until so many more requests may be posted."""
        while self.sent + wanted - self.complete > self._depth:
            yield from self.take()


class Worker(Program):
    """One thread, with a buffer of its own and so many queue pairs.

    A request waits until the one that is a window before it is complete: it polls the completion
    queue of that one's queue pair if each request has a completion, or else, for what brings data
    back, the place in the buffer where the data arrives. Writes of which few have completions are
    only bound by those: before a request that has one is posted, the one before it is polled; so
    is all of a program that works in rounds.

    Attributes:
        connected: its queues that lead to another thread, with the buffer of that.
        posted: its requests so far.
    """

    def __init__(
        self,
        sim: Simulator,
        home: Node,
        thread: int,
        options: Options,
        opcode: WROpcode,
        queue_pairs: int,
        seed: int,
    ) -> None:
        super().__init__(sim, home, thread, options)
        self.context.costs.run(options.work, locks=options.locks)
        self._opcode, self._seed = opcode, seed
        self._every = max(1, options.cq_mod)
        self._windowed = windowed(options)
        self._answers = self._windowed and self._every > 1
        size = options.size
        region = options.region or options.post_list * stride(size)
        self.buffer = self.memory(max(region, options.window * size))
        hold(self.buffer, options.page_size)
        inline, kind = size if options.inline else 0, QPType[options.connection]
        cqs = [CQ(self.context, options.tx_depth) for _ in range(queue_pairs)]
        port = thread % options.ports
        self.queues = [SendQueue(self.pd, cq, options, kind, size, inline, port=port) for cq in cqs]
        self.connected: list[tuple[SendQueue, MR]] = []
        access: Access = options.access if options.region else "sequential"
        align = ATOMIC if opcode in ATOMICS.values() else 1
        self._places = places(region, size, access, seed, align)
        self._used: list[SendQueue] = self.queues[:1] * options.window
        self._arrived = [False] * options.window
        self._waking: Event | None = None
        self.posted = self._answered = 0

    @property
    def done(self) -> int:
        """Its requests that it knows to be complete."""
        if self._answers:
            return self._answered
        return sum(queue.complete for queue in self.queues)

    @property
    def in_flight(self) -> int:
        return in_flight(self.options, len(self.connected))

    def connect(self, number: int, other: Worker, its_number: int) -> None:
        """Connect one of its queue pairs with one of another thread, to which it sends."""
        queue = self.queues[number]
        queue.qp.connect(other.queues[its_number].qp)
        self.connected.append((queue, other.buffer))

    def run(self, meter: Meter) -> Steps:
        """Post requests for ever; each queue pair has one turn before others are drawn."""
        if self._answers:
            self.buffer.listen(self._written)
        options, number = self.options, len(self.connected)
        for turn in chain(range(number), turns(options.pattern, number, self._seed)):
            requests = []
            for _ in range(options.post_list):
                requests.append((yield from self._next(turn)))
            yield from self.connected[turn][0].qp.post_send_list(requests)
            meter.posted(self.home.index, len(requests))

    def _next(self, turn: int) -> Generator[Event, object, SendWR]:
        """Wait until there is room for one more request, and return it."""
        size, posted = self.options.size, self.posted
        slot = posted % self.options.window
        if self._answers and posted >= self.options.window:
            yield from self._await(slot)
        elif self._windowed and posted >= self.options.window:
            yield from self._used[slot].take()
        queue, target = self.connected[turn]
        if self._every > 1 and queue.sent and queue.sent % self._every == 0:
            yield from queue.take()
        self._used[slot], self.posted = queue, posted + 1
        place = next(self._places)
        near = slot * size if self._answers else place
        how = {"inline": queue.inline, "signaled": queue.count(), "compare_add": 1}
        return request(self._opcode, self.buffer, near, size, target, place, **how)

    def _written(self, address: int, length: int) -> None:
        slot, rest = divmod(address + length - self.buffer.addr, self.options.size)
        # Only the last packet of an answer ends where its place does.
        if rest == 0:
            self._arrived[slot - 1] = True
            if self._waking is not None:
                waking, self._waking = self._waking, None
                waking.succeed()

    def _await(self, slot: int) -> Steps:
        while not self._arrived[slot]:
            self._waking = self.sim.event()
            yield self._waking
        self._arrived[slot] = False
        self._answered += 1
        costs = self.context.costs
        yield self.context.core.work(costs.poll_memory + costs.line)
