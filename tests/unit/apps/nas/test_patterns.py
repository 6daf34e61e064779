"""The messages of FT, MG, LU and CG are those of the sources, in number and size."""

import pytest

from hcasim.apps.nas import KERNELS
from hcasim.apps.nas.lu import part
from hcasim.apps.nas.mg import levels
from tests.unit.apps.nas.stand_in import count, count_all


@pytest.mark.parametrize(
    ("class_", "n", "block", "transposes", "megabytes"),
    [
        ("A", 4, 8 << 20, 7, 704.6),
        ("A", 8, 2 << 20, 7, 822.1),
        ("B", 4, 32 << 20, 21, 8455.7),
        ("B", 8, 8 << 20, 21, 9865.0),
    ],
)
def test_ft_transposes(class_: str, n: int, block: int, transposes: int, megabytes: float) -> None:
    for comm, timed in count_all(KERNELS["ft"].program(class_, 1e9), n):
        # One more before the timed part.
        assert comm.calls["alltoall", block] == transposes + 1
        assert comm.calls["reduce", 16] == transposes - 1
        assert comm.calls["barrier", 0] == 1
        assert timed.messages == comm.sizes.total() == 0
    assert n * (n - 1) * block * transposes / 1e6 == pytest.approx(megabytes, abs=0.05)


def test_ft_of_one_process_transposes_nothing() -> None:
    ((comm, _),) = count_all(KERNELS["ft"].program("S", 1e9), 1)
    assert not [call for call in comm.calls if call[0] == "alltoall"]


FACES = {
    4: {
        8: (131072, 264192, 268320),
        7: (32768, 66560, 68640),
        6: (8192, 16896, 17952),
        5: (2048, 4352, 4896),
        4: (512, 1152, 1440),
        3: (128, 320, 480),
        2: (32, 96, 192),
        1: (8, 32, 96),
    },
    8: {
        8: (131072, 133120, 135200),
        7: (32768, 33792, 34848),
        6: (8192, 8704, 9248),
        5: (2048, 2304, 2592),
        4: (512, 640, 800),
        3: (128, 192, 288),
        2: (32, 64, 128),
        1: (8, 24, 72),
    },
}


@pytest.mark.parametrize("n", [4, 8])
def test_mg_has_these_faces(n: int) -> None:
    for rank in range(n):
        found = levels(KERNELS["mg"].sizes["A"], rank, n)
        for level, faces in FACES[n].items():
            assert tuple(8 * found[level].face(axis) for axis in range(3)) == faces
            assert not any(one.takes or one.gives for one in found[level])


@pytest.mark.parametrize(
    ("class_", "n", "megabytes"),
    [("A", 4, 73.0), ("B", 4, 347.7), ("A", 8, 109.4), ("B", 8, 521.7)],
)
def test_mg_exchanges_faces(class_: str, n: int, megabytes: float) -> None:
    each = {4: (5_341_984, 4_293_440, 46), 8: (3_220_448, 3_220_448, 0)}
    whole, others, to_itself = each[n]
    iterations = KERNELS["mg"].iterations(class_)
    ran = count_all(KERNELS["mg"].program(class_, 1e9), n)
    top = FACES[n][8]
    for _, timed in ran:
        # The timed part begins with one more exchange on the finest grid.
        own = 2 * top[0] if n == 4 else 0
        assert timed.sent_bytes == iterations * others + 2 * sum(top) - own
        assert timed.self_bytes == iterations * (whole - others) + own
        assert timed.messages + timed.self_messages == iterations * 138 + 6
        assert timed.self_messages == iterations * to_itself + (2 if n == 4 else 0)
    total = sum(timed.sent_bytes for _, timed in ran)
    assert total / 1e6 == pytest.approx(megabytes, abs=0.05)
    calls = ran[0][0].calls
    # Norms of the timed part and before it, and the search for charges.
    assert calls["allreduce", 8] == 2 * 2 + 2 * 2 + 2 * 20
    assert calls["allreduce", 16] == 2 * 20


def test_mg_gives_points_to_processes_that_had_none() -> None:
    """32 processes are 2 x 4 x 4: on level 1 every other one along two axes has points."""
    found = [levels(KERNELS["mg"].sizes["S"], rank, 32) for rank in range(32)]
    busy = [sum(one[level].points > 0 for one in found) for level in (5, 3, 2, 1)]
    assert busy == [32, 32, 32, 8]
    assert [sum(one[1].points for one in found), sum(one[2].points for one in found)] == [8, 64]
    # On each axis half of them give to the other half.
    assert [sum(one[2][axis].gives for one in found) for axis in range(3)] == [0, 16, 16]
    assert [sum(one[2][axis].takes for one in found) for axis in range(3)] == [0, 16, 16]
    for rank, one in enumerate(found):
        for number, axis in enumerate(one[2]):
            assert found[axis.behind][2][number].before == rank
            assert found[axis.before][2][number].behind == rank


# By class and processes: messages and bytes of sweeps and of the exchanges for the residuals, of a
# step; and megabytes of the run with the residuals before it.
LU_TABLE = [
    ("A", 4, 496, 615_040, 8, 1_310_720, 126_008, 482.8),
    ("A", 8, 1240, 1_230_080, 20, 2_621_440, 315_020, 965.5),
    ("B", 4, 800, 1_600_000, 8, 3_329_280, 202_008, 1235.6),
    ("B", 8, 2000, 3_200_000, 20, 6_658_560, 505_020, 2471.3),
]


@pytest.mark.parametrize("row", LU_TABLE)
def test_lu_sends_lines_and_sides(row: tuple[str, int, int, int, int, int, int, float]) -> None:
    class_, n, sweeps, sweep_bytes, sides, side_bytes, total, megabytes = row
    ran = count_all(KERNELS["lu"].program(class_, 1e9), n)
    messages = sum(timed.messages for _, timed in ran)
    sent = sum(timed.sent_bytes for _, timed in ran)
    assert messages == 250 * (sweeps + sides)
    assert sent == 250 * (sweep_bytes + side_bytes)
    assert messages + sides == total
    assert (sent + side_bytes) / 1e6 == pytest.approx(megabytes, abs=0.05)
    assert not any(timed.self_messages for _, timed in ran)
    # Beside the timed ones: the forcing term, a step with residuals before and after it, and the
    # residuals that the timed part begins with.
    assert sum(comm.sizes.total() for comm, _ in ran) == 251 * sweeps + (250 + 4) * sides
    assert ran[0][0].calls["allreduce", 40] == 4


def test_lu_divides_the_grid() -> None:
    parts = [part(KERNELS["lu"].sizes["B"], rank, 8) for rank in range(8)]
    assert [one.nx for one in parts[:4]] == [26, 26, 25, 25]
    assert {one.ny for one in parts} == {51}
    assert [40 * one.inner_x for one in parts[:4]] == [1000, 1040, 1000, 960]
    assert {40 * one.inner_y for one in parts} == {2000}
    of_a = [part(KERNELS["lu"].sizes["A"], rank, 8) for rank in range(4)]
    assert [40 * one.inner_x for one in of_a] == [600, 640, 640, 600]
    comm, _ = count(KERNELS["lu"].program("B", 1e9), 0, 8)
    assert set(comm.sizes) == {(1, 2000), (4, 1000), (1, 416_160), (4, 212_160)}
