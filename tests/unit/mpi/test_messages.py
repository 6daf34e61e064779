"""Messages between two processes and among a few."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.mpi import ANY_SOURCE, ANY_TAG, Comm, Status
from hcasim.mpi.delivery import Matching
from hcasim.mpi.memory import Buffer
from hcasim.mpi.message import Kind, MpiPacket, Recv
from tests.mpi_jobs import job, run

EAGER, RENDEZVOUS = 1000, 100_000
TWO_PORTS = {"rails__ports": "2", "rails__small": "round_robin"}
WRITTEN = {
    "ring__slots": "2",
    "ring__credit_return": "0",
    "queue__credits_by": "write",
    "queue__receives": "4",
    "queue__credit_return": "1",
}
PROTOCOLS = [
    {},
    {"rendezvous__protocol": "rget"},
    {"rendezvous__protocol": "r3"},
    {"rendezvous__chunk": "4K"},
    {"rails__ports": "2"},
    {"rails__ports": "2", "rendezvous__protocol": "rget"},
    TWO_PORTS,
    {"registration__lazy": "false", "registration__entries": "1"},
    {"eager__done": "sent"},
    {"rendezvous__outstanding": "1"},
    {"queue__cq": "per_peer"},
    WRITTEN,
]


def content(size: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 256, size, dtype="uint8")


def arrives(size: int, place: tuple[int, int], options: dict[str, str]) -> bool:
    """Whether a message arrives as it was sent."""
    sent = content(size)

    def main(comm: Comm) -> Any:
        if comm.rank == 0:
            yield from comm.send(sent, 1, tag=7)
            return None
        into = np.zeros(size + 10, dtype="uint8")
        status = yield from comm.recv(into, 0)
        assert status == Status(0, 7, size)
        return into[:size]

    return np.array_equal(run(main, *place, **options)[1], sent)


@pytest.mark.parametrize("place", [(2, 1), (1, 2)], ids=["two nodes", "one node"])
def test_a_message_arrives_as_it_was_sent(place: tuple[int, int]) -> None:
    sizes = [0, 1, 255, 256, EAGER, 6084, 6085, 8193, RENDEZVOUS]
    # Every protocol with every third size, every size with every third protocol.
    pairs = [
        (size, options)
        for turn, options in enumerate(PROTOCOLS)
        for size in (*sizes[turn % 3 :: 3], RENDEZVOUS)
    ]
    assert [one for one in pairs if not arrives(one[0], place, one[1])] == []


def test_probe_tells_of_a_message_and_leaves_it() -> None:
    def main(comm: Comm) -> Any:
        if comm.rank == 0:
            assert (yield from comm.iprobe()) is None
            status = yield from comm.probe()
            assert status == Status(1, 3, RENDEZVOUS)
            return (yield from comm.recv(RENDEZVOUS))
        yield from comm.send(RENDEZVOUS, 0, 3)
        return None

    assert run(main)[0] == Status(1, 3, RENDEZVOUS)


def test_test_makes_progress() -> None:
    def main(comm: Comm) -> Any:
        if comm.rank == 0:
            yield from comm.send(RENDEZVOUS, 1)
            return None
        request = yield from comm.irecv(RENDEZVOUS, 0)
        looks = 0
        while not (yield from request.test()):
            looks += 1
        assert (yield from request.wait()).count == RENDEZVOUS
        return looks

    assert run(main)[1] > 10


@pytest.mark.pure
@pytest.mark.parametrize(
    ("size", "early", "copies"), [(1024, True, 1), (1024, False, 2), (1 << 20, True, 1)]
)
def test_a_message_to_itself_is_copied_and_never_leaves_the_process(
    size: int, early: bool, copies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once if a receive waits for it; a short one that nobody waits for is put aside before."""
    made = job(2, 1)
    core = made.processes[0].context.core
    copied: list[int] = []
    copy = core.copy

    def counted(size: int, source: int, target: int) -> Any:
        copied.append(size)
        return copy(size, source, target)

    monkeypatch.setattr(core, "copy", counted)

    def main(comm: Comm) -> Any:
        if comm.rank:
            return
        requests = []
        if early:
            requests.append((yield from comm.irecv(size, 0)))
        requests.append((yield from comm.isend(size, 0)))
        if not early:
            requests.append((yield from comm.irecv(size, 0)))
        yield from comm.waitall(requests)

    made.run(main)
    assert copied == [size] * copies
    assert not made.processes[0].connections


def test_waitany_tells_of_each_request_once() -> None:
    def main(comm: Comm) -> Any:
        if comm.rank:
            for tag in (2, 0, 1):
                yield from comm.send(64, 0, tag)
            return None
        requests = []
        for tag in range(3):
            requests.append((yield from comm.irecv(64, 1, tag)))
        places = []
        for _ in range(4):
            places.append((yield from comm.waitany(requests)))
        return places

    assert run(main)[0] == [2, 0, 1, None]


def test_arrays_are_added_unless_another_operation_is_asked_for() -> None:
    def main(comm: Comm) -> Any:
        total, one = np.zeros(2), np.zeros(2)
        yield from comm.allreduce(np.full(2, 1.0 + comm.rank), total)
        yield from comm.reduce(np.full(2, 1.0 + comm.rank), one)
        return total.tolist(), one.tolist()

    assert run(main) == [([3.0, 3.0], [3.0, 3.0]), ([3.0, 3.0], [0.0, 0.0])]


def test_a_number_of_numpy_is_a_number_of_bytes() -> None:
    def main(comm: Comm) -> Any:
        if comm.rank == 0:
            yield from comm.send(np.int64(100), 1)
            return None
        return (yield from comm.recv(np.int32(100), 0)).count

    assert run(main) == [None, 100]


SOURCES, TAGS = st.integers(0, 2), st.integers(0, 2)
RECEIVE = st.tuples(
    st.just("receive"), st.one_of(SOURCES, st.just(ANY_SOURCE)), st.one_of(TAGS, st.just(ANY_TAG))
)
MESSAGE = st.tuples(st.just("message"), SOURCES, TAGS)
PROCESS = cast(Any, SimpleNamespace())


@given(st.lists(st.one_of(RECEIVE, MESSAGE), max_size=40))
def test_the_oldest_that_fits_is_taken(steps: list[tuple[str, int, int]]) -> None:
    matching = Matching()
    receives: list[Recv] = []
    messages: list[MpiPacket] = []
    for what, source, tag in steps:
        if what == "receive":
            recv = Recv(PROCESS, Buffer(0, 0), source, tag, 0, next(matching.serials))
            wanted = next((one for one in messages if recv.matches(one)), None)
            assert matching.probe(recv) is wanted
            assert matching.post(recv) is wanted
            if wanted is None:
                receives.append(recv)
            else:
                messages.remove(wanted)
        else:
            packet = MpiPacket(Kind.EAGER, source, tag)
            fitting = next((one for one in receives if one.matches(packet)), None)
            assert matching.arrive(packet) is fitting
            if fitting is None:
                messages.append(packet)
            else:
                receives.remove(fitting)
