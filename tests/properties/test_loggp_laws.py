"""Without contention, a LogGP machine takes what the formulas of the model say."""

from collections.abc import Generator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hcasim.apps.loggp import LogGP, LogGPComm, LogGPJob

Steps = Generator[Any, Any, None]
TIMES = st.integers(0, 100_000)
MACHINES = st.builds(LogGP, L=TIMES, o=TIMES, g=TIMES, G=st.integers(0, 50))
SIZES = st.integers(1, 65_535)


def elapsed(main: Any, ranks: int, params: LogGP) -> int:
    job = LogGPJob(ranks, params)
    job.run(main)
    return job.sim.now // 1000


def one_way(params: LogGP, size: int) -> int:
    """Nanoseconds of a message."""
    return round(2 * params.o + params.L + (size - 1) * params.G)


@given(params=MACHINES, size=SIZES, turns=st.integers(1, 5))
def test_a_ping_pong_takes_two_messages_a_turn(params: LogGP, size: int, turns: int) -> None:
    def main(comm: LogGPComm) -> Steps:
        for _ in range(turns):
            if comm.rank == 0:
                yield from comm.send(size, 1)
                yield from comm.recv(size, 1)
            else:
                yield from comm.recv(size, 0)
                yield from comm.send(size, 0)

    # The next message may leave only when the gap behind the last one is over.
    there = one_way(params, size)
    gap = round(params.g + (size - 1) * params.G)
    assert elapsed(main, 2, params) == (turns - 1) * max(2 * there, gap) + 2 * there


@given(params=MACHINES, size=SIZES, ranks=st.integers(2, 9))
def test_a_ring_takes_a_message_for_each_rank(params: LogGP, size: int, ranks: int) -> None:
    def main(comm: LogGPComm) -> Steps:
        if comm.rank:
            yield from comm.recv(size, comm.rank - 1)
        yield from comm.send(size, (comm.rank + 1) % ranks)
        if not comm.rank:
            yield from comm.recv(size, ranks - 1)

    assert elapsed(main, ranks, params) == ranks * one_way(params, size)


@given(params=MACHINES, size=SIZES, power=st.integers(1, 5))
def test_a_broadcast_takes_the_longest_way_through_its_tree(
    params: LogGP, size: int, power: int
) -> None:
    ranks = 1 << power

    def main(comm: LogGPComm) -> Steps:
        if comm.rank:
            yield from comm.recv(size, comm.rank & (comm.rank - 1))
        below = (comm.rank & -comm.rank or ranks) // 2
        while below:
            yield from comm.send(size, comm.rank + below)
            below //= 2

    # Who has it sends every max(g + (size - 1) G, o); what is sent later goes less far.
    between = max(round(params.g + (size - 1) * params.G), round(params.o))
    has = {0: 0}
    for rank in range(1, ranks):
        above = rank & (rank - 1)
        highest = (above & -above or ranks) // 2
        place = (highest // (rank & -rank)).bit_length() - 1
        has[rank] = has[above] + place * between + one_way(params, size)
    last = {0: (power - 1) * between + params.o}
    last |= {
        rank: at + ((rank & -rank).bit_length() - 2) * between + params.o if rank % 2 == 0 else at
        for rank, at in has.items()
        if rank
    }
    assert elapsed(main, ranks, params) == max(last.values())
