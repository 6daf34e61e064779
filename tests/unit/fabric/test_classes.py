"""Traffic classes share an output by rank and weight, and a watchdog ends pauses that do not."""

from __future__ import annotations

from collections import Counter

import pytest

from hcasim.catalog import EthernetLink, Wiring, resolve
from hcasim.catalog.classes import TrafficClasses, Watchdog
from hcasim.catalog.testbed import Marking, PacketMemory
from hcasim.engine import Simulator
from hcasim.fabric import Fabric
from hcasim.fabric.memory import Memory
from hcasim.fabric.priorities import WatchedTransmitter
from hcasim.ground.errors import CatalogError
from tests.fabrics import described
from tests.unit.fabric.test_memory import (
    NEEDED,
    ON_WIRE,
    PS_PER_BYTE,
    WHOLE,
    End,
    Told,
    network,
    pausing,
    send,
)

pytestmark = pytest.mark.pure

MS = 10**9
LINK = EthernetLink(gigabits=100, cable_length=1000, propagation=5000)


def classes(prio_tc: str, tsa: str, tcbw: str) -> TrafficClasses:
    return TrafficClasses(prio_tc=prio_tc, tsa=tsa, tcbw=tcbw)


def shared(described: TrafficClasses | None, levels: list[int], sizes: list[int]) -> list[float]:
    """Each of some ends sends at a level, without end; the shares of the bytes that arrive."""
    fabric, ends = network(len(levels) + 1, pausing(NEEDED, classes=described))
    for end, level, size in zip(ends[1:], levels, sizes, strict=True):
        send(end, ends[0], 1500 * 1024 // size, level, size)
    # While all of them send, and after the first packets.
    fabric.sim.run(until=1500 * ON_WIRE * PS_PER_BYTE)
    found: Counter[int] = Counter()
    for at, packet in ends[0].arrivals:
        if at > 200 * ON_WIRE * PS_PER_BYTE:
            found[packet.qpn] += packet.size + 20
    return [found[end.lid] / sum(found.values()) for end in ends[1:]]


@pytest.mark.parametrize("weights", ["50,30,20", "80,15,5"])
@pytest.mark.parametrize("sizes", [[1024, 1024, 1024], [1024, 512, 256]])
def test_classes_with_weights_get_their_shares(weights: str, sizes: list[int]) -> None:
    told = classes("0,0,0,1,1,2,2,2", "ets,ets,ets", weights)
    found = shared(told, [0, 4, 7], sizes)
    wanted = [int(weight) / 100 for weight in weights.split(",")]
    assert found == pytest.approx(wanted, abs=0.01)


def test_sources_of_a_class_share_what_it_gets() -> None:
    told = classes("0,0,0,1,1,1,1,1", "ets,ets", "40,60")
    found = shared(told, [0, 0, 3, 4, 5], [1024] * 5)
    assert found == pytest.approx([0.2, 0.2, 0.2, 0.2, 0.2], abs=0.01)


def test_what_a_class_does_not_use_goes_to_the_others() -> None:
    told = classes("0,1,2,2,2,2,2,2", "ets,ets,ets", "10,30,60")
    assert shared(told, [0, 1], [1024] * 2) == pytest.approx([0.25, 0.75], abs=0.01)


def test_a_strict_class_goes_first_and_the_highest_before_all() -> None:
    told = classes("0,1,2,3,3,3,3,3", "ets,ets,strict,strict", "50,50,0,0")
    assert shared(told, [0, 1, 2], [1024] * 3) == pytest.approx([0, 0, 1], abs=0.01)
    assert shared(told, [2, 0, 3], [1024] * 3) == pytest.approx([0, 0, 1], abs=0.01)


def test_without_classes_priorities_take_turns() -> None:
    assert shared(None, [0, 3, 7], [1024] * 3) == pytest.approx([1 / 3] * 3, abs=0.01)


GOOD = {"prio_tc": "0,0,0,1,0,0,0,0", "tsa": "ets,ets", "tcbw": "50,50"}


@pytest.mark.parametrize(
    ("key", "value", "fault"),
    [
        ("prio_tc", "0,0,0,2,0,0,0,0", "prio_tc '0,0,0,2,0,0,0,0'; allowed: 8 numbers of classes"),
        ("prio_tc", "0,0,0,1,0,0,0", "prio_tc '0,0,0,1,0,0,0'; allowed: 8 numbers of classes"),
        ("tsa", "ets,wrr", "tsa 'ets,wrr'; allowed: up to 8 times strict or ets"),
        ("tsa", "ets,strict", "tcbw '50,50'; allowed: 2 weights, 0 of strict classes, 100"),
        ("tcbw", "50,40", "tcbw '50,40'; allowed: 2 weights, 0 of strict classes, 100 together"),
        ("tcbw", "100,0", "tcbw '100,0'; allowed: 2 weights, 0 of strict classes, 100 together"),
        ("tcbw", "100", "tcbw '100'; allowed: 2 weights, 0 of strict classes, 100 together"),
        ("tcbw", "150,-50", "tcbw '150,-50'; allowed: 2 weights, 0 of strict classes, 100"),
    ],
)
def test_classes_that_cannot_be_are_refused(key: str, value: str, fault: str) -> None:
    settings = {f"switch.memory.classes.{one}": said for one, said in {**GOOD, key: value}.items()}
    with pytest.raises(CatalogError) as error:
        resolve("ideal-100g", switch="spectrum-lossless", overrides=settings)
    (found,) = error.value.faults
    assert f"switch.memory.classes: found {fault}" in found


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        (
            "headroom",
            "1K",
            "switch.memory.headroom: found 1024 B; allowed: from 1152 B, to hold a packet of MTU",
        ),
        (
            "headroom",
            "1M",
            "of headroom and 4096 B reserved; allowed: less than memory.size, 16 MiB",
        ),
        ("marking.kmin", "2000000B", "found kmin 2000000 B; allowed: at most kmax, 1500000 B"),
        ("watchdog.action", "stop", "found 'stop'; allowed: drop, forward or alert"),
    ],
)
def test_memories_that_cannot_be_are_refused(path: str, value: str, fault: str) -> None:
    settings = {f"switch.memory.{path}": value}
    with pytest.raises(CatalogError) as error:
        resolve("ideal-100g", switch="spectrum-lossless", overrides=settings)
    (found,) = error.value.faults
    assert fault in found


