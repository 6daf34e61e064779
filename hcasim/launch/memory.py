"""The memory of processes, as adapters read and write it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar

from hcasim.engine.changes import Changes
from hcasim.fabric.payload import Contents


class Memory:
    """All memory of a process; once that has ended, it holds zeros and takes nothing.

    Args:
        wrote: told of each write.
    """

    def __init__(self, pid: int, wrote: Callable[[], None]) -> None:
        self._file = os.open(f"/proc/{pid}/mem", os.O_RDWR)
        self._wrote = wrote

    def read(self, place: int, length: int) -> bytes:
        found = b""
        with suppress(OSError):
            found = os.pread(self._file, length, place)
        return found.ljust(length, b"\0")

    def write(self, place: int, data: bytes) -> None:
        with suppress(OSError):
            os.pwrite(self._file, data, place)
        self._wrote()

    def close(self) -> None:
        os.close(self._file)
        self._file = -1


class ProcessMemory(Contents):
    """Memory of a process that stands for simulated memory from an address on.

    Args:
        place: address in the process that ``address`` stands for.
    """

    changes: ClassVar[Changes] = Changes(unseen="_shift")

    def __init__(self, address: int, place: int, memory: Memory) -> None:
        super().__init__(address, bytearray())
        self._all = memory
        self._shift = place - address

    def read(self, address: int, length: int) -> bytes:
        return self._all.read(address + self._shift, length)

    def write(self, address: int, data: bytes) -> None:
        if data:
            self._all.write(address + self._shift, data)

    def copy(self, address: int, source: Contents, place: int, length: int) -> None:
        self.write(address, source.read(place, length))
