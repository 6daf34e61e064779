"""The links of PCI Express: rates and sizes, one direction, and what the far end can take.

Sizes and rates are formulas of the PCI Express Base Specification: a TLP carries 8 bytes of link
overhead (framing 2, sequence number 2, LCRC 4) and a header of 3 or 4 double words; a DLLP is 8
bytes. Lanes use 8b/10b up to generation 2 and 128b/130b from generation 3 on, and lose 4 symbols
in 1538 to skip ordered sets (8b/10b).
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar, Final, NamedTuple

from hcasim.catalog.buses import CardBridge
from hcasim.catalog.host import RootPort
from hcasim.engine import Rate, SerialServer, Simulator
from hcasim.engine.changes import Changes

TLP_LINK_OVERHEAD: Final = 8
COMPLETION_HEADER: Final = 12
DLLP_SIZE: Final = 8
DATA_CREDIT: Final = 16
PROPAGATION_PS: Final = 1000
_GIGATRANSFERS: Final = {
    1: Fraction(5, 2),
    2: Fraction(5),
    3: Fraction(8),
    4: Fraction(16),
    5: Fraction(32),
}


def memory_header(address_bits: int) -> int:
    """Bytes of a memory request header: 3 double words for 32-bit addresses, 4 for 64-bit."""
    return 12 if address_bits == 32 else 16


def ps_per_byte(generation: int, lanes: int) -> Fraction:
    """Time per byte of one direction in ps, line coding and skip ordered sets included.

    Source: PCI Express Base Specification, physical layer: 2.5, 5, 8, 16 and 32 GT/s a lane.
    """
    gigatransfers = _GIGATRANSFERS[generation]
    if generation <= 2:
        coding = Fraction(10, 8) * Fraction(1538 + 4, 1538)
    else:
        coding = Fraction(130, 128)
    return Fraction(8000) * coding / (gigatransfers * lanes)


class PcieLink(SerialServer):
    """One direction of the link: TLPs in order, and the DLLPs that answer the other direction.

    One Ack and one UpdateFC cover so many TLPs from there.
    """

    changes: ClassVar[Changes] = Changes(counts="dllps tlps", slips="_acks_due _updates_due")

    def __init__(
        self, sim: Simulator, name: str, rate: Rate, tlps_per_ack: int, tlps_per_update: int
    ) -> None:
        super().__init__(sim, name)
        self.rate = rate
        self._dllp_time = rate.time(DLLP_SIZE)
        self._tlps_per_ack = tlps_per_ack
        self._tlps_per_update = tlps_per_update
        self._answers_each = tlps_per_ack == tlps_per_update == 1
        self._acks_due = self._updates_due = self.dllps = self.tlps = 0
        self._watchers = sim.watchers

    def send(self, tlps: int, duration_ps: int) -> int:
        self.tlps += tlps
        start = self.sim.now
        if self.free_at > start:
            start = self.free_at
        self.free_at = end = start + duration_ps
        self.busy_ps += duration_ps
        if self._watchers:
            for watcher in self._watchers:
                watcher.work(self.name, "TLP", start, end, tlps)
        return end + PROPAGATION_PS

    def hold(self, duration_ps: int) -> int:
        """Be free so much later, without work; return when, in ps."""
        now: int = self.sim.now
        self.free_at = end = max(now, self.free_at) + duration_ps
        return end

    def answer(self, tlps: int, updated: int) -> None:
        if self._answers_each:
            self.dllps += tlps + updated
            duration = (tlps + updated) * self._dllp_time
        else:
            duration = self.answer_ps(tlps, updated)
            if not duration:
                return
        start = self.sim.now
        if self.free_at > start:
            start = self.free_at
        self.free_at = start + duration
        self.busy_ps += duration
        if self._watchers:
            for watcher in self._watchers:
                watcher.work(self.name, "DLLP", start, start + duration, 0)

    def answer_ps(self, tlps: int, updated: int) -> int:
        """Time in ps of the DLLPs for TLPs that arrived from the other direction.

        Args:
            updated: those of the TLPs that freed finite credits, for UpdateFCs beside the Acks.
        """
        if self._answers_each:
            dllps = tlps + updated
        else:
            due = self._acks_due + tlps
            dllps = due // self._tlps_per_ack
            self._acks_due = due - dllps * self._tlps_per_ack
            if updated:
                due = self._updates_due + updated
                updates = due // self._tlps_per_update
                self._updates_due = due - updates * self._tlps_per_update
                dllps += updates
            if not dllps:
                return 0
        self.dllps += dllps
        return dllps * self._dllp_time


class FarEnd(NamedTuple):
    """The port at the other end of the link, of the root complex or a bridge, and what it holds.

    Completions have ``completion`` bytes of data, end at multiples of ``boundary``, and go ahead of
    others for a read of at most ``short_read`` bytes; ``posted_data`` is in units of 16 bytes.
    """

    completion: int
    boundary: int
    short_read: int
    posted_headers: int
    posted_data: int
    nonposted_headers: int

    @classmethod
    def of_root_port(cls, port: RootPort) -> FarEnd:
        return cls(
            port.completion,
            port.completion_boundary or port.completion,
            port.short_read,
            port.posted_header_credits,
            port.posted_data_credits,
            port.nonposted_header_credits,
        )

    @classmethod
    def of_bridge(cls, bridge: CardBridge, port: RootPort) -> FarEnd:
        """A port of a bridge, which holds what fits in its buffer and passes completions on."""
        data = max(8, bridge.buffer // DATA_CREDIT)
        return cls(port.completion, port.completion, 0, max(4, data // 8), data, bridge.reads)
