"""How adapters tell of marked packets, and what their senders do about it."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from math import exp
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.catalog import load, resolve
from hcasim.catalog.adapter import Adapter
from hcasim.catalog.congestion import Dcqcn as Parameters
from hcasim.engine import Simulator
from hcasim.fabric import Opcode, Packet, Transmitter
from hcasim.fabric.loss import ChosenLosses, Fate, lose
from hcasim.fabric.packet import Route
from hcasim.fabric.wire import Rocev2Format
from hcasim.hca.qp.congestion.dcqcn import Dcqcn
from hcasim.hca.qp.congestion.notifications import HeldBack
from hcasim.study.capture.infiniband import headers
from hcasim.verbs import AH, DCI, DCT, QP, SRQ, AHAttr, GlobalRoute, QPType
from tests.rig import (
    READ,
    SEND,
    WRITE,
    Rig,
    check_that_nothing_is_lent,
    statuses,
    succeeded,
)

US = 10**6
MEGABIT = 10**6
PERIOD = 4 * US
LINK = resolve("pair-roce").groups[0].link


def described(**changes: Any) -> Parameters:
    """The parameters of firmware, without a byte counter, but for these."""
    model = load("connectx4", "adapters").model
    assert isinstance(model, Adapter)
    assert model.roce_cc is not None
    return model.roce_cc.dcqcn.model_copy(update={"rpg_byte_reset": 0} | changes)


PAPER = described(
    rpg_time_reset=55 * US,
    rpg_byte_reset=10**7,
    rpg_threshold=5,
    rpg_ai_rate=40,
    rpg_hai_rate=400,
    dce_tcp_g=1020,
    dce_tcp_rtt=55 * US,
    rate_reduce_monitor_period=1,
)


class Controlled:
    """Sends packets as fast as it may, and is told of CNPs: of the first when it is made."""

    def __init__(self, parameters: Parameters, begin_ps: int = 0) -> None:
        self.sim = Simulator()
        self.sim.run(until=begin_ps)
        self.link = Transmitter(self.sim, "link", LINK)
        self.released = 0
        self.control = Dcqcn(self.link, parameters, HeldBack(), self._release)
        self.packet = Packet(Opcode.SEND, Route(1), 1, 0)
        self.packet.size = 1086
        self.line = self.control.line_rate

    def _release(self) -> None:
        self.released += 1

    def rate_at(self, ps: int) -> int:
        self.sim.run(until=ps)
        self.control.earliest(None)
        return self.control.rate

    def cnp(self, *times: int) -> int:
        for ps in times:
            self.sim.run(until=ps)
            self.control.notified()
        return self.control.rate

    def cut(self, ps: int) -> int:
        """The rate a period of the monitor after a first CNP, by which it has been cut."""
        self.cnp(ps)
        return self.rate_at(ps + PERIOD)

    def sends(self, until_ps: int) -> Iterator[None]:
        while (earliest := max(self.sim.now, self.control.earliest(None))) < until_ps:
            self.sim.run(until=earliest)
            self.control.begin()
            self.control.sent(self.packet)
            yield


def test_the_first_cnp_takes_half_of_alpha_from_the_line_rate_when_its_period_is_over() -> None:
    one = Controlled(described(dce_tcp_rtt=9 * US), 7 * US)
    assert one.line == pytest.approx(LINK.gigabits * 10**9)
    one.cnp(7 * US)
    assert one.rate_at(7 * US + PERIOD - 1) == one.line
    assert not one.released
    assert one.rate_at(7 * US + PERIOD) == one.line - one.line * 1023 // 2048
    assert one.control.target == one.line
    quarter = Controlled(described(rpg_gd=12, initial_alpha_value=512, dce_tcp_rtt=9 * US))
    assert quarter.cut(0) == quarter.line - quarter.line // 8
    floor = Controlled(described(rpg_min_dec_fac=60))
    assert floor.cut(0) == floor.line * 60 // 100


def test_packets_leave_at_the_rate() -> None:
    one = Controlled(described(rpg_time_reset=10**12))
    rate = one.cut(0)
    begun = [one.sim.now for _ in one.sends(100 * US)]
    gaps = {after - before for before, after in pairwise(begun)}
    assert gaps == {one.link.serialisation(one.packet) * one.line // rate}


def test_the_rate_goes_half_the_way_back_then_the_target_grows_then_faster() -> None:
    timer = 300 * US
    one = Controlled(described(rpg_threshold=3))
    one.cut(0)
    first = one.rate_at(timer + PERIOD)
    # The second cut: the timer has increased the rate, which is the target then.
    one.cnp(timer + PERIOD)
    begin, target = timer + 2 * PERIOD, first
    rate = one.rate_at(begin)
    assert one.control.target == target
    for stage, step in enumerate([0, 0, 0, 5, 50, 50]):
        at = begin + (stage + 1) * timer
        assert one.rate_at(at - 1) == rate
        target += step * MEGABIT
        rate = (rate + target + 1) // 2
        assert one.rate_at(at) == rate
        assert one.control.target == target


def test_bytes_increase_the_rate_as_the_timer_does_and_both_together_faster() -> None:
    one = Controlled(described(rpg_threshold=1, rpg_byte_reset=100 * 1086, rpg_time_reset=10**9))
    one.cut(0)
    one.control.target = one.line // 2 + 1000 * MEGABIT
    rate, target = one.control.rate, one.control.target
    steps = []
    for _ in one.sends(900 * US):
        if one.control.target != target:
            steps.append((one.control.target - target) // MEGABIT)
            target = one.control.target
    assert one.control.stages[0] == 0
    # The first goes half the way to the target only.
    assert steps == [5] * (one.control.stages[1] - 1)
    one.control.stages[:] = [2, 2]
    for _ in one.sends(one.sim.now + 100 * US):
        pass
    assert (one.control.target - target) // MEGABIT % 50 == 0
    assert one.control.target > target
    assert one.control.rate > rate


def test_alpha_decays_in_each_period_without_a_cnp_and_grows_in_one_with_it() -> None:
    one = Controlled(described(rpg_time_reset=10**12))
    first, keep = 1023 / 1024, 1019 / 1024
    assert one.cut(0) == pytest.approx(one.line * (1 - first * keep**4 / 2), rel=1e-6)
    one.cnp(200 * US)
    rate = one.rate_at(204 * US)
    alpha = (first * keep**201 + 5 / 1024) * keep**3
    assert one.control.alpha / 2**30 == pytest.approx(alpha, rel=1e-6)
    cut = (1 - first * keep**4 / 2) * (1 - alpha / 2)
    assert rate == pytest.approx(one.line * cut, rel=1e-6)
    one.rate_at(206 * US)
    one.cnp(207 * US)
    alpha *= keep**3
    assert one.control.alpha / 2**30 == pytest.approx(alpha, rel=1e-6)


def test_one_cut_in_each_period_of_the_monitor() -> None:
    one = Controlled(described(rpg_time_reset=10**12))
    assert one.cnp(0, 0, 1 * US, 2 * US, 4 * US - 1) == one.line
    first = one.rate_at(4 * US)
    assert first < one.line
    assert one.rate_at(30 * US) == first
    assert one.cnp(31 * US) == first
    second = one.rate_at(32 * US)
    assert second < first
    assert one.cnp(32 * US, 36 * US - 1) == second
    third = one.rate_at(36 * US)
    assert third < second
    assert one.rate_at(60 * US) == third


@pytest.mark.parametrize(
    ("clamp", "after_time", "timer_first", "follows"),
    [(False, False, True, False), (False, True, True, True), (True, False, False, True)],
)
def test_when_a_cut_makes_the_rate_the_target(
    clamp: bool, after_time: bool, timer_first: bool, follows: bool
) -> None:
    changes = {"clamp_tgt_rate": clamp, "clamp_tgt_rate_after_time_inc": after_time}
    one = Controlled(described(**changes))
    one.cut(0)
    rate = one.rate_at(305 * US if timer_first else 200 * US)
    one.cnp(one.sim.now)
    one.rate_at(one.sim.now + PERIOD)
    assert one.control.target == (rate if follows else one.line)


def test_at_line_rate_the_limit_is_gone_and_a_cnp_begins_anew() -> None:
    one = Controlled(described())
    one.cnp(0)
    assert one.rate_at(20 * 300 * US) < one.line
    assert not one.released
    assert one.rate_at(60 * 300 * US) == one.line
    assert one.released == 1


@given(
    gaps=st.lists(st.integers(0, 10**9), max_size=40),
    clamp=st.booleans(),
    reset=st.sampled_from([0, 1086, 10**5]),
    least=st.integers(1, 200_000),
)
def test_the_rate_is_between_the_least_and_the_line_rate(
    gaps: list[int], clamp: bool, reset: int, least: int
) -> None:
    one = Controlled(described(clamp_tgt_rate=clamp, rpg_byte_reset=reset, rpg_min_rate=least))
    low = min(least * MEGABIT, one.line)
    for gap in gaps:
        before = one.control.rate
        one.cnp(one.sim.now + gap)
        for _, _ in zip(range(3), one.sends(one.sim.now + gap), strict=False):
            assert low <= one.control.rate <= one.control.target <= one.line
        assert before >= low


def fixed_point(parameters: Parameters, between_ps: int, share: float, bits: float) -> float:
    """Bit/s of a flow of which each packet of so many bits is marked with a probability.

    From a CNP to the next are D + Exp(l), with l the marked packets a second: at least k expiries
    of the timer T come in between with c s^k, c = exp(l D) and s = exp(-l T). A cut takes a R / 2,
    to which it adds what is left of the last if no expiry came between, E = (a R / 2) / (c s). It
    is made good but for E / 2^n when n have come; the target grows by n - F steps A, of which the
    rate lacks A (1 - 2^(F - n)). In the long run as much is won as is lost:

        A E[(n - F)+ - 1 + 2^-(n - F)+] = E E[2^-n; n > 0], that is
        A c s^(F + 1) / (1 - s)^2 = a R / 2.

    Alpha is the share of its periods with a CNP. Small l gives the law of Zhu and others (CoNEXT
    2016, theorem 1) without bytes, R^4 ~ A / (p^3 T^2 tau).
    """
    timer, period, dead = (
        ps / 10**12 for ps in (parameters.rpg_time_reset, parameters.dce_tcp_rtt, between_ps)
    )
    low, high = 1.0, 10.0**12
    while high / low > 1.0001:
        rate = (low * high) ** 0.5
        marked = share * rate / bits
        s, c = exp(-marked * timer), exp(marked * dead)
        alpha = 1 - exp(-marked * (period - dead)) / marked / (dead + 1 / marked)
        won = parameters.rpg_ai_rate * MEGABIT * c * s ** (parameters.rpg_threshold + 1)
        low, high = (rate, high) if won / (1 - s) ** 2 > alpha * rate / 2 else (low, rate)
    return low


@pytest.mark.parametrize("share", [0.004, 0.008])
@pytest.mark.parametrize("ai", [10, 40])
def test_in_the_long_run_a_flow_has_the_rate_of_the_fixed_point(share: float, ai: int) -> None:
    between, parameters = 50 * US, PAPER.model_copy(update={"rpg_ai_rate": ai})
    one, draw, told = Controlled(parameters), Random(1), -between
    one.cnp(0)
    one.control.rate = one.control.target = one.line // 10
    warm, end, sent = 10**11, 4 * 10**11, 0
    for _ in one.sends(end):
        now = one.sim.now
        sent += now >= warm
        if draw.random() < share and now >= told + between:
            told = now
            one.control.notified()
    bits = one.link.serialisation(one.packet) * one.line / 10**12
    rate = sent * bits / (end - warm) * 10**12
    assert rate == pytest.approx(fixed_point(parameters, between, share, bits), rel=0.1)


MTU = 1024
SETTINGS = {
    # What is staged when a CNP comes leaves at line rate.
    "adapter.send.port_buffer": "32 KiB",
    "adapter.roce_cc.min_time_between_cnps": "50 us",
    "adapter.roce_cc.cnp_802p_prio": "5",
    "adapter.roce_cc.cnp_with_nak": "true",
    "adapter.roce_cc.cnp_limit": "port",
    "adapter.roce_cc.dcqcn.rpg_byte_reset": "0 B",
    "adapter.roce_cc.dcqcn.rpg_time_reset": "300 us",
    "adapter.roce_cc.dcqcn.initial_alpha_value": "1023",
}


class Marked:
    """A rig over Ethernet whose nodes' packets may be marked; it notes the CNPs on each way out."""

    def __init__(
        self, nodes: int = 2, selective: str = "false", restart: str = "true", **settings: str
    ) -> None:
        changes = {f"adapter.roce_cc.{name}": value for name, value in settings.items()}
        changes["adapter.roce_accl.selective_repeat_forced_en"] = selective
        changes["adapter.roce_accl.roce_slow_restart_en"] = restart
        switch = "spectrum" if nodes > 2 else False
        on = resolve("pair-roce", overrides=SETTINGS | changes, switch=switch)
        if nodes > 2:
            (group,) = on.groups
            on = on.model_copy(update={"groups": (group.model_copy(update={"count": nodes}),)})
        self.rig = Rig(on, nodes, data=True)
        self.cnps: list[tuple[int, Packet]] = []
        self.marked = 0

    def mark(self, node: int, fate: Callable[[Packet], Fate | None]) -> None:
        """What becomes of the packets that a node sends."""

        def choose(packet: Packet) -> Fate | None:
            if packet.opcode is Opcode.CNP:
                self.cnps.append((self.rig.sim.now, packet))
            found = fate(packet)
            self.marked += found is Fate.MARK
            return found

        lose(self.rig.peers[node].adapter.ports[0].transmitter, ChosenLosses(choose))

    def count(self, name: str) -> list[int]:
        return [peer.adapter.counters()[name] for peer in self.rig.peers]