def test_early_drops_need_a_ramp() -> None:
    settings = {"switch.memory.profile": "early-drop"}
    with pytest.raises(CatalogError) as error:
        resolve("ideal-100g", switch="ideal-17-4mb", overrides=settings)
    (found,) = error.value.faults
    assert "switch.memory: found profile early-drop alone; allowed: memory.marking with" in found


def test_in_a_class_sources_take_turns_and_nothing_else() -> None:
    settings = {f"switch.memory.classes.{one}": said for one, said in GOOD.items()}
    settings["switch.arbitration"] = "oldest_first"
    with pytest.raises(CatalogError) as error:
        resolve("ideal-100g", switch="spectrum-lossless", overrides=settings)
    (found,) = error.value.faults
    assert "found classes with arbitration oldest_first; allowed: arbitration round_rob" in found


def circle(watchdog: Watchdog | None) -> tuple[Fabric, list[End]]:
    """Five switches in a ring, from each of which two ends send to one two switches on."""
    memory: PacketMemory = pausing(NEEDED, size=220_000, watchdog=watchdog)
    switch = described(ports=6, memory=memory)
    sim, wiring = Simulator(), Wiring()
    for number in range(5):
        wiring.add_switch(f"switch{number}", switch)
    for node in range(15):
        wiring.attach(node, 1, node // 3)
    for number in range(5):
        wiring.trunk(number, (number + 1) % 5, LINK)
    fabric = Fabric(sim, wiring)
    ends = [End(sim, node + 1, LINK, 0) for node in range(15)]
    for end in ends:
        fabric.attach(end, LINK, [WHOLE])
    return fabric, ends


def memories(fabric: Fabric) -> list[Memory]:
    return [switch.memory for switch in fabric.switches if switch.memory is not None]


@pytest.mark.parametrize("action", [None, "alert", "forward", "drop"])
def test_a_circle_of_pauses_stands_still_until_the_watchdog_comes(action: str | None) -> None:
    watchdog = None
    if action is not None:
        watchdog = Watchdog(detection_time=MS, restoration_time=2 * MS, action=action)
    fabric, ends = circle(watchdog)
    told, count = Told(), 400
    for node in range(15):
        if node % 3 < 2:
            send(ends[node], ends[(node // 3 * 3 + 8) % 15], count, told=told)
    fabric.sim.run(until=20 * MS)
    arrived = sum(len(end.arrivals) for end in ends)
    watched = [output for switch in fabric.switches for output in switch.watched]
    storms = sum(output.storms for output in watched)
    discarded = sum(output.discarded for output in watched)
    assert (storms > 0) == (action is not None)
    assert (discarded > 0) == (action == "drop")
    if action in (None, "alert"):
        assert arrived < 10 * count
        return
    assert arrived + told.count == 10 * count
    assert told.count == discarded + sum(memory.dropped for memory in memories(fabric))
    assert all(memory.shared == 0 for memory in memories(fabric))


def test_what_a_watchdog_drops_is_not_marked() -> None:
    watchdog = Watchdog(detection_time=MS, restoration_time=2 * MS, action="drop")
    marking = Marking(kmin=1, kmax=1, pmax=10**9)
    fabric, ends = network(2, pausing(NEEDED, watchdog=watchdog, marking=marking))
    output = fabric.switches[0].outputs[0]
    assert isinstance(output, WatchedTransmitter)
    output.pause(0)
    send(ends[1], ends[0], 20)
    fabric.sim.run()
    assert output.discarded == 20
    (memory,) = memories(fabric)
    assert memory.marked == 0


@pytest.mark.parametrize("action", ["forward", "drop"])
def test_a_watchdog_waits_before_it_acts_and_before_it_rests(action: str) -> None:
    """Pauses of the far end at given times: one in which nothing waits, short ones, a long one."""
    watchdog = Watchdog(detection_time=10 * MS, restoration_time=20 * MS, action=action)
    fabric, ends = network(2, pausing(NEEDED, watchdog=watchdog))
    sim, output = fabric.sim, fabric.switches[0].outputs[0]
    assert isinstance(output, WatchedTransmitter)
    told = Told()

    def at(ms: int, *steps: str) -> None:
        for step in steps:
            if step == "send":
                sim.call_at(ms * MS, send, ends[1], ends[0], 3, 0, 1024, told)
            else:
                sim.call_at(ms * MS, output.pause if step == "pause" else output.go_on, 0)

    def after(ms: int) -> tuple[int, int, int]:
        sim.run(until=ms * MS)
        return output.storms, len(ends[0].arrivals), told.count

    at(10, "pause")
    at(30, "send")
    at(39, "go_on")
    assert after(50) == (0, 3, 0)
    at(60, "pause", "send")
    assert after(69) == (0, 3, 0)
    lost = 3 * (action == "drop")
    assert after(71) == (1, 6 - lost, lost)
    at(80, "send", "go_on")
    at(85, "pause")
    at(90, "go_on")
    # Within the time that pauses may not come.
    at(109, "pause", "send")
    at(110, "go_on")
    assert after(129) == (1, 12 - 3 * lost, 3 * lost)
    at(131, "pause", "send")
    assert after(140) == (1, 12 - 3 * lost, 3 * lost)
    at(140, "go_on")
    assert after(150) == (1, 15 - 3 * lost, 3 * lost)
