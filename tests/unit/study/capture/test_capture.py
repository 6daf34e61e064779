"""Packets of a link, as tshark reads them, are those that the simulator has counted."""

import gzip
import struct
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hcasim.catalog import CatalogError
from hcasim.fabric.packet import (
    GRH,
    MULTICAST_QPN,
    Aeth,
    Dceth,
    Deth,
    Header,
    Ieth,
    Immediate,
    Opcode,
    Packet,
    Route,
    Syndrome,
)
from hcasim.fabric.payload import Payload
from hcasim.fabric.route_header import global_header
from hcasim.hca import QPType
from hcasim.runs.benchmark import run_benchmark
from hcasim.runs.experiment import Experiment
from hcasim.study.capture.capture import Tap, captured, read_tap
from hcasim.study.capture.infiniband import Way, _after_zeros, _crc, _syndrome, infiniband_frames
from tests.programs import program

WHOLE = Tap()
WARNING = 0x600000
"""Of what tshark remarks; less than that are notes."""
FIELDS = ("frame.len", "infiniband.bth.opcode", "infiniband.bth.psn", "infiniband.bth.destqp")


def taken(
    file: Path, workload: str, testbed: str, tap: Tap = WHOLE, **options: Any
) -> tuple[int, Counter[str]]:
    """Packets in a file, and what the adapters have counted."""
    prepared = Experiment.of(workload, testbed, **options).benchmark()
    with captured(file, tap) as capture:
        found = run_benchmark(prepared, listen=capture.follow)
    return capture.packets, Counter(found.counters)


def read(file: Path, *fields: str, only: str = "") -> list[list[str]]:
    """The fields of each packet, as tshark finds them."""
    words = [program("tshark", "tshark"), "-r", str(file), "-T", "fields"]
    words += [word for field in fields for word in ("-e", field)]
    words += ["-Y", only] if only else []
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def faults(file: Path) -> list[list[str]]:
    """What tshark finds wrong."""
    return read(
        file, "_ws.col.Info", only=f"_ws.malformed || _ws.short || _ws.expert.severity >= {WARNING}"
    )


@pytest.mark.parametrize("testbed", ["liu2004", "pair-roce"])
@pytest.mark.parametrize(
    ("workload", "opcodes"),
    [
        ("write_lat", {"6": 1, "7": 8, "8": 1, "17": 1}),
        ("send_bw", {"0": 1, "1": 8, "2": 1}),
        ("read_bw", {"12": 1, "13": 1, "14": 8, "15": 1}),
    ],
)
def test_each_packet_is_what_it_was(
    tmp_path: Path, workload: str, opcodes: dict[str, int], testbed: str
) -> None:
    file = tmp_path / "link.pcap"
    options: dict[str, Any] = {"size": 10_000, "mtu": 1024, "iters": 20, "exact": True}
    options |= {"warmup": 1} if workload == "write_lat" else {}
    packets, counters = taken(file, workload, testbed, **options)
    rows = read(file, *FIELDS)
    # The link of one of two nodes carries what both of them send.
    assert len(rows) == packets == counters["port_xmit_packets"]
    assert faults(file) == []
    # The first queue pair of each of two adapters, which count from different numbers.
    numbers = {int(qp, 16) for *_, qp in rows}
    assert (len(numbers), {number % 2**19 for number in numbers}) == (2, {1})
    kinds = Counter(opcode for _, opcode, _, _ in rows)
    messages = kinds[next(iter(opcodes))]
    assert messages >= 20
    assert {one: kinds[one] for one in opcodes} == {
        one: number * messages for one, number in opcodes.items()
    }
    around = {"liu2004": 26, "pair-roce": 14 + 20 + 8 + 12 + 4 + 4}[testbed]
    sizes = {
        opcode: int(size) - around for size, opcode, _, _ in rows if opcode in ("7", "1", "14")
    }
    assert set(sizes.values()) == {1024}
    if testbed == "liu2004":
        # In words of 4 bytes, up to the VCRC.
        lengths = read(file, "frame.len", "infiniband.lrh.pktlen")
        assert all(int(size) == 4 * int(words) + 2 for size, words in lengths)
    # The sequence numbers of one direction follow each other.
    asking = [int(psn) for _, opcode, psn, _ in rows if opcode in ("6", "7", "8", "0", "1", "2")]
    if workload == "send_bw":
        assert asking == list(range(len(asking)))