def data(packet: Packet) -> Fate | None:
    return Fate.MARK if packet.payload else None


def never(packet: Packet) -> None:
    return None


def test_marked_packets_bring_a_cnp_in_each_interval_and_all_arrives() -> None:
    run = Marked()
    a, b, qp, remote = run.rig.joined()
    a.mr.write(Random(1).randbytes(1 << 20))
    run.mark(0, data)
    run.mark(1, never)
    assert succeeded(run.rig.exchange(qp, a, a.request(WRITE, b, 1 << 20)))
    assert b.mr.read(1 << 20, 0) == a.mr.read(1 << 20, 0)
    times = [ps for ps, _ in run.cnps]
    assert len(times) > 3
    assert min(after - before for before, after in pairwise(times)) >= 50 * US
    packet = run.cnps[0][1]
    # Ethernet 14 + 4, IPv4 20, UDP 8, BTH 12, 16 reserved, ICRC 4.
    assert (
        packet.size == Rocev2Format("ipv4", tagged=False).size(Opcode.CNP, 0, packet.headers) == 78
    )
    assert (packet.route.service_level, packet.qpn) == (5, qp.qp_num)
    written = headers(packet, QPType.UC)
    assert (written[0], len(written), any(written[12:])) == (0x81, 28, False)
    assert run.marked == (1 << 20) // MTU
    assert run.count("np_ecn_marked_roce_packets") == [0, run.marked]
    assert run.count("np_cnp_sent") == [0, len(times)]
    assert run.count("rp_cnp_handled") == [len(times), 0]
    check_that_nothing_is_lent(run.rig, (qp, remote))


