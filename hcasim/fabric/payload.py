"""What memory holds, and the bytes of packets on their way."""

from __future__ import annotations

from typing import ClassVar

from hcasim.engine.changes import Changes


class Contents:
    """The bytes behind addresses from ``address`` on.

    Args:
        memory: a buffer that can be written, such as a bytearray or a memoryview.
    """

    changes: ClassVar[Changes] = Changes(unseen="address _memory")

    __slots__ = ("_memory", "address")

    def __init__(self, address: int, memory: bytearray | memoryview) -> None:
        self.address = address
        self._memory = memoryview(memory)

    def read(self, address: int, length: int) -> bytes:
        first = address - self.address
        return bytes(self._memory[first : first + length])

    def write(self, address: int, data: bytes) -> None:
        first = address - self.address
        self._memory[first : first + len(data)] = data

    def copy(self, address: int, source: Contents, place: int, length: int) -> None:
        """Write what is in other memory from ``place`` on."""
        self.write(address, source.read(place, length))


class Transfer:
    """The bytes of one message, and the address behind those of them that have been placed."""

    changes: ClassVar[Changes] = Changes(unseen="placed_to")

    __slots__ = ("contents", "placed_to")

    def __init__(self, contents: Contents) -> None:
        self.contents = contents
        self.placed_to = 0


class Payload:
    """The data of one packet: bytes, or where they are until the adapter reads them.

    Packets that have been read when periods are left out become others of the same message. They
    are known by their address, read again, and the first of them to be placed brings those that
    were left out, too.
    """

    changes: ClassVar[Changes] = Changes(addresses="_address", unseen="_from _read_at _bytes")

    __slots__ = ("_address", "_bytes", "_from", "_length", "_read_at", "_transfer")

    def __init__(self, transfer: Transfer | None, address: int, length: int) -> None:
        self._transfer = transfer
        self._address = self._from = address
        self._length = length
        self._read_at = -1
        self._bytes = b""

    def read(self) -> None:
        """Take the bytes that are in memory now."""
        if self._transfer is not None:
            self._read_at = self._address
            self._bytes = self._transfer.contents.read(self._address, self._length)

    def add(self, data: bytes) -> None:
        """Take bytes that are at hand."""
        self._bytes += data

    def content(self) -> bytes:
        if self._transfer is not None and self._address != self._read_at:
            self.read()
        return self._bytes

    def part(self, contents: Contents, address: int, first: int, length: int) -> None:
        """Put some of the bytes, from the ``first`` on, into other memory from an address on."""
        contents.write(address, self.content()[first : first + length])

    def place(self, contents: Contents, address: int) -> None:
        """Put the bytes into other memory from an address on."""
        transfer = self._transfer
        if transfer is None:
            contents.write(address, self._bytes)
            return
        left_out = min(self._address - self._from, address - transfer.placed_to)
        if left_out > 0:
            source = self._address - left_out
            contents.copy(address - left_out, transfer.contents, source, left_out)
        contents.write(address, self.content())
        transfer.placed_to = address + self._length


class Gathered(Payload):
    """The data of one packet that lie in several pieces, each an address and a length."""

    __slots__ = ("_pieces",)

    def __init__(self, pieces: list[tuple[Contents | None, int, int]]) -> None:
        super().__init__(None, 0, 0)
        self._pieces = pieces

    def read(self) -> None:
        for contents, address, length in self._pieces:
            self.add(bytes(length) if contents is None else contents.read(address, length))


class Led(Payload):
    """The data of one packet with a header in front, which goes to memory before it.

    Args:
        data: what is behind the header, if that is known.
        places: memory of the header, as an address and a length each.
    """

    __slots__ = ("_behind", "_header", "_places")

    def __init__(
        self, data: Payload | None, header: bytes, places: list[tuple[Contents, int, int]]
    ) -> None:
        super().__init__(None, 0, 0)
        self._behind = data
        self._header = header
        self._places = places

    def lead(self) -> None:
        """Put the header into its memory."""
        first = 0
        for contents, address, length in self._places:
            contents.write(address, self._header[first : first + length])
            first += length
        self._places = []

    def read(self) -> None:
        """Its data has been read before."""

    def content(self) -> bytes:
        return b"" if self._behind is None else self._behind.content()

    def part(self, contents: Contents, address: int, first: int, length: int) -> None:
        self.lead()
        if self._behind is not None:
            self._behind.part(contents, address, first, length)

    def place(self, contents: Contents, address: int) -> None:
        self.lead()
        if self._behind is not None:
            self._behind.place(contents, address)
