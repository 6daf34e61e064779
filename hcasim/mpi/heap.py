"""Memory that messages are sent from and received into, and that of a process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from hcasim.cluster import Node

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Bytes: TypeAlias = "NDArray[np.uint8]"
"""Contents of a message."""


class Buffer:
    """Memory of a process: its bytes are an array of ``uint8``, or None if only sizes matter."""

    __slots__ = ("address", "data", "size")

    def __init__(self, address: int, size: int, data: Bytes | None = None) -> None:
        self.address = address
        self.size = size
        self.data = data

    def part(self, offset: int, size: int) -> Buffer:
        data = None if self.data is None else self.data[offset : offset + size]
        return Buffer(self.address + offset, size, data)

    def block(self, each: int, first: int, number: int = 1) -> Buffer:
        start, end = min(self.size, first * each), min(self.size, (first + number) * each)
        return self.part(start, end - start)

    def blocks(self, each: int, count: int) -> list[Buffer]:
        return [self.block(each, number) for number in range(count)]

    def take(self, size: int) -> Bytes | None:
        return None if self.data is None else self.data[:size].copy()

    def put(self, data: Bytes | None) -> None:
        if data is not None and self.data is not None:
            self.data[: len(data)] = data


class Heap:
    """The memory of a process on a node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._scratch = Buffer(0, 0)
        self._anonymous = [Buffer(0, 0), Buffer(0, 0)]
        self._temporaries: dict[tuple[int, int], int] = {}
        self._arrays: dict[int, Buffer] = {}

    def allocate(self, size: int, data: Bytes | None = None) -> Buffer:
        return Buffer(self._node.allocate(max(size, 1)), size, data)

    def scratch(self, size: int) -> Buffer:
        if self._scratch.size < size:
            self._scratch = self.allocate(max(size, 2 * self._scratch.size))
        return self._scratch.part(0, size)

    def temporary(self, size: int, number: int, data: Bytes | None = None) -> Buffer:
        """Memory of a collective call, the ``number``-th of this size, as other calls have had."""
        place = self._temporaries.get((size, number))
        if place is None:
            place = self._temporaries[size, number] = self.allocate(size).address
        return Buffer(place, size, data)

    def anonymous(self, size: int, incoming: bool) -> Buffer:
        """The same memory for all messages without contents that come in, or for all others."""
        held = self._anonymous[incoming]
        if held.size < size:
            held = self._anonymous[incoming] = self.allocate(max(size, 2 * held.size))
        return held.part(0, size)

    def placed(self, array: NDArray[Any]) -> Buffer:
        """The memory of a NumPy array, the same whenever it is used; arrays are not freed."""
        start = array.__array_interface__["data"][0]
        found = self._arrays.get(start)
        data = array.reshape(-1).view("uint8")
        if found is None or found.size < data.nbytes:
            found = self.allocate(data.nbytes, data)
            self._arrays[start] = found
        return Buffer(found.address, data.nbytes, data)
