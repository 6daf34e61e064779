"""What the cache of a socket holds; it stores no data and knows no time."""

from __future__ import annotations

from hcasim.catalog.host import ProcessorCache as Description
from hcasim.engine import SetAssociativeCache

BLOCK = 256
"""Bytes that are held or not together: a few lines, so that long copies stay cheap to follow."""


class ProcessorCache:
    """The last-level cache of one socket, fully associative.

    Writing back what its processors changed costs nothing here: what they write is charged once,
    to the cache if it holds the place, and else to memory.

    Args:
        description: size in bytes, and of it what writes of devices may fill.
    """

    def __init__(self, description: Description) -> None:
        blocks = max(1, description.size // BLOCK)
        self._used = SetAssociativeCache(blocks, blocks)
        placed = min(description.size, description.ddio) // BLOCK
        self._placed = SetAssociativeCache(placed, placed) if placed else None

    @property
    def ddio(self) -> bool:
        """Whether writes of devices go here (Intel: Data Direct I/O)."""
        return self._placed is not None

    def access(self, address: int, size: int) -> int:
        """Let a processor use ``size`` bytes; return how many of them were not here, by block."""
        used, placed = self._used, self._placed
        missed = 0
        for block in range(address // BLOCK, -(-(address + size) // BLOCK)):
            if not used.touch(block) and (placed is None or not placed.touch(block)):
                used.fill(block)
                missed += BLOCK
        return min(missed, size)

    def place(self, address: int, size: int) -> int:
        """Take what a device writes; return the bytes that go to memory to make room for it."""
        used, placed = self._used, self._placed
        assert placed is not None
        left = 0
        for block in range(address // BLOCK, -(-(address + size) // BLOCK)):
            if used.touch(block) or placed.touch(block):
                continue
            if placed.fill(block) is not None:
                left += BLOCK
        return left

    def invalidate(self, address: int, size: int) -> None:
        """Forget what has been written elsewhere."""
        if not self._used and not self._placed:
            return
        for block in range(address // BLOCK, -(-(address + size) // BLOCK)):
            self._used.discard(block)
            if self._placed is not None:
                self._placed.discard(block)
