"""Each half of a queue pair keeps its own books, around the circle of sequence numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.fabric import Opcode
from hcasim.hca import CompletionQueue, SendWqe, Status
from hcasim.hca.queue_pair import (
    PSN_MODULUS,
    ReceiveQueue,
    ReliableRequester,
    ReliableResponder,
)
from hcasim.hca.rings import Ring
from hcasim.hca.translation import Access, Region

RING = Ring(Region(1, 0, 4096, 4096, Access.LOCAL_WRITE, 4096, 0, on_adapter=False), 0, 64, 8)
CQ = CompletionQueue(1, 8, RING)
START = st.sampled_from([0, 5, PSN_MODULUS - 3, PSN_MODULUS - 1])
REQUESTS = st.lists(
    st.tuples(
        st.sampled_from([Opcode.SEND, Opcode.RDMA_WRITE, Opcode.RDMA_READ_REQUEST]),
        st.integers(0, 40),
    ),
    min_size=1,
    max_size=8,
)


def requester(start: int, requests: list[tuple[Opcode, int]]) -> ReliableRequester:
    """One that has sent all of these, in packets of 10 bytes."""
    made = ReliableRequester(CQ, RING)
    made.next_psn = start
    for number, (opcode, length) in enumerate(requests):
        wqe = SendWqe(opcode, number, length, segment=10)
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
def test_an_acknowledgement_answers_what_has_arrived_whole_and_no_reads(
    start: int, requests: list[tuple[Opcode, int]], count: int
) -> None:
    made = requester(start, requests)
    made.acknowledge((start + count) % PSN_MODULUS)
    for wqe in made.unacknowledged:
        whole = (wqe.first_psn - start) % PSN_MODULUS + wqe.packets - 1 <= count
        assert wqe.responded == (whole and not wqe.awaits_response)


@given(start=START, requests=REQUESTS, number=st.integers(0, 7))
def test_what_is_taken_back_is_sent_again_under_the_same_numbers(
    start: int, requests: list[tuple[Opcode, int]], number: int
) -> None:
    made = requester(start, requests)
    sent = list(made.unacknowledged)
    refused = sent[number % len(sent)]
    assert made.refuse(refused.first_psn) is refused
    assert [wqe.responded for wqe in sent] == [
        not wqe.awaits_response and wqe.wr_id < refused.wr_id for wqe in sent
    ]
    numbers = [wqe.first_psn for wqe in sent]
    assert made.rewind(refused) == len(sent) - refused.wr_id
    assert list(made.unacknowledged) == sent[: refused.wr_id]
    assert list(made.send_queue) == sent[refused.wr_id :]
    kept = sum(wqe.awaits_response for wqe in made.unacknowledged)
    assert made.outstanding_reads == kept
    while made.send_queue:
        wqe = made.send_queue.popleft()
        assert wqe.sent == 0
        made.number(wqe)
        made.unacknowledged.append(wqe)
    assert [wqe.first_psn for wqe in made.unacknowledged] == numbers
    assert made.drain() == sent
    assert made.outstanding_reads == 0


def test_a_request_that_failed_before_it_was_sent_has_no_sequence_numbers() -> None:
    made = requester(PSN_MODULUS - 1, [(Opcode.SEND, 8)])
    failed = SendWqe(Opcode.RDMA_READ_REQUEST, 1, 8, fault=Status.LOC_PROT_ERR)
    made.unacknowledged.appendleft(failed)
    assert made.awaiting(PSN_MODULUS - 1) is None


@pytest.mark.parametrize(("packets", "last", "msn"), [(1, False, 0), (1, True, 1), (7, True, 1)])
def test_the_responder_counts_packets_and_messages(packets: int, last: bool, msn: int) -> None:
    made = ReliableResponder(CQ, ReceiveQueue(RING))
    made.expected_psn = PSN_MODULUS - 1
    made.accept(packets, last)
    assert (made.expected_psn, made.msn) == (packets - 1, msn)
