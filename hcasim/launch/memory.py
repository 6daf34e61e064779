"""The memory of processes, as adapters read and write it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar, Final

from hcasim.engine.changes import Changes
from hcasim.fabric.payload import Contents

_AHEAD: Final = 64 << 10
"""Bytes that are read at once of those that lie one behind the other."""
_BEHIND: Final = 1 << 20
"""Bytes up to which what is written may wait for more."""


class Bank:
    """The memory of all processes of a node, which changes only by adapters while no program runs.

    So what was written has to be there when one goes on, and what was read ahead is true until
    then.

    Args:
        unsettled: where a bank enters itself when `settle` has to be called.
    """

    def __init__(self, unsettled: list[Bank]) -> None:
        self._unsettled = unsettled
        self._entered = False
        self._behind: Memory | None = None
        self._start = 0
        self._written = bytearray()
        self._ahead: Memory | None = None
        self._first = self._next = 0
        self._read = b""

    def settle(self) -> None:
        """Write what has not been written yet, and forget what was read ahead."""
        self._flush()
        self._read = b""
        self._entered = False

    def _enter(self) -> None:
        if not self._entered:
            self._entered = True
            self._unsettled.append(self)

    def _flush(self) -> None:
        if self._behind is not None:
            self._behind.write_now(self._start, self._written)
            self._behind = None
            self._written = bytearray()

    def read(self, memory: Memory, place: int, length: int) -> bytes:
        start = self._start
        if self._behind is not None and (
            self._behind is not memory
            or (place < start + len(self._written) and start < place + length)
        ):
            self._flush()
        first = place - self._first
        if self._ahead is memory and first >= 0 and first + length <= len(self._read):
            self._next = place + length
            return self._read[first : first + length]
        if place != self._next or length >= _AHEAD:
            self._next = place + length
            return memory.read_now(place, length)
        self._flush()
        self._enter()
        self._ahead, self._first, self._next = memory, place, place + length
        self._read = memory.read_now(place, _AHEAD)
        return self._read[:length]

    def write(self, memory: Memory, place: int, data: bytes) -> None:
        if self._read and (
            self._ahead is not memory
            or (place < self._first + _AHEAD and self._first < place + len(data))
        ):
            self._read = b""
        waits = len(self._written)
        if self._behind is not memory or place != self._start + waits or waits >= _BEHIND:
            self._flush()
            self._enter()
            self._behind, self._start = memory, place
        self._written += data


class Memory:
    """All memory of a process; once that has ended, it holds zeros and takes nothing.

    Args:
        file: a descriptor of the memory, which is closed with this.
        wrote: told of each write.
    """

    def __init__(self, file: int, bank: Bank, wrote: Callable[[], None]) -> None:
        self._file = file
        self._bank = bank
        self._wrote = wrote

    def read(self, place: int, length: int) -> bytes:
        return self._bank.read(self, place, length).ljust(length, b"\0")

    def write(self, place: int, data: bytes) -> None:
        self._bank.write(self, place, data)
        self._wrote()

    def read_now(self, place: int, length: int) -> bytes:
        """Return what there is of so many bytes."""
        with suppress(OSError):
            return os.pread(self._file, length, place)
        return b""

    def write_now(self, place: int, data: bytearray) -> None:
        with suppress(OSError):
            os.pwrite(self._file, data, place)

    def close(self) -> None:
        self._bank.settle()
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
