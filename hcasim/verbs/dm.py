"""Device memory: a part of the adapter's own, which the processor reads and writes over the bus."""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

from hcasim.bus.base import split
from hcasim.bus.pcie import PcieBus
from hcasim.cluster import PAGE
from hcasim.engine import Call, Event
from hcasim.fabric.payload import Contents
from hcasim.verbs.context import Context, VerbsError
from hcasim.verbs.device import max_dm_size

WORD: Final = 4
"""What a processor reads at once, of which copies are multiples."""
LINE: Final = 64
"""What its write-combining buffers hold of stores, and send at once."""


class DM:
    """Device memory (ibv_alloc_dm) of ``length`` bytes; DMA to and from it spares the bus.

    `PD.reg_dm_mr` registers it. It takes whole pages of 4 KiB, as the driver maps them.

    Source: Linux, mlx5 dm.c; rdma-core, providers/mlx5/verbs.c.

    Args:
        log_align_req: power of two that its address is a multiple of, up to that of a page.

    Raises:
        VerbsError: ``EOPNOTSUPP`` if adapter or driver have none, ``EINVAL`` for a length or
            alignment that there is not, ``ENOMEM`` if not so much is free.

    Attributes:
        regions: how many regions of it are registered.
    """

    def __init__(self, context: Context, length: int, log_align_req: int = 0) -> None:
        most = max_dm_size(context.node)
        if not most:
            raise VerbsError("EOPNOTSUPP", "ibv_alloc_dm: max_dm_size of the adapter is 0")
        if length < 1:
            raise VerbsError("EINVAL", f"length is {length}; allowed: 1 to {most}")
        if not 0 <= log_align_req < PAGE.bit_length():
            allowed = f"0 to {PAGE.bit_length() - 1}"
            raise VerbsError("EINVAL", f"log_align_req is {log_align_req}; allowed: {allowed}")
        try:
            self.address = context.adapter.memory.allocate(-(-length // PAGE) * PAGE, PAGE)
        except MemoryError as error:
            raise VerbsError("ENOMEM", str(error)) from None
        self.context = context
        self.length = length
        self.contents = Contents(self.address, bytearray(length))
        self.regions = 0
        self.freed = False

    def free(self) -> None:
        """Give it back (ibv_free_dm); ``EBUSY`` while regions of it are registered."""
        if self.freed:
            raise VerbsError("EINVAL", "the device memory has been freed before")
        if self.regions:
            raise VerbsError("EBUSY", f"{self.regions} regions of the device memory are registered")
        self.freed = True
        self.context.adapter.memory.release(self.address)

    def copy_to_dm(self, dm_offset: int, data: bytes) -> Generator[Event, object, None]:
        """Store bytes from an offset on (ibv_memcpy_to_dm).

        The call takes the processor's stores, 64 B at a time; what follows them over the bus, as
        doorbells do, arrives behind them.

        Raises:
            VerbsError: ``EFAULT`` beyond the end, ``EINVAL`` if offset or length are no multiples
                of 4.
        """
        self.check(dm_offset, len(data))
        return self.context.made(self._copy_to_dm(dm_offset, data), "dm.copy_to_dm")

    def _copy_to_dm(self, dm_offset: int, data: bytes) -> Generator[Event, object, None]:
        context = self.context
        context.sim.unrun.run()
        start = self.address + dm_offset
        for address, size in split(start, len(data), LINE):
            yield context.core.work(context.costs.blueflame)
            part = data[address - start : address - start + size]
            context.store(size, self._arrived, address, part)

    def _arrived(self, address: int, data: bytes) -> None:
        seen = Call(self.contents.write, (address, data))
        self.context.adapter.memory.start_write(address, len(data), None, seen)

    def copy_from_dm(self, dm_offset: int, length: int) -> Generator[Event, object, bytes]:
        """Load bytes from an offset on (ibv_memcpy_from_dm); errors as `copy_to_dm`.

        Each 4 bytes are a read over the bus, which the processor waits for.
        """
        self.check(dm_offset, length)
        return self.context.made(self._copy_from_dm(dm_offset, length), "dm.copy_from_dm")

    def _copy_from_dm(self, dm_offset: int, length: int) -> Generator[Event, object, bytes]:
        context, found = self.context, bytearray()
        context.sim.unrun.run()
        bus, away = context.node.bus, context.costs.away
        assert isinstance(bus, PcieBus)
        for address in range(self.address + dm_offset, self.address + dm_offset + length, WORD):
            here = context.sim.event()
            load = _Load(self.contents, address, found, here)
            bus.mmio_read(WORD, context.adapter.memory, address, load.taken, load.arrived)
            yield here
            if away:
                yield context.core.work(2 * away)
        return bytes(found)

    def check(self, dm_offset: int, length: int) -> None:
        """Raise what a copy of so many bytes would."""
        if self.freed:
            raise VerbsError("EINVAL", "the device memory has been freed before")
        asked = f"{length} bytes from {dm_offset} on of device memory"
        if dm_offset < 0 or length < 0 or dm_offset + length > self.length:
            raise VerbsError("EFAULT", f"{asked}; it has {self.length}")
        if dm_offset % WORD or length % WORD:
            raise VerbsError("EINVAL", f"{asked}; allowed: multiples of {WORD}")


class _Load:
    """A word on its way to the processor."""

    def __init__(self, contents: Contents, address: int, found: bytearray, here: Event) -> None:
        self._contents = contents
        self._address = address
        self._found = found
        self._here = here

    def taken(self) -> None:
        self._found += self._contents.read(self._address, WORD)

    def arrived(self) -> None:
        self._here.succeed()
