"""Messages that are sent before anybody asks: their packets, copies and completions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hcasim.catalog import resolve
from hcasim.engine import EventLog
from hcasim.ground.errors import CatalogError
from hcasim.mpi import Comm, Job
from hcasim.mpi.message import MPIError, Status
from tests.mpi_jobs import job, one_way

PIECE = 8247
"""What a receive of openmpi-ucx holds beside the header: its buffers of 8256 B less 9."""


def ucx(per_node: int = 1, **overrides: str) -> Job:
    """Two nodes with a library that polls no memory and sends long messages at once."""
    paths = {f"stack.mpi.{name.replace('__', '.')}": value for name, value in overrides.items()}
    machine = resolve("pair", adapter="connectx6", stack="openmpi-ucx", overrides=paths)
    return job(2, per_node, machine)


def steps_of_sender(made: Job, main: Any) -> set[str]:
    """The steps of the library that the first process tells of while a program runs."""
    log = EventLog()
    made.sim.listeners.append(log)
    made.run(main)
    core = made.processes[0].context.core.name
    return {event for _, block, event, _, _ in log.events if block == core}


@pytest.mark.parametrize("size", [PIECE, PIECE + 1, 3 * PIECE - 5])
@pytest.mark.parametrize("late", ["", "probe", "compute"])
@pytest.mark.parametrize("per_node", [1, 2])
def test_a_message_in_several_packets_comes_in_whole(size: int, late: str, per_node: int) -> None:
    """Whether its receive waits for it or is posted when one packet or all have come."""
    sent = np.arange(size, dtype="uint8")
    after = np.full(4, 7, dtype="uint8")

    def main(comm: Comm) -> Any:
        if comm.rank > 1:
            return None
        if comm.rank == 0:
            yield from comm.send(sent, 1)
            yield from comm.send(after, 1)
            return None
        received, last = np.zeros(size, dtype="uint8"), np.zeros(4, dtype="uint8")
        if late == "compute":
            yield from comm.compute(50e-6, beside=True)
        if late:
            assert (yield from comm.probe(0)) is not None
        status = yield from comm.recv(received, 0)
        yield from comm.recv(last, 0)
        return status, received, last

    status, received, last = ucx(per_node).run(main)[1]
    assert status == Status(0, 0, size)
    assert (received == sent).all()
    assert (last == after).all()


def test_a_receive_that_is_too_short_for_all_packets_is_refused_at_the_first() -> None:
    def main(comm: Comm) -> Any:
        if comm.rank == 0:
            yield from comm.send(2 * PIECE, 1)
        else:
            yield from comm.recv(PIECE, 0)

    with pytest.raises(MPIError, match=f"a message of {2 * PIECE} bytes; the receive has {PIECE}"):
        ucx().run(main)


def begun(size: int, waits: bool) -> Any:
    def main(comm: Comm) -> Any:
        if comm.rank == 0 and waits:
            yield from comm.send(size, 1)
        elif comm.rank == 0:
            request = yield from comm.isend(size, 1)
            yield from request.wait()
        else:
            yield from comm.recv(size, 0)

    return main


def test_only_a_call_that_does_not_wait_sends_from_where_the_data_are() -> None:
    for size, waits, copied in ((2038, False, True), (2039, False, False), (2039, True, True)):
        assert ("copy in" in steps_of_sender(ucx(), begun(size, waits))) == copied


def test_a_call_that_waits_has_a_limit_of_its_own() -> None:
    for size, waits, asked in ((20301, False, True), (20301, True, False), (262144, True, True)):
        assert ("post RTS" in steps_of_sender(ucx(), begun(size, waits))) == asked


def test_what_is_not_copied_belongs_to_the_library_until_it_has_been_sent() -> None:
    """A copied message is done at once, another when the receiver has it."""

    def main(comm: Comm) -> Any:
        if comm.rank == 0:
            request = yield from comm.isend(4096, 1)
            early = request.done
            yield from request.wait()
            return early
        yield from comm.recv(4096, 0)
        return None

    assert ucx(eager__zcopy="0").run(main)[0]
    assert not ucx().run(main)[0]


def completions(made: Job, count: int) -> int:
    made.run(one_way(8, count))
    queue = made.processes[0].cq.queue
    return int(queue.produced)


def test_one_completion_is_that_of_all_requests_before_it() -> None:
    assert completions(ucx(eager__moderation="1"), 96) == 96
    assert completions(ucx(eager__moderation="32"), 96) == 3


@pytest.mark.parametrize("receives", ["2", "5", "128"])
def test_a_sender_with_few_places_asks_often_enough_to_go_on(receives: str) -> None:
    """Never all places wait for a completion that nobody has asked for."""
    made = ucx(queue__receives=receives, queue__credit_return="1", eager__moderation="65536")
    made.run(one_way(8, 40))


@pytest.mark.parametrize(("size", "ring", "queue"), [(900, 5, 0), (2000, 0, 5)])
def test_what_is_too_long_for_a_ring_goes_to_the_receive_queue(
    size: int, ring: int, queue: int
) -> None:
    made = job(ring__slot="1 KiB")
    made.run(one_way(size, 5))
    channels = made.processes[0].connections[1].channels
    assert [one._sent for one in channels] == [ring, queue]


def test_the_work_of_a_call_follows_from_the_clock() -> None:
    slow, fast = (
        resolve("pair", stack="openmpi-ucx", overrides={"host.core.frequency": clock})
        for clock in ("1.5 GHz", "3 GHz")
    )
    calls = [job(on=one).processes[0].calls for one in (slow, fast)]
    assert [one.send for one in calls] == [73333, 36666]
    assert [one.packet for one in calls] == [373333, 186666]
    assert job().processes[0].calls.send == 100_000


def test_a_message_alone_waits_for_two_lines_that_the_adapter_has_written() -> None:
    """The completion and the header; those of a message behind others are fetched ahead."""

    def ends(count: int) -> list[int]:
        made = [
            job(on=resolve("pair", stack="openmpi-ucx", overrides={"host.core.line": line}))
            for line in ("0 ns", "100 ns")
        ]
        for one in made:
            one.run(one_way(8, count))
        return [one.sim.now for one in made]

    without, with_lines = ends(1)
    assert with_lines - without == 200_000
    without, with_lines = ends(40)
    assert with_lines - without < 40 * 200_000 / 4


@pytest.mark.parametrize(
    ("stack", "paths", "said"),
    [
        ("mvapich-0.9.5", {"eager.zcopy": "1 KiB"}, "found a ring; allowed: none"),
        ("openmpi-ucx", {"queue.buffer": "64 B", "header.control": "73 B"}, "from 73 B"),
    ],
)
def test_a_way_that_cannot_carry_a_packet_is_refused(
    stack: str, paths: dict[str, str], said: str
) -> None:
    with pytest.raises(CatalogError) as caught:
        resolve("liu2004", stack=stack, overrides={f"stack.mpi.{k}": v for k, v in paths.items()})
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("stack", "slot", "buffer"),
    [
        ("mvapich-0.9.2", 2048, 2048),
        ("mvapich-liu2004", 8192, 8192),
        ("mvapich-0.9.5", 6144, 6144),
    ],
)
def test_what_holds_a_message_is_as_long_as_the_longest_one_takes(
    stack: str, slot: int, buffer: int
) -> None:
    library = resolve("liu2004", stack=stack).stack.mpi
    assert library is not None
    assert (library.slot, library.buffer) == (slot, buffer)
    alone = library.model_copy(
        update={"ring": None, "queue": library.queue.model_copy(update={"buffer": None})}
    )
    assert alone.buffer == library.header.size + library.eager.limit
