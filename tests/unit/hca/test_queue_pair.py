"""Each half of a queue pair keeps its own books, around the circle of sequence numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.fabric import Opcode
from hcasim.fabric.packet import PSN_MODULUS
from hcasim.hca import Path, QPType, QueuePair, SendWqe, State
from hcasim.hca.qp.reliable_requester import ReliableRequester
from hcasim.verbs import QP, VerbsError
from tests.iwarp import machine as iwarp
from tests.rig import Rig, extended, joined, machine

START = st.sampled_from([0, 5, PSN_MODULUS - 3, PSN_MODULUS - 1])
REQUESTS = st.lists(
    st.tuples(
        st.sampled_from([Opcode.SEND, Opcode.RDMA_WRITE, Opcode.RDMA_READ_REQUEST]),
        st.integers(0, 40),
    ),
    min_size=1,
    max_size=8,
)


def queue_pair() -> QueuePair:
    peer = Rig().peers[0]
    return QP(peer.pd, peer.cq, peer.cq)._qp


def requester(start: int, requests: list[tuple[Opcode, int]]) -> ReliableRequester:
    """One that has sent all of these, in packets of 10 bytes."""
    made = queue_pair().requester
    assert isinstance(made, ReliableRequester)
    made.next_psn = made.unanswered_psn = start
    made.end.path = Path(retries=7)
    for number, (opcode, length) in enumerate(requests):
        wqe = SendWqe(opcode, number, length)
        wqe.segment = 10
        made.unacknowledged.append(wqe)
        made.number(wqe)
        wqe.sent = wqe.request_packets
    return made


@given(start=START, requests=REQUESTS)
def test_every_sequence_number_belongs_to_one_request(
    start: int, requests: list[tuple[Opcode, int]]
) -> None:
    made = requester(start, requests)
    psn = start
    for wqe in made.unacknowledged:
        for _ in range(max(1, -(-wqe.length // 10))):
            assert made.awaiting(psn) is (wqe if wqe.awaits_response else None)
            psn = (psn + 1) % PSN_MODULUS
    assert psn == made.next_psn


@given(start=START, requests=REQUESTS, count=st.integers(0, 40))
def test_an_acknowledgement_answers_what_has_arrived_whole_up_to_a_read(
    start: int, requests: list[tuple[Opcode, int]], count: int
) -> None:
    made = requester(start, requests)
    sent = list(made.unacknowledged)
    made.acknowledge((start + count) % PSN_MODULUS)
    missed = False
    known = count < (made.next_psn - start) % PSN_MODULUS
    for wqe in sent:
        whole = known and (wqe.first_psn - start) % PSN_MODULUS + wqe.packets - 1 <= count
        # A read that is not answered although what is behind it is has lost its answer.
        missed = missed or (whole and wqe.awaits_response)
        assert wqe.responded == (whole and not missed)
        assert (wqe in made.queue.posted) == missed


@given(start=START, requests=REQUESTS, number=st.integers(0, 7))
def test_what_is_taken_back_is_sent_again_under_the_same_numbers(
    start: int, requests: list[tuple[Opcode, int]], number: int
) -> None:
    made = requester(start, requests)
    sent = list(made.unacknowledged)
    refused = sent[number % len(sent)]
    assert made.refuse_at(refused.first_psn) is refused
    assert [wqe.responded for wqe in sent] == [
        not wqe.awaits_response and wqe.wr_id < refused.wr_id for wqe in sent
    ]
    numbers = [wqe.first_psn for wqe in sent]
    made.rewind(refused)
    assert list(made.unacknowledged) == sent[: refused.wr_id]
    assert list(made.queue.posted) == sent[refused.wr_id :]
    kept = sum(wqe.awaits_response for wqe in made.unacknowledged)
    assert made.outstanding_reads == kept
    while made.queue.posted:
        wqe = made.queue.posted.popleft()
        assert wqe.sent == 0
        made.number(wqe)
        made.unacknowledged.append(wqe)
    assert [wqe.first_psn for wqe in made.unacknowledged] == numbers
    assert made.drain() == sent
    assert made.outstanding_reads == 0


WAYS = {
    State.RESET: {State.INIT},
    State.INIT: {State.INIT, State.RTR},
    State.RTR: {State.RTS},
    State.RTS: {State.RTS, State.SQD, State.SQE},
    State.SQD: {State.RTS, State.SQD, State.SQE},
    State.SQE: {State.RTS},
    State.ERR: set(),
}


def test_a_state_follows_those_that_lead_to_it_and_no_others() -> None:
    for before, after in WAYS.items():
        for state in State:
            made = queue_pair()
            made.state = before
            if state in after | {State.RESET, State.ERR}:
                made.move(state)
                assert made.state is state
            else:
                with pytest.raises(ValueError, match=f"{state.name} after {before.name}; allowed"):
                    made.move(state)


def test_the_transport_follows_from_the_service_and_the_protocol() -> None:
    found = {}
    dynamic = extended(machine(), adapter={"limits": {"dc": True}})
    for name, on in (("infiniband", dynamic), ("iwarp", iwarp())):
        peer = Rig(on).peers[0]
        for kind in QPType if on is dynamic else (QPType.RC,):
            if kind.name.startswith(("XRC", "RAW", "DRIVER")):
                with pytest.raises(VerbsError, match=f"^EOPNOTSUPP: {kind.name} is not modelled; "):
                    QP(peer.pd, peer.cq, peer.cq, qp_type=kind)
                continue
            made = QP(peer.pd, peer.cq, peer.cq, qp_type=kind)._qp
            halves = type(made.requester).__name__, type(made.responder).__name__
            found[name, kind.name] = halves
    assert found == {
        ("infiniband", "RC"): ("ReliableRequester", "ReliableResponder"),
        ("infiniband", "UC"): ("Requester", "Responder"),
        ("infiniband", "UD"): ("DatagramRequester", "DatagramResponder"),
        ("infiniband", "DCI"): ("DciRequester", "DctResponder"),
        ("infiniband", "DCT"): ("Requester", "DctResponder"),
        ("iwarp", "RC"): ("IwarpRequester", "IwarpResponder"),
    }


def test_a_queue_pair_that_failed_is_not_connected_again() -> None:
    *_, qp, remote = joined()
    qp._qp.fail()
    with pytest.raises(VerbsError, match="in the state ERR; allowed: RESET, RTS"):
        qp.connect(remote)
    assert qp.state is State.ERR
