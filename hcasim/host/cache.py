"""What the cache of a socket holds; it stores no data and knows no time."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from hcasim.catalog.host import ProcessorCache as Description
from hcasim.engine.cache import AccessLog, later

BLOCK: Final = 256
"""Bytes that are held or not together: a few lines, so that long copies stay cheap to follow."""


_LOOK: Final = 0
_PLACE: Final = 1
_BY_PROCESSOR: Final = 2
_FORGET: Final = 3


class ProcessorCache:
    """The last-level cache of one socket, fully associative: what was used longest ago leaves.

    Writing back what its processors changed costs nothing here: what they write is charged once,
    to the cache if it holds the place, and else to memory. ``log`` has what devices have done,
    (what, address, bytes, result), while somebody wants to know.
    """

    def __init__(self, description: Description) -> None:
        self._description = description
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
        return len(self._used) == self._blocks

    @property
    def full_of_written(self) -> bool:
        return len(self._written) == self._blocks_of_devices

    def holds(self, address: int, size: int) -> bool:
        """Whether all of it is here; to look is no use of it."""
        used, written = self._used, self._written
        found = True
        for block in range(address // BLOCK, -(-(address + size) // BLOCK)):
            if block not in used and block not in written:
                found = False
                break
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
        used = self._used
        for block in range(address // BLOCK, -(-(address + size) // BLOCK)):
            if len(used) < self._blocks and block not in used and block not in self._written:
                used[block] = None
                used.move_to_end(block, last=False)

    def hold_written(self, address: int, size: int) -> None:
        """Have what a device wrote before all that is here, if its part of the cache has room."""
        used, written = self._used, self._written
        for block in range(address // BLOCK, -(-(address + size) // BLOCK)):
            if (
                len(written) < self._blocks_of_devices
                and block not in used
                and block not in written
            ):
                written[block] = None
                written.move_to_end(block, last=False)

    def place(self, address: int, size: int) -> int:
        """Take what a device writes; return the bytes that go to memory to make room for it."""
        used, written = self._used, self._written
        left = 0
        for block in range(address // BLOCK, -(-(address + size) // BLOCK)):
            if block in written:
                written.move_to_end(block)
            elif block in used:
                used.move_to_end(block)
            else:
                written[block] = None
                if len(written) > self._blocks_of_devices:
                    written.popitem(last=False)
                    left += BLOCK
        if self.log is not None:
            self.log.append((_PLACE, address, size, left))
        return left

    def predict(self, accesses: AccessLog, steps: AccessLog, most: int) -> int:
        """Periods, of at most so many, in which devices would find and displace what it says."""
        if any(step[0] or step[2] or step[3] for step in steps):
            return 0
        if all(what == _FORGET for what, *_ in accesses):
            return most
        sweep = _sweep(accesses, steps)
        if sweep is not None:
            return self._swept(sweep, accesses[0][3] > 0, most)
        trial = ProcessorCache(self._description)
        trial._used = self._used.copy()
        trial._written = self._written.copy()
        return trial._go_on(accesses, steps, most)

    def _go_on(self, accesses: AccessLog, steps: AccessLog, most: int) -> int:
        for turn in range(1, most + 1):
            for what, address, size, result in later(accesses, steps, turn):
                found = 0
                if what == _LOOK:
                    found = int(self.holds(address, size))
                elif what == _PLACE:
                    found = self.place(address, size)
                elif what == _FORGET:
                    self.invalidate(address, size)
                else:
                    return 0
                if found != result:
                    return turn - 1
        return most

    def _swept(self, sweep: range, displaces: bool, most: int) -> int:
        used, written = self._used, self._written
        room = self._blocks_of_devices - len(written)
        number = len(sweep)
        if displaces:
            if room:
                return 0
        else:
            most = min(most, room // number)
        ahead = range(sweep.stop, sweep.stop + number * most)
        # A block that is still held when its turn comes is not new.
        held = len(ahead)
        for place, block in enumerate(written):
            if block in ahead and (index := ahead.index(block)) <= room + place:
                held = min(held, index)
        if len(used) < len(ahead):
            held = min([held, *(ahead.index(block) for block in used if block in ahead)])
        else:
            held = min(held, next((n for n, block in enumerate(ahead) if block in used), held))
        return held // number

    def repeat(self, accesses: AccessLog, steps: AccessLog, count: int) -> None:
        sweep = _sweep(accesses, steps)
        if sweep is None:
            self._go_on(accesses, steps, count)
            return
        written, most = self._written, self._blocks_of_devices
        end = sweep.stop + len(sweep) * count
        if accesses[0][0] == _FORGET:
            gone = range(sweep.stop, end)
            for held in (self._used, written):
                for block in [b for b in held if b in gone] if len(held) < len(gone) else gone:
                    held.pop(block, None)
            return
        new = range(max(sweep.stop, end - most), end)
        for block in new:
            # If it is held, it would have left before its turn came.
            written.pop(block, None)
        while written and len(written) + len(new) > most:
            written.popitem(last=False)
        written.update(dict.fromkeys(new))

    def invalidate(self, address: int, size: int) -> None:
        if not self._used and not self._written:
            return
        if self.log is not None:
            self.log.append((_FORGET, address, size, 0))
        for block in range(address // BLOCK, -(-(address + size) // BLOCK)):
            self._used.pop(block, None)
            self._written.pop(block, None)


def _sweep(accesses: AccessLog, steps: AccessLog) -> range | None:
    """The blocks that are written or forgotten in a period, if all are one after the other."""
    kind, start, _, displaces = accesses[0]
    end = start
    for what, address, size, left in accesses:
        alike = what == kind and left == (size if displaces else 0)
        if what not in (_PLACE, _FORGET) or not alike or address != end or size % BLOCK:
            return None
        end += size
    if start % BLOCK or any(step[1] != end - start for step in steps):
        return None
    return range(start // BLOCK, end // BLOCK)
