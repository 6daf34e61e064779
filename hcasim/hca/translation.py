"""Memory protection and translation tables (MPT and MTT), together the TPT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntFlag
from typing import ClassVar, Final

from hcasim.catalog import Adapter
from hcasim.engine import Args
from hcasim.engine.changes import ALIKE, Changes
from hcasim.fabric.payload import Contents
from hcasim.hca.context_cache import ContextCache
from hcasim.hca.icm import Icm

DRIVER: Final = 0
"""Protection domain of the queues, which no application shares."""
WORD: Final = 8
"""Bytes of the operand of an atomic."""
TABLE: Final = 512
"""Entries of a table of a long region: those of 8 bytes that a page of 4 KiB holds."""


KEY_VARIANTS: Final = 256


class Access(IntFlag):
    """What a memory region allows; the names are those of libibverbs."""

    LOCAL_WRITE = 1
    REMOTE_WRITE = 2
    REMOTE_READ = 4
    REMOTE_ATOMIC = 8
    MW_BIND = 16


# Plain numbers, because compiled code looks members of enumerations up each time.
NO_ACCESS: Final = 0
LOCAL_WRITE: Final = Access.LOCAL_WRITE.value
REMOTE_WRITE: Final = Access.REMOTE_WRITE.value
REMOTE_READ: Final = Access.REMOTE_READ.value
REMOTE_ATOMIC: Final = Access.REMOTE_ATOMIC.value


class ByteWatch:
    """Has something done when the byte at an address is written."""

    __slots__ = ("_action", "address")

    def __init__(self, address: int, action: Callable[[], None]) -> None:
        self.address = address
        self._action = action

    def __call__(self, address: int, length: int) -> None:
        if address <= self.address < address + length:
            self._action()


@dataclass(slots=True, eq=False)
class Region:
    """A registered range of virtual memory: one MPT entry and an MTT entry for each page.

    Attributes:
        key: what names it; ``number`` is that of its MPT entry.
        qpn: the one queue pair that may be asked for it, or 0: any of its protection domain.
        keyed: whether it has the MPT entry; contexts of queues may point to the MTT entries.
        access: value of the rights; a number, because flags are slow to compare.
        entry_offset: what the number of an MTT entry is more than that of its page.
        upper_offset: what the number of an entry of the table of tables is more than that of the
            block of pages it stands for; None if one table holds all.
        contents: its bytes, if they are known.
        words: values of the 64-bit words that atomic operations have touched, by address. If its
            bytes are known, only those that are on their way back, of which there are so many
            as ``unstored`` says.
    """

    key: int
    pd: int
    address: int
    length: int
    access: int
    page_size: int
    entry_offset: int
    on_adapter: bool
    keyed: bool = True
    upper_offset: int | None = None
    qpn: int = 0
    contents: Contents | None = None
    words: dict[int, int] = field(default_factory=dict)
    unstored: dict[int, int] = field(default_factory=dict)
    listeners: list[Callable[[int, int], None]] = field(default_factory=list)
    number: int = 0

    def covers(self, address: int, length: int) -> bool:
        return self.address <= address and address + length <= self.address + self.length

    def alike_until(self, address: int) -> int:
        """The address from which on a write or a look-up may differ from those before `address`.

        Those are `ALIKE` bytes apart. They differ at the end of a large page, where a byte is
        watched, and anywhere if somebody is told of all writes.
        """
        end = self.address + self.length
        if self.page_size > ALIKE:
            end = min(end, (address // self.page_size + 1) * self.page_size)
        for listener in self.listeners:
            if not isinstance(listener, ByteWatch):
                return address
            if listener.address >= address:
                end = min(end, listener.address)
        return end

    def watch(self, watched: int, action: Callable[[], None]) -> ByteWatch:
        watch = ByteWatch(watched, action)
        self.listeners.append(watch)
        return watch

    def watched(self, address: int, length: int) -> bool:
        for listener in self.listeners:
            if not isinstance(listener, ByteWatch) or 0 <= listener.address - address < length:
                return True
        return False

    def word(self, address: int) -> int:
        """Value of the 64-bit word at an address, in the order of bytes of x86."""
        if self.contents is not None and address not in self.words:
            return int.from_bytes(self.contents.read(address, WORD), "little")
        return self.words.get(address, 0)

    def change(self, address: int, value: int) -> None:
        """Note what an atomic makes of a word, which is then stored."""
        self.words[address] = value
        if self.contents is not None:
            self.unstored[address] = self.unstored.get(address, 0) + 1

    def store(self, address: int, value: int) -> None:
        """Put a word that has been changed into memory."""
        if self.contents is None:
            return
        self.contents.write(address, value.to_bytes(WORD, "little"))
        self.unstored[address] -= 1
        if not self.unstored[address]:
            del self.unstored[address], self.words[address]

    def written(self, address: int, length: int) -> None:
        for listener in tuple(self.listeners):
            listener(address, length)


class TranslationTables:
    """The regions an adapter knows, and the caches through which it looks them up.

    Keys are the number of an MPT entry with eight bits behind it, as those of mlx5. These tell the
    adapters of a machine apart, so that a key of another adapter is none (Linux, mlx5 mr.c).
    """

    changes: ClassVar[Changes] = Changes(unseen="_holds _holds_in")

    def __init__(self, adapter: Adapter, icm: Icm, first_lid: int = 1) -> None:
        self._variant = first_lid % KEY_VARIANTS
        self.mpt = ContextCache(icm.sim, "mpt", adapter.mpt, icm.table(adapter.mpt), written=False)
        self.mtt = ContextCache(icm.sim, "mtt", adapter.mtt, icm.table(adapter.mtt), written=False)
        self._reach = adapter.mtt.reach
        self._queues_keyed = adapter.queues == "mpt"
        self._regions: dict[int, Region] = {}
        self._next_number, self._next_mtt = 1, 0
        # What was held in the same call of the simulator: lines of the MTT; MPT entries below 0.
        self._holds: set[int] = set()
        self._holds_in = -1
        self._sim = icm.sim

    def register(
        self,
        pd: int,
        address: int,
        length: int,
        access: Access,
        page_size: int = 4096,
        *,
        on_adapter: bool = False,
        contents: Contents | None = None,
    ) -> Region:
        offset = self._next_mtt - address // page_size
        rights = access.value
        keyed = self._queues_keyed or pd != DRIVER
        number = self._next_number
        key = number * KEY_VARIANTS + self._variant
        region = Region(key, pd, address, length, rights, page_size, offset, on_adapter, keyed)
        region.number = number
        region.contents = contents
        self._regions[region.key] = region
        self._next_number += 1
        pages = -(-(address % page_size + length) // page_size)
        self._next_mtt += pages
        if self._reach is not None and length > self._reach:
            region.upper_offset = self._next_mtt - address // page_size // TABLE
            self._next_mtt += pages // TABLE + 2
        return region

    def window(self, of: Region, address: int, length: int, access: Access, qpn: int) -> Region:
        """A part of a region under a key of its own, which is not valid before it is entered."""
        number = self._next_number
        window = Region(
            number * KEY_VARIANTS + self._variant,
            of.pd,
            address,
            length,
            access.value,
            of.page_size,
            of.entry_offset,
            of.on_adapter,
            upper_offset=of.upper_offset,
            qpn=qpn,
            contents=of.contents,
            words=of.words,
            unstored=of.unstored,
            listeners=of.listeners,
            number=number,
        )
        self._next_number += 1
        return window

    def enter(self, region: Region) -> None:
        """Put a region that was taken out back into the tables, as a work request does."""
        self._regions[region.key] = region

    def rename(self, region: Region, key: int) -> None:
        """Give a region another key, that of one that has been taken out."""
        self.deregister(region)
        region.key = key
        self.enter(region)

    def invalidate(self, key: int, pd: int) -> bool:
        """Take out the region of a key; return whether there was one in the protection domain."""
        region = self._regions.get(key)
        if region is None or region.pd != pd:
            return False
        del self._regions[key]
        return True

    def deregister(self, region: Region) -> None:
        self._regions.pop(region.key, None)

    def hold(self, region: Region, address: int, length: int) -> None:
        if self._sim.calls != self._holds_in:
            self._holds_in = self._sim.calls
            self._holds = set()
        # Nothing has left since: to hold something again changes nothing.
        holds = self._holds
        if region.keyed and -region.number not in holds:
            holds.add(-region.number)
            self.mpt.hold(region.number)
        per_line = self.mtt.per_line
        first = address // region.page_size + region.entry_offset
        last = (address + length - 1) // region.page_size + region.entry_offset
        for line in range(first // per_line, last // per_line + 1):
            if line not in holds:
                holds.add(line)
                self.mtt.hold(line * per_line)

    def region(self, key: int) -> Region | None:
        return self._regions.get(key)

    def find(self, key: int, pd: int, address: int, length: int, needed: int) -> Region | None:
        """The region that allows this access, or None if a key, range, right or PD is wrong."""
        region = self._regions.get(key)
        if (
            region is None
            or region.pd != pd
            or not region.covers(address, length)
            or needed & ~region.access
        ):
            return None
        return region

    def peek(self, key: int, address: int, length: int) -> bytes | None:
        """What is in memory, which the library copies into an entry; None if that is not known."""
        region = self._regions.get(key)
        if region is None or region.contents is None or not region.covers(address, length):
            return None
        return region.contents.read(address, length)

    def held(self, region: Region, address: int, length: int) -> bool:
        """Look the range up if that takes no time; return whether it did not."""
        size = region.page_size
        page = address // size
        if (address + length - 1) // size != page or region.upper_offset is not None:
            return False
        if not self.mpt.has(region.number) or not self.mtt.held(page + region.entry_offset):
            return False
        return self.mpt.held(region.number)

    def translate(
        self,
        region: Region,
        address: int,
        length: int,
        action: Callable[[*Args], None],
        *args: *Args,
    ) -> None:
        first = last = address // region.page_size + region.entry_offset
        if length:
            last = (address + length - 1) // region.page_size + region.entry_offset
        if region.upper_offset is not None:
            upper = (first - region.entry_offset) // TABLE + region.upper_offset
            self.mpt.access(region.number, self._below, upper, first, last, action, args)
        elif not region.keyed:
            self._pages(first, last, action, args)
        elif first == last and self.mpt.held(region.number):
            if self.mtt.held(first):
                action(*args)
            else:
                self.mtt.access(first, action, *args)
        else:
            self.mpt.access(region.number, self._pages, first, last, action, args)

    def _below(
        self, upper: int, page: int, last: int, action: Callable[[*Args], None], args: tuple[*Args]
    ) -> None:
        """Look a range up in the table that an entry of the table of tables points to."""
        self.mtt.access(upper, self._pages, page, last, action, args)

    def _pages(
        self, page: int, last: int, action: Callable[[*Args], None], args: tuple[*Args]
    ) -> None:
        if page == last:
            self.mtt.access(page, action, *args)
        else:
            self.mtt.access(page, self._pages, page + 1, last, action, args)


class Ring:
    """A queue in registered host memory: entries, a stride of bytes apart, used in turn."""

    __slots__ = ("_first", "entries", "region", "stride")

    def __init__(self, region: Region, offset: int, stride: int, entries: int) -> None:
        self.region = region
        self._first = region.address + offset
        self.stride = stride
        self.entries = entries

    def address(self, index: int) -> int:
        """Address of the entry that the ``index``-th use of the queue takes, counted from 0."""
        return self._first + index % self.entries * self.stride


@dataclass(frozen=True)
class WorkQueueBuffer:
    """How a send and a receive queue lie in one buffer: the receive queue first."""

    send_entries: int
    send_stride: int
    receive_entries: int
    receive_stride: int

    @property
    def send_offset(self) -> int:
        return -(-self.receive_entries * self.receive_stride // self.send_stride) * self.send_stride

    @property
    def size(self) -> int:
        return self.send_offset + self.send_entries * self.send_stride

    def rings(self, memory: Region) -> tuple[Ring, Ring]:
        return (
            Ring(memory, self.send_offset, self.send_stride, self.send_entries),
            Ring(memory, 0, self.receive_stride, self.receive_entries),
        )
