"""The DMA engine: moves data and queue entries through the translation tables."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import ClassVar

from hcasim.bus import Bus, Storage
from hcasim.bus.base import Gather
from hcasim.catalog import Adapter
from hcasim.engine import Action, Args, Call, Probe, Rate, Simulator, Waits
from hcasim.engine.changes import Changes
from hcasim.fabric.packet import Packet
from hcasim.fabric.payload import Contents, Gathered
from hcasim.hca.egress import StagingBuffer
from hcasim.hca.pipeline import Fetch
from hcasim.hca.translation import WORD, Region, Ring, TranslationTables
from hcasim.hca.wqe import Piece, Pieces


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
    """The data of a packet on its way into a region that somebody watches, or whose bytes count."""

    changes: ClassVar[Changes] = Changes(unseen="_since", addresses="_address")

    __slots__ = ("_address", "_first", "_length", "_packet", "_probe", "_region", "_since")

    block: ClassVar[str] = "DmaEngine"

    def __init__(
        self, probe: Probe, packet: Packet, region: Region, address: int, now: int
    ) -> None:
        self._probe = probe
        self._since = now
        self._packet = packet
        self._region = region
        self._address = address
        self._first, self._length = 0, packet.payload

    def takes(self, first: int, length: int) -> None:
        """Land only so many bytes of the packet, from its ``first`` on."""
        self._first, self._length = first, length

    def act(self) -> None:
        packet = self._packet
        if self._probe.listeners:
            self._probe.event("data write", packet.operation, packet, None, self._since)
        region = self._region
        if packet.data is not None and region.contents is not None:
            if self._length == packet.payload:
                packet.data.place(region.contents, self._address)
            else:
                packet.data.part(region.contents, self._address, self._first, self._length)
        region.written(self._address, self._length)


def _bytes_of(piece: Piece) -> tuple[Contents | None, int, int]:
    contents = None if piece.region is None else piece.region.contents
    return contents, piece.address, piece.length


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

    def gather_pieces(self, buffer: StagingBuffer, packet: Packet, pieces: Pieces) -> None:
        """Read the data of a packet that lie in several pieces."""
        self.gathered += packet.payload
        if any(_bytes_of(one)[0] is not None for one in pieces):
            packet.data = Gathered([_bytes_of(one) for one in pieces])
        here = Gather(len(pieces), self.data(buffer, packet))
        for one in pieces:
            assert one.region is not None
            self.read(here, one.region, one.address, one.length)

    def data(self, buffer: StagingBuffer, packet: Packet) -> Data:
        return Data(buffer, packet)

    def read(self, data: Action, region: Region, address: int, size: int) -> None:
        storage = self.storage(region)
        if self.tables.held(region, address, size):
            storage.start_read(address, size, data)
        else:
            self.tables.translate(region, address, size, storage.start_read, address, size, data)

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
        known = region.contents is not None and packet.data is not None
        watched = known or (region.listeners and region.watched(address, packet.payload))
        if watched or self._probe.listeners:
            landing = Landing(self._probe, packet, region, address, self._sim.now)
        self.storage(region).start_write(address, packet.payload, placing, landing)
        placing.placed()

    def scatter(self, placing: Placing, pieces: Pieces) -> None:
        """Write a packet's data into several pieces, in turn."""
        self.scattered += placing.packet.payload
        self._scatter(placing, pieces, 0, 0, Gather(len(pieces), placing))

    def _scatter(
        self, placing: Placing, pieces: Pieces, number: int, first: int, left: Gather
    ) -> None:
        if number == len(pieces):
            placing.placed()
            return
        one = pieces[number]
        assert one.region is not None
        what = placing, pieces, number, first, left
        self.tables.translate(one.region, one.address, one.length, self._put_piece, *what)

    def _put_piece(
        self, placing: Placing, pieces: Pieces, number: int, first: int, left: Gather
    ) -> None:
        one = pieces[number]
        region, size = one.region, one.length
        assert region is not None
        landing = Landing(self._probe, placing.packet, region, one.address, self._sim.now)
        landing.takes(first, size)
        self.storage(region).start_write(one.address, size, left, landing)
        self._scatter(placing, pieces, number + 1, first + size, left)

    def store(self, region: Region, address: int, value: int | None) -> None:
        """Write a word back, whose value an atomic has changed if it is given."""
        stored = Call(self._stored, (region, address, value))
        self.storage(region).start_write(address, WORD, None, stored)

    def _stored(self, region: Region, address: int, value: int | None) -> None:
        if value is not None:
            region.store(address, value)
        region.written(address, WORD)


