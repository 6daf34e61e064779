"""Where the entries of queues lie in host memory."""

import pytest

from hcasim.hca import Access, Region
from hcasim.hca.translation import Ring, WorkQueueBuffer
from hcasim.hca.wqe import EntryLayout
from tests.rig import SEND, WRITE, Peer, Program, Rig, joined

PAGE = 4096


def region(address: int = PAGE, length: int = PAGE) -> Region:
    return Region(1, 0, address, length, Access.LOCAL_WRITE, PAGE, 0, on_adapter=False)


@pytest.mark.parametrize(
    ("queues", "offset", "size"),
    [
        (WorkQueueBuffer(4, 64, 4, 64), 256, 512),
        (WorkQueueBuffer(4, 64, 3, 64), 192, 448),
        # The send queue begins with a multiple of its stride.
        (WorkQueueBuffer(4, 256, 3, 64), 256, 1280),
        (WorkQueueBuffer(1, 512, 9, 64), 1024, 1536),
    ],
)
def test_the_send_queue_lies_behind_the_receive_queue(
    queues: WorkQueueBuffer, offset: int, size: int
) -> None:
    assert (queues.send_offset, queues.size) == (offset, size)


@pytest.mark.parametrize(
    ("inline", "stride"),
    # Next 8, control 8, remote address 16; then an atomic's 32 or 4 and the data.
    [(0, 64), (28, 64), (29, 128), (92, 128), (93, 256), (128, 256)],
)
def test_an_entry_of_the_send_queue_holds_any_request(inline: int, stride: int) -> None:
    assert EntryLayout(64, False, 16, 16, 16, 16, 4, 48).room(inline) == stride


def noted(peer: Peer) -> list[int]:
    """Where the entries of an adapter's queues are read from, each in its buffer."""
    found: list[int] = []
    fetch = peer.adapter.dma.fetch_entry

    def note(ring: Ring, index: int, *rest: object) -> None:
        found.append(ring.address(index) - ring.region.address)
        fetch(ring, index, *rest)

    peer.adapter.dma.fetch_entry = note
    return found


@pytest.mark.pure
@pytest.mark.parametrize(("inline", "begin", "stride"), [(0, 192, 64), (128, 256, 256)])
def test_entries_are_read_in_turn_from_where_they_were_posted(
    inline: int, begin: int, stride: int
) -> None:
    """Those of requests that are not signaled, too."""
    rig, a, b, qp, remote = joined(max_send_wr=4, max_recv_wr=3, max_inline_data=inline)
    sent, received = noted(a), noted(b)

    def program() -> Program:
        for _ in range(5):
            yield from b.post_receives(remote, *[b.receive(64)] * 2)
            yield from a.post(qp, a.request(SEND, b, signaled=False), a.request(SEND, b))
            yield from a.collect(1)
            yield from b.collect(2)

    rig.run(program())
    assert sent == [begin + stride * (index % 4) for index in range(10)]
    assert received == [64 * (index % 3) for index in range(10)]


def test_a_queue_within_a_page_needs_one_entry_of_each_table() -> None:
    rig, a, b, qp, _ = joined(max_send_wr=32, max_recv_wr=1)
    for _ in range(100):
        rig.exchange(qp, a, a.request(WRITE, b))
    # Work queue, completion queue and buffer here, the buffer there; the completion queue of 4096
    # entries of 32 B has 128 of them in a page.
    assert rig.counter("mpt_miss_cnt") == rig.counter("mtt_miss_cnt") == 3 + 1


@pytest.mark.pure
def test_completions_are_written_in_turn_to_their_queue() -> None:
    rig = Rig(cqe=3)
    a, b, qp, _ = rig.joined()
    written: list[int] = []
    write = rig.cluster.nodes[0].bus.start_write

    def noted(address: int, size: int, *rest: object) -> None:
        written.append(address)
        write(address, size, *rest)

    rig.cluster.nodes[0].bus.start_write = noted
    for _ in range(7):
        rig.exchange(qp, a, a.request(WRITE, b))
    first = a.cq.queue.ring.region.address
    assert written == [first + 32 * (index % 3) for index in range(7)]
