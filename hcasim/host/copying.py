"""Copies by the processors, which share memory with each other and with DMA chunk by chunk."""

from __future__ import annotations

from typing import Protocol

from simpy.events import Event

from hcasim.engine import SerialServer, Simulator

CHUNK = 512
"""Bytes that a core moves before it asks for memory again: eight misses of 64 B under way. Memory
serves in order of arrival, so this is also the core's share where devices ask for all they can."""


class Worker(Protocol):
    """Whose time a copy takes, counted as far as it is known."""

    busy_ps: int


class Copy:
    """A copy under way, in equal chunks.

    Args:
        worker: whose time it takes.
        done: succeeds at the end.
        size: bytes, at least 1.
        duration_ps: what it takes the core if memory is no slower.

    Attributes:
        left: chunks that have not begun.
        next_at: when the next one begins, or the last one ends, in ps.
    """

    __slots__ = ("chunks", "core_ps", "demands", "done", "left", "next_at", "worker")

    def __init__(self, worker: Worker, done: Event, size: int, duration_ps: int) -> None:
        self.worker = worker
        self.done = done
        self.chunks = self.left = -(-size // CHUNK)
        self.core_ps = -(-duration_ps // self.chunks)
        self.demands: list[tuple[SerialServer, int]] = []
        self.next_at = 0

    def demand(self, server: SerialServer, duration_ps: int) -> None:
        """Use a server for so long in all, chunk by chunk."""
        each = -(-duration_ps // self.chunks)
        for number, (other, before) in enumerate(self.demands):
            if other is server:
                self.demands[number] = (server, before + each)
                return
        self.demands.append((server, each))

    @property
    def period(self) -> int:
        """Time in ps that a chunk takes while nobody else uses its servers."""
        return max([self.core_ps, *(each for _, each in self.demands)])

    def step(self) -> None:
        """Begin one chunk."""
        start = self.next_at
        end = start + self.core_ps
        for server, each in self.demands:
            served = server.reserve_from(start, each)
            if served > end:
                end = served
        self.next_at = end
        self.left -= 1

    def run_to(self, now: int) -> None:
        """Begin the chunks before ``now``, of which nobody else disturbs any."""
        if any(server.free_at > self.next_at for server, _ in self.demands):
            self.step()
            return
        period = self.period
        count = min(self.left, -(-(now - self.next_at) // period))
        for server, each in self.demands:
            server.reserve_series(self.next_at, each, period, count)
        self.next_at += count * period
        self.left -= count


class Copies:
    """The copies of all cores of a host.

    No event is spent on a chunk: whoever wants a memory controller, or its times, calls
    :meth:`advance`, and the chunks that have begun by then take their turns before.

    Attributes:
        begun: whether there has been any.
        running: in the order in which they began.
    """

    def __init__(self, sim: Simulator) -> None:
        self.sim = sim
        self.begun = False
        self.running: list[Copy] = []

    def begin(self, copy: Copy, latency_ps: int) -> None:
        """Start a copy whose first byte is ``latency_ps`` away."""
        self.begun = True
        self.advance()
        now = self.sim.now
        copy.next_at = now + latency_ps
        if not copy.demands:
            copy.next_at += copy.left * copy.core_ps
            copy.left = 0
        self.running.append(copy)
        copy.worker.busy_ps += self._expect(copy) - now

    def _expect(self, copy: Copy) -> int:
        """Look again when it ends if nobody else wants its servers; return that time in ps."""
        end = copy.next_at + copy.left * copy.period
        self.sim.call_at(end, self._check, copy)
        return end

    def _check(self, copy: Copy) -> None:
        self.advance()
        now = self.sim.now
        if copy.left or copy.next_at > now:
            # Somebody else had memory meanwhile.
            copy.worker.busy_ps += self._expect(copy) - now
            return
        self.running.remove(copy)
        copy.done.succeed()

    def advance(self) -> None:
        """Begin all chunks that begin before now, in the order of their times."""
        now = self.sim.now
        while self.running:
            due = [copy for copy in self.running if copy.left and copy.next_at < now]
            if not due:
                return
            if len(due) == 1:
                due[0].run_to(now)
            else:
                min(due, key=_next_at).step()


def _next_at(copy: Copy) -> int:
    return copy.next_at
