"""What the parameters of a library change in how messages travel."""

from typing import Any

import pytest

import hcasim as hc
from hcasim.mpi import Comm
from hcasim.mpi.channels import Queue
from hcasim.mpi.message import Kind, MpiPacket
from tests.mpi_jobs import job, one_way

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
    hc.bench("osu_bcast", "liu2004", size=4, iters=8, jobs=1)
    assert roots == {0}
    hc.bench("imb_bcast", "liu2004", size=4, iters=8, jobs=1)
    assert roots == {0, 1, 2, 3}
