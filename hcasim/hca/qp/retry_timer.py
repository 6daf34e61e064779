"""The transport timer of a reliable queue pair, which notices that no answer comes."""

from __future__ import annotations

from typing import ClassVar, Final

from hcasim.engine import Action, Simulator
from hcasim.engine.changes import Changes
from hcasim.fabric.packet import Opcode, Packet, Sender
from hcasim.hca.qp.endpoint import Endpoint

BASE_PS: Final = 4_096_000
"""Local ACK timeout of exponent 0, in ps (volume 1, 9.7.6.1.3): each step doubles it."""
TIMEOUT: Final = 14
RETRIES: Final = 7
LONGEST_TIMEOUT: Final = 31
"""Largest value of the 5 bits of the attribute."""
MOST_RETRIES: Final = 7

_ANSWERED: Final = (Opcode.RDMA_READ_REQUEST, Opcode.COMPARE_SWAP, Opcode.FETCH_ADD)


class RetryTimer(Sender):
    """Expires when a request has waited too long for an answer.

    It runs from the last answer, or from the oldest request sent since that asks for one. As long
    as answers come nobody can tell whether it runs, so nothing is scheduled: it begins to be
    watched when a packet is lost, of which whoever loses it tells.

    Args:
        end: whose path says how long and how often.
        expired: done each time that it expires.

    Attributes:
        heard_at: when the last answer came, in ps.
    """

    changes: ClassVar[Changes] = Changes(since="heard_at")

    __slots__ = ("_end", "_expired", "_from", "_runs", "_sim", "_tries", "heard_at")

    def __init__(self, sim: Simulator, end: Endpoint, expired: Action) -> None:
        self._sim = sim
        self._end = end
        self._expired = expired
        self.heard_at = 0
        self._runs = False
        self._from = 0
        self._tries = 0

    @property
    def exhausted(self) -> bool:
        """Whether it has expired more often in a row than is allowed."""
        return self._tries > self._end.path.retries

    def lost(self, packet: Packet) -> None:
        """Watch the timer from now on, if the packet asks for an answer."""
        asks = packet.ack_request or packet.opcode in _ANSWERED
        if asks and self._end.path.timeout and not self._runs:
            self._run(packet.staged_at)

    def _run(self, since_ps: int) -> None:
        self._runs = True
        if self.heard_at > self._from:
            self._tries = 0
        self._from = max(since_ps, self.heard_at)
        ends_at = self._from + (BASE_PS << self._end.path.timeout)
        self._sim.schedule(max(ends_at, self._sim.now), self)

    def act(self) -> None:
        """It expires, unless an answer has come meanwhile."""
        if self.heard_at > self._from:
            self._run(self.heard_at)
        else:
            self._runs = False
            self._tries += 1
            self._expired.act()
