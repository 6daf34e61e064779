"""Protection domains and memory regions."""

from __future__ import annotations

from collections.abc import Callable, Generator
from enum import IntFlag
from typing import Final, Literal

from hcasim.cluster import PAGE
from hcasim.engine import Event
from hcasim.fabric.payload import Contents
from hcasim.hca import Access, Region
from hcasim.hca.translation import WORD
from hcasim.hca.units import ENTRY
from hcasim.verbs.context import Context, VerbsError
from hcasim.verbs.dm import DM

MAX_PAGE: Final = 2**30


class Rereg(IntFlag):
    """What `MR.rereg` changes; names and numbers are those of libibverbs (ibv_rereg_mr_flags)."""

    CHANGE_TRANSLATION = 1
    CHANGE_PD = 2
    CHANGE_ACCESS = 4


Buffer = bytearray | memoryview


def _check_rights(access: Access) -> None:
    if access & (Access.REMOTE_WRITE | Access.REMOTE_ATOMIC) and not access & Access.LOCAL_WRITE:
        raise VerbsError("EINVAL", "remote write or atomic access needs local write access")


class PD:
    """A protection domain: regions and queue pairs that may be used together."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.handle = context.adapter.alloc_pd()

    def reg_mr(
        self,
        length: int,
        access: Access = Access.LOCAL_WRITE,
        *,
        page_size: int = PAGE,
        memory: Literal["host", "gpu", "adapter"] = "host",
        address: int | None = None,
        data: Buffer | None = None,
    ) -> MR:
        """Register ``length`` bytes of memory, in no time.

        Args:
            address: the first of them, in host memory; fresh memory without it.
            page_size: bytes of a page, which takes one entry of the translation table: a power of
                two from 4 KiB to 1 GiB.
            memory: where the bytes are; ``adapter`` is the adapter's own (see `DM`, too).
            data: what holds the bytes, ``length`` of them: a bytearray, or anything else that can
                be written. Without it only sizes are simulated.

        Raises:
            VerbsError: ``EINVAL`` for what cannot be registered, or remote write or atomic access
                without local write; ``ENOMEM`` if the adapter's memory cannot hold it.
        """
        if length < 1:
            raise VerbsError("EINVAL", f"a memory region needs at least 1 byte, not {length}")
        _check_rights(access)
        if not PAGE <= page_size <= MAX_PAGE or page_size & (page_size - 1):
            raise VerbsError(
                "EINVAL",
                f"a page of {page_size} bytes; allowed: powers of two from {PAGE} to {MAX_PAGE}",
            )
        if memory not in ("host", "gpu", "adapter"):
            raise VerbsError("EINVAL", f"memory {memory!r}; allowed: 'host', 'gpu' or 'adapter'")
        held = length if data is None else memoryview(data).nbytes
        if held != length or (data is not None and memoryview(data).readonly):
            raise VerbsError(
                "EINVAL", f"data of {held} bytes; allowed: {length} bytes that can be written"
            )
        adapter = self.context.adapter
        on_adapter = memory == "adapter"
        if on_adapter:
            try:
                address = adapter.memory.allocate(length, page_size)
            except MemoryError as error:
                raise VerbsError("ENOMEM", str(error)) from None
        elif memory == "gpu":
            host = self.context.node.group.host
            if host.gpu is None:
                raise VerbsError("EINVAL", f"memory 'gpu', but {host.id} has no GPU")
            address = self.context.node.allocate(length, page_size, host.sockets)
        elif address is None:
            address = self.context.node.allocate(length, page_size)
        contents = None if data is None else Contents(address, data)
        region = adapter.tables.register(
            self.handle,
            address,
            length,
            access,
            page_size,
            on_adapter=on_adapter,
            contents=contents,
        )
        return MR(self, region)

    def reg_dm_mr(self, dm: DM, dm_offset: int, length: int, access: Access) -> MR:
        """Register device memory (ibv_reg_dm_mr) from an offset on, in no time.

        It takes one translation entry, whatever its length. Requests name it by addresses from
        `MR.addr` on.

        Raises:
            VerbsError: ``EINVAL`` beyond its end, or for rights that it cannot give.
        """
        if length < 0 or dm_offset < 0 or dm_offset + length > dm.length:
            found = f"{length} bytes from {dm_offset} on of device memory"
            raise VerbsError("EINVAL", f"{found}; it has {dm.length}")
        if access & Access.MW_BIND:
            raise VerbsError("EINVAL", "MW_BIND on device memory; allowed: the other rights")
        _check_rights(access)
        if dm.context.adapter is not self.context.adapter:
            raise VerbsError("EINVAL", "device memory of another adapter than the domain's")
        if dm.freed:
            raise VerbsError("EINVAL", "the device memory has been freed before")
        region = self.context.adapter.tables.register(
            self.handle,
            dm.address + dm_offset,
            length,
            access,
            MAX_PAGE,
            on_adapter=True,
            contents=dm.contents,
        )
        dm.regions += 1
        mr = MR(self, region)
        mr.dm = dm
        return mr

    def timed_reg_dm_mr(
        self, dm: DM, dm_offset: int, length: int, access: Access
    ) -> Generator[Event, object, MR]:
        """Register device memory as `reg_dm_mr` does, in the time that the call takes."""
        steps = self._timed_reg_dm_mr(dm, dm_offset, length, access)
        return self.context.made(steps, "pd.timed_reg_dm_mr")

    def _timed_reg_dm_mr(
        self, dm: DM, dm_offset: int, length: int, access: Access
    ) -> Generator[Event, object, MR]:
        self.context.sim.unrun.run()
        mr = self.reg_dm_mr(dm, dm_offset, length, access)
        cost = self.context.stack.registration
        yield self.context.core.work(cost.call + mr.pages * cost.table_entry)
        return mr

    def alloc_mr(
        self, length: int, access: Access = Access.LOCAL_WRITE, *, page_size: int = PAGE
    ) -> MR:
        """As `reg_mr`, but with keys that are not valid before a request REG_MR is executed."""
        mr = self.reg_mr(length, access, page_size=page_size)
        mr.page_list = self.context.node.allocate(ENTRY * mr.pages)
        mr.invalidate()
        return mr

    def timed_reg_mr(
        self,
        length: int,
        access: Access = Access.LOCAL_WRITE,
        *,
        page_size: int = PAGE,
        memory: Literal["host", "gpu", "adapter"] = "host",
        address: int | None = None,
        data: Buffer | None = None,
    ) -> Generator[Event, object, MR]:
        """Register memory as `reg_mr` does, in the time that the call takes the processor.

        The time is that of the call, of pinning each page of host memory as a whole, and of one
        translation entry for each page, with the adapter's commands, of which the bus sees nothing.
        """
        steps = self._timed_reg_mr(length, access, page_size, memory, address, data)
        return self.context.made(steps, "pd.timed_reg_mr")

    def _timed_reg_mr(
        self,
        length: int,
        access: Access,
        page_size: int,
        memory: Literal["host", "gpu", "adapter"],
        address: int | None,
        data: Buffer | None,
    ) -> Generator[Event, object, MR]:
        self.context.sim.unrun.run()
        mr = self.reg_mr(
            length, access, page_size=page_size, memory=memory, address=address, data=data
        )
        cost = self.context.stack.registration
        page = cost.table_entry + (cost.pin_page if memory == "host" else 0)
        yield self.context.core.work(cost.call + mr.pages * page)
        return mr


class MR:
    """A memory region.

    Attributes:
        page_list: address of its list of pages, if it has one.
        windows: how many memory windows are bound to it.
        dm: the device memory that it is of, if it is.
    """

    def __init__(self, pd: PD, region: Region) -> None:
        self.pd = pd
        self.region = region
        self.page_list = 0
        self.dm: DM | None = None
        self._registered = True
        self.windows = 0
        self.addr = region.address
        self.length = region.length
        self.lkey = self.rkey = region.key

    def dereg(self) -> None:
        if not self._registered:
            raise VerbsError("EINVAL", "the memory region has been deregistered before")
        if self.windows:
            raise VerbsError("EBUSY", f"{self.windows} memory windows are bound to the region")
        self._registered = False
        adapter, region = self.pd.context.adapter, self.region
        adapter.tables.deregister(region)
        if self.dm is not None:
            self.dm.regions -= 1
        elif region.on_adapter:
            adapter.memory.release(region.address)

    def rereg(
        self,
        flags: Rereg,
        pd: PD | None = None,
        address: int | None = None,
        length: int = 0,
        access: Access = Access.LOCAL_WRITE,
        *,
        data: Buffer | None = None,
    ) -> None:
        """Register again with what the flags name changed, under the same keys, in no time.

        Source: Linux, mlx5 mr.c (mlx5_ib_rereg_user_mr), mlx4 mr.c (mlx4_ib_rereg_user_mr).

        Args:
            pd, address, length, access, data: as of `PD.reg_mr`; only those count that are changed.

        Raises:
            VerbsError: ``EINVAL`` as `PD.reg_mr` and `dereg`, when the region is as it was;
                ``EOPNOTSUPP`` if it is not in host memory.
        """
        region = self.region
        if not self._registered:
            raise VerbsError("EINVAL", "the memory region has been deregistered before")
        if region.on_adapter:
            raise VerbsError("EOPNOTSUPP", "ibv_rereg_mr: the region is in the adapter's memory")
        if Rereg.CHANGE_PD in flags and pd is None:
            raise VerbsError("EINVAL", "CHANGE_PD without a protection domain; needed: pd=...")
        home = self.pd if pd is None or Rereg.CHANGE_PD not in flags else pd
        moved = Rereg.CHANGE_TRANSLATION in flags
        fresh = home.reg_mr(
            length if moved else self.length,
            access if Rereg.CHANGE_ACCESS in flags else Access(region.access),
            page_size=region.page_size,
            address=address if moved else self.addr,
            data=data if moved else None,
        )
        if not moved:
            fresh.region.contents, fresh.region.words = region.contents, region.words
            fresh.region.unstored, fresh.region.listeners = region.unstored, region.listeners
        self.dereg()
        self.pd, self.region, self._registered = home, fresh.region, True
        self.addr, self.length = fresh.addr, fresh.length
        self.pd.context.adapter.tables.rename(fresh.region, self.lkey)

    def invalidate(self) -> None:
        """Let the keys be invalid until a request REG_MR, as a send with invalidate does."""
        self.pd.context.adapter.tables.deregister(self.region)

    def timed_dereg(self) -> Generator[Event, object, None]:
        """Deregister as `dereg` does, in the time that the call takes the processor.

        The region cannot be used any more when the call begins.
        """
        return self.pd.context.made(self._timed_dereg(), "mr.timed_dereg")

    def _timed_dereg(self) -> Generator[Event, object, None]:
        self.pd.context.sim.unrun.run()
        self.dereg()
        cost = self.pd.context.stack.registration
        pages = 0 if self.region.on_adapter else self.pages
        yield self.pd.context.core.work(cost.dereg_call + pages * cost.dereg_page)

    @property
    def pages(self) -> int:
        size = self.region.page_size
        return (self.addr + self.length - 1) // size - self.addr // size + 1

    def hold(self, address: int, length: int) -> None:
        self.pd.context.adapter.tables.hold(self.region, address, length)

    def read(self, length: int, offset: int) -> bytes:
        """The bytes from an offset on, as they are in memory now.

        Raises:
            VerbsError: ``EINVAL`` beyond the end, or if the region was registered without data.
        """
        return self._bytes(length, offset).read(self.addr + offset, length)

    def write(self, data: bytes, length: int | None = None, offset: int = 0) -> None:
        """Change bytes from an offset on, as the processor does, in no time; errors as `read`."""
        size = len(data) if length is None else length
        self._bytes(size, offset).write(self.addr + offset, data[:size])

    def _bytes(self, length: int, offset: int) -> Contents:
        contents = self.region.contents
        if contents is None:
            raise VerbsError("EINVAL", "the memory region holds no data; allowed: reg_mr(data=...)")
        if length < 0 or offset < 0 or offset + length > self.length:
            raise VerbsError(
                "EINVAL", f"{length} bytes from {offset} on; the region has {self.length}"
            )
        return contents

    def word(self, address: int) -> int:
        """Value of the 64-bit word at ``address``: what atomics know of it."""
        return self.region.word(address)

    def set_word(self, address: int, value: int) -> None:
        value %= 1 << 64
        if self.region.contents is None:
            self.region.words[address] = value
        else:
            self.region.contents.write(address, value.to_bytes(WORD, "little"))

    def listen(self, listener: Callable[[int, int], None]) -> None:
        """Have the adapter's writes told, each by its address and length in bytes."""
        self.region.listeners.append(listener)

    def watch(self, address: int) -> Watch:
        """A poll loop on the byte at ``address``."""
        return Watch(self.pd.context, self.region, address)


class Watch:
    """A process that spins on one byte of memory, which was written `count` times so far."""

    def __init__(self, context: Context, region: Region, address: int) -> None:
        self._context = context
        self._event: Event | None = None
        self._target = 0
        self._region = region
        self.count = 0
        self._listener = region.watch(address, self._written)

    def _written(self) -> None:
        self.count += 1
        if self._event is not None and self.count >= self._target:
            event, self._event = self._event, None
            event.succeed()

    def poll(self, count: int) -> Generator[Event, object, None]:
        """Spin until the byte has been written ``count`` times in all, and notice it."""
        return self._context.made(self._poll(count), "watch.poll")

    def _poll(self, count: int) -> Generator[Event, object, None]:
        self._context.sim.unrun.run()
        if self.count < count:
            self._target = count
            self._event = self._context.sim.event()
            yield self._event
        costs = self._context.costs
        yield self._context.core.work(costs.poll_memory + costs.line)

    def close(self) -> None:
        if self._listener in self._region.listeners:
            self._region.listeners.remove(self._listener)
