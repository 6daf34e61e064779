"""Main memory as a device sees it."""

from hcasim.catalog import resolve
from hcasim.engine import Simulator
from hcasim.host import HostMemory


def memory(bandwidth: str = "1 GB/s") -> HostMemory:
    overrides = {"host.memory.bandwidth": bandwidth}
    return HostMemory(Simulator(), resolve("liu2004", overrides=overrides).host, "node")


def test_transfers_share_the_bandwidth_one_after_the_other() -> None:
    shared = memory()
    assert shared.transfer(64) == 64_000
    assert shared.transfer(1) == 65_000
    assert shared.controller.busy_ps == 65_000
    assert shared.controller.name == "node.memory"


def test_twice_the_bandwidth_takes_half_the_time() -> None:
    assert memory("2 GB/s").transfer(4096) * 2 == memory("1 GB/s").transfer(4096)
