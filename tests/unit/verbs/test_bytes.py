"""Regions that hold bytes: what DMA reads, what it writes, and when."""

from random import Random

import pytest

from hcasim.hca import QPType
from hcasim.verbs import MR, VerbsError, WROpcode
from tests.rig import Program, Rig, machine

WRITE, SEND, READ = WROpcode.RDMA_WRITE, WROpcode.SEND, WROpcode.RDMA_READ
HERE, THERE = 100, 4160


def filled(rig: Rig) -> tuple[bytes, bytes]:
    """Fill the buffers of both peers with bytes of their own."""
    a, b = rig.peers
    first, second = (Random(seed).randbytes(peer.mr.length) for seed, peer in enumerate((a, b)))
    a.mr.write(first)
    b.mr.write(second)
    return first, second


@pytest.mark.parametrize("size", [1, 1000, 1025, 70_000, 3 << 20])
@pytest.mark.parametrize("opcode", [WRITE, SEND, READ])
@pytest.mark.parametrize("exact", [False, True])
def test_an_operation_moves_its_bytes_and_no_others(
    opcode: WROpcode, size: int, exact: bool
) -> None:
    rig = Rig(exact=exact, data=True)
    first, second = filled(rig)
    a, b, qp_a, qp_b = rig.joined()
    if opcode is SEND:
        qp_b.prepost_recv(b.receive(size, offset=THERE))
    rig.exchange(qp_a, a, a.request(opcode, b, size, offset=HERE, remote_offset=THERE))
    if opcode is READ:
        first = first[:HERE] + second[THERE : THERE + size] + first[HERE + size :]
    else:
        second = second[:THERE] + first[HERE : HERE + size] + second[THERE + size :]
    assert a.mr.read(a.mr.length, 0) == first
    assert b.mr.read(b.mr.length, 0) == second
    if size > 1 << 20:
        assert exact or rig.sim.forward.skipped_ps > rig.sim.now // 2


def test_bytes_of_a_request_inside_an_entry_are_those_at_the_post() -> None:
    rig = Rig(data=True)
    a, b, qp_a, qp_b = rig.joined(max_inline_data=64)
    qp_b.prepost_recv(b.receive(64))
    a.mr.write(b"old")

    def program() -> Program:
        yield from qp_a.post_send(a.request(SEND, b, 3, inline=True))
        a.mr.write(b"new")

    rig.run(program())
    assert b.mr.read(3, 0) == b"old"


def test_other_bytes_are_read_by_dma_after_the_post() -> None:
    rig = Rig(data=True)
    a, b, qp_a, _ = rig.joined()
    a.mr.write(b"old")

    def program() -> Program:
        yield from qp_a.post_send(a.request(WRITE, b, 3))
        a.mr.write(b"new")

    rig.run(program())
    assert b.mr.read(3, 0) == b"new"


def test_what_is_changed_after_the_completion_does_not_arrive() -> None:
    rig = Rig(data=True)
    a, b, qp_a, _ = rig.joined(qp_type=QPType.UC)
    a.mr.write(b"old" * 1000)

    def program() -> Program:
        yield from qp_a.post_send(a.request(WRITE, b, 3000))
        yield from a.cq.wait()
        a.mr.write(b"new" * 1000)

    rig.run(program())
    assert b.mr.read(3000, 0) == b"old" * 1000


def test_who_looks_too_early_sees_old_bytes_and_the_last_byte_last() -> None:
    rig = Rig(data=True)
    a, b, qp_a, _ = rig.joined()
    size = 1 << 16
    a.mr.write(b"n" * size)
    b.mr.write(b"o" * size)
    seen: list[tuple[int, int]] = []
    b.mr.listen(lambda address, length: seen.append(look(b.mr, size)))
    rig.exchange(qp_a, a, a.request(WRITE, b, size))
    assert len(seen) == size // 1024
    assert all(new == (place + 1) * 1024 for place, (new, _) in enumerate(seen))
    assert [old for _, old in seen] == [size - new for new, _ in seen]


def look(mr: MR, size: int) -> tuple[int, int]:
    """(bytes that are new before the first old one, old bytes behind the last new one)."""
    found = mr.read(size, 0)
    return len(found) - len(found.lstrip(b"n")), len(found) - len(found.rstrip(b"o"))


def test_atomics_work_on_the_bytes_of_the_region() -> None:
    rig = Rig(data=True)
    a, b, qp_a, _ = rig.joined()
    b.mr.write((2**64 - 1).to_bytes(8, "little"))
    add = WROpcode.ATOMIC_FETCH_AND_ADD
    swap = WROpcode.ATOMIC_CMP_AND_SWP
    rig.exchange(
        qp_a,
        a,
        a.request(add, b, compare_add=3),
        a.request(swap, b, compare_add=2, swap=77, offset=8, remote_offset=0),
        a.request(swap, b, compare_add=2, swap=99, offset=16, remote_offset=0),
    )
    words = [int.from_bytes(a.mr.read(8, place), "little") for place in (0, 8, 16)]
    assert words == [2**64 - 1, 2, 77]
    assert (b.mr.word(b.mr.addr), b.mr.read(8, 0)) == (77, (77).to_bytes(8, "little"))


def test_data_has_to_be_as_long_as_its_region_and_writable() -> None:
    rig = Rig(machine())
    a = rig.peers[0]
    for data in (bytearray(7), memoryview(b"12345678")):
        with pytest.raises(VerbsError, match="allowed: 8 bytes that can be written"):
            a.pd.reg_mr(8, data=data)
    with pytest.raises(VerbsError, match="holds no data"):
        a.mr.read(1, 0)
    mr = a.pd.reg_mr(8, data=bytearray(8))
    with pytest.raises(VerbsError, match="9 bytes from 0 on; the region has 8"):
        mr.write(b"123456789")
