"""The unit that registers memory for work requests (user-mode memory registration, UMR)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from hcasim.catalog.adapter import Umr
from hcasim.engine import Simulator
from hcasim.hca.dma import DmaEngine
from hcasim.hca.queue_pair import QueuePair
from hcasim.hca.wqe import SendWqe

ENTRY = 8
"""Bytes of a page's address in a list (Linux, drivers/infiniband/hw/mlx5/wr.c, mlx5_mtt)."""


class RegistrationUnit:
    """Takes one registration at a time: fetches its list of pages, unless it has come inline.

    Source: Linux commit 064e526247, which puts short lists into the work request because the
    adapter fetches one list at a time.

    Args:
        registered: called with the queue pair and its request when it is done.
    """

    def __init__(
        self,
        sim: Simulator,
        description: Umr | None,
        dma: DmaEngine,
        registered: Callable[[QueuePair, SendWqe], None],
    ) -> None:
        self.sim = sim
        self._inline = description.inline if description else 0
        self._service = description.service if description else 0
        self._dma = dma
        self._registered = registered
        self._line: deque[tuple[QueuePair, SendWqe]] = deque()

    def add(self, qp: QueuePair, wqe: SendWqe) -> None:
        """Execute a request behind those before it."""
        self._line.append((qp, wqe))
        if len(self._line) == 1:
            self._begin()

    def _begin(self) -> None:
        _, wqe = self._line[0]
        assert wqe.region is not None
        size = ENTRY * wqe.pages
        if size <= self._inline:
            self._serve()
        else:
            self._dma.read_list(wqe.address, size, self._serve)

    def _serve(self) -> None:
        self.sim.call_after(self._service, self._done)

    def _done(self) -> None:
        qp, wqe = self._line.popleft()
        if self._line:
            self._begin()
        self._registered(qp, wqe)
