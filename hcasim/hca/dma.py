"""The DMA engine: gathers from and scatters to host memory through the translation tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from hcasim.bus import Bus
from hcasim.engine import Simulator
from hcasim.fabric.packet import Packet
from hcasim.hca.port import Port
from hcasim.hca.translation import Region, TranslationTables


class DmaEngine:
    """Moves data between host memory and the adapter.

    Attributes:
        gathered: bytes of message data read so far.
        scattered: bytes of message data written so far.
    """

    def __init__(self, sim: Simulator, bus: Bus, tables: TranslationTables) -> None:
        self.sim = sim
        self._bus = bus
        self._tables = tables
        self.gathered = 0
        self.scattered = 0

    def gather(
        self, region: Region, address: int, length: int, on_data: Callable[..., None], *args: object
    ) -> None:
        """Read part of a region; call ``on_data(*args)`` when it is in the adapter."""
        self.gathered += length
        self._tables.translate(
            region, address, length, self._bus.read, address, length, on_data, *args
        )

    def place(
        self, port: Port, packet: Packet, region: Region, address: int, then: Callable[[], None]
    ) -> None:
        """Write the data of a packet into a region; call ``then()`` once the write is on its way.

        Whatever is written afterwards becomes visible afterwards. The packet's room in the
        receive buffer is free again when the last byte has left for the bus.
        """
        if packet.payload:
            self._tables.translate(
                region, address, packet.payload, self._write, port, packet, region, address, then
            )
        else:
            port.free(packet)
            then()

    def _write(
        self,
        port: Port,
        packet: Packet,
        region: Region,
        address: int,
        then: Callable[[], None],
    ) -> None:
        self.scattered += packet.payload
        landed = None
        if region.watches or packet.trace is not None:
            landed = partial(self._landed, packet, region, address)
        self._bus.write(address, packet.payload, partial(port.free, packet), landed)
        then()

    def _landed(self, packet: Packet, region: Region, address: int) -> None:
        if packet.trace is not None:
            packet.trace.append((int(self.sim.now), "data write"))
        region.written(address, packet.payload)
