"""Selective repeat: what is lost is sent again alone, and what follows it is placed meanwhile.

NVIDIA's newer adapters have it (register ROCE_ACCL, selective_repeat_forced_en). What they say over
the wire is not documented: here each lost packet has a negative acknowledgement of its own, and
what is sent again depends on the operation, as patent US 11,870,590 B2 of Mellanox has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hcasim.fabric.packet import (
    PSN_MODULUS,
    Aeth,
    Immediate,
    Opcode,
    Packet,
    Reth,
    Syndrome,
    behind,
)
from hcasim.hca.completion_queue import CompletionQueue
from hcasim.hca.parts import Parts
from hcasim.hca.port import Verdict
from hcasim.hca.qp.endpoint import Endpoint
from hcasim.hca.qp.go_back import GoBack
from hcasim.hca.qp.queues import ReceiveQueue
from hcasim.hca.qp.reliable_requester import ReliableRequester
from hcasim.hca.qp.reliable_responder import ReliableResponder
from hcasim.hca.translation import REMOTE_WRITE
from hcasim.hca.wqe import SendWqe

WINDOW: Final = 512
"""Packets from the first missing one on of which a responder knows which are here."""


def repair(wqe: SendWqe, packet: int) -> SendWqe:
    """An entry that sends one packet of another again, and nothing else."""
    one = SendWqe(
        wqe.opcode,
        wqe.wr_id,
        wqe.length,
        wqe.address,
        wqe.key,
        wqe.remote_address,
        wqe.remote_key,
        wqe.inline,
        wqe.signaled,
        wqe.posted,
        wqe.operation,
        wqe.size,
        wqe.slot,
        wqe.carried,
        wqe.region,
        wqe.extras,
    )
    one.segment, one.first_psn, one.packets = wqe.segment, wqe.first_psn, wqe.packets
    one.data, one.transfer = wqe.data, wqe.transfer
    one.repairs, one.resumes_at = wqe, packet
    return one


class SelectiveRequester(ReliableRequester):
    """A requester that sends single packets again.

    Each packet of a write says where it goes. A packet that is sent again passes those that wait,
    also the rest of a message that has begun.
    """

    def addresses_all(self) -> bool:
        return True

    def repair(self, psn: int) -> None:
        """Send a packet again, if it is not known to have arrived."""
        for wqe in self.unacknowledged:
            index = (psn - wqe.first_psn) % PSN_MODULUS
            if index < wqe.packets and index < wqe.sent and not wqe.awaits_response:
                if not wqe.responded:
                    self._send_alone(wqe, index)
                return
            if index == 0 and wqe.awaits_response and not wqe.responded:
                self.send_again(wqe)
                return

    def go_back_to_send(self, psn: int) -> bool:
        """Send all again that may be missing if that is a packet of a send: what followed it is."""
        first = None
        for wqe in self.unacknowledged:
            if first is None and not wqe.awaits_response and not wqe.responded:
                first = wqe
            index = (psn - wqe.first_psn) % PSN_MODULUS
            if index < wqe.packets and index < wqe.sent:
                if wqe.opcode is not Opcode.SEND:
                    return False
                if first is not None:
                    self.send_again(first)
                return True
        return False

    def next_to_send(self) -> int:
        """The first packet that has not been sent, as far as requests have begun."""
        for wqe in reversed(self.unacknowledged):
            if wqe.awaits_response:
                return (wqe.first_psn + wqe.packets) % PSN_MODULUS
            if wqe.sent:
                return (wqe.first_psn + wqe.sent) % PSN_MODULUS
        return self.unanswered_psn

    def last_psn(self) -> int:
        """The last packet of sends and writes that has been sent."""
        for wqe in reversed(self.unacknowledged):
            if wqe.sent and not wqe.awaits_response:
                return (wqe.first_psn + wqe.sent - 1) % PSN_MODULUS
        return self.unanswered_psn

    def _send_alone(self, wqe: SendWqe, index: int) -> None:
        ahead = repair(wqe, index)
        self._unstall()
        fetched = self.queue.fetched
        place = 0
        while place < len(fetched) and fetched[place].repairs is not None:
            place += 1
        current = self.current
        if current is not None and current.repairs is None:
            self.current = None
            fetched.insert(place, current)
        fetched.insert(place, ahead)
        self._parts.counts["retransmissions"] += 1
        if self.pacing is not None:
            self.pacing.repairs()
        self._line.schedule(self)

    def begin(self, wqe: SendWqe) -> bool:
        if wqe.repairs is None:
            return super().begin(wqe)
        if wqe.repairs.responded:
            self.current = None
            return False
        wqe.sent = wqe.resumes_at
        return True

    def send(self, wqe: SendWqe) -> Packet:
        packet = super().send(wqe)
        if wqe.repairs is not None:
            self.current = None
            packet.ack_request = True
        return packet

    def rewind(self, wqe: SendWqe) -> None:
        self._forget_repairs()
        super().rewind(wqe)

    def drain(self) -> list[SendWqe]:
        self._forget_repairs()
        return super().drain()

    def _forget_repairs(self) -> None:
        """Take packets that are to be sent alone out of the queue, and what had to wait for them.

        A message that had begun is among those that are not acknowledged.
        """
        if self.current is not None and self.current.repairs is not None:
            self.current = None
        queue, sent = self.queue, self.unacknowledged
        for entries in (queue.fetched, queue.posted):
            kept = [
                one
                for one in entries
                if one.repairs is None and not one.responded and one not in sent
            ]
            if len(kept) < len(entries):
                entries.clear()
                entries.extend(kept)


class SelectiveRepeat(GoBack):
    """Sends again what the responder misses.

    If nothing is heard, the first packet that may be missing goes again, and the last: the
    responder then asks for those between. From a read or an atomic on all are sent again.
    """

    def refused(self, psn: int, aeth: Aeth) -> None:
        requester = self._requester
        if aeth.syndrome is Syndrome.PSN_SEQUENCE_ERROR and isinstance(
            requester, SelectiveRequester
        ):
            self._parts.counts["packet_seq_err"] += 1
            self.restart()
            if not requester.go_back_to_send(psn):
                requester.repair(psn)
        else:
            super().refused(psn, aeth)

    def again(self, wqe: SendWqe) -> None:
        requester = self._requester
        if wqe.awaits_response or not isinstance(requester, SelectiveRequester):
            super().again(wqe)
            return
        first = requester.unanswered_psn
        last = requester.last_psn()
        if (last - first) % PSN_MODULUS >= WINDOW and not behind(last, first):
            # The responder has dropped what is behind its window.
            super().again(wqe)
            self._timer.go_on()
            return
        requester.repair(first)
        if last != first:
            requester.repair(last)
        # What is behind these may have been dropped, too.
        self._timer.go_on()


@dataclass(slots=True, eq=False)
class Early:
    """A packet that is here before one ahead of it.

    Attributes:
        length: of its message, if it is the first of one.
    """

    last: bool
    asks: bool
    length: int | None


class SelectiveResponder(ReliableResponder):
    """A responder that places packets of writes which come before others that were lost.

    It asks for each of these once, and counts messages in their order. Sends, reads, atomics and
    the ends of writes with immediate data wait for their turn: those that come early are dropped.
    To a send that is missing the requester goes back.
    """

    def __init__(
        self, end: Endpoint, cq: CompletionQueue, queue: ReceiveQueue, parts: Parts
    ) -> None:
        super().__init__(end, cq, queue, parts)
        self._early: dict[int, Early] = {}
        self._asked: set[int] = set()
        self._dropped: set[int] = set()
        self._held = -1, 0
        self._owes = False

    def out_of_sequence(self, packet: Packet) -> Verdict:
        psn = packet.psn
        if behind(psn, self.expected_psn):
            return super().out_of_sequence(packet)
        self._parts.counts["out_of_sequence"] += 1
        ahead = (psn - self.expected_psn) % PSN_MODULUS
        if self._not_ready():
            return self._hold(packet)
        if ahead >= WINDOW:
            return self._give_up(packet)
        if psn in self._early:
            # Nothing has been heard of what was asked for.
            self._asked.clear()
            self.ask_for(ahead, packet)
            return Verdict.DROP
        if packet.opcode is Opcode.SEND:
            return self._drop_send(ahead, packet)
        self.ask_for(ahead, packet)
        header = packet.header(Reth)
        if packet.opcode is Opcode.RDMA_WRITE and header is not None:
            region = self.find(header, packet.payload, REMOTE_WRITE)
            if packet.header(Immediate) is None and (region is not None or not packet.payload):
                self.region, self.address, self.pieces = region, header.address, None
                length = header.length if packet.first else None
                self._early[psn] = Early(packet.last, packet.ack_request, length)
                self._asked.discard(psn)
                return Verdict.PLACE
        self._asked.discard(psn)
        return self._give_up(packet)

    def _drop_send(self, ahead: int, packet: Packet) -> Verdict:
        """Drop a packet of a send, which comes again behind the one that is missing."""
        self.ask_for(ahead, packet, goes_back=True)
        self._asked.discard(packet.psn)
        self._dropped.add(packet.psn)
        return self._give_up(packet)

    def _give_up(self, packet: Packet) -> Verdict:
        """Drop a packet that nobody may ask for: its requester has to notice by itself."""
        if packet.sender is not None:
            packet.sender.lost(packet)
        return Verdict.DROP

    def _not_ready(self) -> bool:
        """Whether the packet that is waited for found no receive entry, and comes again."""
        waited = self._refused_psn == self.expected_psn
        return waited and self._syndrome is not Syndrome.PSN_SEQUENCE_ERROR

    def _hold(self, packet: Packet) -> Verdict:
        """Drop what follows such a packet; say so again if its requester has not heard of it."""
        expected, held = self._held
        if expected == self.expected_psn and not behind(held, packet.psn):
            return self.deny(self._syndrome)
        self._held = self.expected_psn, packet.psn
        return self._give_up(packet)

    def ask_for(self, ahead: int, packet: Packet, goes_back: bool = False) -> None:
        """Ask for those of so many packets that are missing, once, because of one behind them.

        A requester that goes back is told before where to.
        """
        idle = not self.answers
        for count in range(ahead):
            psn = (self.expected_psn + count) % PSN_MODULUS
            if psn in self._early or psn in self._asked or (count and psn in self._dropped):
                continue
            self._asked.add(psn)
            if goes_back and not count:
                self.answers.append(self._acknowledgement(packet, psn - 1))
            self._parts.counts["naks"] += 1
            header = Aeth(Syndrome.PSN_SEQUENCE_ERROR, self.msn)
            answer = self.end.answer(Opcode.NAK, psn, (header,))
            answer.sender = packet.sender
            self.answers.append(answer)
            self.tell_of_loss()
        if idle:
            self._begin_answers()

    def advance(self, packets: int, last: bool) -> None:
        if self._asked:
            for count in range(packets):
                self._asked.discard((self.expected_psn + count) % PSN_MODULUS)
        super().advance(packets, last)
        while self._early and (here := self._early.pop(self.expected_psn, None)) is not None:
            self._asked.discard(self.expected_psn)
            if here.length is not None:
                self._length = here.length
            self._owes = self._owes or here.asks
            super().advance(1, here.last)

    def placed(self, packet: Packet) -> None:
        if packet.psn in self._early:
            return
        super().placed(packet)
        self._settle(packet)

    def acknowledge(self, packet: Packet) -> None:
        self._owes = False
        self.acknowledge_before(packet)

    def answer(self, packet: Packet) -> None:
        super().answer(packet)
        self._settle(packet)

    def _settle(self, packet: Packet) -> None:
        """Acknowledge the packets that came early and are in sequence now."""
        if self._owes:
            self._owes = False
            self.acknowledge_before(packet)
        if self._dropped:
            if packet.opcode is Opcode.SEND:
                self._dropped.clear()
            elif self.expected_psn in self._dropped:
                self.ask_for(1, packet)
