"""Receive buffers of adapters over Ethernet: pauses lose nothing, and spread to the senders."""

from __future__ import annotations

import pytest

from hcasim.catalog import CatalogError, resolve
from hcasim.catalog.receive import BufferPart
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.fabric.priorities import PauseFrame
from hcasim.study.capture.ethernet import pause_frame
from hcasim.study.onlooker import Onlooker
from hcasim.workloads import Options
from hcasim.workloads.end import OPCODES
from hcasim.workloads.flows import run_flows
from hcasim.workloads.registry import run_point
from tests.unit.fabric.test_memory import (
    ALL,
    NEEDED,
    ON_WIRE,
    PAYLOAD,
    PS_PER_BYTE,
    SIZE,
    dropping,
    network,
    pausing,
    send,
)

pytestmark = pytest.mark.pure

XOFF = 20 * SIZE
PACE = 3 * ON_WIRE * PS_PER_BYTE
"""Time in ps that a slow end takes for each packet."""


@pytest.mark.parametrize(("less", "loses"), [(0, False), (2 * ON_WIRE, True)])
def test_room_above_the_threshold_holds_what_comes_after_a_pause(less: int, loses: bool) -> None:
    """The end stands still; its frame waits for one of its own packets, the pause for another."""
    # A packet passes the threshold, which may be all but a byte above it.
    part = BufferPart(XOFF + SIZE + NEEDED - less, ALL, XOFF)
    fabric, ends = network(2, pausing(NEEDED), pause_ps=10**9, parts=[part])
    send(ends[1], ends[0], 300)
    send(ends[0], ends[1], 300)
    fabric.sim.run(until=40_000_000)
    buffer = fabric.port_buffers[0]
    assert buffer.pauses()["tx_prio0_pause"] == 1
    assert (buffer.discarded > 0) == loses


