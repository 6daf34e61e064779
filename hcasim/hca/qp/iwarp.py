"""The halves of iWARP's queue pairs, and what TCP does about losses.

What asks for data and is lost, or its answer, is asked for again by the requester, as over
InfiniBand; TCP would send the answer again.
"""

from __future__ import annotations

from typing import ClassVar, Final

from hcasim.engine import Call, Simulator
from hcasim.fabric.packet import PSN_MODULUS, Opcode, Packet, Syndrome, behind
from hcasim.hca.parts import Parts
from hcasim.hca.port import Arrival, Verdict
from hcasim.hca.qp.endpoint import Endpoint
from hcasim.hca.qp.go_back import GoBack
from hcasim.hca.qp.pacing import FOR_EVER, Pacing
from hcasim.hca.qp.retry_timer import RetryTimer
from hcasim.hca.qp.selective_repeat import SelectiveRequester, SelectiveResponder
from hcasim.hca.wqe import SendWqe

DUPLICATES: Final = 3
"""Duplicate acknowledgements after which a segment is taken for lost (RFC 5681, 3.2)."""


class IwarpRequester(SelectiveRequester):
    """The requester of iWARP, where TCP acknowledges segments of responses, too."""

    def addresses_all(self) -> bool:
        # Each segment does (RFC 5041, 4.2); it is of use only where some are lost.
        return self._sim.forward is None

    def asks_for_acknowledgement(self, last: bool) -> bool:
        """As ever, and behind what fills a congestion window: nothing would tell of it otherwise.

        A receiver of TCP acknowledges at once what fills a gap, and anything before long (RFC 5681,
        4.2).
        """
        asks = super().asks_for_acknowledgement(last)
        window = self.pacing
        if asks or window is None or not isinstance(window, CongestionWindow):
            return asks
        if window.flight + 1 < window.cwnd:
            return False
        self.since_ack_request = 0
        return True

    def acknowledge(self, psn: int) -> None:
        """Everything up to ``psn`` has been received; what awaits a response still does."""
        following = (psn + 1) % PSN_MODULUS
        if behind(following, self.unanswered_psn + 1):
            if following == self.unanswered_psn and isinstance(self.recovery, Reno):
                self.recovery.acknowledged_again()
            return
        self.recovery.heard()
        for wqe in self.unacknowledged:
            if behind(psn, wqe.first_psn + wqe.packets - 1):
                break
            if not wqe.awaits_response:
                wqe.responded = True
        self.unanswered_psn = following
        self.recovery.acknowledged()

    def _response(self, arrival: Arrival) -> Verdict:
        packet = arrival.packet
        if packet.ack_request:
            self._parts.counts["acknowledgements"] += 1
            acknowledgement = self.end.answer(Opcode.RESPONSE_ACKNOWLEDGE, packet.psn, ())
            self.egress.acknowledge_at_once(acknowledgement)
        return super()._response(arrival)


class IwarpResponder(SelectiveResponder):
    """The responder of iWARP.

    TCP acknowledges segments of data whatever they are, also read responses, no matter what is
    still to be answered, and again what it has if one comes early (RFC 5681, 4.2). A send that
    finds no receive buffer terminates the connection (RFC 5041 section 7, RFC 5040 section 7).
    """

    not_ready: ClassVar[Syndrome] = Syndrome.REMOTE_OPERATIONAL_ERROR

    def asks_for_acknowledgement(self, sent: int, last: bool) -> bool:
        return last or sent % self._parts.description.ack.interval == 0

    def acknowledge_before(self, packet: Packet) -> None:
        self._egress.acknowledge_at_once(self._acknowledgement(packet, self.expected_psn - 1))

    def ask_for(self, ahead: int, packet: Packet, goes_back: bool = False) -> None:
        self.acknowledge_before(packet)


class BackingOff(RetryTimer):
    """A timer that takes twice as long after each expiry in a row (RFC 6298, 5.5)."""

    __slots__ = ()

    def duration_ps(self) -> int:
        return super().duration_ps() << self._tries


