"""PCI Express: requests and completions over two unidirectional links, with tags and credits."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from hcasim.bus.base import Bus, Storage, pieces, split
from hcasim.bus.pcie_link import (
    COMPLETION_HEADER,
    DATA_CREDIT,
    PROPAGATION_PS,
    TLP_LINK_OVERHEAD,
    FarEnd,
    PcieLink,
    memory_header,
    ps_per_byte,
)
from hcasim.catalog import PcieDevice
from hcasim.engine import Action, Args, Call, CreditPool, Rate, Simulator
from hcasim.engine.changes import Changes
from hcasim.host.upstream import Transfer, Upstream


class _Read(Transfer):
    """A read: its bytes up to ``asked`` have been asked for, ``missing`` requests are not complete,
    and what is known to come is here at ``here_at``, in ps.
    """

    changes: ClassVar[Changes] = Changes(times="here_at", addresses="asked end")

    __slots__ = ("asked", "bus", "end", "here", "here_at", "issued", "missing", "short")

    block: ClassVar[str] = "PcieBus"

    def __init__(
        self,
        bus: PcieBus,
        address: int,
        size: int,
        requests: int,
        here: Action,
        issued: Action | None,
        short: bool,
    ) -> None:
        self.bus = bus
        self.address = self.asked = address
        self.size = size
        self.end = address + size
        self.missing = requests
        self.here = here
        self.here_at = 0
        self.issued = issued
        self.short = short

    def fetched(self, last_at: int, address: int, size: int) -> None:
        bus, end = self.bus, address + size
        downstream, limit = bus.downstream, bus.limit
        tlps, duration = bus.cut(address, size)
        if address == self.address or address % limit == 0:
            duration += downstream.answer_ps(1, 1)
        complete = end == self.end or end % limit == 0
        if complete and bus.nonposted is not None:
            bus.nonposted.release(1)
        if self.short and downstream.free_at > bus.sim.now:
            arrival = bus.overtake(tlps, duration)
        else:
            arrival = downstream.send(tlps, duration)
        if last_at > arrival:
            arrival = last_at
        # An endpoint advertises infinite completion credits: Acks, but no UpdateFC.
        bus.upstream.answer(tlps, 0)
        if not complete:
            return
        self.missing -= 1
        if arrival > self.here_at:
            self.here_at = arrival
        if self.missing:
            bus.tags.release_at(arrival, 1)
        elif self.here_at > arrival:
            # Another request is answered before, from memory that takes longer.
            bus.tags.release_at(arrival, 1)
            bus.sim.schedule(self.here_at, self.here)
        else:
            bus.sim.schedule(arrival, self)

    def act(self) -> None:
        if self.asked < self.end:
            self.bus.tags_held(self, 1)
        else:
            self.bus.tags.release(1)
            self.here.act()


class _Write(Transfer):
    """Writes that take and return their credits as one; only the last has anything to do then."""

    __slots__ = ("bus", "sent", "tlps", "units", "visible")

    block: ClassVar[str] = "PcieBus"

    def __init__(
        self,
        bus: PcieBus,
        address: int,
        size: int,
        tlps: int,
        sent: Action | None,
        visible: Action | None,
    ) -> None:
        self.bus = bus
        self.address = address
        self.size = size
        self.tlps = tlps
        self.units = -(-size // DATA_CREDIT)
        self.sent = sent
        self.visible = visible

    def act(self) -> None:
        bus, tlps = self.bus, self.tlps
        bus.downstream.answer(tlps, tlps)
        bus.behind.write(bus.sim.now, self.address, self.size, self.visible, self)
        if self.sent is not None:
            self.sent.act()

    def taken(self, at_ps: int) -> None:
        bus = self.bus
        bus.posted_headers.release_at(at_ps + PROPAGATION_PS, self.tlps)
        bus.posted_data.release_at(at_ps + PROPAGATION_PS, self.units)


class _Load:
    """A read by the processor: a request down, a completion up."""

    def __init__(
        self,
        bus: PcieBus,
        size: int,
        device: Storage,
        address: int,
        taken: Callable[[], None],
        then: Callable[[], None],
    ) -> None:
        self._bus = bus
        self._size = size
        self._device = device
        self._address = address
        self._taken = taken
        self._then = then

    def leave(self) -> None:
        self._bus.sim.call_at(self._bus.ask_device(), self._arrived)

    def _arrived(self) -> None:
        self._bus.upstream.answer(1, 1)
        self._device.read(self._address, self._size, self._read)

    def _read(self) -> None:
        self._taken()
        self._bus.sim.call_at(self._bus.answer_processor(self._size), self._completed)

    def _completed(self) -> None:
        self._bus.downstream.answer(1, 0)
        self._bus.behind.mmio(self._size, self._then)


class PcieBus(Bus):
    """A device on a PCI Express link.

    A port returns credits by an UpdateFC when a TLP has left its receive buffer (Base
    Specification 3.0, 2.6.1); that it may wait behind the TLP under way is left out. For a read
    that is here when memory has answered, so that the credits of a root port are the reads it has
    in hand: what else limits these, no maker says. Both make little difference: had every credit
    come later by the longest completion and a DLLP, or those of reads when the root port had the
    request, `write_bw` and `read_bw` of 4 KiB and 64 KiB on nine testbeds would have been the same
    within 1e-6, and with the later credits `bw_rd`, `bw_wr` and `bw_rdwr` on four, too.

    The processor's writes take no credits, because a device takes each as it arrives: at most 28
    headers and 112 units of data would have been held, by 14 threads of `request_reply` at once.
    """

    changes: ClassVar[Changes] = Changes(times="_short_free_at")

    def __init__(
        self, sim: Simulator, device: PcieDevice, far: FarEnd, behind: Upstream, name: str
    ) -> None:
        super().__init__()
        self.sim = sim
        self.name = name
        self.limit = device.max_read_request
        self._payload = device.max_payload
        rate = Rate(ps_per_byte(device.generation, device.lanes))
        dllps = device.dllp_tlps_per_ack, device.dllp_tlps_per_update
        self.upstream = PcieLink(sim, f"{name}.upstream", rate, *dllps)
        self.downstream = PcieLink(sim, f"{name}.downstream", rate, *dllps)
        self.behind = behind
        self.tags = CreditPool(sim, f"{name}.read_tags", device.read_tags)
        # A request holds its tag for longer than its credit, so enough credits never bind.
        self.nonposted = None
        if far.nonposted_headers < device.read_tags:
            self.nonposted = CreditPool(sim, f"{name}.nonposted", far.nonposted_headers)
        self.posted_headers = CreditPool(sim, f"{name}.posted", far.posted_headers)
        self.posted_data = CreditPool(sim, f"{name}.posted_data", far.posted_data)
        for link in (self.upstream, self.downstream):
            sim.resources.serves(link.name, link)
        for pool in (self.tags, self.posted_headers, self.posted_data, self.nonposted):
            if pool is not None:
                sim.resources.keeps_waiting(pool.name, pool)
        self._completion = min(far.completion, device.max_payload)
        self._boundary = min(far.boundary, self._completion)
        self._gap = device.packet_gap
        self._short_read = far.short_read
        self._short_free_at = 0
        self._full_completion = rate.time(self._completion + COMPLETION_HEADER + TLP_LINK_OVERHEAD)
        self._header = memory_header(device.address_bits) + TLP_LINK_OVERHEAD
        self._request_time = rate.time(self._header) + self._gap
        self._cuts: dict[int, tuple[int, int]] = {}
        # A burst takes and returns its credits as one, so several of them share the pools.
        tlps = min(
            8, far.posted_headers // 4, far.posted_data * DATA_CREDIT // (4 * device.max_payload)
        )
        self._burst = max(1, tlps) * device.max_payload

    # DMA reads: request upstream, completions downstream.

    def start_read(
        self, address: int, size: int, here: Action, issued: Action | None = None
    ) -> None:
        limit = self.limit
        self.read_bytes += size
        if address % limit + size <= limit:
            requests = 1
            short = size <= self._short_read
        else:
            # Not even a short end overtakes what it is no use without.
            requests = pieces(address, size, limit)
            short = False
        self.reads += requests
        read = _Read(self, address, size, requests, here, issued, short)
        tags = self.tags
        held = 0
        while held < requests and tags.take(1):
            held += 1
        if held:
            self.tags_held(read, held)
        for _ in range(requests - held):
            tags.wait(1, read)

    def start_fetch(self, address: int, size: int, here: Action) -> None:
        requests = pieces(address, size, self.limit)
        self.reads += requests
        self.read_bytes += size
        read = _Read(self, address, size, requests, here, None, False)
        for _ in range(requests):
            if self.tags.take(1):
                self.tags_held(read, 1)
            else:
                self.tags.wait_ahead(1, read)

    def tags_held(self, read: _Read, count: int) -> None:
        """Send requests of a read that have their tags, each when it has a credit, too."""
        nonposted = self.nonposted
        if nonposted is not None:
            for _ in range(count):
                if nonposted.take(1):
                    self._push_writes(read)
                else:
                    nonposted.wait(1, Call(self._push_writes, (read,)))
        elif self.posted_headers.waiting or self.posted_data.waiting:
            for _ in range(count):
                self._push_writes(read)
        else:
            self._send_requests(read, count)

    def _push_writes(self, read: _Read) -> None:
        # A read may not pass a posted write that still waits for credits: it takes none, in turn.
        if self.posted_headers.waiting:
            self.posted_headers.acquire(0, self._push_data, read)
        elif self.posted_data.waiting:
            self.posted_data.acquire(0, self._send_requests, read, 1)
        else:
            self._send_requests(read, 1)

    def _push_data(self, read: _Read) -> None:
        if self.posted_data.waiting:
            self.posted_data.acquire(0, self._send_requests, read, 1)
        else:
            self._send_requests(read, 1)

    def _send_requests(self, read: _Read, count: int) -> None:
        limit, end = self.limit, read.end
        start = read.asked
        for _ in range(count):
            next_start = start - start % limit + limit
            if next_start > end:
                next_start = end
            arrival = self.upstream.send(1, self._request_time) - self._gap
            self.behind.read(arrival, start, next_start - start, read)
            start = next_start
        read.asked = start
        if start == end and read.issued is not None:
            read.issued.act()

    def cut(self, address: int, size: int) -> tuple[int, int]:
        """The root port's completions of ``size`` bytes: TLPs, and their time in ps."""
        offset = address % self._boundary
        key = size * self._boundary + offset
        found = self._cuts.get(key)
        if found is None:
            tlps = pieces(offset, size, self._completion)
            wire = size + tlps * (COMPLETION_HEADER + TLP_LINK_OVERHEAD)
            found = self._cuts[key] = (tlps, self.downstream.rate.time(wire))
        return found

    def overtake(self, tlps: int, duration_ps: int) -> int:
        """Send the completions of a short read ahead of those of longer ones.

        They wait for short reads before them and for the completion on its way; what they
        overtake leaves later, but a completion whose arrival is already known keeps it.
        """
        start = max(self.sim.now, self._short_free_at)
        rest = max(0, self.downstream.free_at - start) % self._full_completion
        self.downstream.send(tlps, duration_ps)
        self._short_free_at = start + rest + duration_ps
        return self._short_free_at + PROPAGATION_PS

    # DMA writes: posted, in order, as many at a time as the credits allow.

    def start_write(
        self, address: int, size: int, sent: Action | None, visible: Action | None
    ) -> None:
        self.writes += 1
        self.write_bytes += size
        payload = self._payload
        if address % self._burst + size <= self._burst:
            tlps = pieces(address, size, payload)
            self._post(_Write(self, address, size, tlps, sent, visible))
            return
        last = address + size
        for start, piece in split(address, size, self._burst):
            tlps = pieces(start, piece, payload)
            if start + piece == last:
                self._post(_Write(self, start, piece, tlps, sent, visible))
            else:
                self._post(_Write(self, start, piece, tlps, None, None))

    def _post(self, write: _Write) -> None:
        if not self.posted_headers.take(write.tlps):
            self.posted_headers.wait(write.tlps, Call(self._headers_held, (write,)))
        elif self.posted_data.take(write.units):
            self._send_write(write)
        else:
            self.posted_data.wait(write.units, Call(self._send_write, (write,)))

    def _headers_held(self, write: _Write) -> None:
        if self.posted_data.take(write.units):
            self._send_write(write)
        else:
            self.posted_data.wait(write.units, Call(self._send_write, (write,)))

    def _send_write(self, write: _Write) -> None:
        tlps = write.tlps
        duration = self.upstream.rate.time(write.size + tlps * self._header) + tlps * self._gap
        arrival = self.upstream.send(tlps, duration) - self._gap
        self.sim.schedule(arrival, write)

    def hold(self, duration_ps: int) -> int:
        return self.upstream.hold(duration_ps)

    # The processor's accesses.

    def mmio_write(self, size: int, on_arrival: Callable[[*Args], None], *args: *Args) -> None:
        self.mmio_writes += 1
        self.behind.mmio(size, self._mmio_send, size, on_arrival, args)

    def _mmio_send(
        self, size: int, on_arrival: Callable[[*Args], None], args: tuple[*Args]
    ) -> None:
        duration = self.downstream.rate.time(size + self._header)
        self.sim.call_at(self.downstream.send(1, duration), self._mmio_arrived, on_arrival, args)

    def _mmio_arrived(self, on_arrival: Callable[[*Args], None], args: tuple[*Args]) -> None:
        self.upstream.answer(1, 1)
        on_arrival(*args)

    def mmio_read(
        self,
        size: int,
        device: Storage,
        address: int,
        taken: Callable[[], None],
        then: Callable[[], None],
    ) -> None:
        """Have the processor read from memory of the device.

        Args:
            taken: called when the device has read it, before its completion leaves.
            then: called when the data are at the processor.
        """
        self.behind.mmio(0, _Load(self, size, device, address, taken, then).leave)

    def ask_device(self) -> int:
        """Send a read request of the processor; when it arrives, in ps."""
        return self.downstream.send(1, self.downstream.rate.time(self._header))

    def answer_processor(self, size: int) -> int:
        """Send a completion of the device; when it arrives, in ps."""
        duration = self.upstream.rate.time(size + COMPLETION_HEADER + TLP_LINK_OVERHEAD)
        return self.upstream.send(1, duration + self._gap) - self._gap

    def counters(self) -> dict[str, int]:
        own = {
            "pcie_upstream_tlps": self.upstream.tlps,
            "pcie_downstream_tlps": self.downstream.tlps,
            "pcie_upstream_dllps": self.upstream.dllps,
            "pcie_downstream_dllps": self.downstream.dllps,
        }
        return super().counters() | own | self.behind.counters()
