"""What the parameters of a library change in how messages travel, and how it keeps to its room."""

from typing import Any

import pytest

import hcasim as hc
from hcasim.mpi import Buffer, Comm
from hcasim.mpi.channels import Channel, Queue
from hcasim.mpi.connection import Connection
from hcasim.mpi.message import Kind, MpiPacket
from tests.mpi_jobs import job, machine, one_way

LONG = 100_000


def stream(count: int, **options: str) -> Any:
    """Send long messages without waiting in between; return the job when it has ended."""
    made = job(2, 1, **options)

    def main(comm: Comm) -> Any:
        begin = comm.isend if comm.rank == 0 else comm.irecv
        requests = []
        for _ in range(count):
            requests.append((yield from begin(LONG, 1 - comm.rank)))
        yield from comm.waitall(requests)

    made.run(main)
    return made


def test_a_library_that_announces_one_message_at_a_time_takes_longer() -> None:
    alone = stream(8, rendezvous__outstanding="1").sim.now
    together = stream(8).sim.now
    assert alone > 1.05 * together


@pytest.mark.parametrize("protocol", ["rput", "rget"])
def test_a_divided_message_uses_all_ports_alike(protocol: str) -> None:
    made = stream(4, rails__ports="2", rendezvous__protocol=protocol)
    one, other = (
        sum(
            ps
            for name, ps in made.cluster.sim.resources.busy_ps().items()
            if name.endswith(f"hca.port{port}.link")
        )
        for port in (1, 2)
    )
    assert one > 0
    assert one == pytest.approx(other, rel=0.05)