def took(opcode: Any, fate: Callable[[Packet], Fate | None], **settings: str) -> int:
    run = Marked(**settings)
    a, b, qp, _ = run.rig.joined()
    run.mark(0, fate)
    run.mark(1, fate)
    begin = run.rig.sim.now
    (done,) = run.rig.exchange(qp, a, a.request(opcode, b, 1 << 22))
    assert done.timestamp_ps is not None
    return done.timestamp_ps - begin


@pytest.mark.parametrize("opcode", [WRITE, READ])
def test_what_was_cut_once_goes_on_at_half_the_rate(opcode: Any) -> None:
    """Also the responses of a read, about which the requester tells."""
    first = iter([Fate.MARK])
    settings, before = {"dcqcn.rpg_time_reset": "10 ms"}, PERIOD + 5 * US
    free = took(opcode, never)
    cut = took(opcode, lambda packet: next(first, None) if packet.payload else None, **settings)
    # Alpha has decayed four times; what went before the cut, and was staged, did so at line rate.
    share = 1 - 1023 / 2048 * (1019 / 1024) ** 4
    assert cut == pytest.approx(before + (free - before) / share, rel=0.01)


def test_an_adapter_without_congestion_control_does_not_care() -> None:
    fates = data, never
    slow, free = (took(WRITE, fate) for fate in fates)
    assert slow > 2 * free
    other = [took_by("connectx3-en", fate) for fate in fates]
    assert other[0] == other[1]


