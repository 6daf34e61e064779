"""Where a registered buffer lies, and how large its pages are."""

from itertools import pairwise

import pytest

from hcasim.verbs import MR, SGE, RecvWR, SendWR, VerbsError
from tests.rig import ALL, CMP_SWAP, FETCH_ADD, READ, SEND, WRITE, Peer, Rig, machine, succeeded

MIB = 1 << 20
DIMM = 128 * MIB


def on_adapter(peer: Peer, length: int = 1 << 16) -> MR:
    return peer.pd.reg_mr(length, ALL, memory="adapter")


def rig(mode: str = "mem", **more: object) -> Rig:
    return Rig(machine(adapter="mt25218", firmware_mode=mode), **more)


def test_a_page_is_a_power_of_two_of_the_sizes_that_there_are() -> None:
    for memory in ["host", "adapter"]:
        for page_size in [-4096, 0, 1, 512, 2048, 4095, 4097, 12288, 1 << 31]:
            peer = rig().peers[0]
            said = f"page of {page_size} bytes; allowed: .*4096"
            with pytest.raises(VerbsError, match=said) as caught:
                peer.pd.reg_mr(8192, ALL, page_size=page_size, memory=memory)
            assert caught.value.errno == "EINVAL"


@pytest.mark.parametrize("page_size", [4096, 8192, 1 << 16, 1 << 21, 1 << 30])
def test_a_region_begins_with_a_page_and_has_one_entry_for_each(page_size: int) -> None:
    peer = rig().peers[0]
    spans = [(peer.mr.addr, peer.mr.addr + peer.mr.length)]
    for length, pages in ((1, 1), (page_size, 1), (page_size + 1, 2), (5 * page_size // 2, 3)):
        mr = peer.pd.reg_mr(length, ALL, page_size=page_size)
        small = peer.pd.reg_mr(10_000, ALL)
        assert mr.addr % page_size == 0
        assert mr.pages == pages
        spans += [(one.addr, one.addr + one.length) for one in (mr, small)]
    assert all(end <= start for (_, end), (start, _) in pairwise(sorted(spans)))


def test_the_memory_of_an_adapter_is_as_large_as_it_is_and_its_own() -> None:
    for peer in rig().peers:
        with pytest.raises(VerbsError, match=f"{DIMM + 1} bytes .* {DIMM} are free") as caught:
            on_adapter(peer, DIMM + 1)
        assert caught.value.errno == "ENOMEM"
        on_adapter(peer, DIMM - 4096)
        on_adapter(peer, 4096)
        with pytest.raises(VerbsError, match=r"1 bytes .* 0 are free"):
            on_adapter(peer, 1)
        # The memory of the host is another one.
        assert peer.pd.reg_mr(1, ALL).length == 1


def test_the_memory_of_a_region_on_an_adapter_is_free_once_it_is_deregistered() -> None:
    peer = rig().peers[0]
    mr = on_adapter(peer, DIMM)
    mr.dereg()
    assert on_adapter(peer, DIMM).addr == mr.addr


def test_an_adapter_without_memory_in_use_holds_no_buffer() -> None:
    for made in (
        rig("memfree"),
        Rig(
            machine(
                {
                    "adapter.memory.size": "0 B",
                    **{
                        f"adapter.{name}.location": "host"
                        for name in ("sqpc", "rqpc", "cqc", "mpt", "mtt")
                    },
                }
            )
        ),
    ):
        with pytest.raises(VerbsError, match=r"1 bytes .* 0 are free") as caught:
            on_adapter(made.peers[0], 1)
        assert caught.value.errno == "ENOMEM"


@pytest.mark.parametrize("opcode", [WRITE, SEND, READ])
@pytest.mark.parametrize("where", ["here", "there", "both", "none"])
def test_only_data_in_host_memory_is_on_the_bus(opcode: object, where: str) -> None:
    made = rig()
    a, b, qp, remote = made.joined()
    here = on_adapter(a) if where in ("here", "both") else a.mr
    there = on_adapter(b) if where in ("there", "both") else b.mr
    length = 50_000
    if opcode is SEND:
        made.run(b.post_receives(remote, RecvWR((SGE(there.addr, length, there.lkey),))))
    sg_list = (SGE(here.addr, length, here.lkey),)
    request = SendWR(opcode, sg_list=sg_list, remote_addr=there.addr, rkey=there.rkey)
    assert succeeded(made.exchange(qp, a, request))
    source, target = (there, here) if opcode is READ else (here, there)
    entries = 2 if opcode is SEND else 1
    read = 64 * entries + (length if source in (a.mr, b.mr) else 0)
    written = 32 * entries + (length if target in (a.mr, b.mr) else 0)
    assert (made.counter("bus_read_bytes"), made.counter("bus_write_bytes")) == (read, written)
    tables = sum(
        made.counter(f"{name}_fetch_bytes") for name in ("sqpc", "rqpc", "cqc", "mpt", "mtt")
    )
    local = made.counter("local_memory_read_bytes"), made.counter("local_memory_write_bytes")
    assert local == (
        tables + (0 if source in (a.mr, b.mr) else length),
        0 if target in (a.mr, b.mr) else length,
    )


@pytest.mark.parametrize("opcode", [FETCH_ADD, CMP_SWAP])
def test_an_atomic_works_on_a_word_in_the_memory_of_the_adapter(opcode: object) -> None:
    made = rig()
    a, b, qp, _ = made.joined()
    there = on_adapter(b)
    there.set_word(there.addr + 8, 41)
    more = {"compare_add": 1} if opcode is FETCH_ADD else {"compare_add": 41, "swap": 42}
    request = a.request(opcode, b, **more, remote_addr=there.addr + 8, rkey=there.rkey)
    assert succeeded(made.exchange(qp, a, request))
    assert there.word(there.addr + 8) == 42
    assert a.mr.word(a.mr.addr) == 41
    # The request, and its result beside the completion, but not the word itself.
    assert (made.counter("bus_read_bytes"), made.counter("bus_write_bytes")) == (64, 8 + 32)


@pytest.mark.parametrize("length", [8, 1024, 5000])
def test_a_receive_completes_after_its_data_wherever_that_is(length: int) -> None:
    made = rig()
    a, b, qp, remote = made.joined()
    there = on_adapter(b)
    landed: list[int] = []
    there.region.watch(there.addr + length - 1, lambda: landed.append(int(made.sim.now)))
    for _ in range(2):
        made.run(b.post_receives(remote, RecvWR((SGE(there.addr, length, there.lkey),))))
        made.exchange(qp, a, a.request(SEND, b, length))
    assert len(landed) == len(b.cq.queue.entries) == 2
    for data, completion in zip(landed, b.cq.queue.entries, strict=True):
        assert data <= completion.timestamp_ps