@pytest.mark.pure
@pytest.mark.parametrize(("credit_return", "told"), [("31", True), ("32", False)])
def test_nobody_is_told_of_freed_slots_if_none_but_all_of_them_tell(
    credit_return: str, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What finds no slot goes to the receives."""
    kinds: list[Kind] = []
    post = Queue.post

    def noted(self: Queue, packet: MpiPacket) -> Any:
        kinds.append(packet.kind)
        return post(self, packet)

    monkeypatch.setattr(Queue, "post", noted)
    made = job(
        ring__slots="32",
        ring__credit_return=credit_return,
        queue__receives="512",
        queue__credit_return="511",
    )
    made.run(one_way(8))
    assert Kind.EAGER in kinds
    assert (Kind.CREDIT in kinds) == told


def test_short_messages_that_are_like_the_one_before_have_a_short_header() -> None:
    process = job(2).processes[0]
    header, way = process.library.header, process.connection(1)
    for size, tag, carried in (
        (8, 1, header.size),
        (255, 1, header.cached),
        (256, 1, header.size),
        (8, 1, header.cached),
        (8, 2, header.size),
        (8, 1, header.size),
    ):
        assert way.wire_size(MpiPacket(Kind.EAGER, tag=tag, size=size)) == size + carried


def test_calls_of_one_collective_are_alike_and_those_of_two_are_not() -> None:
    process = job(2).processes[0]
    header, way = process.library.header, process.connection(1)
    carried = []
    for tag, name in enumerate(("bcast", "bcast", "barrier")):
        process.collective = name
        carried.append(way.wire_size(MpiPacket(Kind.EAGER, context=1, tag=tag, size=8)) - 8)
    assert carried == [header.size, header.cached, header.size]


@pytest.mark.pure
def test_the_root_goes_around_where_calls_follow_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bcast, roots = Comm.bcast, set()

    def noted(self: Comm, memory: Any, root: int = 0, algorithm: str = "") -> Any:
        roots.add(root)
        return bcast(self, memory, root, algorithm)

    monkeypatch.setattr(Comm, "bcast", noted)
    hc.bench("osu_bcast", "liu2004", size=4, iters=8, jobs=1, cache=False)
    assert roots == {0}
    hc.bench("imb_bcast", "liu2004", size=4, iters=8, jobs=1, cache=False)
    assert roots == {0, 1, 2, 3}


def test_a_sender_never_fills_more_slots_than_there_are() -> None:
    short = {"ring__slots": "4", "ring__credit_return": "0"}
    made = job(2, 1, **short, queue__receives="3", queue__credit_return="0")
    most = {}

    def main(comm: Comm) -> Any:
        if comm.rank == 0:
            requests = []
            for _ in range(50):
                requests.append((yield from comm.isend(100, 1)))
                for channel in comm.process.connections[1].channels:
                    held = len(channel.peer.coming)
                    name = type(channel).__name__
                    most[name] = max(most.get(name, 0), held)
            yield from comm.waitall(requests)
        else:
            yield comm.process.sim.timeout(10**8)
            for _ in range(50):
                yield from comm.recv(100, 0)

    made.run(main)
    assert most == {"EagerRing": 4, "Queue": 3}


@pytest.mark.pure
def test_credits_that_are_written_take_no_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream one way goes on with four receives, and nothing is sent back but writes."""
    came: list[Kind] = []
    receive = Connection.receive

    def noted(self: Connection, packet: MpiPacket, channel: Channel) -> Any:
        came.append(packet.kind)
        assert not any(packet.credits)
        return receive(self, packet, channel)

    monkeypatch.setattr(Connection, "receive", noted)
    library = machine("lam-7.1", queue__receives="4", queue__credit_return="1")
    job(2, 1, library).run(one_way(100))
    assert came == [Kind.EAGER] * 100


@pytest.mark.parametrize("credit_return", ["0", "2", "10"])
def test_no_packet_comes_where_no_receive_waits(credit_return: str) -> None:
    """Both send much while one of them looks at nothing."""
    made = job(2, 1, queue__credit_return=credit_return)

    def main(comm: Comm) -> Any:
        requests = []
        for _ in range(112):
            requests.append((yield from comm.isend(600, 1 - comm.rank)))
        if comm.rank == 0:
            yield comm.process.context.core.work(10**10)
        for _ in range(112):
            yield from comm.recv(600, 1 - comm.rank)
        yield from comm.waitall(requests)

    made.run(main)
    assert made.cluster.counters()["naks"] == 0


SIZE = 100_000


def use(rounds: int, buffers: int, parts: list[tuple[int, int]], **options: str) -> tuple[int, int]:
    """Send from places in several buffers in turn; return hits and misses of the sender."""
    made = job(2, 1, **{f"registration__{name}": value for name, value in options.items()})

    def main(comm: Comm) -> Any:
        own = [comm.process.heap.allocate(2 * SIZE) for _ in range(buffers)]
        for _ in range(rounds):
            for buffer in own:
                for offset, size in parts:
                    piece: Buffer = buffer.part(offset, size)
                    if comm.rank == 0:
                        yield from comm.send(piece, 1)
                    else:
                        yield from comm.recv(piece, 0)

    made.run(main)
    cache = made.processes[0].registrations
    return cache.hits, cache.misses


def test_a_buffer_is_registered_once() -> None:
    assert use(5, 1, [(0, SIZE)]) == (4, 1)


def test_buffers_beyond_the_entries_displace_each_other() -> None:
    assert use(5, 4, [(0, SIZE)], entries="4") == (16, 4)
    assert use(5, 5, [(0, SIZE)], entries="4") == (0, 25)


def test_pages_are_limited_too() -> None:
    pages = SIZE // 4096 + 1
    assert use(3, 2, [(0, SIZE)], pages=str(2 * pages)) == (4, 2)
    assert use(3, 2, [(0, SIZE)], pages=str(2 * pages - 1)) == (0, 6)


@pytest.mark.parametrize(
    ("match", "hits"),
    [
        # A part that begins on the same page, then one that begins later.
        ("start", 1),
        ("exact", 0),
        ("cover", 2),
    ],
)
def test_what_lies_within_a_registration_is_found_as_the_library_looks(
    match: str, hits: int
) -> None:
    parts = [(0, SIZE), (16, SIZE // 2), (8192, SIZE // 2)]
    assert use(1, 1, parts, match=match) == (hits, 3 - hits)


def test_what_is_not_kept_is_registered_each_time() -> None:
    assert use(5, 1, [(0, SIZE)], lazy="false") == (0, 5)
