"""Copies by the processors, which share memory with each other and with DMA chunk by chunk."""

from __future__ import annotations

from typing import Final, Protocol

from hcasim.engine import Event, SerialServer, Simulator

CHUNK: Final = 512
"""Bytes that a core moves before it asks for memory again: eight misses of 64 B under way. Memory
serves in order of arrival, so this is also the core's share where devices ask for all they can."""


def in_chunks(size: int, duration_ps: int) -> int:
    """What a copy of ``size`` bytes takes in chunks of whole picoseconds, if memory has no part."""
    chunks = -(-size // CHUNK)
    return chunks * -(-duration_ps // chunks)


class Worker(Protocol):
    """Whose time a copy takes, counted as far as it is known."""

    busy_ps: int


class Copy:
    """A copy under way, in equal chunks, which takes a worker's time and servers as it demands.

    The next of the chunks ``left`` begins, or the last ends, at ``next_at``, a ``period`` in ps
    after the one before while nobody else uses its servers.
    """

    __slots__ = ("demands", "done", "left", "next_at", "period", "worker")

    def __init__(
        self,
        worker: Worker,
        done: Event,
        size: int,
        duration_ps: int,
        demands: dict[SerialServer, int],
    ) -> None:
        self.worker = worker
        self.done = done
        self.left = -(-size // CHUNK)
        self.demands = [(server, -(-in_all // self.left)) for server, in_all in demands.items()]
        self.period = -(-max(duration_ps, *demands.values(), 1) // self.left)
        self.next_at = 0

    def step(self, before: int) -> None:
        start = self.next_at
        count = min(self.left, -(-(before - start) // self.period))
        for server, _ in self.demands:
            if server.free_at > start:
                count = 1
        end = start + count * self.period
        for server, each in self.demands:
            served = server.reserve_each(start, each, self.period, count)
            if served > end:
                end = served
        self.next_at = end
        self.left -= count


class Copies:
    """The copies of all cores of a host, those running in the order of their begin.

    No event is spent on a chunk: whoever wants a memory controller, or its times, calls
    :meth:`advance`, and the chunks that have begun by then take their turns before.
    """

    def __init__(self, sim: Simulator) -> None:
        self.sim = sim
        self.begun = False
        self.running: list[Copy] = []

    def begin(self, copy: Copy, latency_ps: int) -> None:
        self.advance()
        now = self.sim.now
        copy.next_at = now + latency_ps
        if not copy.demands:
            copy.next_at += copy.left * copy.period
            copy.left = 0
        self.running.append(copy)
        copy.worker.busy_ps += self._expect(copy) - now

    def _expect(self, copy: Copy) -> int:
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
        now = self.sim.now
        while self.running:
            due = [copy for copy in self.running if copy.left and copy.next_at < now]
            if not due:
                return
            first = min(due, key=lambda copy: copy.next_at)
            first.step(now if len(due) == 1 else first.next_at + 1)
