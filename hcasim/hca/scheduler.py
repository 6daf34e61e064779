"""Schedule queues: which queue pair may send its next packet."""

from __future__ import annotations

from collections import deque

from hcasim.hca.work_queue import QueuePair


class Scheduler:
    """Queues of ready queue pairs, served round robin.

    A queue pair belongs to the queue named by its number modulo that of the queues.

    Args:
        queues: number of schedule queues.
    """

    def __init__(self, queues: int) -> None:
        self._queues: list[deque[QueuePair]] = [deque() for _ in range(queues)]
        self._count = queues
        self._next = 0
        self._ready = 0

    def __bool__(self) -> bool:
        return self._ready > 0

    def add(self, qp: QueuePair) -> None:
        """Make a queue pair ready; nothing happens if it is already."""
        if not qp.scheduled:
            qp.scheduled = True
            self._ready += 1
            self._queues[qp.qpn % self._count].append(qp)

    def take(self) -> QueuePair:
        """Remove and return the queue pair whose turn it is."""
        queues = self._queues
        index = self._next
        while not queues[index]:
            index = (index + 1) % self._count
        self._next = (index + 1) % self._count
        self._ready -= 1
        qp = queues[index].popleft()
        qp.scheduled = False
        return qp
