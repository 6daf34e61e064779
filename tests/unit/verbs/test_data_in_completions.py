"""Short messages come in the completion queue entry itself, and need no write of their own."""

import pytest

from hcasim.catalog.adapter import Cqe
from hcasim.verbs import Completion, QPType
from tests.rig import FETCH_ADD, READ, SEND, WRITE, Rig, extended, machine, succeeded


def rig(inline: int | None = 32) -> Rig:
    return Rig(extended(machine(), adapter={"cqe": {"size": 64, "inline": inline}}))


def send(made: Rig, length: int, kind: QPType = QPType.RC) -> Completion:
    a, b, qp, remote = made.joined(qp_type=kind)

    receiving = b.take(remote, b.receive(4096))
    (received,), sent = made.run(receiving, a.send(qp, a.request(SEND, b, length), after=10**7))
    assert succeeded([received, *sent])
    return received


@pytest.mark.parametrize(("length", "writes"), [(1, 1), (32, 1), (33, 2), (2000, 3)])
def test_a_send_up_to_the_limit_saves_the_write_of_its_data(length: int, writes: int) -> None:
    made = rig()
    assert send(made, length).byte_len == length
    # The entry, and each packet of a message that is longer.
    assert made.peers[1].adapter.bus.counters()["bus_writes"] == writes


def test_the_data_is_in_the_buffer_when_the_completion_has_been_polled() -> None:
    for inline in (None, 32):
        made = rig(inline)
        times: list[int] = []
        made.peers[1].mr.listen(lambda *_, made=made, times=times: times.append(made.sim.now))
        entry_at = send(made, 8).timestamp_ps
        (written_at,) = times
        # It is copied from the entry, which otherwise lands behind it.
        assert (written_at > entry_at) == (inline is not None)


def test_an_unreliable_connection_does_so_too() -> None:
    made = rig()
    send(made, 8, QPType.UC)
    assert made.peers[1].adapter.dma.scattered == 0


@pytest.mark.parametrize(("all_signaled", "placed"), [(True, 0), (False, 16)])
def test_what_is_read_comes_in_the_entry_where_all_requests_are_signaled(
    all_signaled: bool, placed: int
) -> None:
    made = rig()
    a, b = made.peers
    b.mr.set_word(b.mr.addr, 5)
    qp, _ = made.connect(a, b, sq_sig_all=all_signaled)
    ends: list[int] = []
    a.mr.listen(lambda address, size: ends.append(address + size - a.mr.addr))
    assert succeeded(
        made.exchange(
            qp, a, a.request(READ, b), a.request(FETCH_ADD, b, offset=64, remote_offset=0)
        )
    )
    assert ends == [8, 72]
    assert a.adapter.dma.scattered == placed
    assert a.mr.word(a.mr.addr + 64) == 5


def test_all_requests_of_such_a_queue_have_completions() -> None:
    made = rig()
    a, b, qp, _ = made.joined(sq_sig_all=True)

    silent = [a.request(WRITE, b, signaled=False)] * 3
    assert succeeded(made.run(a.send(qp, *silent, collect=3))[0])


def test_an_entry_has_room_for_half_of_its_size() -> None:
    with pytest.raises(ValueError, match="found inline data of 64 B in entries of 64 B"):
        Cqe(size=64, inline=64)
    assert Cqe(size=128, inline=64).inline == 64
