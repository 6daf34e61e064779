"""The completion engine: completes work in order and writes completion queue entries (CQEs)."""

from __future__ import annotations

from typing import ClassVar, Final

from hcasim.catalog import Adapter
from hcasim.engine import Call, Probe, SerialServer, Simulator
from hcasim.engine.changes import Changes
from hcasim.hca.completion_queue import NO_END, Completion, CompletionQueue, WCStatus
from hcasim.hca.context_cache import ContextCache
from hcasim.hca.dma import DmaEngine
from hcasim.hca.driver import device, vendor_error
from hcasim.hca.icm import Icm
from hcasim.hca.wqe import ReceiveWqe, SendWqe

# Bound once, because compiled code looks members of enumerations up each time.
_SUCCESS: Final = WCStatus.SUCCESS


class CompletionEngine:
    """Turns finished work into entries that the application can poll, in the order of its end."""

    changes: ClassVar[Changes] = Changes(counts="written")

    def __init__(
        self, sim: Simulator, name: str, adapter: Adapter, icm: Icm, dma: DmaEngine
    ) -> None:
        self.sim = sim
        self.cqc = ContextCache(sim, "cqc", adapter.cqc, icm.table(adapter.cqc), written=True)
        self.written = 0
        self._probe = Probe(sim, f"{name}.completion_engine")
        self._dma = dma
        self._latency = adapter.completion.latency
        self._service = adapter.completion.service
        self.writer = SerialServer(sim, f"{name}.completion_engine")
        self._size = adapter.cqe.size
        self._driver = device(adapter.id).driver

    def over(self, wqe: SendWqe) -> None:
        if self._probe.listeners:
            self._probe.over(wqe.operation, wqe)

    def complete(
        self,
        cq: CompletionQueue,
        qpn: int,
        wqe: SendWqe | ReceiveWqe,
        status: WCStatus,
        length: int,
        operation: int = 0,
    ) -> None:
        """Complete a request of so many bytes, and the operation, if any, that ends with it."""
        request, end = None, NO_END
        if isinstance(wqe, SendWqe):
            request = wqe.opcode
        elif wqe.end is not None:
            end = wqe.end
        completion = Completion(wqe.wr_id, status, qpn, length, request, wqe.posted, operation, end)
        if status is not _SUCCESS:
            region = self._dma.tables.region(wqe.key)
            what = self._driver, status, request is None
            completion.vendor_err = vendor_error(*what, region, wqe.address, wqe.length)
        if wqe.in_cqe and wqe.region is not None:
            completion.data = wqe.region, wqe.address, length, wqe.data
        if self._service:
            self.cqc.access(cq.number, self._take_turn, cq, completion)
        else:
            latency = self._latency
            self.cqc.access(cq.number, self.sim.call_after, latency, self._write, cq, completion)

    def _take_turn(self, cq: CompletionQueue, completion: Completion) -> None:
        ready = self.writer.reserve(self._service) + self._latency
        self.sim.call_at(ready, self._write, cq, completion)

    def _write(self, cq: CompletionQueue, completion: Completion) -> None:
        if self._probe.listeners:
            now = completion.written_ps = self.sim.now
            since = now - self._latency - self._service
            self._probe.event("completion engine", completion.operation, completion, None, since)
        cq.unwritten.append(completion)
        if len(cq.unwritten) == 1:
            self._write_next(cq)

    def _write_next(self, cq: CompletionQueue) -> None:
        index, cq.produced = cq.produced, cq.produced + 1
        completion = cq.unwritten[0]
        seen = Call(self._visible, (cq, completion))
        self._dma.write_entry(cq.ring, index, self._size, seen, self._issued, cq)

    def _issued(self, cq: CompletionQueue) -> None:
        self.written += 1
        cq.unwritten.popleft()
        if cq.unwritten:
            # By an event, because as many as the queue holds may have waited.
            self.sim.call_after(0, self._write_next, cq)

    def _visible(self, cq: CompletionQueue, completion: Completion) -> None:
        if self._probe.listeners:
            details = f"{completion} to cq {cq.number}"
            since = completion.written_ps or self.sim.now
            self._probe.event("CQE write", completion.operation, details, None, since)
        cq.push(completion, self.sim.now)