class ReadWindow:
    """The reads for one queue pair's packets in a staging buffer: up to ``size`` bytes at once.

    A packet whose data are more waits, with those behind it, for data of those before it; one alone
    need not fit.
    """

    changes: ClassVar[Changes] = Changes(addresses="_waiting")

    def __init__(
        self, buffer: StagingBuffer, engine: OverlappingDmaEngine, size: int, waits: Waits
    ) -> None:
        self._buffer = buffer
        self._engine = engine
        self._size = size
        self._waits = waits
        self._waiting: deque[tuple[Packet, Region, int]] = deque()
        self._reading = 0

    def add(self, packet: Packet, region: Region, address: int) -> None:
        if self._waiting or not self._fits(packet.payload):
            self._waiting.append((packet, region, address))
            self._waits.begin()
        else:
            self._read(packet, region, address)

    def _fits(self, size: int) -> bool:
        return not self._reading or self._reading + size <= self._size

    def _read(self, packet: Packet, region: Region, address: int) -> None:
        self._reading += packet.payload
        self._engine.read(WindowData(self, packet), region, address, packet.payload)

    def arrived(self, packet: Packet) -> None:
        self._reading -= packet.payload
        waiting = self._waiting
        while waiting and self._fits(waiting[0][0].payload):
            following, region, address = waiting.popleft()
            self._waits.end()
            self._read(following, region, address)
        self._engine.data(self._buffer, packet).act()


class WindowData(Action):
    """The data of a packet on its way into a staging buffer, which are counted in a window."""

    __slots__ = ("_packet", "_window")

    block: ClassVar[str] = "DmaEngine"

    def __init__(self, window: ReadWindow, packet: Packet) -> None:
        self._window = window
        self._packet = packet

    def act(self) -> None:
        self._window.arrived(self._packet)


class OverlappingDmaEngine(DmaEngine):
    """One in which packets wait for reads of their own queue pair only.

    Some move the data of a packet into the staging buffer once all of it is here.
    """

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
        super().__init__(sim, name, description, host, local, tables, fetch)
        self._window = description.send.window
        moved = description.send.store_bandwidth
        self._store = Rate.from_bandwidth(moved) if moved else None
        self._windows: dict[StagingBuffer, dict[int, ReadWindow]] = {}
        self._waits: dict[StagingBuffer, Waits] = {}

    def gather(self, buffer: StagingBuffer, packet: Packet, region: Region, address: int) -> None:
        self.gathered += packet.payload
        if self._window is None:
            self.read(self.data(buffer, packet), region, address, packet.payload)
            return
        line = buffer.line(packet)
        windows = self._windows.get(buffer)
        window = windows.get(line) if windows is not None else None
        if window is None:
            window = self._add_window(buffer, line, self._window)
        window.add(packet, region, address)

    def _add_window(self, buffer: StagingBuffer, line: int, size: int) -> ReadWindow:
        waits = self._waits.get(buffer)
        if waits is None:
            waits = self._waits[buffer] = Waits(buffer.sim, f"{buffer.room.name}.window")
            buffer.sim.resources.keeps_waiting(waits.name, waits)
            self._windows[buffer] = {}
        window = self._windows[buffer][line] = ReadWindow(buffer, self, size, waits)
        return window

    def data(self, buffer: StagingBuffer, packet: Packet) -> Data:
        return Data(buffer, packet, self._store.time(packet.payload) if self._store else 0)
