"""What keeps its order in an adapter: all packets of a port, or those of each queue pair."""

from __future__ import annotations

from typing import ClassVar

from hcasim.bus import Bus
from hcasim.engine import Server
from hcasim.hca.dma import DmaEngine, Fetch, OverlappingDmaEngine
from hcasim.hca.egress import SharedBuffer, StagingBuffer
from hcasim.hca.port import Port, QueuePairPort


class InOrder:
    """All packets of a port keep their order, and what is fetched waits behind data."""

    buffer: ClassVar[type[StagingBuffer]] = StagingBuffer
    dma: ClassVar[type[DmaEngine]] = DmaEngine
    port: ClassVar[type[Port]] = Port

    def fetch(self, bus: Bus) -> Fetch:
        """How entries and contexts are read."""
        return bus.start_read

    def response_units(self, units: Server) -> Server | None:
        """Processing units that packets of responses have to take."""
        return None


class PerQueuePair(InOrder):
    """Packets of other queue pairs go on while one has to wait."""

    buffer: ClassVar[type[StagingBuffer]] = SharedBuffer
    dma: ClassVar[type[DmaEngine]] = OverlappingDmaEngine
    port: ClassVar[type[Port]] = QueuePairPort

    def fetch(self, bus: Bus) -> Fetch:
        """How entries and contexts are read: ahead of data."""
        return bus.start_fetch

    def response_units(self, units: Server) -> Server | None:
        """Those of requests."""
        return units
