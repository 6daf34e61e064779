"""The completion engine: writes completion queue entries to host memory."""

from __future__ import annotations

from functools import partial

from hcasim.catalog import Adapter
from hcasim.engine import Probe, Simulator
from hcasim.hca.dma import DmaEngine
from hcasim.hca.icm import Icm
from hcasim.hca.work_queue import Completion, CompletionQueue


class CompletionEngine:
    """Turns finished work into entries that the application can poll.

    Entries of one adapter are written in the order in which the work finished.
    """

    def __init__(
        self, sim: Simulator, name: str, adapter: Adapter, icm: Icm, dma: DmaEngine
    ) -> None:
        self.sim = sim
        self._probe = Probe(sim, f"{name}.completion_engine")
        self.cqc = icm.cache("cqc", adapter.cqc, written=True)
        self.written = 0
        self._dma = dma
        self._latency = adapter.completion.latency
        self._size = adapter.cqe.size

    def complete(
        self,
        cq: CompletionQueue,
        completion: Completion,
        operation: int = 0,
    ) -> None:
        """Write an entry into ``cq``."""
        self.cqc.access(cq.number, self._generate, cq, completion, operation)

    def _generate(self, cq: CompletionQueue, completion: Completion, operation: int) -> None:
        self.sim.call_after(self._latency, self._write, cq, completion, operation)

    def _write(self, cq: CompletionQueue, completion: Completion, operation: int) -> None:
        if self._probe.listeners:
            self._probe.event("completion engine", operation, completion)
        cq.unwritten.append((completion, operation))
        if len(cq.unwritten) == 1:
            self._write_next(cq)

    def _write_next(self, cq: CompletionQueue) -> None:
        """Write the oldest entry; the next waits until its address has been translated."""
        completion, operation = cq.unwritten[0]
        index, cq.produced = cq.produced, cq.produced + 1
        self._dma.write_entry(
            cq.ring,
            index,
            self._size,
            partial(self._visible, cq, completion, operation),
            partial(self._written, cq),
        )

    def _written(self, cq: CompletionQueue) -> None:
        self.written += 1
        cq.unwritten.popleft()
        if cq.unwritten:
            # By an event, because as many as the queue holds may have waited.
            self.sim.call_after(0, self._write_next, cq)

    def _visible(self, cq: CompletionQueue, completion: Completion, operation: int) -> None:
        if self._probe.listeners:
            self._probe.event("CQE write", operation, f"{completion} to cq {cq.number}")
        cq.push(completion, self.sim.now)
