"""One process of a program: what it has of the adapter, and how it makes progress.

Nothing goes on outside of MPI calls: what has come in is noticed, matched and answered only while
the process is in a call that waits or looks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from typing import Final

from hcasim.cluster import Node
from hcasim.engine import Event, Simulator
from hcasim.mpi.connection import Connection
from hcasim.mpi.delivery import Delivery, Itself
from hcasim.mpi.lane import Lane
from hcasim.mpi.memory import Buffer, Heap, RegistrationCache
from hcasim.mpi.message import AnyOf, Calls, MPIError, Request, Send, Steps, Todo, Way
from hcasim.mpi.path import Path
from hcasim.verbs import CQ, PD, Context, WCStatus

CQ_DEPTH: Final = 6000
"""Entries of the completion queue (MVAPICH2, vapi_param.c: RDMA_DEFAULT_MAX_CQ_SIZE)."""

Connect = Callable[["Process", int], Connection]


class Process:
    """A process of a program that runs on one core and calls MPI.

    Attributes:
        ready: what has come in and has not been noticed, or has to be done next.
        waiting: what it waits for, if it sleeps.
        computed_ps, waited_ps: time that it has spent outside of MPI, and slept in calls.
        path: the critical path that ends in it, if somebody wants to know.
        combine_rate: bytes of a reduction's result that an accelerator combines per second; None if
            the processor does.
    """

    def __init__(self, sim: Simulator, node: Node, rank: int, core: int, connect: Connect) -> None:
        self.sim = sim
        self._connect = connect
        self.node = node
        self.rank = rank
        self.context = Context(sim, node, core)
        assert self.context.stack.mpi is not None
        self.library = self.context.stack.mpi
        self.calls = Calls(self.library, self.context.costs)
        self.probe = self.context.probe
        self.heap = Heap(node)
        self.pd = PD(self.context)
        self.cq = CQ(self.context, CQ_DEPTH)
        self.cq.on_entry = self.wake
        self.lanes: dict[int, Lane] = {}
        self.connections: dict[int, Connection] = {}
        self.delivery = Delivery(self)
        self.itself = Itself(self.delivery, self.library.eager.limit)
        self.registrations = RegistrationCache(self.pd, self.library.registration)
        self.ready: deque[Todo] = deque()
        self.waiting: Request | AnyOf | None = None
        self.collective = ""
        self.computed_ps = self.waited_ps = 0
        self.path: Path | None = None
        self.combine_rate: float | None = None
        self._unblocked: deque[Way] = deque()
        self._event: Event | None = None

    @property
    def notice_ps(self) -> int:
        """Picoseconds until a packet in memory is noticed: half a round, and the look itself."""
        costs = self.context.costs
        return self.round_ps // 2 + costs.poll_memory + costs.line

    @property
    def round_ps(self) -> int:
        """Picoseconds of a look at all rings and completion queues."""
        return self._round(len(self.connections))

    def _round(self, rings: int) -> int:
        """Picoseconds of a look at so many rings, and at all completion queues."""
        costs = self.context.costs
        queues = 1 if self.library.queue.cq == "shared" else len(self.connections)
        return rings * costs.poll_memory + queues * (costs.lock + costs.poll_empty)

    def tell(self, step: str, what: object = "") -> None:
        if self.probe.listeners:
            self.probe.event(step, 0, what)

    # Progress.

    def arrive(self, what: Todo) -> None:
        self.ready.append(what)
        self.wake()

    def unblock(self, way: Way) -> None:
        if way.blocked and way not in self._unblocked:
            self._unblocked.append(way)
            self.wake()

    def wake(self) -> None:
        if self._event is not None:
            event, self._event = self._event, None
            event.succeed()

    def wait(self, request: Request) -> Steps:
        while not request.done:
            yield from self.advance(request)
        yield from self.registrations.tidy()

    def advance(self, waiting: Request | AnyOf) -> Steps:
        """Deal with the next thing that has come in; sleep until there is one."""
        if not (self.ready or self._unblocked or self.cq.queue.entries):
            self._event = self.sim.event()
            self.waiting = waiting
            begin, path = self.sim.now, self.path
            if path is not None:
                path.at(begin)
            yield self._event
            if path is not None:
                path.woken(self.sim.now)
            self.waited_ps += self.sim.now - begin
            self.waiting = None
            if self.probe.listeners:
                self.probe.event("wait", 0, waiting, None, begin)
        yield from self._turn()

    def progress_until(self, end_ps: int) -> Steps:
        """Deal with what comes in until something else has computed."""
        sim, path, waited_ps = self.sim, self.path, self.waited_ps
        mark = None if path is None else path.mark(sim.now)
        sim.call_at(end_ps, self.wake)
        nothing = AnyOf([])
        while sim.now < end_ps:
            yield from self.advance(nothing)
        self.waited_ps = waited_ps
        if path is not None and mark is not None:
            path.resume(mark, sim.now)

    def look(self) -> Steps:
        if self.ready or self._unblocked or self.cq.queue.entries:
            yield from self._turn()
            return
        rings = len(self.connections) if self.library.ring is not None else 0
        yield self.context.core.work(self._round(rings))
        self.tell("poll")

    def _turn(self) -> Steps:
        if self._unblocked:
            yield from self._unblocked.popleft().flush()
        elif self.ready:
            yield from self.ready.popleft()()
        elif self.cq.queue.entries:
            yield from self.drain()

    def drain(self) -> Steps:
        if self.library.queue.cq == "per_peer" and len(self.connections) > 1:
            # Half of the others are looked at before.
            others = (len(self.connections) - 1) * self.context.costs.poll_empty // 2
            yield self.context.core.work(others)
        completion = yield from self.cq.wait()
        if completion.status is not WCStatus.SUCCESS:
            raise MPIError("MPI_ERR_OTHER", f"rank {self.rank}: {completion}")
        lane = self.lanes[completion.qpn]
        if self.probe.listeners:
            self.probe.event("poll CQ", completion.operation or lane.oldest, completion)
        if completion.is_receive:
            self.ready.append(lane.received)
        else:
            lane.completed()

    # Messages.

    def join(self, rank: int, connection: Connection) -> None:
        self.connections[rank] = connection
        self.lanes.update((lane.qp.qp_num, lane) for lane in connection.lanes)

    def connection(self, rank: int) -> Connection:
        found = self.connections.get(rank)
        return found if found is not None else self._connect(self, rank)

    def isend(
        self,
        buffer: Buffer,
        rank: int,
        source: int,
        dest: int,
        tag: int,
        context: int,
        waits: bool = False,
    ) -> Generator[Event, object, Send]:
        """Begin to send to a process.

        Parameters:
            rank: of the receiver in the whole program.
            source, dest: ranks of this process and of the receiver in the communicator.
            waits: whether the call returns only when the buffer may be used again.
        """
        way = self.itself if rank == self.rank else self.connection(rank)
        send = Send(self, buffer, dest, tag, context, way)
        send.waits = waits
        yield self.context.core.work(self.calls.send)
        self.tell("call send", send)
        yield from way.start(send, source)
        return send
