"""What is larger never makes a stream slower, on the adapters of today."""

from itertools import pairwise

import pytest

from hcasim.catalog import resolve
from tests.rig import run

ADAPTERS = ["connectx3", "connectx5", "connectx6", "connectx7"]
LARGER = {
    "adapter.send.port_buffer": ["32 KiB", "128 KiB", "1 MiB"],
    "adapter.receive.buffer": ["64 KiB", "256 KiB", "1 MiB"],
    "adapter.receive_queue.ahead": ["4", "16", "64", "256"],
}


@pytest.mark.parametrize("workload", ["send_bibw", "write_bibw", "read_bw"])
@pytest.mark.parametrize("name", LARGER)
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_larger_buffer_never_slows(adapter: str, name: str, workload: str) -> None:
    found = []
    for value in LARGER[name]:
        on = resolve("pair", adapter=adapter, overrides={name: value})
        found.append(run(workload, on, size=8192, iters=400).row["bandwidth_MBps"])
    assert all(large > 0.96 * small for small, large in pairwise(found)), found


@pytest.mark.parametrize("workload", ["send_bibw", "write_bw", "read_bw"])
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_a_larger_mtu_never_slows(adapter: str, workload: str) -> None:
    found = []
    for mtu in (512, 1024, 2048, 4096):
        on = resolve("pair", adapter=adapter, mtu=mtu)
        found.append(run(workload, on, size=8192, iters=400).row["bandwidth_MBps"])
    assert all(large > 0.96 * small for small, large in pairwise(found)), found
