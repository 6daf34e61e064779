"""Schedule queues: which queue pair may load its next request, and which may send a packet."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque

from hcasim.hca.queue_pair import QueuePair


class Scheduler:
    """Queues of queue pairs with work, each with one queue pair in hand.

    A queue pair belongs to the queue named by its number modulo that of the queues. The one in
    hand has its context and a request on the chip, or on their way; the others wait in line.
    Those in hand take turns at the port.

    Args:
        queues: number of schedule queues.
    """

    def __init__(self, queues: int) -> None:
        self._lines: dict[int, deque[QueuePair]] = {}
        self._in_hand: dict[int, QueuePair] = {}
        # Side by side: the queues, in order, whose queue pair competes, and those queue pairs.
        self._order: list[int] = []
        self._ready: list[QueuePair] = []
        self._count = queues
        self._next = 0

    @property
    def competing(self) -> int:
        """Queue pairs that are ready to send a packet."""
        return len(self._order)

    @property
    def alone(self) -> bool:
        """Whether no more than one queue pair is in hand."""
        return len(self._in_hand) <= 1

    def enqueue(self, qp: QueuePair) -> bool:
        """Put a queue pair that has work in line; return whether it is in hand at once."""
        qp.scheduled = True
        queue = qp.qpn % self._count
        if queue in self._in_hand:
            self._lines.setdefault(queue, deque()).append(qp)
            return False
        self._in_hand[queue] = qp
        return True

    def contended(self, qp: QueuePair) -> bool:
        """Whether others wait behind the queue pair in hand."""
        return bool(self._lines.get(qp.qpn % self._count))

    def release(self, qp: QueuePair) -> QueuePair | None:
        """Let go of the queue pair in hand; return the one that is in hand now, if any waits."""
        qp.scheduled = False
        queue = qp.qpn % self._count
        line = self._lines.get(queue)
        if not line:
            del self._in_hand[queue]
            return None
        self._in_hand[queue] = follower = line.popleft()
        return follower

    def add(self, qp: QueuePair, *, goes_on: bool = False) -> None:
        """Let the queue pair in hand compete for the port.

        Args:
            goes_on: whether its turn is not over yet, so that it is the next.
        """
        queue = qp.qpn % self._count
        order = self._order
        if not order or order[-1] < queue:
            order.append(queue)
            self._ready.append(qp)
        else:
            place = bisect_left(order, queue)
            if order[place] != queue:
                order.insert(place, queue)
                self._ready.insert(place, qp)
        if goes_on:
            self._next = queue

    def take(self) -> QueuePair:
        """Return the queue pair whose turn at the port it is, which competes no longer."""
        order = self._order
        place = bisect_left(order, self._next) if len(order) > 1 else 0
        if place == len(order):
            place = 0
        self._next = order.pop(place) + 1
        return self._ready.pop(place)
