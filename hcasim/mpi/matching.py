"""Which message belongs to which receive."""

from __future__ import annotations

from collections import deque
from itertools import count

from hcasim.mpi.message import ANY_SOURCE, ANY_TAG, MpiPacket, Recv

_Key = tuple[int, int, int]


class Matching:
    """Receives without a message and messages without a receive, of one process.

    A message takes the receive that was posted first among those that fit, and a receive the
    message that came first; so messages of one sender never overtake each other (MPI 3.1, section
    3.5). Those without wildcards are found by context, source and tag in constant time.
    """

    def __init__(self) -> None:
        self.serials = count()
        self._posted: dict[_Key, deque[Recv]] = {}
        self._wild: list[Recv] = []
        self._unexpected: dict[_Key, deque[tuple[int, MpiPacket]]] = {}

    def post(self, recv: Recv) -> MpiPacket | None:
        """Take the first message that belongs to a receive, or keep the receive."""
        packet = self.probe(recv)
        if packet is not None:
            key = (packet.context, packet.source, packet.tag)
            waiting = self._unexpected[key]
            waiting.popleft()
            if not waiting:
                del self._unexpected[key]
            return packet
        if recv.peer == ANY_SOURCE or recv.tag == ANY_TAG:
            self._wild.append(recv)
        else:
            key = (recv.context, recv.peer, recv.tag)
            self._posted.setdefault(key, deque()).append(recv)
        return None

    def probe(self, recv: Recv) -> MpiPacket | None:
        """The first message that belongs to a receive, if there is one."""
        if recv.peer != ANY_SOURCE and recv.tag != ANY_TAG:
            waiting = self._unexpected.get((recv.context, recv.peer, recv.tag))
            return waiting[0][1] if waiting else None
        firsts = (waiting[0] for waiting in self._unexpected.values())
        fitting = [first for first in firsts if recv.matches(first[1])]
        return min(fitting, key=lambda one: one[0])[1] if fitting else None

    def arrive(self, packet: MpiPacket) -> Recv | None:
        """Take the first receive that a message belongs to, or keep the message."""
        key = (packet.context, packet.source, packet.tag)
        exact = self._posted.get(key)
        found = exact[0] if exact else None
        for recv in self._wild:
            if recv.matches(packet):
                if found is None or recv.serial < found.serial:
                    self._wild.remove(recv)
                    return recv
                break
        if found is None:
            self._unexpected.setdefault(key, deque()).append((next(self.serials), packet))
        elif exact is not None:
            exact.popleft()
            if not exact:
                del self._posted[key]
        return found
