"""Congestion control of RoCE: who is told of packets that switches mark, and how fast it may send.

Sources: Zhu and others, "Congestion Control for Large-Scale RDMA Deployments" (SIGCOMM 2015), which
is DCQCN; mstconfig, help of ROCE CC ECN, whose names the parameters bear; InfiniBand Architecture
Specification volume 1, annex A17 (RoCEv2), of the packet that tells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from hcasim.catalog.adapter import Dcqcn as Parameters
from hcasim.catalog.adapter import RoceCc
from hcasim.engine import Simulator
from hcasim.engine.changes import Changes
from hcasim.fabric.link import Transmitter
from hcasim.fabric.packet import Header, Opcode, Packet, Route
from hcasim.hca.egress import Egress
from hcasim.hca.qp.endpoint import Endpoint
from hcasim.hca.qp.pacing import Pacing
from hcasim.hca.wqe import SendWqe

_RESERVED: Final = Header(16)
"""What a CNP has behind its base transport header."""
_OF_LOSS: Final = Header(16)
"""Likewise one that tells of a loss where nothing is marked: it changes no rate."""
_NEVER: Final = 1 << 62
_MEGABIT: Final = 10**6
_FRACTION: Final = 10
"""Bits behind the point of fixed-point parameters."""
_FINER: Final = 20
"""Bits that alpha has behind those."""


class HeldBack:
    """Time in ps in which packets of at least one queue pair are held back to its rate."""

    changes: ClassVar[Changes] = Changes(counts="wait_ps", times="_until")

    def __init__(self) -> None:
        self.wait_ps = self._until = 0

    def hold(self, begin_ps: int, until_ps: int) -> None:
        begin_ps = max(begin_ps, self._until)
        if until_ps > begin_ps:
            self.wait_ps += until_ps - begin_ps
            self._until = until_ps


class Notifications:
    """Tells queue pairs by CNPs that what they have sent was marked, or lost, on its way.

    Who is told of losses alone keeps its rate: two ConnectX-5 that send to a third through a switch
    that only drops take milliseconds to seconds until one of them slows down (simllm, ANOM-18).
    """

    changes: ClassVar[Changes] = Changes(times="_next_at")

    def __init__(
        self, sim: Simulator, description: RoceCc, counts: dict[str, int], egresses: list[Egress]
    ) -> None:
        self._sim = sim
        self.description = description
        self.held = HeldBack()
        self._counts = counts
        self._egresses = egresses
        self._next_at: dict[tuple[int, int], int] = {}
        self._marks = False

    def marked(self, packet: Packet, end: Endpoint | None) -> None:
        """A marked packet has come to an end; None if it does not know the one that has sent it."""
        self._marks = True
        self._counts["np_ecn_marked_roce_packets"] += 1
        if end is not None and packet.opcode is not Opcode.CNP:
            self._tell(end, not packet.answers)

    def refused(self, end: Endpoint) -> None:
        """The end has sent a NAK, because packets are missing."""
        if self.description.cnp_with_nak:
            self._tell(end, True, _RESERVED if self._marks else _OF_LOSS)

    def _tell(self, end: Endpoint, requester: bool, why: Header = _RESERVED) -> None:
        description, route, now = self.description, end.path.route, self._sim.now
        limited = {"port": 0, "address_pair": route.lid, "queue_pair": end.qpn}
        name = end.port, limited[description.cnp_limit]
        if now < self._next_at.get(name, 0):
            return
        self._next_at[name] = now + description.min_time_between_cnps
        level = description.cnp_802p_prio
        way = Route(route.lid, level, route.pkey, route.grh, route.extra)
        packet = Packet(Opcode.CNP, way, end.path.qpn, 0, 0, (why,), size_of=end.size_of)
        packet.answers = requester
        self._counts["np_cnp_sent"] += 1
        self._egresses[end.port].acknowledge_at_once(packet)


class RateControl(Pacing):
    """Holds the packets of one half of a queue pair back to a rate that CNPs change.

    Args:
        held: told of the time that packets are held back.

    Attributes:
        line_rate: bit/s of the link; the half is released when its rate is that.
        rate: bit/s.
    """

    def __init__(self, link: Transmitter, held: HeldBack, release: Callable[[], None]) -> None:
        super().__init__(link.sim)
        self._held = held
        self._link = link
        self._release = release
        self.line_rate = self.rate = int(8 * 10**12 // link.medium.ps_per_byte)

    def notified(self) -> None:
        """A CNP has come."""
        raise NotImplementedError

    def go_on(self) -> bool:
        """Bring the rate up to date; return whether the half may be released."""
        raise NotImplementedError

    def count(self, packet: Packet) -> None:
        """Note that a packet leaves."""
        raise NotImplementedError

    def earliest(self, wqe: SendWqe | None) -> int:
        if self.go_on():
            self._release()
        self._held.hold(self._sim.now, self.next_at)
        return self.next_at

    def sent(self, packet: Packet) -> None:
        self.go_on()
        self.count(packet)
        duration = self._link.serialisation(packet) * self.line_rate // self.rate
        self.next_at = self._begun_at + duration
        self._begun = False


class Dcqcn(RateControl):
    """DCQCN: a CNP cuts the rate by a share, alpha, of its half; it comes back to what it was, and
    from there on grows by steps.

    Alpha is a moving average of whether a CNP has come. Each expiry of a timer and each so many
    bytes sent, counted from the last cut, are a stage: the first of either halve the way to the
    target; then the target grows, faster once both are through.

    All is done when a packet or a CNP comes, for the times before: no event is spent on it.

    Attributes:
        target: bit/s that the rate tends to.
        alpha: of 2 ** 30.
        stages: expiries of the timer, and how often the byte counter has run over.
    """

    def __init__(
        self,
        link: Transmitter,
        parameters: Parameters,
        held: HeldBack,
        release: Callable[[], None],
    ) -> None:
        super().__init__(link, held, release)
        self._parameters = parameters
        self.target = self.line_rate
        self.alpha = parameters.initial_alpha_value << _FINER
        self.stages = [0, 0]
        self._since = self._alpha_at = self._sim.now
        self._cut_at = self._timer_at = _NEVER
        self._may_cut_at = self._bytes = 0
        self._noticed = False

    def notified(self) -> None:
        now, period = self._sim.now, self._parameters.rate_reduce_monitor_period
        self.go_on()
        self._average(now)
        self._noticed = now > self._since
        if self._cut_at == _NEVER:
            begin = self._since + -(-(now - self._since) // period) * period
            self._cut_at = max(begin, self._may_cut_at)
        self.go_on()

    def go_on(self) -> bool:
        now = self._sim.now
        if self._cut_at <= now:
            self._expire(self._cut_at)
            self._cut(self._cut_at)
        self._expire(now)
        return self.rate >= self.line_rate and self._cut_at == _NEVER

    def count(self, packet: Packet) -> None:
        reset = self._parameters.rpg_byte_reset
        self._bytes += packet.size
        while 0 < reset <= self._bytes:
            self._bytes -= reset
            self._increase()
            self.stages[1] += 1

    def _average(self, until_ps: int) -> None:
        """Bring alpha up to date."""
        keep, period = self._parameters.dce_tcp_g, self._parameters.dce_tcp_rtt
        periods = (until_ps - self._alpha_at) // period
        self._alpha_at += periods * period
        while periods and (self.alpha or self._noticed):
            self.alpha = self.alpha * keep >> _FRACTION
            if self._noticed:
                self._noticed = False
                self.alpha += (1 << _FRACTION) - keep << _FINER
            periods -= 1

    def _cut(self, at_ps: int) -> None:
        parameters, rate = self._parameters, self.rate
        self._average(at_ps)
        by_time, by_bytes = self.stages
        if (
            parameters.clamp_tgt_rate
            or by_bytes
            or (by_time and parameters.clamp_tgt_rate_after_time_inc)
        ):
            self.target = rate
        cut = rate - (rate * self.alpha >> (parameters.rpg_gd + _FINER))
        least = max(rate * parameters.rpg_min_dec_fac // 100, parameters.rpg_min_rate * _MEGABIT)
        self.rate = min(rate, max(cut, least))
        self.stages = [0, 0]
        self._bytes = 0
        self._timer_at = at_ps + parameters.rpg_time_reset
        self._may_cut_at = at_ps + parameters.rate_reduce_monitor_period
        self._cut_at = _NEVER

    def _expire(self, until_ps: int) -> None:
        """Deal with what the timer has come to."""
        while self._timer_at <= until_ps and self.rate < self.line_rate:
            self._timer_at += self._parameters.rpg_time_reset
            self._increase()
            self.stages[0] += 1

    def _increase(self) -> None:
        parameters = self._parameters
        by_time, by_bytes = self.stages
        if not parameters.rpg_byte_reset:
            by_bytes = by_time
        if min(by_time, by_bytes) > parameters.rpg_threshold:
            self.target += parameters.rpg_hai_rate * _MEGABIT
        elif max(by_time, by_bytes) >= parameters.rpg_threshold:
            self.target += parameters.rpg_ai_rate * _MEGABIT
        self.target = min(self.target, self.line_rate)
        self.rate = (self.rate + self.target + 1) // 2


def slows_down(packet: Packet) -> bool:
    """Whether who gets a CNP slows down."""
    return packet.headers[0] is not _OF_LOSS


def notified(
    pacing: Pacing | None, link: Transmitter, by: Notifications, release: Callable[[], None]
) -> RateControl:
    """What holds the packets of a half back from now on, to which a CNP has come."""
    if not isinstance(pacing, RateControl):
        pacing = Dcqcn(link, by.description.dcqcn, by.held, release)
        pacing.begin()
    pacing.notified()
    return pacing
