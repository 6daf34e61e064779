"""The memory of processes, as adapters read and write it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, ClassVar

from hcasim.engine.changes import Changes
from hcasim.fabric.payload import Contents

if TYPE_CHECKING:
    from hcasim.launch.process import Process


class ProcessMemory(Contents):
    """Memory of a process that stands for simulated memory from an address on.

    Args:
        place: address in the process that ``address`` stands for.
    """

    changes: ClassVar[Changes] = Changes(unseen="_shift")

    def __init__(self, process: Process, address: int, place: int) -> None:
        super().__init__(address, bytearray())
        self._process = process
        self._shift = place - address

    def read(self, address: int, length: int) -> bytes:
        if self._process.memory < 0:
            return bytes(length)
        return os.pread(self._process.memory, length, address + self._shift)

    def write(self, address: int, data: bytes) -> None:
        if data and self._process.memory >= 0:
            os.pwrite(self._process.memory, data, address + self._shift)
            self._process.wrote()

    def copy(self, address: int, source: Contents, place: int, length: int) -> None:
        self.write(address, source.read(place, length))
