"""Hosts with round numbers, so that the expected times can be worked out by hand."""

from collections.abc import Callable
from typing import Any

import pytest

from hcasim.catalog import Host as Description
from hcasim.catalog.host import Chipset, Interconnect, Memory, ProcessorCache
from hcasim.engine import Simulator
from hcasim.host import Host

FAR = Interconnect(latency=40_000, bandwidth=4 * 10**9)


@pytest.fixture
def host() -> Callable[..., Host]:
    """Two sockets with a core and 64 KiB of cache each, and one memory controller of 8 GB/s.

    A core copies 8 GB/s in the cache and 2 GB/s in memory, unless told otherwise.
    """

    def make(interconnect: Interconnect | None = None, bandwidth: int = 8, **cache: Any) -> Host:
        given = {"size": 2**16, "hit_bandwidth": 8, "miss_bandwidth": 2, "ddio": 0} | cache
        given |= {name: given[name] * 10**9 for name in ("hit_bandwidth", "miss_bandwidth")}
        description = Description(
            id="round",
            title="A host with round numbers",
            cpus=2,
            sockets=2,
            cache=ProcessorCache(**given),
            memory=Memory(read_latency=400_000, write_latency=100_000, bandwidth=bandwidth * 10**9),
            interconnect=interconnect,
            chipset=Chipset(mmio_latency=50_000),
        )
        return Host(Simulator(), description, "node")

    return make
