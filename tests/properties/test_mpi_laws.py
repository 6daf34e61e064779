"""Laws of MPI programs: nothing lost, doubled or overtaken, and never faster than the network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.mpi import ANY_SOURCE, ANY_TAG, Comm, DeadlockError
from hcasim.mpi.collectives import ALGORITHMS
from hcasim.workloads.mpi.path import CriticalPath
from tests.mpi_jobs import job, run

SIZES = st.sampled_from([0, 1, 200, 256, 3000, 6084, 6085, 20_000])
PROTOCOLS = st.sampled_from(
    [
        {},
        {"rendezvous__protocol": "rget"},
        {"rendezvous__protocol": "r3"},
        {"rails__ports": "2", "rails__small": "round_robin"},
        {"ring__slots": "2", "ring__credit_return": "0"},
        {
            "queue__receives": "2",
            "queue__credit_return": "0",
            "ring__slots": "2",
            "ring__credit_return": "0",
        },
        {"rendezvous__outstanding": "1", "registration__entries": "2"},
        {"eager__done": "sent"},
        {
            "queue__credits_by": "write",
            "queue__receives": "2",
            "queue__credit_return": "0",
            "ring__slots": "2",
            "ring__credit_return": "0",
        },
    ]
)
PLACES = st.sampled_from([(2, 1), (1, 2), (3, 1), (2, 2), (4, 1), (4, 2)])


@dataclass(frozen=True)
class Message:
    """From one rank to another; content is its number."""

    source: int
    dest: int
    tag: int
    size: int
    blocking: bool


@st.composite
def schedules(draw: st.DrawFn) -> tuple[tuple[int, int], list[Message]]:
    """Messages among a few processes, in an order that all of them know."""
    place = draw(PLACES)
    ranks = st.integers(0, place[0] * place[1] - 1)
    message = st.builds(Message, ranks, ranks, st.integers(0, 2), SIZES, st.booleans())
    return place, draw(st.lists(message, min_size=1, max_size=30))


@given(schedules(), PROTOCOLS, st.booleans(), st.integers(0, 3))
def test_every_message_arrives_once_and_in_order(
    schedule: tuple[tuple[int, int], list[Message]], options: dict[str, str], wild: bool, delay: int
) -> None:
    place, messages = schedule

    def main(comm: Comm) -> Any:
        yield comm.process.sim.timeout(comm.rank * delay * 10**6)
        pending, found = [], []
        for message in messages:
            if message.dest == comm.rank:
                into = np.zeros(20_000, "uint8")
                source, tag = (ANY_SOURCE, ANY_TAG) if wild else (message.source, message.tag)
                request = yield from comm.irecv(into, source, tag)
                found.append((request, into))
                pending.append(request)
        for number, message in enumerate(messages):
            if message.source == comm.rank:
                data = np.full(message.size, number, "uint8")
                sent = yield from comm.isend(data, message.dest, message.tag)
                pending.append(sent)
                if message.blocking:
                    yield from sent.wait()
        yield from comm.waitall(pending)
        return [(one.status, into[: one.status.count]) for one, into in found]

    for rank, found in enumerate(run(main, *place, **options)):
        mine = [(n, m) for n, m in enumerate(messages) if m.dest == rank]
        sizes = sorted((m.source, m.tag, m.size) for _, m in mine)
        assert sizes == sorted((s.source, s.tag, s.count) for s, _ in found)
        for source in range(place[0] * place[1]):
            for tag in range(3):
                sent = [(n, m.size) for n, m in mine if (m.source, m.tag) == (source, tag)]
                came = [into for s, into in found if (s.source, s.tag) == (source, tag)]
                for (number, size), into in zip(sent, came, strict=True):
                    assert len(into) == size
                    assert (into == number).all()


@given(PLACES, st.sampled_from([1, 300, 5000, 30_000]), PROTOCOLS)
def test_a_message_takes_at_least_as_long_as_its_bytes_on_the_link(
    place: tuple[int, int], size: int, options: dict[str, str]
) -> None:
    """10 Gbit/s on the link carry 1 GB/s; in a node, memory carries no more than its peak."""

    def main(comm: Comm) -> Any:
        if comm.rank == 0:
            yield from comm.send(size, comm.size - 1)
        elif comm.rank == comm.size - 1:
            yield from comm.recv(size, 0)
        return comm.process.sim.now

    ports = 2 if options.get("rails__ports") == "2" else 1
    rate = 1e9 * ports if place[0] > 1 else 6.4e9
    assert run(main, *place, **options)[-1] >= size / rate * 1e12


@given(
    st.sampled_from([(2, 1), (3, 1), (4, 1), (4, 2)]),
    st.sampled_from([8, 2048, 40_000]),
    st.sampled_from(["bcast", "allgather", "alltoall", "allreduce"]),
    st.data(),
)
def test_collectives_take_at_least_what_latency_and_bandwidth_ask_for(
    place: tuple[int, int], size: int, collective: str, data: st.DataObject
) -> None:
    count = place[0] * place[1]
    algorithm = data.draw(st.sampled_from(sorted(ALGORITHMS[collective])))
    whole = size * count if collective in ("allgather", "alltoall") else size
    own = whole if collective == "alltoall" else size

    def main(comm: Comm) -> Any:
        if collective == "bcast":
            yield from comm.bcast(size, algorithm=algorithm)
        else:
            yield from getattr(comm, collective)(own, whole, algorithm=algorithm)
        return comm.process.sim.now

    def one(comm: Comm) -> Any:
        if comm.rank == 0:
            yield from comm.send(1, 1)
        elif comm.rank == 1:
            yield from comm.recv(1, 0)
        return comm.process.sim.now

    shortest = min(run(one, 2)[1], run(one, 1, 2)[1])
    times = run(main, *place)
    assert max(times) >= shortest
    # What has to come in by the link of a node, of what the processes on others have.
    foreign = (count - place[1]) * size
    incoming = {"bcast": size, "allgather": foreign, "alltoall": foreign * place[1]}
    assert max(times) >= incoming.get(collective, size) / 1e9 * 1e12


@given(st.integers(2, 6), st.data())
def test_a_deadlock_is_told_if_and_only_if_there_is_one(count: int, data: st.DataObject) -> None:
    """Blocking sends of long messages around a ring: somebody has to receive first."""
    first = data.draw(st.lists(st.booleans(), min_size=count, max_size=count))
    made = job(3, 2)

    def main(comm: Comm) -> Any:
        if comm.rank >= count:
            return
        right, left = (comm.rank + 1) % count, (comm.rank - 1) % count
        if first[comm.rank]:
            yield from comm.recv(300_000, left)
            yield from comm.send(300_000, right)
        else:
            yield from comm.send(300_000, right)
            yield from comm.recv(300_000, left)

    if any(first) and not all(first):
        made.run(main)
        return
    with pytest.raises(DeadlockError) as caught:
        made.run(main)
    assert set(caught.value.waiting) == set(range(count))


@given(schedules(), PROTOCOLS)
def test_the_path_of_any_program_adds_up_and_is_a_chain(
    schedule: tuple[tuple[int, int], list[Message]], options: dict[str, str]
) -> None:
    place, messages = schedule
    made = job(*place, **options)
    path = CriticalPath(made.sim, made.processes)

    def main(comm: Comm) -> Any:
        pending = []
        for message in messages:
            if message.dest == comm.rank:
                request = yield from comm.irecv(20_000, message.source, message.tag)
                pending.append(request)
        for message in messages:
            if message.source == comm.rank:
                sent = yield from comm.isend(message.size, message.dest, message.tag)
                pending.append(sent)
                if message.blocking:
                    yield from sent.wait()
        yield from comm.waitall(pending)
        return made.sim.now

    ends = made.run(main)
    last = max(range(len(ends)), key=lambda rank: ends[rank])
    steps = path.back(last, ends[last], 0)
    assert sum(step.duration_ps for step in steps) == ends[last]
    assert "other" not in {step.name for step in steps}
    assert steps[-1].to == last
    at, before = steps[0].rank, None
    for step in steps:
        way = (step.rank, step.to) if step.on_the_way else None
        assert step.rank == at or way == before
        at, before = step.to, way
        if step.on_the_way:
            stages = sum(round(stage["us"] * 1e6) for stage in step.stages)
            assert stages == step.duration_ps
