"""How adapters of InfiniBand tell of marked packets, and what their senders delay then."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from hcasim.catalog import resolve
from hcasim.catalog.subnet import CongestionControl, Qos
from hcasim.catalog.testbed import OneSwitch
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.fabric import Opcode, Packet, Transmitter
from hcasim.fabric.loss import ChosenLosses, Fate, lose
from hcasim.fabric.packet import Route
from hcasim.hca.qp.congestion.notifications import HeldBack
from hcasim.hca.qp.congestion.table import BECN, CongestionTable
from hcasim.verbs import QP, QPType, WROpcode
from hcasim.workloads.flows import jain
from hcasim.workloads.options import Options
from hcasim.workloads.perftest.side import join, start
from tests.rig import READ, SEND, WRITE, Rig, networked, succeeded

LINK = resolve("pair").groups[0].link
TICK = 1_024_000
CONTROL = CongestionControl(
    threshold=15,
    marking_rate=10,
    packet_size=512,
    victim_mask="none",
    ccti_increase=2,
    ccti_timer=100,
    ccti_min=0,
    cct="0:0,3:1,1:1,0:1,0:4,0:9",
)


class Flow:
    """Sends packets of one size as fast as it may."""

    def __init__(self, **changes: Any) -> None:
        self.sim = Simulator()
        self.link = Transmitter(self.sim, "link", LINK)
        self.released = 0
        control = CONTROL.model_copy(update=changes)
        self.table = CongestionTable(self.link, control, HeldBack(), self._release)
        self.packet = Packet(Opcode.SEND, Route(1), 1, 0, 2048)

    def _release(self) -> None:
        self.released += 1

    def gaps(self, until_ps: int) -> set[int]:
        begun = []
        while (at := max(self.sim.now, self.table.earliest(None))) < until_ps:
            self.sim.run(until=at)
            self.table.begin()
            self.table.sent(self.packet)
            begun.append(at)
        return {after - before for before, after in pairwise(begun)}


@pytest.mark.parametrize(
    ("becns", "increase", "delay"), [(1, 1, 1 / 8), (2, 1, 1 / 2), (3, 1, 1), (2, 2, 4), (9, 2, 9)]
)
def test_a_packet_is_delayed_by_the_entry_at_the_place(
    becns: int, increase: int, delay: float
) -> None:
    flow = Flow(ccti_increase=increase)
    for _ in range(becns):
        flow.table.notified()
    (gap,) = flow.gaps(50 * TICK)
    time = flow.link.serialisation(flow.packet)
    assert gap == pytest.approx(time * (1 + delay), abs=1)


@pytest.mark.parametrize("least", [0, 1])
def test_the_timer_goes_back_one_place_each_time(least: int) -> None:
    flow = Flow(ccti_min=least)
    flow.sim.run(until=50 * TICK)
    flow.table.notified()
    flow.table.notified()
    places = []
    for period in range(1, 7):
        flow.sim.run(until=period * 100 * TICK)
        flow.table.earliest(None)
        places.append(flow.table.place)
    # It begins at the least place.
    assert places == [max(least, place) for place in range(3 + least, -3 + least, -1)]
    assert (flow.released > 0) is (least == 0)


class Marked:
    """A rig whose nodes are on one switch, and whose first marks packets that are told."""

    def __init__(
        self,
        control: CongestionControl = CONTROL,
        marks: Callable[[Packet], bool] = lambda packet: True,
    ) -> None:
        on = networked(OneSwitch(switch="invented"), 2)
        assert on.switch is not None
        switch = on.switch.model_copy(update={"congestion_control": control})
        self._marks = marks
        self.rig = Rig(on.model_copy(update={"switches": {"": switch}}), 2, data=True)
        self.seen = Counter[str]()
        for peer in self.rig.peers:
            lose(peer.adapter.ports[0].transmitter, ChosenLosses(self._choose))

    def _choose(self, packet: Packet) -> Fate | None:
        if packet.opcode is Opcode.CNP or (packet.headers and packet.headers[-1] is BECN):
            self.seen[packet.opcode.name] += 1
        marked = packet.payload > 0 and self._marks(packet)
        self.seen["marked"] += marked
        return Fate.MARK if marked else None

    def count(self, name: str) -> list[int]:
        return [peer.adapter.counters()[name] for peer in self.rig.peers]


def test_acknowledgements_tell_of_their_packets_and_cnps_of_others() -> None:
    run = Marked()
    a, b, qp, _ = run.rig.joined()
    a.mr.write(Random(1).randbytes(1 << 16))
    assert succeeded(run.rig.exchange(qp, a, *[a.request(WRITE, b, 1 << 14)] * 4))
    assert b.mr.read(1 << 14, 0) == a.mr.read(1 << 14, 0)
    told = run.seen["CNP"] + run.seen["ACKNOWLEDGE"]
    assert told == run.seen["marked"]
    assert run.seen["ACKNOWLEDGE"] >= 4 < run.seen["CNP"]
    assert run.count("port_pkt_rcv_fecn") == [0, told]
    assert run.count("port_pkt_rcv_becn") == [told, 0]


@pytest.mark.parametrize("timer", [1, 1000])
def test_what_is_told_leaves_no_faster_than_its_static_rate(timer: int) -> None:
    # The table delays by an eighth: all the time, or until the timer has gone back soon after.
    control = CONTROL.model_copy(update={"ccti_timer": timer, "cct": "0:0,3:1"})
    run = Marked(control, lambda packet: packet.psn % 4 == 0)
    a, b, qp, _ = run.rig.joined(static_rate=2.5)
    size = 1 << 18
    assert succeeded(run.rig.exchange(qp, a, a.request(WRITE, b, size)))
    full = 2048 + 26 + 2
    assert run.seen["marked"] > 20
    assert run.rig.sim.now >= (size // 2048 - 1) * full * 4 * 1000


@pytest.mark.parametrize(
    ("opcode", "kind", "becns"),
    [(READ, QPType.RC, "responder"), (WRITE, QPType.UC, "requester"), (SEND, QPType.UD, "nobody")],
)
def test_who_is_told(opcode: WROpcode, kind: QPType, becns: str) -> None:
    run = Marked()
    a, b = run.rig.peers
    size = 1024 if kind is QPType.UD else 1 << 14
    if kind is QPType.UD:
        qp, far = (QP(one.pd, one.cq, one.cq, qp_type=kind) for one in (a, b))
        qp.activate()
        far.activate()
        request = a.request(opcode, b, size)
        request.dlid, request.remote_qpn = far.lid, far.qp_num
    else:
        qp, _ = run.rig.connect(a, b, qp_type=kind)
        request = a.request(opcode, b, size)
    assert succeeded(run.rig.exchange(qp, a, request))
    marked = run.seen["marked"]
    assert marked > 0
    expected = {"responder": [0, marked], "requester": [marked, 0], "nobody": [0, 0]}[becns]
    assert run.count("port_pkt_rcv_becn") == expected


HOT = [(node, 0, 0) for node in (1, 2, 3, 4, 16)]
"""Five flows into a node, one of which shares a trunk with one of another node."""


def rates(flows: list[tuple[int, int, int]], begin_us: int, end_us: int, **more: Any) -> list[int]:
    """Bytes of each flow, from node to node on a service level, between two times."""
    on = resolve("fat-tree-64")
    switches = {name: one.model_copy(update=more) for name, one in on.switches.items()}
    sim = Simulator(True)
    cluster = Cluster(sim, on.model_copy(update={"switches": switches}), 18)
    sides = []
    for source, target, level in flows:
        options = Options(size=65536, iters=1 << 20, exact=True, tx_depth=8, sl=level)
        sides += join(cluster, (source, target), options, WROpcode.RDMA_WRITE)
    start(sim, sides)
    ports = [side.home.adapter.ports[0].egress for side in sides[::2]]
    sim.run(until=begin_us * 10**6)
    before = [port.payload_bytes for port in ports]
    sim.run(until=end_us * 10**6)
    return [port.payload_bytes - one for port, one in zip(ports, before, strict=True)]


def test_a_lane_of_its_own_keeps_a_victim_from_the_hot_spot() -> None:
    victim = (17, 8, 1)
    (alone,) = rates([victim], 200, 500)
    *hot, slow = rates([*HOT, victim], 200, 500)
    assert slow == pytest.approx(alone / 5, rel=0.05)
    assert sum(hot) == pytest.approx(alone, rel=0.03)
    *hot, fast = rates([*HOT, victim], 200, 500, qos=Qos(max_vls=2))
    # What the hot flow leaves of the trunk.
    assert fast == pytest.approx(alone * 4 / 5, rel=0.03)
    assert sum(hot) == pytest.approx(alone, rel=0.03)


@pytest.mark.check
def test_congestion_control_keeps_a_victim_from_the_hot_spot() -> None:
    cct = ",".join(f"3:{place * place // 16}" for place in range(128))
    control = CONTROL.model_copy(update={"cct": cct, "ccti_increase": 1})
    victim = (17, 8, 0)
    (alone,) = rates([victim], 200, 500)
    *hot, fast = rates([*HOT, victim], 5_000, 8_000, congestion_control=control)
    assert fast > 0.9 * 10 * alone * 4 / 5
    assert sum(hot) > 0.9 * 10 * alone
    assert jain(hot) > 0.9
