"""The unit that registers memory for work requests (user-mode memory registration, UMR)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import ClassVar, Final

from hcasim.catalog.adapter_tables import Umr
from hcasim.engine import Simulator
from hcasim.engine.changes import Changes
from hcasim.hca.dma import DmaEngine
from hcasim.hca.wqe import SendWqe

ENTRY: Final = 8
"""Bytes of a page's address in a list (Linux, drivers/infiniband/hw/mlx5/wr.c, mlx5_mtt)."""


class RegistrationUnit:
    """Takes one registration at a time: fetches its list of pages, unless it has come inline.

    Source: Linux commit 064e526247, which puts short lists into the work request because the
    adapter fetches one list at a time.

    Attributes:
        busy_ps: time that registrations have taken, with the fetch of their lists.
    """

    changes: ClassVar[Changes] = Changes(counts="busy_ps", since="_began")

    def __init__(
        self,
        sim: Simulator,
        name: str,
        description: Umr | None,
        dma: DmaEngine,
    ) -> None:
        self.sim = sim
        self.name = name
        self._service = description.service if description else 0
        self._dma = dma
        self._line: deque[tuple[SendWqe, Callable[[SendWqe], None]]] = deque()
        self.busy_ps = 0
        self._began = 0

    def add(self, wqe: SendWqe, registered: Callable[[SendWqe], None]) -> None:
        """Execute a request behind those before it; then call ``registered(wqe)``."""
        self._line.append((wqe, registered))
        if len(self._line) == 1:
            self._begin()

    def _begin(self) -> None:
        self._began = self.sim.now
        wqe, _ = self._line[0]
        if wqe.inline:
            self._serve()
        else:
            self._dma.read_list(wqe.address, ENTRY * wqe.pages, self._serve)

    def _serve(self) -> None:
        self.sim.call_after(self._service, self._done)

    def _done(self) -> None:
        self.busy_ps += self.sim.now - self._began
        wqe, registered = self._line.popleft()
        if self._line:
            self._begin()
        registered(wqe)
