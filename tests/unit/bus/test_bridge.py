"""Buses behind buses, described in TOML files."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.bus import Bus, connect
from hcasim.bus.bridge import Bridge
from hcasim.catalog import CatalogError, Machine, data_path, folders, resolve
from hcasim.catalog.buses import Bridge as Description
from hcasim.engine import Action, Simulator
from hcasim.host import Host
from hcasim.host.upstream import Transfer, Upstream
from hcasim.workloads import Options, run_point
from tests.handed import Told
from tests.rig import refitted

DATA = Path(__file__).with_name("data")
CHAINS = ["pcix-behind-pcie", "pcie-switch", "two-bridges"]
Chain = Callable[..., Machine]


@pytest.fixture
def chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chain:
    """The machine of liu2004 with an adapter on the buses of a file."""
    for folder in ("models", "calibration"):
        shutil.copytree(data_path(folder), tmp_path / folder)
    monkeypatch.setattr(folders, "roots", lambda: (tmp_path,))
    file = tmp_path / "models" / "adapters" / "mt25208.toml"
    before, _, after = file.read_text().partition("[bus]\n")
    rest = re.search(r"^\[(?!bus)", after, re.MULTILINE)
    assert rest is not None

    def build(name: str, changed: tuple[str, str] = ("", ""), **overrides: str) -> Machine:
        buses = (DATA / f"{name}.toml").read_text().replace(*changed)
        file.write_text(before + buses + "\n" + after[rest.start() :])
        changes = {path.replace("__", "."): value for path, value in overrides.items()}
        return resolve("liu2004", adapter="mt25208", overrides=changes)

    return build


def end(machine: Machine, start: Callable[[Bus, Callable[[], None]], None]) -> int:
    """When one operation on an idle way is over, in ps."""
    sim = Simulator()
    bus = connect(Host(sim, machine.host, "host"), machine.adapter.bus, "bus")
    done: list[int] = []
    start(bus, lambda: done.append(sim.now))
    sim.run()
    (when,) = done
    return when


def streamed(machine: Machine, workload: str) -> float:
    """MB/s of long operations."""
    options = Options(size=65536, iters=8, warmup=2, window=16)
    found: float = run_point(workload, machine, options).row["bandwidth_MBps"]
    return found


OPERATIONS: dict[str, Callable[[Bus, Callable[[], None]], None]] = {
    "read": lambda bus, done: bus.read(0, 64, done),
    "write": lambda bus, done: bus.write(0, 64, None, done),
    "mmio_write": lambda bus, done: bus.mmio_write(8, done),
}


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize(("operation", "crossings"), [("read", 2), ("write", 1), ("mmio_write", 1)])
def test_every_bridge_adds_its_latency_each_way(
    chain: Chain, name: str, operation: str, crossings: int
) -> None:
    slower = {f"adapter__bus{'__bridge__bus' * n}__bridge__latency": "1200 ns" for n in range(2)}
    if name != "two-bridges":
        slower.popitem()
    quick, slow = (end(chain(name, **more), OPERATIONS[operation]) for more in ({}, slower))
    assert slow - quick == len(slower) * crossings * 1_000_000


def test_a_read_behind_a_bridge_takes_both_buses_and_the_bridge(chain: Chain) -> None:
    """Clock by clock: 7 for the split request and 6 + 8 for a completion of 64 bytes."""
    machine = chain("pcix-behind-pcie")
    adapter = machine.adapter
    behind = refitted(machine, adapter=adapter.model_copy(update={"bus": adapter.bus.bridge.bus}))
    pcix = (7 + 14) * 7_500
    alone = end(behind, OPERATIONS["read"])
    assert end(machine, OPERATIONS["read"]) == pytest.approx(alone + pcix + 400_000, abs=3)


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("workload", ["bw_rd", "bw_wr", "bw_rdwr"])
def test_a_chain_is_no_faster_than_its_slowest_bus(chain: Chain, name: str, workload: str) -> None:
    bandwidth = streamed(chain(name), workload)
    # PCI Express carries 2 GB/s each way less headers, PCI-X 1067 MB/s in all.
    assert bandwidth < (1067 if name != "pcie-switch" else 4000)
    assert bandwidth > (800 if name != "pcie-switch" else 1100)
    slow = chain(name, adapter__bus__bridge__latency="2 us")
    assert streamed(slow, workload) <= bandwidth


@pytest.mark.parametrize("name", CHAINS)
def test_every_byte_crosses_every_bus(chain: Chain, name: str) -> None:
    sim = Simulator()
    machine = chain(name)
    bus = connect(Host(sim, machine.host, "host"), machine.adapter.bus, "bus")
    for number in range(20):
        bus.read(1000 * number, 3333, lambda: None)
        bus.write(777 * number, 5001)
        bus.mmio_write(8, lambda: None)
    sim.run()
    counters = bus.counters()
    for kind, count in {
        "bus_read_bytes": 20 * 3333,
        "bus_write_bytes": 20 * 5001,
        "bus_mmio_writes": 20,
    }.items():
        assert counters[kind] == counters[f"bridged_{kind}"] == count
        if name == "two-bridges":
            assert counters[f"bridged_bridged_{kind}"] == count


def test_a_full_bridge_holds_writes_up(chain: Chain) -> None:
    """It sends on what it holds once in each latency."""

    def bandwidth(buffer: str) -> float:
        more = {"adapter__bus__bridge__latency": "20 us", "adapter__bus__bridge__buffer": buffer}
        return streamed(chain("pcix-behind-pcie", **more), "bw_wr")

    assert 0.8 * 8192 / 20 < bandwidth("8 KiB") < 8192 / 20
    assert bandwidth("64 KiB") > 1000


class Recorder(Upstream):
    """What is behind a bridge: it takes a write 1 us after it has come."""

    def __init__(self, sim: Simulator) -> None:
        self.sim = sim
        self.seen: list[str] = []

    def read(self, at_ps: int, address: int, size: int, transfer: Transfer) -> None:
        self.sim.call_at(at_ps, self.seen.append, f"read {address}")

    def write(
        self, at_ps: int, address: int, size: int, visible: Action | None, transfer: Transfer
    ) -> None:
        self.sim.call_at(at_ps, self.seen.append, f"write {address}")
        transfer.taken(at_ps + 1_000_000)

    def mmio(self, size: int, then: Any, *args: Any) -> None:
        raise NotImplementedError


@pytest.mark.pure
@given(st.lists(st.sampled_from(["write", "read"]), max_size=30))
def test_nothing_passes_a_write_in_a_bridge(operations: list[str]) -> None:
    sim = Simulator()
    behind = Recorder(sim)
    described = Description(latency=400_000, buffer=256)
    bridge = Bridge(sim, "bridge", described, behind)
    expected = []
    for number, operation in enumerate(operations):
        if operation == "read":
            bridge.read(0, number, 64, Told())
            expected.append(f"read {number}")
        else:
            bridge.write(0, number, 100, None, Told(taken=lambda _: None))
            expected.append(f"write {number}")
    sim.run()
    assert behind.seen == expected


def test_room_in_a_bridge_is_kept_until_the_bus_behind_it_has_taken_the_write(chain: Chain) -> None:
    """With room for one write, the next one crosses the slow bus behind it a whole write later."""

    def second(lanes: str) -> int:
        sim = Simulator()
        more = {"adapter__bus__bridge__buffer": "4 KiB"}
        machine = chain("pcix-behind-pcie", adapter__bus__bridge__bus__lanes=lanes, **more)
        bus = connect(Host(sim, machine.host, "host"), machine.adapter.bus, "bus")
        sent: list[int] = []
        for number in range(3):
            bus.write(4096 * number, 4096, lambda: sent.append(sim.now))
        sim.run()
        return sent[2] - sent[1]

    # 4 KiB in packets of 128 B with 20 B around each take 18.9 us on one lane.
    assert second("1") > 18_900_000
    assert second("8") < 8_000_000


def test_what_waits_for_a_bridge_is_told(chain: Chain) -> None:
    more = {"adapter__bus__bridge__latency": "20 us", "adapter__bus__bridge__reads": "1"}
    sim = Simulator()
    machine = chain("pcix-behind-pcie", **more)
    bus = connect(Host(sim, machine.host, "host"), machine.adapter.bus, "bus")
    for number in range(8):
        bus.write(4096 * number, 4096)
        bus.read(2**20 + 4096 * number, 4096, lambda: None)
    sim.run()
    waiting = bus.sim.resources.waiting_ps()
    assert waiting["bus.bridge.buffer"] > 0
    assert waiting["bus.bridge.bus.bridge_reads"] > 0


def test_a_bus_behind_a_bridge_has_the_bursts_of_its_own_bridge(chain: Chain) -> None:
    def bandwidth(**bursts: str) -> float:
        return streamed(chain("pcix-behind-pcie", **bursts), "bw_rd")

    usual = bandwidth()
    assert bandwidth(host__pcix_bridge__completion_burst="128 B") == usual
    assert bandwidth(adapter__bus__bridge__completion_burst="128 B") < 0.9 * usual


def test_a_bridge_on_a_card_returns_the_longest_read_of_its_bus_in_one_burst() -> None:
    request = "adapter.bus.bridge.bus.max_read_request"
    burst = "adapter.bus.bridge.completion_burst"
    found = []
    for overrides in ({}, {request: "1 KiB"}, {request: "1 KiB", burst: "256 B"}):
        bridge = resolve("rashti2007", overrides=overrides).adapter.bus.bridge
        assert bridge is not None
        found.append(bridge.burst)
    assert found == [512, 1024, 256]


def test_a_bridge_between_the_io_bridges_and_memory_adds_its_latency_each_way() -> None:
    def machine(latency: str) -> Machine:
        return resolve("benjegerdes2004-g5", overrides={"host.io_bridge.latency": latency})

    for name, crossings in (("read", 2), ("write", 1), ("mmio_write", 1)):
        quick, slow = (end(machine(one), OPERATIONS[name]) for one in ("0 ns", "1 us"))
        assert slow - quick == crossings * 1_000_000


@pytest.mark.parametrize(
    ("change", "faults"),
    [
        (
            {"changed": ("reads =", "readz =")},
            ["bus.bridge.readz: unknown key", "bus.bridge.reads: missing"],
        ),
        ({"changed": ('"pcie"', '"pciee"')}, ["bus.bridge.bus.kind: found 'pciee'"]),
        ({"changed": ('value = "8 KiB"', 'value = "0 B"')}, ["bus.bridge.buffer: found"]),
        (
            {"changed": ("[bus.bridge.bus]", "[bus.bridge.bsu]")},
            ["bridge.bsu: unknown", "bridge.bus: missing"],
        ),
        ({"adapter__bus__bridge__latency": "-1 ns"}, ["adapter.bus.bridge.latency: found"]),
        ({"adapter__bus__bridge__bus__lanes": "3"}, ["allowed: 1, 2, 4, 8, 12 or 16"]),
        ({"adapter__bus__bridge__bus__lane": "4"}, ["mean 'adapter.bus.bridge.bus.lanes'?"]),
        (
            {"adapter__bus__bridge__bus__bridge__latency": "1 ns"},
            ["there is no adapter.bus.bridge.bus.bridge"],
        ),
    ],
)
def test_a_fault_inside_a_bridge_is_said_once(
    chain: Chain, change: dict[str, Any], faults: list[str]
) -> None:
    with pytest.raises(CatalogError) as caught:
        chain("pcix-behind-pcie", **change)
    said = caught.value.faults
    assert [any(fault in line for line in said) for fault in faults] == [True] * len(faults)
    assert len(said) == len(faults)
