"""The work queue entries of requests in flight, as far as they are still on the chip."""

from __future__ import annotations

from typing import ClassVar

from hcasim.catalog.adapter_tables import WqeCache as Description
from hcasim.engine import SetAssociativeCache
from hcasim.engine.changes import Changes
from hcasim.hca.wqe import SendWqe


class WqeCache:
    """Which entries of requests that await a response have not had to leave the chip.

    Attributes:
        service: occupancy of a receiving unit by a response that had to wait for its entry, in ps.
        misses: responses whose entry had left.
    """

    changes: ClassVar[Changes] = Changes(counts="misses")

    def __init__(self, description: Description) -> None:
        self.misses = 0
        self.service = description.service
        entries = description.entries
        self._cache = SetAssociativeCache(entries, entries, description.policy)

    def add(self, qpn: int, wqe: SendWqe) -> None:
        """Keep the entry of a request that has just been sent."""
        self._cache.fill(_name(qpn, wqe))

    def held(self, qpn: int, wqe: SendWqe) -> bool:
        """Look up the entry of a request whose response is here; count it if it is not here."""
        key = _name(qpn, wqe)
        if self._cache.touch(key):
            return True
        self.misses += 1
        self._cache.fill(key)
        return False

    def drop(self, qpn: int, wqe: SendWqe) -> None:
        """Forget the entry of a request that has been answered."""
        self._cache.discard(_name(qpn, wqe))


def _name(qpn: int, wqe: SendWqe) -> int:
    return wqe.posted << 24 | qpn
