"""All kernels: whom they wait for, how long they compute, and what they refuse."""

from dataclasses import replace

import pytest

from hcasim.apps.nas import KERNELS
from hcasim.ground.errors import CatalogError
from hcasim.mpi import Comm, DeadlockError, MPIError
from tests.mpi_jobs import job
from tests.unit.apps.nas.stand_in import count, count_all

NAMES = list(KERNELS)


UNBUFFERED = {"eager__limit": "0 B", "shared__eager": "0 B"}
"""The library keeps no message until it is received."""


@pytest.mark.parametrize("name", NAMES)
def test_no_process_waits_for_ever(name: str) -> None:
    size = KERNELS[name].sizes["S"]._replace(iterations=1)
    main = replace(KERNELS[name], sizes={"S": size}).program("S", float("inf"))
    for nodes, per_node in ((1, 1), (2, 1), (4, 1), (4, 2)):
        job(nodes, per_node, **UNBUFFERED).run(main)


def test_programs_that_do_wait_for_ever_are_found() -> None:
    def main(comm: Comm) -> object:
        other = 1 - comm.rank
        yield from comm.send(8, other)
        yield from comm.recv(8, other, 0)

    for nodes, per_node in ((2, 1), (1, 2)):
        with pytest.raises(DeadlockError, match="rank 0 waits for its send to rank 1"):
            job(nodes, per_node, **UNBUFFERED).run(main)


@pytest.mark.parametrize("name", NAMES)
def test_each_process_computes_its_share(name: str) -> None:
    kernel = KERNELS[name]
    for class_, n in (("S", 1), ("W", 8), ("A", 32)):
        share = kernel.operations(class_) / 1e9 / n
        for rank in {0, n // 2, n - 1}:
            _, timed = count(kernel.program(class_, 1e9), rank, n)
            assert timed.timed_s == pytest.approx(share, rel=1e-9), (class_, n, rank)


def test_operations_are_those_of_npb() -> None:
    mops = [
        ("is", "A", 83.886),
        ("is", "B", 335.544),
        ("ft", "A", 7136.44),
        ("ft", "B", 92053.59),
        ("mg", "A", 3892.31),
        ("mg", "B", 19461.57),
        ("lu", "A", 119296.76),
        ("lu", "B", 498824.10),
        ("cg", "A", 1496.46),
        ("cg", "B", 54708.75),
    ]
    for name, class_, mop in mops:
        found = KERNELS[name].operations(class_) / 1e6
        assert found == pytest.approx(mop, abs=0.005), (name, class_)


def within_collectives(name: str, rank: int) -> tuple[int, int]:
    """Messages and bytes that one of four processes sends to others in the timed part of class S.

    Allreduces double recursively, all-to-alls go pair by pair, and sums go up a tree to rank 0.
    """
    match name:
        case "lu":
            return 2 * 2, 2 * 2 * 40
        case "mg":
            return 4 * 2, 4 * 2 * 8
        case "ft":
            return 7 * 3 + 6 * (rank > 0), 7 * 3 * 16 * 2**18 // 16 + 6 * 16 * (rank > 0)
    return 0, 0


@pytest.mark.parametrize(
    "name", ["mg", *(pytest.param(one, marks=pytest.mark.check) for one in ("ft", "lu", "cg"))]
)
def test_a_simulation_sends_what_was_counted(name: str) -> None:
    """IS, which sends nothing but within collectives, is compared with its real keys."""
    main = KERNELS[name].program("S", 1e9)
    found = job(4).run(main)
    share = KERNELS[name].operations("S") / 1e9 / 4
    for rank, (simulated, (_, counted)) in enumerate(zip(found, count_all(main, 4), strict=True)):
        messages, sent = within_collectives(name, rank)
        assert simulated.messages == counted.messages + messages
        assert simulated.sent_bytes == counted.sent_bytes + sent
        assert simulated.self_messages == counted.self_messages
        assert simulated.self_bytes == counted.self_bytes
        # Each of many pieces of computing is rounded to a picosecond.
        assert share * (1 - 1e-6) < simulated.timed_s < share + 1


@pytest.mark.parametrize("name", NAMES)
def test_progress_is_told_by_one_process(name: str) -> None:
    told: list[tuple[int, int]] = []
    count_all(KERNELS[name].program("S", 1e9, lambda *at: told.append(at)), 4)
    total = told[-1][1]
    assert told == [(done, total) for done in range(1, total + 1)]


@pytest.mark.parametrize("name", NAMES)
def test_counts_that_are_not_allowed_are_refused(name: str) -> None:
    kernel = KERNELS[name]
    for class_ in kernel.sizes:
        assert kernel.processes(class_, 1) == kernel.processes(class_, 8) == []
        for n in (-4, 0, 3, 6):
            assert kernel.processes(class_, n) == [
                f"{name}: found {n} processes; allowed: a power of two"
            ]
        (fault,) = kernel.processes(class_, 2**40)
        assert fault.startswith(
            f"{name}, class {class_}: found {2**40} processes; allowed: at most"
        )
    with pytest.raises(MPIError, match="found 3 processes; allowed: a power of two"):
        job(3).run(kernel.program("S", 1e9))


def test_so_many_processes_are_allowed() -> None:
    limits = [
        ("is", "S", 128),
        ("is", "B", 1024),
        ("ft", "W", 32),
        ("ft", "A", 128),
        ("mg", "S", 2**15),
        ("lu", "S", 16),
        ("lu", "W", 64),
        ("lu", "A", 256),
        ("cg", "S", 2**20),
    ]
    for name, class_, most in limits:
        kernel = KERNELS[name]
        assert kernel.processes(class_, most) == []
        assert f"at most {most}," in kernel.processes(class_, 2 * most)[0]


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(CatalogError, match=r"ft: class: found 'E'; allowed: S, W, A, B or C"):
        KERNELS["ft"].program("E", 1e9)
    for rate in (0.0, -1.0, float("nan")):
        with pytest.raises(CatalogError, match=f"cg: rate: found {rate}; allowed: more than 0"):
            KERNELS["cg"].program("S", rate)
