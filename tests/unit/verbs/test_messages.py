"""Messages of every kind and size arrive whole and complete once."""

from hcasim.fabric.packet import MTUS
from tests.rig import (
    CMP_SWAP,
    FETCH_ADD,
    READ,
    SEND,
    WRITE,
    Program,
    joined,
    machine,
    statuses,
    succeeded,
)


def packets(size: int, mtu: int) -> int:
    return max(1, -(-size // mtu))


def test_a_message_is_cut_at_the_mtu() -> None:
    for size in [1, 256, 4095, 4096, 4097, 100_001]:
        for mtu in MTUS:
            # A connection may use a smaller one than the port.
            rig, a, b, qp, _ = joined(machine(mtu=max(mtu, size & 4096)), path_mtu=mtu)
            assert succeeded(rig.exchange(qp, a, a.request(WRITE, b, size)))
            assert a.adapter.ports[0].transmitter.packets == packets(size, mtu)
            assert succeeded(rig.exchange(qp, a, a.request(READ, b, size)))
            acknowledgements = b.adapter.counts["acknowledgements"]
            sent_back = b.adapter.ports[0].transmitter.packets - acknowledgements
            assert sent_back == packets(size, mtu)


def test_an_atomic_brings_back_the_value_from_before() -> None:
    rig, a, b, qp, _ = joined()
    word, mine = b.mr.addr, a.mr.addr
    b.mr.set_word(word, 40)
    rig.exchange(qp, a, a.request(FETCH_ADD, b, compare_add=2))
    assert (a.mr.word(mine), b.mr.word(word)) == (40, 42)
    rig.exchange(qp, a, a.request(CMP_SWAP, b, compare_add=41, swap=7))
    assert (a.mr.word(mine), b.mr.word(word)) == (42, 42)
    rig.exchange(qp, a, a.request(CMP_SWAP, b, compare_add=42, swap=7))
    assert (a.mr.word(mine), b.mr.word(word)) == (42, 7)
    b.mr.set_word(word, (1 << 64) - 1)
    rig.exchange(qp, a, a.request(FETCH_ADD, b, compare_add=3))
    assert (a.mr.word(mine), b.mr.word(word)) == ((1 << 64) - 1, 2)


def test_a_write_is_seen_by_who_polls_its_last_byte_before_the_sender_knows() -> None:
    rig, a, b, qp, _ = joined()
    watch = b.mr.watch(b.mr.addr + 4999)
    elsewhere = b.mr.watch(b.mr.addr + 5000)

    def reader() -> Program:
        yield from watch.poll(1)
        return rig.sim.now - rig.machine.stack.poll_memory

    seen, done = rig.run(reader(), a.send(qp, a.request(WRITE, b, 5000)))
    assert 0 < seen < done[0].timestamp_ps
    assert elsewhere.count == 0


def test_sequence_numbers_go_round() -> None:
    rig, a, b, qp, remote = joined(min_rnr_timer_ps=10**6)
    last = (1 << 24) - 1
    qp._qp.requester.count_from(last - 4)
    remote._qp.responder.expected_psn = last - 4

    lengths = ((WRITE, 3 * 1024), (SEND, 5 * 1024), (READ, 4 * 1024), (SEND, 40))
    requests = [a.request(opcode, b, length) for opcode, length in lengths]
    receiving = b.take(remote, b.receive(8192), b.receive(8192), after=10**8)
    found, _ = rig.run(a.send(qp, *requests), receiving)
    assert statuses(found) == ["SUCCESS"] * 4
    assert (
        qp._qp.requester.next_psn
        == remote._qp.responder.expected_psn
        == (last - 4 + 3 + 5 + 4 + 1) % (last + 1)
    )
