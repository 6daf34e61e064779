"""What is larger never makes a stream slower, on the adapters of today."""

from itertools import pairwise

import pytest

from hcasim.catalog import resolve
from tests.rig import run

ADAPTERS = ["connectx3", "connectx5", "connectx6", "connectx7"]
WORKLOADS = ["send_bibw", "write_bibw", "read_bw"]
LARGER = {
    "adapter.send.port_buffer": ["32 KiB", "128 KiB", "1 MiB"],
    "adapter.receive.buffer": ["64 KiB", "256 KiB", "1 MiB"],
    "adapter.receive_queue.ahead": ["4", "16", "64", "256"],
}


@pytest.mark.parametrize(
    ("adapter", "workload", "name"),
    [
        (adapter, WORKLOADS[(place + step) % 3], name)
        for place, adapter in enumerate(ADAPTERS)
        for step, name in enumerate(LARGER)
    ],
)
def test_a_larger_buffer_never_slows(adapter: str, workload: str, name: str) -> None:
    found = []
    for value in LARGER[name]:
        on = resolve("pair", adapter=adapter, overrides={name: value})
        found.append(run(workload, on, size=8192, iters=300).row["bandwidth_MBps"])
    assert all(large > 0.96 * small for small, large in pairwise(found)), found


@pytest.mark.parametrize(
    ("adapter", "workload"),
    [(adapter, WORKLOADS[place % 3]) for place, adapter in enumerate(ADAPTERS)],
)
def test_a_larger_mtu_never_slows(adapter: str, workload: str) -> None:
    found = []
    for mtu in (512, 1024, 2048, 4096):
        on = resolve("pair", adapter=adapter, mtu=mtu)
        found.append(run(workload, on, size=8192, iters=300).row["bandwidth_MBps"])
    assert all(large > 0.96 * small for small, large in pairwise(found)), found
