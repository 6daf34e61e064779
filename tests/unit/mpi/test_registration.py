"""The registration cache: what it finds again, and what it costs if it does not."""

from typing import Any

import pytest

from hcasim.mpi import Buffer, Comm
from tests.mpi_jobs import job

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
