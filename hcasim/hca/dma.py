"""The DMA engine: moves data and queue entries through the translation tables."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import ClassVar

from hcasim.bus import Bus, Storage
from hcasim.catalog import Adapter
from hcasim.engine import Action, Args, Call, Probe, Simulator, Waits
from hcasim.engine.changes import Changes
from hcasim.fabric.packet import Packet
from hcasim.hca.egress import StagingBuffer
from hcasim.hca.pipeline import Fetch
from hcasim.hca.translation import Region, Ring, TranslationTables


class Data(Action):
    """The data of a packet on its way into a staging buffer, where it is complete some ps later."""

    __slots__ = ("_buffer", "_further", "_packet")

    block: ClassVar[str] = "DmaEngine"

    def __init__(self, buffer: StagingBuffer, packet: Packet, further_ps: int = 0) -> None:
        self._buffer = buffer
        self._packet = packet
        self._further = further_ps

    def act(self) -> None:
        if self._further:
            sim, further = self._buffer.sim, self._further
            self._further = 0
            sim.schedule(sim.now + further, self)
        else:
            self._buffer.complete(self._packet)


class ReadStream(Action):
    """Reads the data of the packets in one staging buffer, begun in order.

    A packet is translated when all reads before it have been issued but those prefetched.
    """

    changes: ClassVar[Changes] = Changes(addresses="_waiting")

    def __init__(self, buffer: StagingBuffer, engine: DmaEngine) -> None:
        self._buffer = buffer
        self._engine = engine
        self._tables = engine.tables
        self._prefetch = engine.prefetch
        self._waiting: deque[tuple[Packet, Region, int]] = deque()
        self._unissued = 0
        self.waits = Waits(buffer.sim, f"{buffer.room.name}.prefetch")
        buffer.sim.resources.keeps_waiting(self.waits.name, self.waits)

    def add(self, packet: Packet, region: Region, address: int) -> None:
        if self._waiting or self._unissued > self._prefetch:
            self._waiting.append((packet, region, address))
            self.waits.begin()
        else:
            self._translate(packet, region, address)

    def _translate(self, packet: Packet, region: Region, address: int) -> None:
        self._unissued += 1
        if self._tables.held(region, address, packet.payload):
            self._read(packet, region, address)
        else:
            self._tables.translate(
                region, address, packet.payload, self._read, packet, region, address
            )

    def _read(self, packet: Packet, region: Region, address: int) -> None:
        storage = self._engine.storage(region)
        storage.start_read(address, packet.payload, Data(self._buffer, packet), self)

    def act(self) -> None:
        self._unissued -= 1
        while self._waiting and self._unissued <= self._prefetch:
            packet, region, address = self._waiting.popleft()
            self.waits.end()
            self._translate(packet, region, address)


class Placing(Action):
    """A packet whose data goes to memory: placed when on its way; acts when that has left."""

    __slots__ = ("packet",)

    packet: Packet

    def placed(self) -> None:
        raise NotImplementedError


class Landing(Action):
    """The data of a packet on its way into a region that somebody watches."""

    changes: ClassVar[Changes] = Changes(unseen="_since", addresses="_address")

    __slots__ = ("_address", "_packet", "_probe", "_region", "_since")

    block: ClassVar[str] = "DmaEngine"

    def __init__(
        self, probe: Probe, packet: Packet, region: Region, address: int, now: int
    ) -> None:
        self._probe = probe
        self._since = now
        self._packet = packet
        self._region = region
        self._address = address

    def act(self) -> None:
        packet = self._packet
        if self._probe.listeners:
            self._probe.event("data write", packet.operation, packet, None, self._since)
        self._region.written(self._address, packet.payload)


class DmaEngine:
    """Moves data between the adapter's engines and the memory that holds a region.

    Attributes:
        gathered, scattered: bytes of message data read and written so far.
    """

    changes: ClassVar[Changes] = Changes(counts="gathered scattered")

    def __init__(
        self,
        sim: Simulator,
        name: str,
        description: Adapter,
        host: Bus,
        local: Storage,
        tables: TranslationTables,
        fetch: Fetch,
    ) -> None:
        self._sim = sim
        self._fetch = fetch
        self._request = description.bus.longest_read
        self._interval = description.send.read_interval
        self.prefetch = description.send.prefetch
        self._probe = Probe(sim, f"{name}.dma")
        self._host = host
        self._local = local
        self.tables = tables
        self._streams: dict[StagingBuffer, ReadStream] = {}
        self.gathered = self.scattered = 0

    def storage(self, region: Region) -> Storage:
        return self._local if region.on_adapter else self._host

    # Work queue entries and completions.

    def fetch_entry(
        self, ring: Ring, index: int, size: int, on_data: Callable[[*Args], None], *args: *Args
    ) -> None:
        address = ring.address(index)
        here = Call(on_data, args)
        self.tables.translate(ring.region, address, size, self._fetch, address, size, here)

    def write_entry(
        self,
        ring: Ring,
        index: int,
        size: int,
        visible: Action,
        then: Callable[[*Args], None],
        *args: *Args,
    ) -> None:
        address, put = ring.address(index), self._put_entry
        self.tables.translate(ring.region, address, size, put, address, size, visible, then, args)

    def _put_entry(
        self,
        address: int,
        size: int,
        visible: Action,
        then: Callable[[*Args], None],
        args: tuple[*Args],
    ) -> None:
        self._host.start_write(address, size, None, visible)
        then(*args)

    def read_list(self, address: int, size: int, then: Callable[[], None]) -> None:
        """Read a list of the driver, whose addresses are those of the bus; then call ``then()``."""
        self._host.fetch(address, size, then)

    def stand_still(self, duration_ps: int) -> int:
        """Write and ask for nothing for so long, once all that is under way has left.

        Returns:
            when that is over, in ps.
        """
        return self._host.hold(duration_ps)

    # Message data.

    def gather(self, buffer: StagingBuffer, packet: Packet, region: Region, address: int) -> None:
        self.gathered += packet.payload
        stream = self._streams.get(buffer)
        if stream is None:
            stream = self._streams[buffer] = ReadStream(buffer, self)
        stream.add(packet, region, address)

    def fetch_word(
        self,
        region: Region,
        address: int,
        size: int,
        on_data: Callable[[*Args], None],
        *args: *Args,
    ) -> None:
        self.gathered += size
        self.tables.translate(
            region, address, size, self.storage(region).read, address, size, on_data, *args
        )

    def place(self, placing: Placing, region: Region, address: int) -> None:
        """Write a packet's data into a region; what is written afterwards is visible afterwards."""
        payload = placing.packet.payload
        if self.tables.held(region, address, payload):
            self._write(placing, region, address)
        else:
            self.tables.translate(region, address, payload, self._write, placing, region, address)

    def _write(self, placing: Placing, region: Region, address: int) -> None:
        packet = placing.packet
        self.scattered += packet.payload
        landing = None
        if self._probe.listeners or (region.listeners and region.watched(address, packet.payload)):
            landing = Landing(self._probe, packet, region, address, self._sim.now)
        self.storage(region).start_write(address, packet.payload, placing, landing)
        placing.placed()

    def store(self, region: Region, address: int, size: int) -> None:
        written = Call(region.written, (address, size))
        self.storage(region).start_write(address, size, None, written)


class OverlappingDmaEngine(DmaEngine):
    """One in which packets need not wait for the reads before them."""

    def gather(self, buffer: StagingBuffer, packet: Packet, region: Region, address: int) -> None:
        """Read the data of a packet at once, which takes longer if it needs several requests."""
        size = packet.payload
        self.gathered += size
        data = Data(buffer, packet, (size - 1) // self._request * self._interval)
        storage = self.storage(region)
        if self.tables.held(region, address, size):
            storage.start_read(address, size, data)
        else:
            self.tables.translate(region, address, size, storage.start_read, address, size, data)
