"""What a message is sent from or received into."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Bytes: TypeAlias = "NDArray[np.uint8]"
"""Contents of a message."""


class Buffer:
    """Memory of a process, with or without contents.

    Attributes:
        address: of the first byte.
        size: bytes.
        data: its bytes as a NumPy array of ``uint8`` that is written in place, or None if only
            sizes matter.
    """

    __slots__ = ("address", "data", "size")

    def __init__(self, address: int, size: int, data: Bytes | None = None) -> None:
        self.address = address
        self.size = size
        self.data = data

    def part(self, offset: int, size: int) -> Buffer:
        """The ``size`` bytes that begin ``offset`` bytes behind the first."""
        data = None if self.data is None else self.data[offset : offset + size]
        return Buffer(self.address + offset, size, data)

    def take(self, size: int) -> Bytes | None:
        """A copy of the first bytes, as they are now; None if only sizes matter."""
        return None if self.data is None else self.data[:size].copy()

    def put(self, data: Bytes | None) -> None:
        """Store bytes at the beginning."""
        if data is not None and self.data is not None:
            self.data[: len(data)] = data
