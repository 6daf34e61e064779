"""The tables of an adapter, their caches, and the memory that holds them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from hcasim.catalog.description import Bandwidth, Count, Latency, Section, Size
from hcasim.ground.errors import one_of
from hcasim.ground.units import SIZE


class LocalMemory(Section):
    """The adapter's own DIMM, for tables and for buffers that applications place there."""

    size: Annotated[int, SIZE, Field(ge=0, le=2**40)] = Field(description="capacity")
    latency: Latency = Field(description="access begun to first data at the engines")
    bandwidth: Bandwidth = Field(description="of reads and writes together")


Policy = Literal["lru", "random", "fifo"]
"""Which entry of a full cache leaves."""

NO_MEMORY = LocalMemory(size=0, latency=0, bandwidth=10**6)


class IcmCache(Section):
    """A cache of lines of all tables, between the caches of each and the memory behind them."""

    size: Size = Field(description="capacity")
    banks: Annotated[int, Field(ge=1, le=1024)] = Field(
        description="equal parts; a line belongs to one by the lowest bits of its number"
    )
    latency: Latency = Field(description="of a line that it holds")
    policy: Policy = Field(description="which line of a bank is replaced")


class Icm(Section):
    """The path to the tables behind the caches (interconnect context memory)."""

    outstanding: Annotated[int, Field(ge=1, le=1024)] = Field(
        description="fetches of all caches that may be in flight at once"
    )
    latency: Latency = Field(description="of a fetch, besides the memory that holds the table")
    victims: Annotated[int, Field(ge=1, le=1024)] = Field(
        description="changed lines that may wait for their write-back"
    )
    cache: IcmCache | None = Field(
        default=None, description="behind the caches of all tables, if there is one"
    )


class Tables(Section):
    """Entries of the tables that have no cache of their own."""

    eqpc: Size = Field(description="extended queue pair context")
    rdb: Size = Field(description="one read or atomic accepted by a responder")
    srqc: Size = Field(description="shared receive queue context")
    eqc: Size = Field(description="event queue context")
    mgm: Size = Field(description="multicast group member list")


Entry = Annotated[int, SIZE, Field(ge=1, le=2**16)]


class Cache(Section):
    """A set-associative cache of a table that lives in the adapter's or the host's memory."""

    entries: Count = Field(description="entries that the cache holds")
    entry: Entry = Field(description="size of one entry")
    line: Entry = Field(description="what is fetched at once: one entry, or several neighbours")
    ways: Count = Field(description="associativity, in lines; divides the number of lines")
    policy: Policy = Field(description="which line of a set is replaced")
    outstanding: Annotated[int, Field(ge=1, le=1024)] = Field(
        description="fetches of this cache that may be in flight at once"
    )
    location: Literal["mode", "adapter", "host"] = Field(
        description="memory that holds the table; mode: the host's if the firmware mode is memfree"
    )

    @property
    def lines(self) -> int:
        """Lines that the cache holds."""
        return self.entries * self.entry // self.line

    @model_validator(mode="after")
    def _geometry(self) -> Cache:
        if self.line % self.entry:
            raise ValueError(
                f"found a line of {self.line} B with entries of {self.entry} B; "
                f"allowed lines: multiples of {self.entry} B"
            )
        if self.entries * self.entry % self.line:
            raise ValueError(
                f"found {self.entries} entries, which do not fill lines of {self.line} B; "
                f"allowed entries: multiples of {self.line // self.entry}"
            )
        if self.lines % self.ways:
            divisors = [str(n) for n in range(1, self.lines + 1) if self.lines % n == 0]
            what = "entries" if self.line == self.entry else "lines"
            raise ValueError(
                f"found {self.ways} ways, which do not divide {self.lines} {what}; "
                f"allowed ways: {one_of(divisors)}"
            )
        return self


class TranslationCache(Cache):
    """The cache of translations."""

    reach: Annotated[int, SIZE, Field(ge=4096, le=2**50)] | None = Field(
        default=None,
        description="longest region whose entries lie in one table; a longer one has a table of "
        "tables before them, of which an entry is looked up too",
    )
