"""A thread that keeps a window of requests in flight over its queue pairs."""

from __future__ import annotations

from collections.abc import Generator
from itertools import chain

from hcasim.cluster import Cluster
from hcasim.engine import Event
from hcasim.verbs import CQ, MR, PD, QP, SGE, Context, QPType, SendWR, WROpcode
from hcasim.workloads.end import ALL_ACCESS, Steps
from hcasim.workloads.latency import ATOMICS
from hcasim.workloads.options import Access, Options
from hcasim.workloads.places import hold, places, stride
from hcasim.workloads.rdma_bench.meter import Meter
from hcasim.workloads.turns import turns

ATOMIC = 8
"""Bytes of a word of atomics; other addresses stay as they are drawn, as in rc-swarm."""


def windowed(options: Options) -> bool:
    """Whether each request waits until the one that is a window before it is complete."""
    return options.cq_mod <= 1 or options.verb != "write"


def in_flight(options: Options, queue_pairs: int) -> int:
    """Requests that a thread with so many connected queue pairs has in flight at most."""
    return options.window if windowed(options) else 2 * options.cq_mod * queue_pairs


def warm_up(options: Options, queue_pairs: int) -> int:
    """Requests after which each queue pair was used, and what is in flight has been replaced."""
    return options.post_list * queue_pairs + 2 * in_flight(options, queue_pairs)


class Worker:
    """One thread, with a processor, a protection domain and a buffer of its own.

    A request waits until the one that is a window before it is complete: it polls the completion
    queue of that one's queue pair if each request has a completion, or else, for what brings data
    back, the place in the buffer where the data arrives. Writes of which few have completions are
    only bound by those: before a request that has one is posted, the one before it is polled.

    Args:
        cluster: where it runs.
        node: its number there.
        thread: its number on the node, which is that of its processor.
        options: of the test.
        opcode: of its requests.
        queue_pairs: how many it has.
        seed: of what it draws.

    Attributes:
        home: its node.
        connected: the numbers of its queue pairs that lead to another thread, with its buffer.
        posted, done: its requests so far, and those that it knows to be complete.
    """

    def __init__(
        self,
        cluster: Cluster,
        node: int,
        thread: int,
        options: Options,
        opcode: WROpcode,
        queue_pairs: int,
        seed: int,
    ) -> None:
        self._sim = cluster.sim
        self._options = options
        self._opcode = opcode
        self._every = max(1, options.cq_mod)
        self._windowed = windowed(options)
        size = options.size
        region = options.region or options.post_list * stride(size)
        home = self.home = cluster.nodes[node]
        # A thread that does nothing takes no processor from another.
        context = self._context = Context(cluster.sim, home, thread % len(home.cores))
        pd = PD(context)
        room = max(region, options.window * size)
        self.buffer: MR = pd.reg_mr(room, ALL_ACCESS, page_size=options.page_size)
        hold(self.buffer, options.page_size)
        self._cqs = [CQ(context, options.tx_depth) for _ in range(queue_pairs)]
        inline = size if options.inline else 0
        self.qps = [
            QP(
                pd,
                cq,
                cq,
                max_send_wr=options.tx_depth,
                max_recv_wr=1,
                max_inline_data=inline,
                qp_type=QPType[options.connection],
            )
            for cq in self._cqs
        ]
        self._seed = seed
        self.connected: list[tuple[int, MR]] = []
        access: Access = options.access if options.region else "sequential"
        align = ATOMIC if opcode in ATOMICS.values() else 1
        self._places = places(region, size, access, seed, align)
        self._sent: list[int] = []
        self._used = [0] * options.window
        self._arrived = [False] * options.window
        self._waking: Event | None = None
        self.posted = self.done = 0

    @property
    def in_flight(self) -> int:
        """Its requests that are in flight at most."""
        return in_flight(self._options, len(self.connected))

    def connect(self, number: int, other: Worker, its_number: int) -> None:
        """Connect one of its queue pairs with one of another thread, to which it sends."""
        self.qps[number].connect(other.qps[its_number])
        self.connected.append((number, other.buffer))
        self._sent.append(0)

    def run(self, meter: Meter) -> Steps:
        """Post requests for ever, and have them counted.

        Each queue pair has one turn before others are drawn.
        """
        if self._windowed and self._every > 1:
            self.buffer.listen(self._written)
        options, number = self._options, len(self.connected)
        order = chain(range(number), turns(options.pattern, number, self._seed))
        for turn in order:
            requests = []
            for _ in range(options.post_list):
                requests.append((yield from self._next(turn)))
            yield from self.qps[self.connected[turn][0]].post_send_list(requests)
            meter.posted(self.home.index, len(requests))

    def _next(self, turn: int) -> Generator[Event, object, SendWR]:
        """Wait until there is room for one more request, and return it."""
        size, every, posted = self._options.size, self._every, self.posted
        slot = posted % self._options.window
        if self._windowed and posted >= self._options.window:
            if every == 1:
                yield from self._cqs[self._used[slot]].wait()
            else:
                yield from self._await(slot)
            self.done += 1
        number, target = self.connected[turn]
        sent = self._sent[turn]
        signaled = sent % every == 0
        if every > 1 and signaled and sent:
            yield from self._cqs[number].wait()
            if not self._windowed:
                # It is the first of as many.
                self.done += every if sent > every else 1
        self._sent[turn], self._used[slot], self.posted = sent + 1, number, posted + 1
        place = next(self._places)
        near = slot * size if self._windowed and every > 1 else place
        return SendWR(
            self._opcode,
            SGE(self.buffer.addr + near, size, self.buffer.lkey),
            remote_addr=target.addr + place,
            rkey=target.rkey,
            inline=self._options.inline,
            signaled=signaled,
            compare_add=1,
        )

    def _written(self, address: int, length: int) -> None:
        slot, rest = divmod(address + length - self.buffer.addr, self._options.size)
        # Only the last packet of an answer ends where its place does.
        if rest == 0:
            self._arrived[slot - 1] = True
            if self._waking is not None:
                waking, self._waking = self._waking, None
                waking.succeed()

    def _await(self, slot: int) -> Steps:
        while not self._arrived[slot]:
            self._waking = self._sim.event()
            yield self._waking
        self._arrived[slot] = False
        yield self._context.core.work(self._context.stack.poll_memory)
