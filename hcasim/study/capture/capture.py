"""The packets of a link, in the order in which their last byte passes a port, as a file.

Wireshark does not read files of the link type of InfiniBand (247), but packets of InfiniBand in the
records of Endace's cards. Times are in nanoseconds.

Source: PCAP Capture File Format, draft-ietf-opsawg-pcap; Endace, ERF Types Reference (type 21).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from typing import Final

from hcasim.catalog import IwarpProtocol
from hcasim.catalog.link import Rocev2Protocol
from hcasim.cluster import Cluster
from hcasim.fabric.link import PACKET
from hcasim.fabric.packet import Dceth, Deth, Packet
from hcasim.fabric.priorities import PauseFrame
from hcasim.ground.errors import refuse
from hcasim.hca import QPType, QueuePair
from hcasim.study.capture.ethernet import IwarpFrames, pause_frame, rocev2_frames
from hcasim.study.capture.infiniband import CONGESTED, Way, infiniband_frames
from hcasim.study.onlooker import Onlooker, Write, written

ENDINGS: Final = (".pcap", ".pcap.gz")
_PLACE: Final = re.compile(r"(\d{1,9})(?::([1-9]\d{0,8}))?", re.ASCII)
_NANOSECONDS: Final = 0xA1B23C4D
_MOST: Final = 1 << 18
"""Bytes of a packet that readers take at most."""
_ERF: Final = 197
"""Extensible record format: a header in front of each packet says what it is."""
_ETHERNET: Final = 1 | 1 << 26 | 2 << 28
"""With the two words of the frame check sequence behind each frame."""
_ERF_HEAD: Final = struct.Struct(">BBHHH")
_ERF_HEADER: Final = 16
_ERF_INFINIBAND: Final = 21
_CAPABLE: Final = 2
"""What marks ECN-capable packets, ECT(0) (RFC 3168, 5)."""
_VARYING: Final = 4
"""Records have different lengths."""


@dataclass(frozen=True)
class Tap:
    """A port of a node at which a link is listened to, from 1."""

    node: int = 0
    port: int = 1


def read_tap(link: str | None, faults: list[str]) -> Tap:
    """Read where a link is to be listened to.

    Parameters:
        link: a node such as "3", or with a port such as "3:2".
        faults: what is wrong is added, by the option of the command line.
    """
    place = _PLACE.fullmatch(link or "0")
    if place is None:
        allowed = "allowed: the number of a node from 0, or NODE:PORT with ports from 1"
        faults.append(f"--pcap-link: found {link!r}; {allowed}")
        return Tap()
    return Tap(int(place[1]), int(place[2] or 1))


class Capture(Onlooker):
    """Writes the packets of a link as they come, and keeps only those on their way."""

    def __init__(self, write: Write, tap: Tap) -> None:
        super().__init__()
        self.packets = 0
        self._write = write
        self._tap = tap
        self._begun = False
        self._frames: Callable[[Packet, Way], list[bytes]] = infiniband_frames
        self._port = f"node{tap.node}.hca.port{tap.port}"
        self._lids: dict[str, int] = {}
        self._services: dict[tuple[int, int], QPType] = {}
        self._peers: dict[tuple[int, int], tuple[int, int]] = {}
        self._inside: set[Packet] = set()
        self._coming: list[tuple[int, int, Packet | PauseFrame, int, int]] = []
        self._ecn = 0
        self._told = count()

    def built(self, what: object) -> None:
        """Learn who has which ports, and what is spoken.

        Raises:
            CatalogError: there is no such port, or its packets cannot be written.
        """
        if not isinstance(what, Cluster):
            return
        tap, machine = self._tap, what.machine
        for node in what.nodes:
            _, lid = machine.place(node.index)
            for number in range(len(node.adapter.ports)):
                self._lids[f"{node.name}.hca.port{number + 1}"] = lid + number
        if self._port not in self._lids:
            known = [name.replace(".hca.port", ":").removeprefix("node") for name in self._lids]
            ends = " to ".join(dict.fromkeys((known[0], known[-1])))
            refuse(f"--pcap-link: found {tap.node}:{tap.port}; allowed: {ends}")
        adapter = machine.place(tap.node)[0].hca
        protocol = adapter.protocol
        if isinstance(protocol, IwarpProtocol):
            marked = "--pcap: MPA with markers (protocol.markers) is not written"
            refuse(marked if protocol.markers else "")
            self._frames = IwarpFrames(protocol.timestamps)
        elif isinstance(protocol, Rocev2Protocol):
            self._frames = partial(rocev2_frames, protocol)
            self._ecn = 0 if adapter.roce_cc is None else _CAPABLE

    def finish(self) -> None:
        """Write what is still on its way: the run is over."""
        self._write_until(None)

    def event(
        self,
        time_ps: int,
        block: str,
        event: str,
        operation: int,
        details: object,
        since_ps: int | None,
    ) -> None:
        """Learn of connections, and take a packet that arrives."""
        if isinstance(details, QueuePair):
            if event == "post_send":
                self._connect(block.partition(".")[0], details)
        elif event == "link" and block == self._port and isinstance(details, Packet):
            if details in self._inside:
                self._inside.remove(details)
            else:
                self._take(time_ps, details, 0)

    def work(self, block: str, what: str, start_ps: int, end_ps: int, details: object) -> None:
        """Take a packet that leaves, or a frame that pauses one end or the other."""
        if isinstance(details, PauseFrame):
            ends = [one.removesuffix(".link") for one in (block, details.by)]
            if self._port in ends:
                self._take(end_ps, details, self._lids.get(ends[1], 0))
            return
        if what != PACKET or not isinstance(details, Packet):
            return
        port, _, way = block.rpartition(".")
        if port == self._port and way == "link":
            self._take(end_ps, details, self._lids[port])
        elif port == self._port:
            self._inside.add(details)

    def _connect(self, node: str, qp: QueuePair) -> None:
        if qp.kind in (QPType.UD, QPType.DCI):
            return
        mine = self._lids[f"{node}.hca.port{qp.port + 1}"], qp.qpn
        yours = qp.path.route.lid, qp.path.qpn
        self._peers[yours], self._peers[mine] = mine, yours
        self._services[yours] = self._services[mine] = qp.kind

    def _take(self, time_ps: int, packet: Packet | PauseFrame, sender: int) -> None:
        # Those that leave may be marked before they are written.
        marked = isinstance(packet, Packet) and packet.marked
        ecn = CONGESTED if marked else self._ecn
        heappush(self._coming, (time_ps, next(self._told), packet, sender, ecn))
        self._write_until(self.sim.now)

    @property
    def _erf(self) -> bool:
        return self._frames is infiniband_frames

    def _write_until(self, end_ps: int | None) -> None:
        """Write what has passed the port by a time; all of it without one."""
        if not self._begun:
            self._begun, kind = True, _ERF if self._erf else _ETHERNET
            self._write(struct.pack("<IHHiIII", _NANOSECONDS, 2, 4, 0, 0, _MOST, kind))
        while self._coming and (end_ps is None or self._coming[0][0] <= end_ps):
            time_ps, _, packet, sender, ecn = heappop(self._coming)
            self.packets += 1
            if isinstance(packet, PauseFrame):
                self._add(time_ps, pause_frame(packet, sender))
                continue
            goal = packet.route.lid, packet.qpn
            if (datagram := packet.header(Deth)) is not None:
                of = QPType.DCI if isinstance(datagram, Dceth) else QPType.UD
                way = Way(datagram.source_lid, datagram.source_qpn, *goal, of, ecn)
            else:
                source = self._peers.get(goal, (sender, 0))
                way = Way(*source, *goal, self._services.get(goal, QPType.RC), ecn)
            for frame in self._frames(packet, way):
                self._add(time_ps, frame)

    def _add(self, time_ps: int, frame: bytes) -> None:
        """Write a frame as a record, whose time is cut off to ns."""
        if self._erf:
            length = _ERF_HEADER + len(frame)
            head = _ERF_HEAD.pack(_ERF_INFINIBAND, _VARYING, length, 0, len(frame))
            # Seconds as a fraction of binary digits.
            frame = struct.pack("<Q", (time_ps << 32) // 10**12) + head + frame
        seconds, nanoseconds = divmod(time_ps // 1000, 10**9)
        self._write(struct.pack("<IIII", seconds, nanoseconds, len(frame), len(frame)) + frame)


def captured(file: Path, tap: Tap) -> AbstractContextManager[Capture]:
    """Write the packets of a link into a file while something runs."""
    return written(file, lambda write: Capture(write, tap))
