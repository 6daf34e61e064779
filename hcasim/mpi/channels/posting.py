"""How a channel posts its work requests, and who is told when they have completed."""

from __future__ import annotations

from typing import Final, Protocol

from hcasim.engine import Probe
from hcasim.mpi.message import MpiPacket, Poster, Steps, Way, What
from hcasim.verbs import QP, Access, SendWR

REMOTE: Final = Access.LOCAL_WRITE | Access.REMOTE_WRITE


class Unwatched:
    """Whose completion says nothing that another will not say."""

    def completed(self, what: object) -> None:
        """Nothing follows."""


UNWATCHED: Final = Unwatched()


class Sender(Protocol):
    """The queue pair of a channel."""

    @property
    def way(self) -> Way:
        """The end of the connection that it belongs to."""

    @property
    def qp(self) -> QP:
        """It."""

    @property
    def max_inline(self) -> int:
        """Bytes that its requests may carry inside."""

    @property
    def receives(self) -> int:
        """Packets that may wait in its receive queue."""

    def post(self, wr: SendWR, poster: Poster[What], what: What) -> Steps:
        """Post a request; wait for room in the send queue if there is none."""


def tell_post(probe: Probe, operation: int, what: MpiPacket | str) -> None:
    """Tell that an operation has begun to carry a packet, or what a word says."""
    if isinstance(what, MpiPacket):
        what.operation = operation
        probe.event(f"post {what.kind.value}", operation, what)
    else:
        probe.event(f"post {what}", operation)