class Frames(Onlooker):
    """Keeps the frames that pause, or let go on."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[tuple[int, bool]] = []

    def work(self, block: str, what: str, start_ps: int, end_ps: int, details: object) -> None:
        if isinstance(details, PauseFrame):
            self.heard.append((details.priorities, details.pause))


def test_one_frame_pauses_all_priorities_of_a_part() -> None:
    parts = [BufferPart(XOFF + SIZE + NEEDED, bits, XOFF) for bits in (0b1001, ALL & ~0b1001)]
    fabric, ends = network(2, pausing(NEEDED), pause_ps=10**9, parts=parts)
    frames = Frames()
    fabric.sim.watch(frames)
    for level in (0, 3):
        send(ends[1], ends[0], 16, level)
    fabric.sim.run(until=40_000_000)
    assert frames.heard == [(0b1001, True)]
    assert fabric.port_buffers[0].frames == 1
    assert {*fabric.port_buffers[0].pauses().values()} == {1}
    frame = pause_frame(PauseFrame("", 0b1001, True), 1)
    assert frame[16:34] == bytes.fromhex("0009 ffff 0000 0000 ffff") + bytes(8)


def test_a_slow_end_pauses_the_switch_and_that_the_sender() -> None:
    part = BufferPart(XOFF + SIZE + NEEDED, ALL, XOFF)
    memory = pausing(NEEDED, size=300_000)
    fabric, ends = network(2, memory, pause_ps=PACE, parts=[part])
    send(ends[1], ends[0], 1000)
    fabric.sim.run()
    times = [at for at, _ in ends[0].arrivals]
    # It is never idle once its buffer has something in it, and never overrun.
    assert len(times) == 1000
    assert times[-1] - times[0] <= 1000 * PACE
    assert times[-1] - times[0] >= (1000 - part.size // SIZE - 1) * PACE
    told = [buffer.pauses() for buffer in fabric.port_buffers]
    assert told[0]["tx_prio0_pause"] > 3
    assert told[1]["rx_prio0_pause"] > 3
    # A pause lasts until what has come since, of which a third leaves, and the longest frame have
    # left; the last one has an end.
    since = (NEEDED - 2 * ON_WIRE) * 2 // 3
    assert told[0]["tx_prio0_pause"] <= 1000 * SIZE / (since + part.xoff - part.xon)
    waited = fabric.port_buffers[0].wait_ps
    fabric.sim.run(until=2 * fabric.sim.now)
    assert fabric.port_buffers[0].wait_ps == waited < times[-1]
    assert {*told[0]} == {"tx_prio0_pause"}
    assert sum(buffer.discarded for buffer in fabric.port_buffers) == 0


def test_what_a_slow_end_does_not_take_is_lost_and_counted_without_pauses() -> None:
    part = BufferPart(XOFF, ALL, XOFF)
    fabric, ends = network(2, dropping(), pause_ps=PACE, parts=[part])
    send(ends[1], ends[0], 1000)
    fabric.sim.run()
    lost = fabric.port_buffers[0].discarded
    assert len(ends[0].arrivals) + lost == 1000
    # It takes a third of what comes, once its buffer is full.
    assert lost == pytest.approx((1000 - 1.5 * part.size / SIZE) * 2 / 3, rel=0.02)
    assert fabric.port_buffers[0].pauses() == {}


def test_what_has_left_gives_all_of_its_room_back() -> None:
    fabric, ends = network(
        2, dropping(), pause_ps=PACE, parts=[BufferPart(2 * SIZE, ALL, 2 * SIZE)]
    )
    for _ in range(3):
        send(ends[1], ends[0], 2)
        fabric.sim.run()
    assert (len(ends[0].arrivals), fabric.port_buffers[0].discarded) == (6, 0)
    send(ends[1], ends[0], 4)
    fabric.sim.run()
    assert fabric.port_buffers[0].discarded > 0


def test_parts_pause_their_own_priorities() -> None:
    parts = [BufferPart(XOFF + NEEDED, ALL & ~8, XOFF), BufferPart(XOFF + NEEDED, 8, XOFF)]
    fabric, ends = network(2, pausing(NEEDED), pause_ps=10**9, parts=parts)
    send(ends[1], ends[0], 200, level=3)
    fabric.sim.run(until=40_000_000)
    taken = len(ends[0].arrivals)
    send(ends[1], ends[0], 10)
    fabric.sim.run(until=80_000_000)
    assert taken < 200
    assert len(ends[0].arrivals) == taken + 10
    assert fabric.port_buffers[0].pauses() == {"tx_prio3_pause": 1}


def test_thresholds_are_those_of_the_driver() -> None:
    machine = resolve("hux", switch="spectrum-lossless")
    receive, link = machine.hca.receive, machine.link
    # 301 B and 2.16 B a metre for each Gbit/s, and 2.72 packets; then the longest frame.
    headroom = (301 + 15) * 100 + 2785
    assert receive.parts(link, 1024) == [(2**18, ALL, 2**18 - headroom)]
    assert receive.parts(link, 1024)[0].xon == 2**18 - headroom - 9216
    changes = {"cable_len": 10**6, "buffer_size": "100,20000,0,0,0,0,0,0"}
    other = receive.model_copy(update=changes | {"prio2buffer": "0,0,0,1,0,0,0,0"})
    far = (301 + 2160) * 100 + 2785
    assert other.parts(link, 1024) == [(100, ALL & ~8, 100 - far), (20000, 8, 20000 - far)]


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("buffer", "42 KiB", "allowed: from 43729 B"),
        ("buffer_size", "40000,200000,0,0,0,0,0,0", "found 40000 B"),
        ("buffer_size", "200000,200000,0,0,0,0,0,0", "no more than receive.buffer, 256 KiB"),
        ("buffer_size", "1,2", "eight whole numbers"),
        ("prio2buffer", "0,0,0,1,0,0,0,0", "parts that have room"),
        ("cable_len", "3 km", "from "),
    ],
)
def test_buffers_that_cannot_pause_in_time_are_faults(setting: str, value: str, said: str) -> None:
    overrides = {f"receiver.adapter.receive.{setting}": value}
    with pytest.raises(CatalogError, match=said):
        resolve("hux", switch="spectrum-lossless", overrides=overrides)
    if said.startswith(("allowed: from", "from", "found")):
        resolve("hux", overrides=overrides)


def test_parts_that_hold_no_packet_are_faults_also_without_pauses() -> None:
    overrides = {"receiver.adapter.receive.buffer_size": "1000,0,0,0,0,0,0,0"}
    with pytest.raises(CatalogError, match="found 1000 B; allowed: from 1152 B"):
        resolve("hux", overrides=overrides)


@pytest.mark.parametrize(("told", "loses"), [("7 m", True), ("1 km", False)])
def test_headroom_for_a_cable_that_is_longer_than_the_driver_was_told(
    told: str, loses: bool
) -> None:
    settings = {
        "link.cable_length": "1 km",
        "adapter.receive.cable_len": told,
        "adapter.receive.buffer": "1 MiB",
        "switch.memory.headroom": "200000 B",
        "receiver.adapter.bus.lanes": "1",
        "receiver.adapter.bus.generation": "1",
    }
    machine = resolve("hux", switch="ideal-17-4mb", overrides=settings)
    cluster = Cluster(Simulator(exact=True), machine)
    flow = Options(size=PAYLOAD * 1300, iters=1)
    run_flows(cluster, OPCODES["write"], [((0, 1), 0, flow)])
    counters = cluster.counters()
    assert counters["adapter_pause_frames"] == counters["tx_prio0_pause"] > 0
    assert (counters["rx_discards_phy"] > 0) == loses
    assert counters["retransmissions"] == 0 or loses


def test_a_sender_as_slow_as_its_receiver_loses_nothing_and_a_faster_one_is_no_sooner() -> None:
    matched, mismatched = (
        run_point("put_lat", resolve(bed), Options(size=2**20, iters=3, warmup=2))
        for bed in ("hux-matched", "hux")
    )
    assert matched.row["packet_seq_err_count"] == matched.counters["rx_discards_phy"] == 0
    assert mismatched.row["packet_seq_err_count"] > 0
    assert mismatched.counters["rx_discards_phy"] > 0
    assert mismatched.row["completion_p99_us"] > matched.row["completion_p99_us"]


@pytest.mark.parametrize("switch", [True, "ideal-17-4mb"])
def test_the_bus_of_a_slow_receiver_binds(switch: bool | str) -> None:
    options = Options(size=2**18, iters=20)
    found = run_point("write_bw", resolve("hux", switch=switch), options)
    assert found.breakdown["binds"] == "node1.bus.upstream"
    overrun = {"rx_discards_phy", "tx_prio0_pause"}
    assert any(found.counters.get(name) for name in overrun)


REMOTE = {
    "receiver.host.adapter_socket": "1",
    "receiver.host.interconnect.bandwidth": "8 GB/s",
    "receiver.host.cache.ddio": "0 B",
}
WALKS = {"receiver.host.iommu.enabled": "true", "receiver.host.iommu.walks": "1"}
LARGE = Options(size=1 << 18, iters=20, warmup=0, tx_depth=16)
SMALL = Options(size=512, iters=960, qps=4, post_list=16, region=2**26, access="random")
UNCONTROLLED = {"adapter.roce_cc.algorithm": "none"}


@pytest.mark.parametrize("switch", [True, "spectrum-lossless"])
@pytest.mark.parametrize(
    ("overrides", "options", "binds"),
    [
        ({"receiver.host.slot.lanes": "4"}, LARGE, "node1.bus.upstream"),
        (REMOTE, LARGE, "node1.interconnect1"),
        (WALKS, SMALL, "node1.iommu_walks"),
    ],
)
def test_what_slows_a_receiver_binds_and_fills_its_buffer(
    switch: bool | str, overrides: dict[str, str], options: Options, binds: str
) -> None:
    host, changes = "broadwell-e5-2630v4", {**overrides, **UNCONTROLLED}
    machine = resolve("hux", host=host, switch=switch, overrides=changes)
    found = run_point("write_bw", machine, options)
    assert found.breakdown["binds"] == binds
    pauses = sum(n for name, n in found.counters.items() if name.startswith("tx_prio"))
    lost = found.counters["rx_discards_phy"]
    assert (pauses > 0, lost > 0) == ((False, True) if switch is True else (True, False))
    # Nothing waits at a receiver that keeps up.
    quick = run_point(
        "write_bw", resolve("hux", host=host, switch=switch, overrides=UNCONTROLLED), options
    )
    assert quick.counters["rx_discards_phy"] == 0
    assert quick.row["bandwidth_MBps"] > 1.2 * found.row["bandwidth_MBps"]