def test_segments_of_iwarp_are_followed(tmp_path: Path) -> None:
    file = tmp_path / "link.pcap"
    packets, counters = taken(
        file, "read_bw", "rashti2007", size=10_000, iters=20, exact=True
    )  # fmt: skip
    assert packets == counters["port_xmit_packets"]
    assert faults(file) == []
    fields = ("frame.len", "iwarp_rdma.opcode", "iwarp_mpa.ulpdulength", "tcp.len")
    rows = read(file, *fields)
    # The two frames that open the connection are no packets of the run.
    assert len(rows) == packets + 2
    kinds = Counter(opcode for _, opcode, _, _ in rows)
    assert kinds["0x01"] == 20
    assert kinds["0x02"] == 20 * 7
    assert (
        read(file, "tcp.seq", only="tcp.analysis.lost_segment || tcp.analysis.retransmission") == []
    )
    (sent,) = {int(size) for size, opcode, length, _ in rows if length == "1460"} or {1518}
    assert sent == 1518
    writes = tmp_path / "writes.pcap"
    taken(writes, "write_lat", "rashti2007", size=64, iters=20)
    assert faults(writes) == []
    assert read(writes, "iwarp_ddp.tagged_offset", only="iwarp_rdma.opcode == 0")


def test_marks_notifications_and_pauses_are_read(tmp_path: Path) -> None:
    file = tmp_path / "link.pcap"
    small = {"switch.memory.marking.kmin": "10000 B", "switch.memory.marking.kmax": "20000 B"}
    small |= {"switch.memory.size": "1500000 B", "switch.memory.alpha": "1 %"}
    options: dict[str, Any] = {"size": 2**17, "nodes": 3, "overrides": small}
    lossless: dict[str, Any] = {"adapter": "connectx6", "switch": "spectrum-lossless"}
    tap = Tap(1)
    packets, counters = taken(file, "incast", "ideal-100g", tap, **options, **lossless)
    assert faults(file) == []
    sender = "eth.src == 02:00:00:00:00:02"
    # Bits of those who send, none of which is marked before a switch, and of what comes.
    assert {tuple(row) for row in read(file, "ip.dsfield.ecn", only=f"{sender} && ip")} == {("2",)}
    notified = len(read(file, "frame.number", only="infiniband.bth.opcode == 0x81"))
    assert 0 < notified < counters["rp_cnp_handled"]
    pauses = read(
        file, "eth.dst", "macc.cbfc.enbv", "macc.cbfc.pause_time.c0", only="macc.opcode == 0x0101"
    )
    assert {tuple(row[:2]) for row in pauses} == {("01:80:c2:00:00:01", "0x0001")}
    assert 0 < len(pauses) < 2 * counters["pause_frames"]
    # They alternate: a pause, and leave to go on.
    assert len({int(row[2]) for row in pauses[::2]} | {int(row[2]) for row in pauses[1::2]}) == 2
    assert int(pauses[0][2]) == 0xFFFF
    assert len(read(file, "frame.number")) == packets
    taken(file, "incast", "ideal-100g", Tap(0), **options, **lossless)
    congested = read(file, "frame.number", only="ip.dsfield.ecn == 3")
    assert len(congested) == counters["np_ecn_marked_roce_packets"] > 0


