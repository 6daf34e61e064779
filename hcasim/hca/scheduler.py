"""Schedule queues: which requester may load its next request, and which may send a packet."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from typing import ClassVar

from hcasim.engine.changes import Changes
from hcasim.hca.qp.requester import Requester


class Scheduler:
    """Queues of requesters with work, each with one requester in hand.

    A requester belongs to the queue named by its number modulo that of the queues. The one in
    hand has its context and a request on the chip, or on their way; the others wait in line.
    Those in hand take turns at the port.
    """

    changes: ClassVar[Changes] = Changes(wraps="_next")

    def __init__(self, queues: int) -> None:
        self.members: set[Requester] = set()
        self._lines: dict[int, deque[Requester]] = {}
        self._in_hand: dict[int, Requester] = {}
        # Side by side: the queues, in order, whose requester competes, and those requesters.
        self._order: list[int] = []
        self._ready: list[Requester] = []
        self._count = queues
        self._next = 0

    @property
    def competing(self) -> int:
        return len(self._order)

    @property
    def alone(self) -> bool:
        return len(self._in_hand) <= 1

    def enqueue(self, requester: Requester) -> bool:
        self.members.add(requester)
        queue = requester.qpn % self._count
        if queue in self._in_hand:
            self._lines.setdefault(queue, deque()).append(requester)
            return False
        self._in_hand[queue] = requester
        return True

    def contended(self, requester: Requester) -> bool:
        return bool(self._lines.get(requester.qpn % self._count))

    def release(self, requester: Requester) -> Requester | None:
        """Let go of the requester in hand; return the one that is in hand now, if any waits."""
        self.members.remove(requester)
        queue = requester.qpn % self._count
        line = self._lines.get(queue)
        if not line:
            del self._in_hand[queue]
            return None
        self._in_hand[queue] = follower = line.popleft()
        return follower

    def add(self, requester: Requester, *, goes_on: bool = False) -> None:
        queue = requester.qpn % self._count
        order = self._order
        if not order or order[-1] < queue:
            order.append(queue)
            self._ready.append(requester)
        else:
            place = bisect_left(order, queue)
            if order[place] != queue:
                order.insert(place, queue)
                self._ready.insert(place, requester)
        if goes_on:
            self._next = queue

    def take(self) -> Requester:
        """Return the requester whose turn at the port it is, which competes no longer."""
        order = self._order
        place = bisect_left(order, self._next) if len(order) > 1 else 0
        if place == len(order):
            place = 0
        self._next = order.pop(place) + 1
        return self._ready.pop(place)
