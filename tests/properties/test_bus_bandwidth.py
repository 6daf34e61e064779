"""Bandwidth of the bus alone: a better bus is never slower.

Laws about whole benchmarks, so each example is a pair of short simulations.
"""

from itertools import pairwise
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.catalog import Machine, PcieDevice, PcixDevice, resolve
from hcasim.workloads import Options, run_point
from tests.rig import refitted

Kind = Literal["bw_rd", "bw_wr", "bw_rdwr"]

STEADY = 5e-3
"""What the last few of the operations can change, if tags and window beat."""
TURNS = 0.01
"""Adapter and bridge, reads and writes fall into step in several ways."""
ACK = 0.05
"""A stream of small reads may lose this by an Ack that delays each of its requests."""

LADDERS: dict[str, dict[str, list[int]]] = {
    "pcie": {
        "lanes": [1, 2, 4, 8, 12, 16],
        "generation": [1, 2, 3, 4, 5],
        "max_payload": [128, 256, 512, 1024, 2048, 4096],
        "max_read_request": [128, 256, 512, 1024, 2048, 4096],
        "read_tags": [1, 2, 3, 4, 6, 8, 16, 32],
    },
    "pcix": {
        "width_bits": [32, 64],
        "clock": [33_333_333, 66_666_667, 100_000_000, 133_333_333],
        "mmrbc": [512, 1024, 2048, 4096],
        "outstanding_splits": [1, 2, 3, 4, 8, 12, 16, 32],
        "write_burst": [128, 256, 512, 1024, 2048, 4096],
    },
}
BASE: dict[str, Machine] = {
    "pcie": resolve("liu2004", adapter="mt25208"),
    "pcix": resolve("liu2004", adapter="mt23108"),
}
# Room for four of the largest payloads, so that even those can follow each other.
CREDITS = {"posted_header_credits": 127, "posted_data_credits": 1024}


def bandwidth(kind: Kind, bus: str, device: dict[str, Any], size: int, window: int = 16) -> float:
    machine = BASE[bus]
    model: type[PcieDevice | PcixDevice] = PcieDevice if bus == "pcie" else PcixDevice
    described = model(**(machine.adapter.bus.model_dump() | device))
    port = machine.host.root_port.model_copy(update=CREDITS)
    # The bus is to bind, not the memory behind it.
    memory = machine.host.memory.model_copy(update={"bandwidth": 10**12})
    machine = refitted(
        machine,
        adapter=machine.adapter.model_copy(update={"bus": described}),
        host=machine.host.model_copy(update={"root_port": port, "memory": memory}),
    )
    options = Options(size=size, window=window, iters=960 // window, warmup=5, exact=True)
    return float(run_point(kind, machine, options).row["bandwidth_MBps"])


@st.composite
def steps(draw: st.DrawFn) -> tuple[str, dict[str, Any], str, int, int]:
    """A bus, its device, and one parameter of it that is raised by one step."""
    bus = draw(st.sampled_from(["pcie", "pcix"]))
    ladders = LADDERS[bus]
    device = {name: draw(st.sampled_from(ladder)) for name, ladder in ladders.items()}
    if bus == "pcie":
        device["address_bits"] = draw(st.sampled_from([32, 64]))
    raised = draw(st.sampled_from(sorted(ladders)))
    index = draw(st.integers(0, len(ladders[raised]) - 2))
    return bus, device, raised, ladders[raised][index], ladders[raised][index + 1]


@given(steps(), st.sampled_from(["bw_rd", "bw_wr"]), st.sampled_from([64, 512, 1500, 4096, 16384]))
def test_one_way_bandwidth_never_falls_when_the_bus_improves(
    step: tuple[str, dict[str, Any], str, int, int], kind: Kind, size: int
) -> None:
    bus, device, raised, low, high = step
    before = bandwidth(kind, bus, device | {raised: low}, size)
    after = bandwidth(kind, bus, device | {raised: high}, size)
    assert after >= before * (1 - STEADY)


@pytest.mark.parametrize(
    ("bus", "name"),
    [(bus, name) for bus, ladders in LADDERS.items() for name in ladders if name != "write_burst"],
)
def test_two_way_bandwidth_of_a_real_adapter_never_falls_when_its_bus_improves(
    bus: str, name: str
) -> None:
    size = 1500 if len(name) % 2 else 4096
    # Longer bursts of writes keep the reads waiting, so they are not always an improvement. Enough
    # operations are under way to hide the latency, which the best links would be bound by.
    ladder = LADDERS[bus][name]
    rates = [bandwidth("bw_rdwr", bus, {name: value}, size, window=64) for value in ladder]
    assert all(after >= before * (1 - TURNS) for before, after in pairwise(rates))
    assert rates[-1] > rates[0]


@given(steps(), st.sampled_from([64, 512, 1500, 4096]))
def test_neither_reads_nor_writes_are_faster_together_than_alone(
    step: tuple[str, dict[str, Any], str, int, int], size: int
) -> None:
    bus, device, *_ = step
    # Half of the bytes are read and half are written.
    half = bandwidth("bw_rdwr", bus, device, size) / 2
    assert half <= bandwidth("bw_rd", bus, device, size) * (1 + ACK)
    assert half <= bandwidth("bw_wr", bus, device, size) * (1 + ACK)