@pytest.mark.parametrize(
    ("ip", "vlan", "connection"),
    [("ipv4", "", "RC"), ("ipv4", "100", "RC"), ("ipv6", "", "UD"), ("ipv6", "0", "RC")],
)
def test_frames_have_the_ip_and_the_tag_that_are_described(
    tmp_path: Path, ip: str, vlan: str, connection: str
) -> None:
    file = tmp_path / "link.pcap"
    protocol = {"adapter.protocol.ip": ip}
    protocol |= {"adapter.protocol.vlan": vlan} if vlan else {}
    options: dict[str, Any] = {"size": 512, "iters": 5, "overrides": protocol}
    level = {"connection": "UD"} if connection == "UD" else {"sl": 3}
    taken(file, "send_bw", "ideal-100g-4mb", **level, **options)
    assert faults(file) == []
    six = ip == "ipv6"
    outer = (20 if six else 0) + (4 if vlan else 0)
    # With UDP over IPv4; the trailer of Ethernet; a datagram's header.
    whole = 14 + 20 + 8 + 12 + 512 + 4 + 4 + (8 if connection == "UD" else 0) + outer
    assert read(file, "frame.len", only="infiniband.bth.opcode != 17")[0] == [str(whole)]
    sent = 3 if connection == "RC" else 0
    fields = f"{ip.replace('v4', '')}.dst", "ipv6.tclass.dscp" if six else "ip.dsfield.dscp"
    found = read(file, *fields, "vlan.priority", "vlan.id", only="infiniband.bth.opcode != 17")
    where = "fe80::ff:fe00:2" if six else "10.0.0.2"
    of_tag = [str(sent), vlan] if vlan else ["", ""]
    assert found[0] == [where, "0" if vlan else str(8 * sent), *of_tag]


def test_datagrams_and_atomics_are_read(tmp_path: Path) -> None:
    file = tmp_path / "link.pcap"
    taken(file, "send_lat", "liu2004", size=64, iters=10, connection="UD")
    assert faults(file) == []
    assert {opcode for _, opcode, _, _ in read(file, *FIELDS)} == {"100"}
    assert {lid for (lid,) in read(file, "infiniband.lrh.slid")} == {"1", "3"}
    taken(file, "atomic_lat", "liu2004", iters=10)
    assert faults(file) == []
    assert {opcode for _, opcode, _, _ in read(file, *FIELDS)} == {"20", "18"}


def test_times_are_those_of_the_run_and_a_file_is_compressed_by_its_name(tmp_path: Path) -> None:
    file, packed = tmp_path / "link.pcap", tmp_path / "link.pcap.gz"
    for one in (file, packed):
        taken(one, "write_lat", "liu2004", size=1024, iters=10)
    assert gzip.decompress(packed.read_bytes()) == file.read_bytes()
    assert struct.unpack_from("<I", file.read_bytes())[0] == 0xA1B23C4D
    first = [float(time) for (time,) in read(file, "frame.time_epoch")][:3]
    # A write of 1 KiB leaves after some us; its acknowledgement comes within a few more.
    assert 1e-6 < first[0] < first[1] < first[0] + 10e-6


def test_a_link_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="--pcap-link: found 5:1; allowed: 0:1 to 1:2"):
        taken(tmp_path / "x.pcap", "write_lat", "liu2004", Tap(5), size=8)
    assert list(tmp_path.iterdir()) == []
    said: list[str] = []
    assert read_tap("1:2", said) == Tap(1, 2)
    assert read_tap(None, said) == Tap()
    assert said == []
    read_tap("x", said)
    assert said[0].startswith("--pcap-link: found 'x'; allowed: ")


def test_the_service_level_of_a_connection_is_in_the_local_route_header() -> None:
    packet = Packet(Opcode.SEND, Route(2, service_level=5), 1, 0, 8)
    (frame,) = infiniband_frames(packet, Way(1, 1, 2, 1))
    # Virtual lane and version; service level and what follows.
    assert frame[:2] == bytes([0, 5 << 4 | 2])


@pytest.mark.parametrize("node", [0, 1])
def test_marks_of_a_subnet_and_what_tells_of_them_are_in_the_frame(
    tmp_path: Path, node: int
) -> None:
    """Node 0 gets what is marked, and the other what tells of it: FECN and BECN."""
    file = tmp_path / "link.pcap"
    control = {"switch.congestion_control.marking_rate": "0"}
    options: dict[str, Any] = {"size": 2**16, "nodes": 4, "iters": 2, "overrides": control}
    switch = "quantum-congestion-control"
    taken(file, "incast", "apt", Tap(node), switch=switch, **options)
    data, at = file.read_bytes(), 24
    seen = Counter[int]()
    while at < len(data):
        # Of a record, behind its own header and that of the card.
        (size,) = struct.unpack_from("<I", data, at + 8)
        frame = data[at + 32 : at + 16 + size]
        seen[frame[12]] += 1
        at += 16 + size
    assert set(seen) == {0, 0x40, 0x80} if node == 0 else {0, 0x40}