def took_by(adapter: str, fate: Callable[[Packet], Fate | None]) -> int:
    rig = Rig(resolve("pair-roce", adapter=adapter))
    a, b, qp, _ = rig.joined()
    lose(a.adapter.ports[0].transmitter, ChosenLosses(fate))
    (done,) = rig.exchange(qp, a, a.request(WRITE, b, 1 << 20))
    assert done.timestamp_ps is not None
    assert "np_cnp_sent" not in b.adapter.counters()
    return done.timestamp_ps


@pytest.mark.parametrize(
    ("limit", "expected"), [("port", 1), ("address_pair", 2), ("queue_pair", 3)]
)
def test_cnps_are_limited_for_the_port_a_pair_of_addresses_or_a_queue_pair(
    limit: str, expected: int
) -> None:
    run = Marked(3, cnp_limit=limit, min_time_between_cnps="1 ms")
    a, b, c = run.rig.peers
    pairs = [run.rig.connect(peer, c) for peer in (a, a, b)]
    for node in (0, 1):
        run.mark(node, data)
    run.mark(2, never)
    run.rig.run(
        a.send(pairs[0][0], a.request(WRITE, c, 8192)),
        a.send(pairs[1][0], a.request(WRITE, c, 8192), collect=0),
        b.send(pairs[2][0], b.request(WRITE, c, 8192)),
    )
    assert len({packet.qpn for _, packet in run.cnps}) == len(run.cnps) == expected


