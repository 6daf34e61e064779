"""What the cache of a socket holds; it stores no data and knows no time."""

from __future__ import annotations

from collections import OrderedDict
from typing import ClassVar, Final

from hcasim.catalog.host import ProcessorCache as Description

BLOCK: Final = 256
"""Bytes that are held or not together: a few lines, so that long copies stay cheap to follow."""


_LOOK: Final = 0
_PLACE: Final = 1
_BY_PROCESSOR: Final = 2


class ProcessorCache:
    """The last-level cache of one socket, fully associative: what was used longest ago leaves.

    Writing back what its processors changed costs nothing here: what they write is charged once,
    to the cache if it holds the place, and else to memory.

    Args:
        description: size in bytes, and of it what writes of devices may fill.

    Attributes:
        log: what devices have done, while somebody wants to know: (what, address, bytes, result).
    """

    counts: ClassVar[tuple[str, ...]] = ()

    def __init__(self, description: Description) -> None:
        self._blocks = description.size // BLOCK
        self._used: OrderedDict[int, None] = OrderedDict()
        self._blocks_of_devices = min(description.size, description.ddio) // BLOCK
        self._written: OrderedDict[int, None] = OrderedDict()
        self.log: list[tuple[int, ...]] | None = None

    @property
    def ddio(self) -> bool:
        """Whether writes of devices go here (Intel: Data Direct I/O)."""
        return self._blocks_of_devices > 0

    @property
    def full(self) -> bool:
        """Whether nothing can come in without something else leaving."""
        return len(self._used) == self._blocks

    def holds(self, address: int, size: int) -> bool:
        """Whether all of it is here; to look is no use of it."""
        used, written = self._used, self._written
        blocks = range(address // BLOCK, -(-(address + size) // BLOCK))
        found = all(block in used or block in written for block in blocks)
        if self.log is not None:
            self.log.append((_LOOK, address, size, found))
        return found

    def access(self, address: int, size: int) -> int:
        """Let a processor use ``size`` bytes; return how many of them were not here, by block."""
        used, written = self._used, self._written
        if self.log is not None:
            self.log.append((_BY_PROCESSOR, address, size, 0))
        missed = 0
        for block in range(address // BLOCK, -(-(address + size) // BLOCK)):
            if block in used:
                used.move_to_end(block)
            elif block in written:
                written.move_to_end(block)
            else:
                missed += BLOCK
                used[block] = None
                if len(used) > self._blocks:
                    used.popitem(last=False)
        return min(missed, size)

    def hold(self, address: int, size: int) -> None:
        """Hold bytes, as far as there is room, as if they had been used before all others."""
        used = self._used
        for block in range(address // BLOCK, -(-(address + size) // BLOCK)):
            if len(used) < self._blocks and block not in used and block not in self._written:
                used[block] = None
                used.move_to_end(block, last=False)

    def place(self, address: int, size: int) -> int:
        """Take what a device writes; return the bytes that go to memory to make room for it."""
        used, written = self._used, self._written
        left = 0
        for block in range(address // BLOCK, -(-(address + size) // BLOCK)):
            if block in used:
                used.move_to_end(block)
                continue
            written[block] = None
            written.move_to_end(block)
            if len(written) > self._blocks_of_devices:
                written.popitem(last=False)
                left += BLOCK
        if self.log is not None:
            self.log.append((_PLACE, address, size, left))
        return left

    def foresee(self, doings: list[tuple[int, ...]]) -> bool:
        """Whether what devices do would find and displace as much as it says."""
        came: set[int] = set()
        room = self._blocks_of_devices - len(self._written)
        for what, address, size, result in doings:
            blocks = range(address // BLOCK, -(-(address + size) // BLOCK))
            held = [b in self._used or b in self._written or b in came for b in blocks]
            if what == _LOOK:
                turns_out = int(all(held))
            elif what == _PLACE:
                new = [block for block, here in zip(blocks, held, strict=True) if not here]
                came.update(new)
                room -= len(new)
                turns_out = min(len(new), max(0, -room)) * BLOCK
            else:
                return False
            if turns_out != int(result):
                return False
        return True

    def repeat(self, doings: list[tuple[int, ...]]) -> None:
        """Take what devices write."""
        for what, address, size, _ in doings:
            if what == _PLACE:
                self.place(address, size)

    def invalidate(self, address: int, size: int) -> None:
        """Forget what has been written elsewhere."""
        if not self._used and not self._written:
            return
        if self.log is not None:
            self.log.append((_BY_PROCESSOR, address, size, 0))
        for block in range(address // BLOCK, -(-(address + size) // BLOCK)):
            self._used.pop(block, None)
            self._written.pop(block, None)
