"""What adapters count of their transport, by the names of drivers."""

import pytest

from hcasim.catalog import load, resolve
from hcasim.fabric.loss import Fate, ListedLosses, lose
from hcasim.hca.counters import shown
from tests.rig import FETCH_ADD, READ, SEND, WRITE, Rig, joined, statuses


def counts(rig: Rig) -> tuple[dict[str, int], dict[str, int]]:
    """What the adapters of both peers have counted; nothing that is 0."""
    a, b = ({n: v for n, v in peer.adapter.counts.items() if v} for peer in rig.peers)
    return a, b


def test_each_family_shows_the_counters_that_its_driver_has() -> None:
    zero = dict.fromkeys(Rig().peers[0].adapter.counts, 0)
    names = {
        name: shown(zero, load(name, "adapters").model, True).keys()
        for name in ("mt25208", "connectx3-en", "connectx4", "connectx6")
    }
    assert "local_ack_timeout_err" not in names["mt25208"]
    assert "sq_num_to" in names["connectx3-en"]
    assert "local_ack_timeout_err" not in names["connectx3-en"]
    assert names["connectx6"] - names["connectx4"] == {"roce_adp_retrans", "roce_adp_retrans_to"}
    over_infiniband = shown(zero, load("connectx6", "adapters").model, False).keys()
    assert names["connectx4"] - over_infiniband == {
        "rp_cnp_handled",
        "np_ecn_marked_roce_packets",
        "np_cnp_sent",
    }
    for known in names.values():
        assert {"retransmissions", "out_of_sequence", "naks"} <= known


def test_requests_are_counted_where_they_are_received(rig: Rig) -> None:
    a, b, qp, remote = rig.joined()
    rig.run(b.post_receives(remote, b.receive(64)))
    opcodes = [WRITE, WRITE, READ, FETCH_ADD, SEND]
    rig.exchange(qp, a, *[a.request(op, b, 5000 if op is WRITE else 8) for op in opcodes])
    near, far = counts(rig)
    requests = {name: n for name, n in far.items() if name.startswith("rx_")}
    assert requests == {"rx_write_requests": 2, "rx_read_requests": 1, "rx_atomic_requests": 1}
    assert not [name for name in (*near, *far) if name.startswith(("req_", "resp_", "out_of"))]


def test_a_burst_of_lost_packets_is_one_error_of_the_sequence(rig: Rig) -> None:
    a, b, qp, _ = rig.joined()
    lose(a.adapter.ports[0].transmitter, ListedLosses(dict.fromkeys((3, 4, 5), Fate.DROP)))
    assert statuses(rig.exchange(qp, a, a.request(WRITE, b, 16384))) == ["SUCCESS"]
    near, far = counts(rig)
    assert near["packet_seq_err"] == 1
    assert far["out_of_sequence"] > 3
    assert "local_ack_timeout_err" not in near


def test_an_acknowledgement_that_is_lost_makes_a_duplicate(rig: Rig) -> None:
    a, b, qp, _ = rig.joined()
    lose(b.adapter.ports[0].transmitter, ListedLosses({1: Fate.DROP}))
    assert statuses(rig.exchange(qp, a, a.request(WRITE, b, 8))) == ["SUCCESS"]
    near, far = counts(rig)
    assert near["local_ack_timeout_err"] == 1
    assert far["duplicate_request"] == 1
    assert far["rx_write_requests"] == 1
    assert "req_transport_retries_exceeded" not in near


def test_a_response_that_is_lost_is_an_implied_refusal(rig: Rig) -> None:
    a, b, qp, _ = rig.joined()
    lose(b.adapter.ports[0].transmitter, ListedLosses({2: Fate.DROP}))
    assert statuses(rig.exchange(qp, a, a.request(READ, b, 8192))) == ["SUCCESS"]
    near, far = counts(rig)
    assert near["implied_nak_seq_err"] == 1
    assert far["duplicate_request"] == 1


def test_statuses_and_counters_add_up(rig: Rig) -> None:
    a, b, qp, _ = rig.joined(rnr_retry=2, min_rnr_timer_ps=10**7)
    requests = [a.request(SEND, b, 64), *[a.request(WRITE, b, 8)] * 3]
    done = rig.exchange(qp, a, *requests)
    assert statuses(done) == ["RNR_RETRY_EXC_ERR"] + ["WR_FLUSH_ERR"] * 3
    near, far = counts(rig)
    assert near["rnr_nak_retry_err"] == far["out_of_buffer"] == 3
    assert near["req_rnr_retries_exceeded"] == near["req_cqe_error"] == 1


@pytest.mark.parametrize(
    ("testbed", "counted"), [("fault-connectx4", True), ("fault-direct", False)]
)
def test_flushes_and_errors_of_responders_are_counted_by_adapters_that_were_seen_to(
    testbed: str, counted: bool
) -> None:
    rig, a, b, qp, remote = joined(resolve(testbed))
    rig.run(b.post_receives(remote, b.receive(64)))
    wrong = a.request(WRITE, b, 8)
    wrong.rkey ^= 1 << 31
    done = rig.exchange(qp, a, wrong, *[a.request(WRITE, b, 8)] * 2)
    assert statuses(done) == ["REM_ACCESS_ERR", "WR_FLUSH_ERR", "WR_FLUSH_ERR"]
    near, far = (peer.adapter.counters() for peer in (a, b))
    assert near["req_remote_access_errors"] == 1
    assert near["req_cqe_flush_error"] == 2 * counted
    assert near["req_cqe_error"] == 1 + 2 * counted
    assert far["resp_remote_access_errors"] == far["resp_cqe_flush_error"] == int(counted)
