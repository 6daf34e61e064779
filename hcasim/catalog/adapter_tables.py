"""What an adapter keeps: tables with their caches, entries of queues, and its limits."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from hcasim.catalog.section import Bandwidth, Clash, Count, Latency, Section, Size, key, optional
from hcasim.ground.errors import FaultError, one_of
from hcasim.ground.units import SIZE, Bytes


class LocalMemory(Section):
    """The adapter's own DIMM, for tables and for buffers that applications place there."""

    size: Bytes = key("capacity", 0, 2**40)
    latency: Latency = key("access begun to first data at the engines")
    bandwidth: Bandwidth = key("of reads and writes together")


Policy = Literal["lru", "random", "fifo"]
"""Which entry of a full cache leaves."""

NO_MEMORY = LocalMemory(size=0, latency=0, bandwidth=10**6)


class IcmCache(Section):
    """A cache of lines of all tables, between the caches of each and the memory behind them."""

    size: Size = key("capacity")
    banks: int = key("equal parts; a line belongs to one by the lowest bits of its number", 1, 1024)
    latency: Latency = key("of a line that it holds")
    policy: Policy = key("which line of a bank is replaced")


class Icm(Section):
    """The path to the tables behind the caches (interconnect context memory)."""

    outstanding: int = key("fetches of all caches that may be in flight at once", 1, 1024)
    latency: Latency = key("of a fetch, besides the memory that holds the table")
    victims: int = key("changed lines that may wait for their write-back", 1, 1024)
    cache: IcmCache | None = optional("behind the caches of all tables, if there is one")


class Tables(Section):
    """Entries of the tables that have no cache of their own."""

    eqpc: Size = key("extended queue pair context")
    rdb: Size = key("one read or atomic accepted by a responder")
    srqc: Size = key("shared receive queue context")
    eqc: Size = key("event queue context")
    mgm: Size = key("multicast group member list")


Entry = Annotated[int, SIZE, Field(ge=1, le=2**16)]


class Cache(Section):
    """A set-associative cache of a table that lives in the adapter's or the host's memory."""

    entries: Count = key("entries that the cache holds")
    entry: Entry = key("size of one entry")
    line: Entry = key("what is fetched at once: one entry, or several neighbours")
    ways: Count = key("associativity, in lines; divides the number of lines")
    policy: Policy = key("which line of a set is replaced")
    outstanding: int = key("fetches of this cache that may be in flight at once", 1, 1024)
    location: Literal["mode", "adapter", "host"] = key(
        "memory with the table; mode: by firmware_mode"
    )

    @property
    def lines(self) -> int:
        return self.entries * self.entry // self.line

    @model_validator(mode="after")
    def _geometry(self) -> Cache:
        if self.line % self.entry:
            found = f"a line of {self.line} B with entries of {self.entry} B"
            raise Clash(found, f"multiples of {self.entry} B", other="line")
        if self.entries * self.entry % self.line:
            found = f"{self.entries} entries, which do not fill lines of {self.line} B"
            raise Clash(found, f"multiples of {self.line // self.entry}", other="entries")
        if self.lines % self.ways:
            divisors = [str(n) for n in range(1, self.lines + 1) if self.lines % n == 0]
            what = "entries" if self.line == self.entry else "lines"
            found = f"{self.ways} ways, which do not divide {self.lines} {what}"
            raise Clash(found, one_of(divisors), other="ways")
        return self


class TranslationCache(Cache):
    """The cache of translations."""

    reach: Bytes | None = optional(
        "longest region with one table; a longer one has a table of tables, too", 4096, 2**50
    )


class Limits(Section):
    """What the adapter refuses to exceed."""

    max_qp: Count = key("queue pairs")
    max_inline: Bytes = key("payload inside a work request", 0, 2**16)
    max_wr: Count = key("work requests of a queue")
    max_mtu: Size = key("payload of an InfiniBand packet, or IP packet of a frame")
    atomics: bool = key("fetch-and-add and compare-and-swap are offered")


_Segment = Annotated[int, SIZE, Field(ge=0, le=256)]


class WqeCache(Section):
    """Work queue entries of requests in flight, which a response else fetches again."""

    entries: Count = key("entries of all queue pairs together")
    policy: Policy = key("which entry is replaced")
    service: Latency = key("of a receiving unit by a response that had to wait for it", default=0)


class Wqe(Section):
    """Work queue entries, by default as rdma-core's mthca/wqe.h, mlx4dv.h and mlx5dv.h agree."""

    stride: Annotated[Literal[16, 32, 64, 128, 256, 512, 1024], SIZE] = key(
        "distance of two entries"
    )
    packed: bool | None = optional("a send takes the strides it needs, not as many as the longest")
    control: _Segment | None = optional("control segment of a send")
    remote_address: _Segment | None = optional("remote address segment")
    data: _Segment | None = optional("segment that points to data")
    atomic: _Segment | None = optional("segment of the operands")
    inline_header: _Segment | None = optional("header of inline data")
    datagram: _Segment | None = optional("address vector of a datagram")
    fetch: int = key("entries of a send queue that one read brings at most", 1, 256, default=1)
    ahead: int = key("send queue entries on the chip before their turn", 0, 256, default=0)
    cache: WqeCache | None = optional("of entries in flight, if it is known")


class Umr(Section):
    """Registration of memory by work requests (user-mode memory registration)."""

    segments: Size = key("of such a work request besides its control segment and the list of pages")
    inline: Bytes = key("longest list of pages that the work request holds itself", 0, 1024)
    service: Latency = key("of a registration, besides fetching a longer list")


class Cqe(Section):
    """Completion queue entries."""

    size: Annotated[Literal[16, 32, 64, 128], SIZE] = key("size of one entry")
    inline: Bytes | None = optional(
        "longest message of a connection that comes in the entry itself", 0, 64
    )

    @model_validator(mode="after")
    def _has_room(self) -> Cqe:
        if self.inline and self.inline > self.size // 2:
            found = f"inline data of {self.inline} B in entries of {self.size} B"
            raise FaultError(self.inline, f"up to half of an entry, {self.size // 2} B", text=found)
        return self
