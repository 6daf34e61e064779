"""What the adapter and the processor may ask of a bus, whatever its kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import ClassVar

from hcasim.engine import Action, Args, Call
from hcasim.engine.changes import Changes


class Storage(ABC):
    """Memory that an adapter reads and writes: the host's over a bus, or its own."""

    @abstractmethod
    def start_read(
        self, address: int, size: int, here: Action, issued: Action | None = None
    ) -> None:
        """Read ``size`` bytes.

        Args:
            here: done when the last byte is here.
            issued: done when the last request has been taken.
        """

    def start_fetch(self, address: int, size: int, here: Action) -> None:
        """Read a descriptor, context or table, if that may be asked for ahead of waiting data."""
        self.start_read(address, size, here)

    @abstractmethod
    def start_write(
        self, address: int, size: int, sent: Action | None, visible: Action | None
    ) -> None:
        """Write ``size`` bytes.

        Args:
            sent: done when the data need not be kept any more.
            visible: done when they can be read.
        """

    def read(self, address: int, size: int, on_data: Callable[[*Args], None], *args: *Args) -> None:
        self.start_read(address, size, Call(on_data, args))

    def fetch(
        self, address: int, size: int, on_data: Callable[[*Args], None], *args: *Args
    ) -> None:
        self.start_fetch(address, size, Call(on_data, args))

    def write(
        self,
        address: int,
        size: int,
        on_sent: Callable[[], None] | None = None,
        on_visible: Callable[[], None] | None = None,
    ) -> None:
        sent = None if on_sent is None else Call(on_sent, ())
        visible = None if on_visible is None else Call(on_visible, ())
        self.start_write(address, size, sent, visible)


class Bus(Storage):
    """Connects one adapter to host memory and to the processor.

    Reads and writes are the adapter's DMA; ``mmio_write`` is the processor's access to the
    adapter's registers. Writes become visible in the order in which they were made. On PCI Express
    a read stays behind earlier writes; on PCI-X the adapter may ask for one before a write that
    still waits for the bus.
    """

    changes: ClassVar[Changes] = Changes(counts="reads read_bytes writes write_bytes mmio_writes")

    name: str

    def __init__(self) -> None:
        self.reads = self.read_bytes = self.writes = self.write_bytes = self.mmio_writes = 0

    @abstractmethod
    def mmio_write(self, size: int, on_arrival: Callable[[*Args], None], *args: *Args) -> None:
        """Write ``size`` bytes to a register; call ``on_arrival(*args)`` at the adapter."""

    @abstractmethod
    def hold(self, duration_ps: int) -> int:
        """Let nothing more leave for memory for so long, from when all before it has left.

        Returns:
            when that is over, in ps.
        """

    def counters(self) -> dict[str, int]:
        return {
            "bus_read_requests": self.reads,
            "bus_read_bytes": self.read_bytes,
            "bus_writes": self.writes,
            "bus_write_bytes": self.write_bytes,
            "bus_mmio_writes": self.mmio_writes,
        }


def split(address: int, size: int, limit: int) -> Iterator[tuple[int, int]]:
    """Cut a transfer at each multiple of ``limit``: pairs of address and bytes, in order."""
    end = address + size
    while address < end:
        piece = min(limit - address % limit, end - address)
        yield address, piece
        address += piece


def pieces(address: int, size: int, limit: int) -> int:
    """How many pieces :func:`split` would make."""
    return (address + size - 1) // limit - address // limit + 1


class Gather(Action):
    """Counts the parts of one transfer, and goes on when the last one is done."""

    __slots__ = ("_missing", "_then")

    def __init__(self, parts: int, then: Action) -> None:
        self._missing = parts
        self._then = then

    def act(self) -> None:
        self._missing -= 1
        if not self._missing:
            self._then.act()