@pytest.mark.parametrize(
    ("with_nak", "marks", "restart"),
    [(True,) * 3, (True, False, False), (False, True, False), (False, False, True), (False,) * 3],
)
@pytest.mark.parametrize("selective", ["true", "false"])
def test_a_cnp_of_marks_or_of_a_loss_and_a_slow_restart_slow_down(
    with_nak: bool, marks: bool, restart: bool, selective: str
) -> None:
    settings = {"cnp_with_nak": str(with_nak).lower(), "min_time_between_cnps": "0 ns"}
    run = Marked(selective=selective, restart=str(restart).lower(), **settings)
    a, b, qp, _ = run.rig.joined()
    fates = iter([Fate.MARK if marks else None, None, Fate.DROP])
    run.mark(0, lambda packet: next(fates, None))
    run.mark(1, never)
    assert statuses(run.rig.exchange(qp, a, a.request(WRITE, b, 8 * MTU))) == ["SUCCESS"]
    assert run.rig.counter("naks") == 1
    assert len(run.cnps) == marks + with_nak
    # Slow restart counts what is sent again as another one.
    assert run.count("rp_cnp_handled") == [len(run.cnps) + restart, 0]
    assert (qp._qp.requester.pacing is not None) == (marks or with_nak or restart)


def test_unreliable_connections_and_dynamic_ones_are_told_but_not_datagrams() -> None:
    for kind, expected in ((QPType.UC, 1), (QPType.UD, 0)):
        run = Marked()
        a, b = run.rig.peers
        run.mark(0, data)
        run.mark(1, never)
        more: dict[str, Any] = {}
        if kind is QPType.UD:
            qp, remote = (QP(peer.pd, peer.cq, peer.cq, qp_type=kind) for peer in (a, b))
            qp.activate()
            remote.activate()
            more = {"dlid": remote.lid, "remote_qpn": remote.qp_num}
        else:
            qp, remote = run.rig.connect(a, b, qp_type=kind)
        run.rig.run(b.post_receives(remote, b.receive(2048)))
        assert succeeded(run.rig.exchange(qp, a, a.request(SEND, b, 1024, **more)))
        assert len(run.cnps) == expected
        assert run.count("np_ecn_marked_roce_packets") == [0, 1]
        assert run.count("rp_cnp_handled") == [expected, 0]


def test_an_initiator_is_told_of_what_it_has_sent_to_a_target() -> None:
    run = Marked()
    a, b = run.rig.peers
    run.mark(0, data)
    run.mark(1, never)
    dct, dci = DCT(b.pd, b.cq, SRQ(b.pd), 7), DCI(a.pd, a.cq)
    for end in (dci, dct):
        end.activate()
    way = AH(a.pd, AHAttr(GlobalRoute(b.context.query_gid()), dct.lid, is_global=True))
    more = {"ah": way, "remote_qpn": dct.dctn, "dc_key": 7}
    assert succeeded(run.rig.exchange(dci, a, a.request(WRITE, b, 2048, **more)))
    assert [packet.qpn for _, packet in run.cnps] == [dci.qp_num]
    assert run.count("rp_cnp_handled") == [1, 0]


def test_a_cnp_that_comes_marked_brings_none() -> None:
    run = Marked()
    a, b, qp, _ = run.rig.joined()
    run.mark(0, data)
    run.mark(1, lambda packet: Fate.MARK if packet.opcode is Opcode.CNP else None)
    assert succeeded(run.rig.exchange(qp, a, a.request(WRITE, b, 2048)))
    assert run.count("np_cnp_sent") == [0, 1]
    assert run.count("np_ecn_marked_roce_packets") == [1, 2]


def test_reads_go_on_without_a_limit_once_the_rate_has_come_back() -> None:
    first = iter([Fate.MARK])
    settings = {"dcqcn.rpg_time_reset": "1 us", "dcqcn.rpg_threshold": "1"}
    run = Marked(2, "false", **settings)
    a, b, qp, _ = run.rig.joined()
    run.mark(0, never)
    run.mark(1, lambda packet: next(first, None) if packet.payload else None)
    for _ in range(2):
        assert succeeded(run.rig.exchange(qp, a, a.request(READ, b, 1 << 22)))
    assert run.count("rp_cnp_handled") == [0, 1]
