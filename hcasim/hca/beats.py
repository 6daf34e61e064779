"""The beats of long messages, whose packets are alike but for their numbers."""

from __future__ import annotations

from math import gcd, lcm
from typing import Final

from hcasim.catalog import Adapter
from hcasim.engine import Simulator
from hcasim.hca.translation import ALIGNMENT

LONG: Final = 128
"""Packets of a message whose pace may be worth a look."""


class Beats:
    """Tells of every so many packets of a long message.

    Args:
        adapter: how often packets ask for an acknowledgement, and how many bytes of a message go
            out in one turn.
    """

    def __init__(self, sim: Simulator, adapter: Adapter) -> None:
        self._sim = sim
        self._interval = adapter.ack.interval
        self._burst = adapter.scheduler.burst
        self._beats: dict[tuple[int, bool], int] = {}

    def sent(self, work: object, sent: int, packets: int, segment: int, alone: bool = True) -> None:
        """Note that a packet of a message of more than `LONG` packets has been sent.

        Args:
            work: the request or the response.
            sent: packets of it so far.
            packets: of it in all.
            segment: bytes in each but the last.
            alone: whether no other queue pair has its turn when a burst ends.
        """
        forward = self._sim.forward
        if forward is None:
            return
        if sent == packets:
            forward.end(work)
            return
        every = self._beats.get((segment, alone)) or self._beat(segment, alone)
        if sent % every == 0:
            forward.beat(work, (packets - sent) // every)

    def _beat(self, segment: int, alone: bool) -> int:
        found = lcm(self._interval, ALIGNMENT // gcd(segment, ALIGNMENT))
        if not alone:
            found = lcm(found, -(-self._burst // segment))
        self._beats[segment, alone] = found
        return found
