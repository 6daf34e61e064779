"""The units that execute requests other than messages: atomics, and registrations (UMR)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final

from hcasim.catalog.adapter import Atomics, Umr
from hcasim.engine import CreditPool, SerialServer, Simulator, Waits
from hcasim.engine.changes import Changes
from hcasim.fabric.packet import AtomicEth, Opcode, Packet
from hcasim.hca.dma import DmaEngine
from hcasim.hca.translation import WORD, Region
from hcasim.hca.wqe import SendWqe

ENTRY: Final = 8
"""Bytes of a page's address in a list (Linux, drivers/infiniband/hw/mlx5/wr.c, mlx5_mtt)."""
_ALL: Final = 1 << 64


@dataclass(slots=True, eq=False)
class Atomic:
    """An atomic that a responder has executed; `executed` is told what its word was."""

    request: Packet
    header: AtomicEth
    region: Region
    accepted_ps: int
    executed: Callable[[Atomic, int], None]


class AtomicUnit:
    """Reads words, changes them and writes them back; nothing comes between to the same word.

    An adapter whose description has no such unit executes one atomic at a time. Others work on
    several of different queue pairs, but on one at a time of those whose words are locked together.
    """

    def __init__(
        self, sim: Simulator, name: str, description: Atomics | None, dma: DmaEngine
    ) -> None:
        self.sim = sim
        most = description.outstanding if description else 1
        self.slots = CreditPool(sim, f"{name}.atomics", most)
        self.locks = Waits(sim, f"{name}.locks" if description else f"{name}.atomics")
        self.server = SerialServer(sim, name)
        self._service = description.service if description else 0
        self._lock = description.lock if description else _ALL
        self._locked: dict[int, deque[Atomic]] = {}
        self._dma = dma

    def execute(self, atomic: Atomic) -> None:
        block = atomic.header.address // self._lock
        behind = self._locked.get(block)
        if behind is None:
            self._locked[block] = deque()
            self.slots.acquire(1, self._begin, atomic)
        else:
            behind.append(atomic)
            self.locks.begin()

    def _begin(self, atomic: Atomic) -> None:
        if self._service:
            self.sim.call_at(self.server.reserve(self._service), self._fetch, atomic)
        else:
            self._fetch(atomic)

    def _fetch(self, atomic: Atomic) -> None:
        address = atomic.header.address
        self._dma.fetch_word(atomic.region, address, WORD, self._modify, atomic)

    def _modify(self, atomic: Atomic) -> None:
        header, region = atomic.header, atomic.region
        original, value = region.word(header.address), None
        if atomic.request.opcode is Opcode.FETCH_ADD:
            value = (original + header.swap_add) % (1 << 64)
        elif original == header.compare:
            value = header.swap_add
        if value is not None:
            region.change(header.address, value)
        self._dma.store(region, header.address, value)
        block = header.address // self._lock
        behind = self._locked[block]
        if behind:
            self.locks.end()
            self.slots.acquire(1, self._begin, behind.popleft())
        else:
            del self._locked[block]
        self.slots.release(1)
        atomic.executed(atomic, original)


class RegistrationUnit:
    """Takes one registration at a time: fetches its list of pages, unless it has come inline.

    Data that others move through the tables of translations meanwhile has to be gone before an
    entry changes, and what comes behind waits, so that registrations and data add up.

    Source: Linux commit 064e526247, which puts short lists into the work request because the
    adapter fetches one list at a time.
    """

    changes: ClassVar[Changes] = Changes(counts="busy_ps", since="_began")

    def __init__(self, sim: Simulator, name: str, description: Umr | None, dma: DmaEngine) -> None:
        self.sim = sim
        self.name = name
        self._service = description.service if description else 0
        self._dma = dma
        self._line: deque[tuple[SendWqe, Callable[[SendWqe], None]]] = deque()
        self.busy_ps = 0
        self._began = 0

    def add(self, wqe: SendWqe, registered: Callable[[SendWqe], None]) -> None:
        self._line.append((wqe, registered))
        if len(self._line) == 1:
            self._begin()

    def _begin(self) -> None:
        self._began = self.sim.now
        wqe, _ = self._line[0]
        if wqe.inline:
            self._serve()
        else:
            self._dma.read_list(wqe.address, ENTRY * wqe.extras.pages, self._serve)

    def _serve(self) -> None:
        self.sim.call_at(self._dma.stand_still(self._service), self._done)

    def _done(self) -> None:
        self.busy_ps += self.sim.now - self._began
        wqe, registered = self._line.popleft()
        if self._line:
            self._begin()
        registered(wqe)
