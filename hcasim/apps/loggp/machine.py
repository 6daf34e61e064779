"""Processors and network interfaces of a LogGP machine, as LogGOPSim has them.

A send takes the processor for o, and for O for each byte but the first, and its network interface
for g and for G for each byte but the first. The message is at the receiver o + L after the send has
begun; there it takes the processor for o and for the larger of O and G for each byte but the first,
and the network interface as at the sender, whether its receive has been posted or not. The receive
ends with that. A message of more than S bytes lets its sender go on when message and receive have
met, and not before.

What is ready takes processor and interface in the order of time, and what was asked for first comes
first. Messages of 0 bytes take what those of 1 byte take.

Source: LogGOPSim, src/LogGOPSim/LogGOPSim.cpp.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

from hcasim.apps.loggp.params import Times
from hcasim.apps.loggp.request import Kind, Request
from hcasim.engine import Simulator
from hcasim.mpi import MPIError, Status

Told = Callable[[Request, bool, int], None]
"""Is called when a request begins, and when it ends: with whether it ends, and the time in ps."""


class Host:
    """One process, with the times in ps until which it is busy.

    Attributes:
        processors: by thread.
        outgoing: by network interface.
        incoming: by network interface.
        told: who is told of its requests.
    """

    __slots__ = ("early", "incoming", "outgoing", "posted", "processors", "told")

    def __init__(self) -> None:
        self.processors: dict[int, int] = defaultdict(int)
        self.outgoing: dict[int, int] = defaultdict(int)
        self.incoming: dict[int, int] = defaultdict(int)
        self.posted: list[Request] = []
        # Messages without a receive, with the end of what they take.
        self.early: list[tuple[Request, int]] = []
        self.told: Told = lambda request, ends, at: None


_Step = tuple[int, int, Request, bool]
"""When, a serial number, what, and whether a message arrives rather than that it is asked for."""


class Machine:
    """Does what processes ask for, one step after the other.

    Parameters:
        ranks: number of processes.
    """

    def __init__(self, sim: Simulator, ranks: int, times: Times) -> None:
        self.sim, self.times = sim, times
        self.hosts = [Host() for _ in range(ranks)]
        self._steps: list[_Step] = []
        self._serial = count()
        self._turns = count()
        self._turn = self._next_ps = -1

    @property
    def end_ps(self) -> int:
        """When the last processor is free."""
        return max(self.finished_ps(rank) for rank in range(len(self.hosts)))

    def finished_ps(self, rank: int) -> int:
        """When the processors of a rank are free."""
        return max(self.hosts[rank].processors.values(), default=0)

    def ask(self, request: Request, after_ps: int) -> None:
        """Do something as soon as there is a processor.

        Parameters:
            after_ps: not before this time.
        """
        host = self.hosts[request.rank]
        at = max(self.sim.now, after_ps, host.processors[request.thread])
        if request.kind is Kind.SEND:
            at = max(at, host.outgoing[request.adapter])
        self._enqueue(at, next(self._serial), request, False)

    def _enqueue(self, at: int, serial: int, request: Request, arrives: bool) -> None:
        heappush(self._steps, (at, serial, request, arrives))
        self._arm()

    def _arm(self) -> None:
        at = max(self._steps[0][0], self.sim.now)
        if self._turn < 0 or at < self._next_ps:
            self._turn, self._next_ps = next(self._turns), at
            self.sim.call_at(at, self._take, self._turn)

    def _take(self, turn: int) -> None:
        """Do one step, so that programs can answer to it before the next."""
        if turn != self._turn:
            return
        self._turn = -1
        _, serial, request, arrives = heappop(self._steps)
        if arrives:
            self._arrive(serial, request)
        elif request.kind is Kind.CALC:
            self._calculate(serial, request)
        elif request.kind is Kind.SEND:
            self._send(serial, request)
        else:
            self._receive(request)
        if self._steps:
            self._arm()

    def _calculate(self, serial: int, request: Request) -> None:
        host, now = self.hosts[request.rank], self.sim.now
        free = host.processors[request.thread]
        if free > now:
            self._enqueue(free, serial, request, False)
            return
        host.processors[request.thread] = now + request.size
        host.told(request, False, now)
        self._end(request, now + request.size)

    def _send(self, serial: int, request: Request) -> None:
        host, now, times = self.hosts[request.rank], self.sim.now, self.times
        free = max(host.processors[request.thread], host.outgoing[request.adapter])
        if free > now:
            self._enqueue(free, serial, request, False)
            return
        more = max(request.size - 1, 0)
        end = now + times.overhead + more * times.byte_overhead
        host.processors[request.thread] = end
        host.outgoing[request.adapter] = now + times.gap + more * times.byte
        arrival = now + times.overhead + times.latency
        self._enqueue(arrival, next(self._serial), request, True)
        host.told(request, False, now)
        if request.size <= times.eager:
            self._end(request, end)

    def _receive(self, request: Request) -> None:
        host, now = self.hosts[request.rank], self.sim.now
        host.told(request, False, now)
        for place, (message, taken_ps) in enumerate(host.early):
            if request.takes(message):
                del host.early[place]
                self._meet(message, request, max(now, taken_ps))
                return
        host.posted.append(request)

    def _arrive(self, serial: int, message: Request) -> None:
        host, now, times = self.hosts[message.peer], self.sim.now, self.times
        free = max(host.processors[message.thread], host.incoming[message.adapter])
        if free > now:
            self._enqueue(free, serial, message, True)
            return
        more = max(message.size - 1, 0)
        end = now + times.overhead + more * max(times.byte_overhead, times.byte)
        host.processors[message.thread] = end
        host.incoming[message.adapter] = now + times.gap + more * times.byte
        for place, request in enumerate(host.posted):
            if request.takes(message):
                del host.posted[place]
                self._meet(message, request, end)
                return
        host.early.append((message, end))

    def _meet(self, message: Request, request: Request, end: int) -> None:
        """A message has come and its receive is posted."""
        if message.size > request.size:
            raise MPIError(
                "MPI_ERR_TRUNCATE",
                f"rank {request.rank}: a message of {message.size} bytes; "
                f"the receive has {request.size}",
            )
        if message.size > self.times.eager:
            # The sender has been waiting until now; that it knows at once is LogGOPSim's way.
            now, sender = self.sim.now, self.hosts[message.rank]
            for busy, number in (
                (sender.processors, message.thread),
                (sender.outgoing, message.adapter),
            ):
                busy[number] = max(busy[number], now)
            self._end(message, max(now, sender.processors[message.thread]))
        request.status = Status(message.rank, message.tag, message.size)
        self._end(request, end)

    def _end(self, request: Request, at: int) -> None:
        request.done, request.end_ps = True, at
        self.hosts[request.rank].told(request, True, at)
