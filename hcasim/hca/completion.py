"""The completion engine: writes completion queue entries to host memory."""

from __future__ import annotations

from functools import partial

from hcasim.bus import Bus
from hcasim.catalog import Adapter
from hcasim.engine import Simulator
from hcasim.hca.context_cache import ContextCache
from hcasim.hca.work_queue import Completion, CompletionQueue


class CompletionEngine:
    """Turns finished work into entries that the application can poll.

    Entries of one adapter are written in the order in which the work finished.
    """

    def __init__(self, sim: Simulator, name: str, adapter: Adapter, bus: Bus) -> None:
        self.sim = sim
        self.name = name
        self.cqc = ContextCache(sim, "cqc", adapter.cqc)
        self.written = 0
        self._bus = bus
        self._latency = adapter.completion.latency
        self._size = adapter.cqe.size

    def complete(
        self,
        cq: CompletionQueue,
        completion: Completion,
        trace: list[tuple[int, str]] | None = None,
    ) -> None:
        """Write an entry into ``cq``."""
        self.cqc.access(cq.number, self._generate, cq, completion, trace)

    def _generate(
        self, cq: CompletionQueue, completion: Completion, trace: list[tuple[int, str]] | None
    ) -> None:
        self.sim.call_after(self._latency, self._write, cq, completion, trace)

    def _write(
        self, cq: CompletionQueue, completion: Completion, trace: list[tuple[int, str]] | None
    ) -> None:
        self.written += 1
        if trace is not None:
            trace.append((int(self.sim.now), "completion engine"))
        self._bus.write(0, self._size, None, partial(self._visible, cq, completion, trace))

    def _visible(
        self, cq: CompletionQueue, completion: Completion, trace: list[tuple[int, str]] | None
    ) -> None:
        if trace is not None:
            trace.append((int(self.sim.now), "CQE write"))
        if self.sim.log is not None:
            self.sim.log(
                int(self.sim.now),
                f"{self.name}.cq{cq.number}",
                "cqe",
                f"{completion.status.name} qp {completion.qpn}",
            )
        cq.push(completion, int(self.sim.now))