class CongestionWindow(Pacing):
    """Holds packets back while as many are in flight as the window of TCP has room for.

    Attributes:
        cwnd: packets, with a fraction in the making.
        ssthresh: where slow start ends.
    """

    def __init__(self, requester: SelectiveRequester, sim: Simulator) -> None:
        super().__init__(sim)
        self.cwnd = self.ssthresh = 2.0
        self._requester = requester
        self._highest = requester.next_to_send()

    @property
    def flight(self) -> int:
        first = self._requester.unanswered_psn
        return 0 if behind(self._highest, first) else (self._highest - first) % PSN_MODULUS

    def shrink(self) -> None:
        """Note that a packet was lost."""
        self.cwnd = self.ssthresh = max(self.flight / 2, 2.0)

    def begin_again(self) -> None:
        """Note that all that is in flight was lost, as far as anybody knows."""
        self.ssthresh = max(self.flight / 2, 2.0)
        self.cwnd = 1.0
        self._highest = self._requester.unanswered_psn

    def grow(self) -> None:
        """An acknowledgement of new data has come (RFC 5681, 3.1)."""
        self.cwnd += 1 if self.cwnd < self.ssthresh else 1 / self.cwnd

    def earliest(self, wqe: SendWqe | None) -> int:
        """What is sent again or asks for data goes at once; anything else if there is room."""
        if wqe is None or wqe.awaits_response or self.flight < self.cwnd:
            return 0
        if wqe.first_psn < 0:
            return FOR_EVER
        index = wqe.sent if wqe.sent and wqe.repairs is None else wqe.resumes_at
        psn = (wqe.first_psn + index) % PSN_MODULUS
        return 0 if behind(psn, self._highest) else FOR_EVER

    def update(self) -> None:
        if self.flight < self.cwnd:
            self._requester.go_on()

    def sent(self, packet: Packet) -> None:
        self._begun = False
        if behind(self._highest, (packet.psn + 1) % PSN_MODULUS):
            self._highest = (packet.psn + 1) % PSN_MODULUS


class Reno(GoBack):
    """What TCP does about losses: fast retransmit and recovery, timeout and slow start.

    The window is that of the receiver until something is lost: what RDMA adapters connect is not
    congested before. Source: RFC 5681 and, of several losses at once, RFC 6582.
    """

    def __init__(self, requester: IwarpRequester, parts: Parts) -> None:
        super().__init__(requester, parts)
        self._iwarp = requester
        self._window: CongestionWindow | None = None
        self._again = 0
        self._recovers_to = -1

    def timer(self, sim: Simulator, end: Endpoint) -> RetryTimer:
        return BackingOff(sim, end, Call(self.unanswered, ()))

    def _begin(self) -> CongestionWindow:
        window = self._window
        if window is None:
            window = self._window = CongestionWindow(self._iwarp, self._sim)
            self._iwarp.pacing = window
        return window

    def acknowledged_again(self) -> None:
        """The receiver has got something, but not what it waits for."""
        self._again += 1
        if self._again == DUPLICATES and self._recovers_to < 0:
            window = self._begin()
            window.shrink()
            window.cwnd += DUPLICATES
            self._recovers_to = self._iwarp.next_to_send()
            self._repair()
        elif self._again > DUPLICATES and self._window is not None:
            # What has arrived has left the network.
            self._window.cwnd += 1
            self._window.update()

    def _repair(self) -> None:
        self._iwarp.repair(self._iwarp.unanswered_psn)
        self._iwarp.go_on()

    def acknowledged(self) -> None:
        super().acknowledged()
        self._again = 0
        window = self._window
        if window is None:
            return
        # It runs as long as anything is in flight.
        self._timer.go_on()
        if self._recovers_to >= 0 and behind(self._iwarp.unanswered_psn, self._recovers_to):
            # The next of several that were lost.
            self._repair()
            return
        if self._recovers_to >= 0:
            self._recovers_to = -1
            window.cwnd = window.ssthresh
        else:
            window.grow()
        window.update()

    def again(self, wqe: SendWqe) -> None:
        window = self._begin()
        window.begin_again()
        self._again, self._recovers_to = 0, -1
        super().again(wqe)
        # Only one may be in flight, of which the receiver is to tell at once (RFC 5681, 4.2).
        self._iwarp.ask_with_next()
        self._iwarp.go_on()
        self._timer.go_on()

    def missed(self, wqe: SendWqe) -> None:
        super().missed(wqe)
        self._iwarp.go_on()