def test_bytes_and_immediate_data_are_in_the_frame() -> None:
    opcodes = {}
    for last, header in ((True, Immediate(0xFEEDBEEF)), (False, None), (True, Ieth(7))):
        headers: tuple[Header, ...] = () if header is None else (header,)
        packet = Packet(Opcode.SEND, Route(2), 1, 0, 7, headers, last=last)
        packet.solicited = last
        packet.data = Payload(None, 0, 7)
        packet.data.add(b"payload")
        (frame,) = infiniband_frames(packet, Way(1, 1, 2, 1))
        # Before both checksums.
        assert frame[-14:-6] == b"payload\0"
        assert frame[9] == (0x80 if last else 0) | 1 << 4
        opcodes[frame[8]] = frame[20 : 20 + 4 * len(headers)]
    assert opcodes == {0x05: bytes.fromhex("feedbeef"), 0x00: b"", 0x17: bytes([0, 0, 0, 7])}


def test_a_global_route_header_leads_to_a_multicast_group() -> None:
    grh = global_header(bytes([3] * 16), bytes([5] * 16), 0, 0, 0)
    route = Route(0xC001, 0, 0xFFFF, grh, GRH)
    packet = Packet(Opcode.SEND, route, MULTICAST_QPN, 0, 64, (Deth(1, 3),))
    packet.size += route.extra
    way = Way(3, 1, 0xC001, MULTICAST_QPN, QPType.UD)
    (frame,) = infiniband_frames(packet, way)
    assert len(frame) == packet.size == 8 + 40 + 12 + 8 + 64 + 4 + 2
    assert frame[1:4] == bytes([3, 0xC0, 0x01])
    # Version, length of what follows up to the ICRC, and that it is InfiniBand's transport.
    assert frame[8:16] == bytes([0x60, 0, 0, 0, 0, 88, 0x1B, 0])
    assert frame[16:48] == bytes([3] * 16 + [5] * 16)
    assert (frame[48], frame[53:56]) == (0x64, b"\xff\xff\xff")


def test_packets_of_dynamic_connections_have_opcodes_of_the_manufacturer() -> None:
    found = {}
    for opcode, key, size in ((Opcode.CONNECT, 5, 0), (Opcode.SEND, None, 8)):
        header = Dceth(1, 3, 2, key)
        packet = Packet(opcode, Route(2), 1, 0, size, (header,))
        (frame,) = infiniband_frames(packet, Way(3, 1, 2, 1, QPType.DCI))
        assert len(frame) == packet.size
        found[frame[8]] = frame[20 : 20 + header.size].hex()
    initiator = "00000002" + "00000001"
    assert found == {0xDE: "0000000000000005" + initiator, 0xC4: initiator}


def test_each_answer_has_a_syndrome_of_its_own() -> None:
    """Tables 44 and 45 of the specification; a pause of 0.64 ms has the code 12."""
    codes = {one.name: _syndrome(Aeth(one, 0, rnr_timer_ps=640_000_000)) for one in Syndrome}
    assert codes == {
        "ACK": 0x1F,
        "RNR_NAK": 0x2C,
        "PSN_SEQUENCE_ERROR": 0x60,
        "INVALID_REQUEST": 0x61,
        "REMOTE_ACCESS_ERROR": 0x62,
        "REMOTE_OPERATIONAL_ERROR": 0x63,
    }


def test_a_crc_passes_over_zeros_at_once() -> None:
    for zeros in (0, 1, 7, 1024):
        for crc in (0xFFFF, 1, 0x8D25):
            assert _after_zeros(crc, zeros) == _crc(crc, bytes(zeros))
