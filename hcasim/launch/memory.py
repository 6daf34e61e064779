"""The memory of processes, as adapters read and write it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import ClassVar

from hcasim.engine.changes import Changes
from hcasim.fabric.payload import Contents


class ProcessMemory(Contents):
    """Memory of a process that stands for simulated memory from an address on.

    Args:
        place: address in the process that ``address`` stands for.
        file: descriptor of its memory.
        wrote: told of each write.
    """

    changes: ClassVar[Changes] = Changes(unseen="_shift _file")

    def __init__(self, address: int, place: int, file: int, wrote: Callable[[], None]) -> None:
        super().__init__(address, bytearray())
        self._file = file
        self._wrote = wrote
        self._shift = place - address

    def read(self, address: int, length: int) -> bytes:
        return os.pread(self._file, length, address + self._shift)

    def write(self, address: int, data: bytes) -> None:
        if data:
            os.pwrite(self._file, data, address + self._shift)
            self._wrote()

    def copy(self, address: int, source: Contents, place: int, length: int) -> None:
        self.write(address, source.read(place, length))
