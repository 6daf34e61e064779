"""Verbs over iWARP: TCP's acknowledgements, and connections that end."""

import pytest

from hcasim.engine import EventLog
from hcasim.fabric.wire import IwarpFormat
from hcasim.hca import State
from hcasim.verbs import VerbsError, WROpcode
from hcasim.verbs.requests import WIRE
from tests import iwarp
from tests.rig import CMP_SWAP, FETCH_ADD, READ, SEND, WRITE, Rig, ids, joined, statuses, succeeded

TAGGED, UNTAGGED = 14, 18
AROUND = 20
ACKNOWLEDGEMENT = 64 + AROUND


def carried(rig: Rig, node: int) -> tuple[int, int]:
    """Frames and bytes that a node has put onto its link."""
    way = rig.cluster.nodes[node].adapter.ports[0].transmitter
    return way.packets, way.wire_bytes


def test_a_message_of_one_mtu_may_be_cut_by_a_smaller_path() -> None:
    rig, a, b, qp, _ = joined(iwarp.machine(9000), path_mtu=1500)
    assert succeeded(rig.exchange(qp, a, a.request(WRITE, b, 8000)))
    assert carried(rig, 0)[0] == 6


def test_every_second_segment_and_the_last_of_a_response_are_acknowledged() -> None:
    """InfiniBand acknowledges none of them."""
    for rig, each in ((Rig(iwarp.machine()), 3), (Rig(), 0)):
        a, b, qp, _ = rig.joined()
        assert succeeded(rig.exchange(qp, a, *(a.request(READ, b, 5 * 1440) for _ in range(3))))
        assert a.adapter.counts["acknowledgements"] == 3 * each
        assert b.adapter.counts["acknowledgements"] == 0


def test_an_acknowledgement_does_not_wait_for_a_read_before_it() -> None:
    def acknowledged_at(rig: Rig) -> float:
        """How much of what arrives comes before the acknowledgement of a write behind a read."""
        a, b, qp, _ = rig.joined()
        log = EventLog()
        rig.sim.listeners.append(log)
        rig.run(a.post(qp, a.request(READ, b, 1 << 20), a.request(WRITE, b, 8)))
        arrivals = [
            e for e in log.events if e[2] == "receive pipeline" and e[1].startswith("node0")
        ]
        first = next(i for i, e in enumerate(arrivals) if "ACKNOWLEDGE psn" in e[4])
        return first / len(arrivals)

    assert acknowledged_at(Rig(iwarp.machine())) < 0.1
    assert acknowledged_at(Rig()) > 0.9


def test_a_send_without_a_receive_buffer_ends_the_connection_at_both_ends() -> None:
    rig, a, b, qp, other = joined(iwarp.machine(), rnr_retry=3)
    rig.run(b.post_receives(other, b.receive(8)))
    opcodes = (WRITE, SEND, SEND, WRITE)
    requests = [a.request(opcode, b, 8, wr_id=i) for i, opcode in enumerate(opcodes)]
    found = rig.exchange(qp, a, *requests)
    assert statuses(found) == ["SUCCESS", "SUCCESS", "REM_OP_ERR", "WR_FLUSH_ERR"]
    assert ids(found) == [0, 1, 2, 3]
    assert statuses(rig.run(b.collect(1))[0]) == ["SUCCESS"]
    assert qp.state is other.state is State.ERR
    assert rig.counter("naks") == 1
    assert rig.counter("retransmissions") == 0
    # What is posted afterwards is flushed, at either end.
    assert statuses(rig.exchange(qp, a, a.request(WRITE, b))) == ["WR_FLUSH_ERR"]
    assert statuses(rig.exchange(other, b, b.request(WRITE, a))) == ["WR_FLUSH_ERR"]


@pytest.mark.parametrize("opcode", [WRITE, READ])
def test_a_wrong_key_ends_the_connection_by_a_terminate_message(opcode: WROpcode) -> None:
    rig, a, b, qp, other = joined(iwarp.machine())
    found = rig.exchange(qp, a, a.request(opcode, b, 8, rkey=999))
    assert statuses(found) == ["REM_ACCESS_ERR"]
    assert qp.state is other.state is State.ERR
    assert carried(rig, 1) == (1, AROUND + 58 + 2 + UNTAGGED + 6 + UNTAGGED + 4)


@pytest.mark.parametrize("opcode", [FETCH_ADD, CMP_SWAP])
def test_there_are_no_atomics(opcode: WROpcode) -> None:
    rig, a, b, qp, _ = joined(iwarp.machine())
    with pytest.raises(VerbsError, match=f"EINVAL.*{opcode.name}; mt25208 has no atomics"):
        rig.exchange(qp, a, a.request(opcode, b))
    assert rig.counter("doorbells") == 0
    with pytest.raises(KeyError):
        IwarpFormat(markers=False, timestamps=False).size(WIRE[opcode], 0)


@pytest.mark.parametrize("opcode", [WRITE, SEND, READ])
@pytest.mark.parametrize("length", [0, 1, 40_000])
def test_two_queue_pairs_of_a_port_need_no_link(opcode: WROpcode, length: int) -> None:
    rig = Rig(iwarp.machine())
    (a, _) = rig.peers
    qp, other = rig.connect(a, a)
    rig.run(a.post_receives(other, a.receive(length)))
    found = rig.exchange(qp, a, a.request(opcode, a, length, remote_offset=1 << 20))
    assert succeeded(found)
    port = a.adapter.ports[0]
    most = IwarpFormat(markers=False, timestamps=False).payload(1500, WIRE[opcode])
    segments = max(1, -(-length // most))
    packets = segments + -(-segments // iwarp.ACK_INTERVAL) + (opcode is READ)
    assert port.packets_received == port.egress.loopback.packets == packets
    assert port.transmitter.packets == 0


@pytest.mark.parametrize(
    ("machine_mtu", "mtu", "said"),
    [
        (9000, 575, "575"),
        (9000, 9217, "9217"),
        (9000, 0, "0"),
        (9000, True, "(True|1)"),
        (1500, 1501, "1501"),
    ],
)
def test_a_path_mtu_that_ethernet_or_the_machine_does_not_have_is_refused(
    machine_mtu: int, mtu: int, said: str
) -> None:
    rig = Rig(iwarp.machine(machine_mtu))
    with pytest.raises(VerbsError, match=f"path MTU {said}; allowed: 576 to {machine_mtu}"):
        rig.connect(*rig.peers, path_mtu=mtu)
