"""Memory protection and translation tables (MPT and MTT), together the TPT."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntFlag

from hcasim.catalog import Adapter
from hcasim.engine import Simulator
from hcasim.hca.context_cache import ContextCache


class Access(IntFlag):
    """What a memory region allows; the names are those of libibverbs."""

    LOCAL_WRITE = 1
    REMOTE_WRITE = 2
    REMOTE_READ = 4
    REMOTE_ATOMIC = 8


class Region:
    """A registered range of virtual memory: one MPT entry and an MTT entry for each page.

    Attributes:
        key: its local and remote key.
        address: first byte, aligned to a page.
        length: bytes.
        words: values of the 64-bit words that atomic operations have touched, by address.
    """

    def __init__(
        self,
        key: int,
        pd: int,
        address: int,
        length: int,
        access: Access,
        page_size: int,
        first_mtt: int,
    ) -> None:
        self.key = key
        self.pd = pd
        self.address = address
        self.length = length
        self.access = access
        self.page_size = page_size
        self.first_mtt = first_mtt
        self.words: dict[int, int] = {}
        self.watches: dict[int, Callable[[], None]] = {}

    def covers(self, address: int, length: int) -> bool:
        """Whether the whole range lies within the region."""
        return self.address <= address and address + length <= self.address + self.length

    def written(self, address: int, length: int) -> None:
        """Tell those who poll a byte of this range that it has changed."""
        for watched in list(self.watches):
            if address <= watched < address + length:
                self.watches[watched]()


class TranslationTables:
    """The regions an adapter knows, and the caches through which it looks them up."""

    def __init__(self, sim: Simulator, adapter: Adapter) -> None:
        self.mpt = ContextCache(sim, "mpt", adapter.mpt)
        self.mtt = ContextCache(sim, "mtt", adapter.mtt)
        self._regions: dict[int, Region] = {}
        self._next_key = 1
        self._next_mtt = 0

    def register(
        self, pd: int, address: int, length: int, access: Access, page_size: int = 4096
    ) -> Region:
        """Enter a region into the tables.

        Args:
            address: first byte in virtual memory.
            length: bytes.
            page_size: bytes per MTT entry.
        """
        region = Region(self._next_key, pd, address, length, access, page_size, self._next_mtt)
        self._regions[region.key] = region
        self._next_key += 1
        self._next_mtt += -(-(address % page_size + length) // page_size)
        return region

    def deregister(self, region: Region) -> None:
        """Take a region out of the tables; later accesses through its key fail."""
        self._regions.pop(region.key, None)

    def find(self, key: int, pd: int, address: int, length: int, needed: Access) -> Region | None:
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

    def translate(
        self, region: Region, address: int, length: int, action: Callable[..., None], *args: object
    ) -> None:
        """Call ``action(*args)`` once the MPT and MTT entries of the range are on chip."""
        first = (address - region.address) // region.page_size
        last = (address + max(length, 1) - 1 - region.address) // region.page_size
        if first == last and self.mpt.held(region.key):
            self.mtt.access(region.first_mtt + first, action, *args)
            return
        self.mpt.access(
            region.key, self._pages, region.first_mtt + first, region.first_mtt + last, action, args
        )

    def _pages(
        self, page: int, last: int, action: Callable[..., None], args: tuple[object, ...]
    ) -> None:
        if page == last:
            self.mtt.access(page, action, *args)
        else:
            self.mtt.access(page, self._pages, page + 1, last, action, args)
