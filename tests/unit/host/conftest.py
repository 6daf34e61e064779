"""Hosts of two sockets with round numbers."""

from collections.abc import Callable
from typing import Any

import pytest

from hcasim.engine import Simulator
from hcasim.host import Host
from tests.hosts import GB, round_host

FAR = {"latency": 40_000, "bandwidth": 4 * GB}


@pytest.fixture
def host() -> Callable[..., Host]:
    """Two sockets with a core and 64 KiB of cache each, and one memory controller of 8 GB/s.

    A core copies 8 GB/s in the cache and 2 GB/s in memory, unless told otherwise.
    """

    def make(interconnect: dict[str, int] | None = None, bandwidth: int = 8, **cache: Any) -> Host:
        given = {"size": 2**16, "hit_bandwidth": 8, "miss_bandwidth": 2, "ddio": 0} | cache
        given |= {name: given[name] * GB for name in ("hit_bandwidth", "miss_bandwidth")}
        joined = {} if interconnect is None else {"interconnect": interconnect}
        described = round_host(
            cpus=2, sockets=2, cache=given, memory={"bandwidth": bandwidth * GB}, **joined
        )
        return Host(Simulator(), described, "node")

    return make
