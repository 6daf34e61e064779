"""IS sends what its keys say."""

import numpy as np
import pytest

from hcasim.apps.nas import KERNELS
from hcasim.apps.nas.is_ import all_keys, counts
from tests.mpi_jobs import job
from tests.unit.apps.nas.stand_in import count_all

KERNEL = KERNELS["is"]

# By class and processes: bytes to others in ten iterations; smallest and greatest block of the
# first one; and keys that each process gets in it.
TABLE = [
    "A 4 251.7 2081828 2117560 2099508 2114361 2091800 2082939",
    "A 8 293.6 514068 532536 1058768 1040740 1062473 1051888 1030974 1060826 1035208 1047731",
    "B 4 1006.5 8320824 8462328 8399305 8461044 8367332 8326751",
    "B 8 1174.4 2057192 2130548 4238225 4161080 4253256 4207788 4121266 4246066 4135024 4191727",
]


@pytest.mark.parametrize("row", TABLE)
def test_blocks_are_those_of_the_keys(row: str) -> None:
    """The table is of keys without the two that each iteration changes."""
    class_, *words = row.split()
    megabytes = float(words.pop(1))
    n, smallest, greatest, *keys = map(int, words)
    ran = count_all(KERNEL.program(class_, 1e9), n)
    for comm, _ in ran:
        assert comm.calls["allreduce", 4116] == 11
        assert comm.calls["alltoall", 4] == 11
        assert comm.calls["alltoallv", 0] == len(comm.exchanged) == 11
        # Only the last check of the order sends messages beside the collectives.
        assert comm.sizes.total() == (comm.rank < n - 1)
    blocks = [
        size
        for comm, _ in ran
        for sent, _ in comm.exchanged[1:]
        for rank, size in enumerate(sent)
        if rank != comm.rank
    ]
    assert sum(blocks) / 1e6 == pytest.approx(megabytes, abs=0.05)
    assert min(blocks) == pytest.approx(smallest, abs=8 * n)
    assert max(blocks) == pytest.approx(greatest, abs=8 * n)
    got = [sum(comm.exchanged[1][1]) // 4 for comm, _ in ran]
    assert got == pytest.approx(keys, abs=2)
    for comm, _ in ran:
        for other, _ in ran:
            pairs = zip(comm.exchanged, other.exchanged, strict=True)
            assert all(one[0][other.rank] == two[1][comm.rank] for one, two in pairs)


@pytest.mark.parametrize("n", [1, 2, 32, 128])
def test_no_key_is_lost(n: int) -> None:
    for found in counts(KERNEL.sizes["S"], n):
        assert found.sum(1).tolist() == [2**16 // n] * n


@pytest.mark.parametrize(
    ("class_", "places", "ranks", "moves"),
    [
        (
            "S",
            [48427, 17148, 23627, 62548, 4431],
            [0, 18, 346, 64917, 65463],
            [(1, 0), (1, 0), (1, 0), (-1, 0), (-1, 0)],
        ),
        (
            "W",
            [357773, 934767, 875723, 898999, 404505],
            [1249, 11698, 1039987, 1043896, 1048018],
            [(1, -2), (1, -2), (-1, 0), (-1, 0), (-1, 0)],
        ),
    ],
)
def test_keys_have_the_ranks_that_npb_checks(
    class_: str, places: list[int], ranks: list[int], moves: list[tuple[int, int]]
) -> None:
    """Moves are the factor of the iteration and the constant that are added to a rank."""
    size = KERNEL.sizes[class_]
    keys = np.concatenate([*all_keys(size)])
    for iteration in range(1, size.iterations + 1):
        keys[iteration], keys[iteration + size.iterations] = (
            iteration,
            (1 << size.max_key_log2) - iteration,
        )
        found = [int((keys < keys[place]).sum()) for place in places]
        wanted = zip(ranks, moves, strict=True)
        assert found == [rank + factor * iteration + more for rank, (factor, more) in wanted]


def test_collectives_send_keys_and_little_else() -> None:
    """Of what others get, 12 B are counts, and twice three quarters of 517 counters their sum."""
    main = KERNEL.program("S", 1e8)
    found = job(4).run(main)
    for rank, (simulated, (comm, _)) in enumerate(zip(found, count_all(main, 4), strict=True)):
        timed = [sent for sent, _ in comm.exchanged[1:]]
        itself = sum(sent[rank] for sent in timed)
        assert simulated.messages == 10 * (4 + 3 + 3)
        assert simulated.self_messages == 10 * 2
        assert simulated.self_bytes == itself + 10 * 4
        beyond = simulated.sent_bytes - sum(map(sum, timed)) + itself
        assert beyond == pytest.approx(10 * (12 + 2 * 0.75 * 4 * 517), abs=10 * 8)
