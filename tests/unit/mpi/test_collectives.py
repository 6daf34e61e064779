"""Collectives deliver what NumPy says, by every algorithm."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.catalog import resolve
from hcasim.catalog.algorithms import NAMES, choose, parse_rules
from hcasim.mpi import Comm
from hcasim.mpi.collectives import ALGORITHMS
from hcasim.mpi.collectives.group import Group
from hcasim.mpi.collectives.tree import PIECE, neighbours, second
from hcasim.mpi.memory import Buffer
from tests.mpi_jobs import job, run


def expected(collective: str, every: Any, root: int) -> list[Any]:
    """What each process has in the end; None where it does not matter."""
    count, length = every.shape
    parts = every.reshape(count, count, length // count)
    alone = [None] * count
    match collective:
        case "bcast":
            return [every[root]] * count
        case "allgather":
            return [every.reshape(-1)] * count
        case "alltoall":
            return [parts[:, rank].reshape(-1) for rank in range(count)]
        case "reduce":
            return [*alone[:root], every.sum(0), *alone[root + 1 :]]
        case "allreduce":
            return [every.sum(0)] * count
        case "reduce_scatter":
            return list(every.sum(0).reshape(count, -1))
        case "gather":
            return [*alone[:root], every.reshape(-1), *alone[root + 1 :]]
        case _:
            return list(parts[root])


def call(comm: Comm, collective: str, own: Any, root: int, algorithm: str) -> Any:
    """Call it; return what this process has then."""
    count, kind = comm.size, own.dtype
    lengths = {
        "allgather": count,
        "gather": count,
        "reduce_scatter": 1 / count,
        "scatter": 1 / count,
    }
    result = np.zeros(round(len(own) * lengths.get(collective, 1)), kind)
    rooted: dict[str, Any] = {"root": root, "algorithm": algorithm}
    match collective:
        case "bcast":
            result = own.copy()
            yield from comm.bcast(result, **rooted)
        case "reduce":
            yield from comm.reduce(own, result, np.add, **rooted)
        case "allreduce" | "reduce_scatter":
            yield from getattr(comm, collective)(own, result, np.add, algorithm=algorithm)
        case "gather" | "scatter":
            yield from getattr(comm, collective)(own, result, **rooted)
        case _:
            yield from getattr(comm, collective)(own, result, algorithm=algorithm)
    return result


EVERY = [
    (collective, algorithm)
    for collective, known in ALGORITHMS.items()
    for algorithm in known
    if collective != "barrier"
]


@pytest.mark.parametrize(
    ("nodes", "per_node"),
    [(1, 1), (2, 1), (3, 1), (3, 2), pytest.param(4, 2, marks=pytest.mark.check)],
)
def test_each_algorithm_delivers_what_numpy_says(nodes: int, per_node: int) -> None:
    wrong = [one for one in EVERY if not delivers(*one, nodes, per_node)]
    assert wrong == []


def delivers(collective: str, algorithm: str, nodes: int, per_node: int) -> bool:
    """Whether all processes have what NumPy says."""
    count, good = nodes * per_node, True
    for length, root in ((1, min(1, count - 1)), (700, count - 1)):
        every = np.random.default_rng(length).integers(0, 1000, (count, count * length))

        def main(comm: Comm, every: Any = every, root: int = root) -> Any:
            return (yield from call(comm, collective, every[comm.rank].copy(), root, algorithm))

        for wanted, found in zip(
            expected(collective, every, root), run(main, nodes, per_node), strict=True
        ):
            good = good and (wanted is None or np.array_equal(wanted, found))
    return good


@pytest.mark.parametrize("kind", ["c16", "longdouble", "i1"])
def test_elements_of_any_length_stay_whole(kind: str) -> None:
    every = np.arange(20).reshape(4, 5).astype(kind)
    for collective, algorithm in EVERY:
        if collective not in ("reduce", "allreduce"):
            continue

        def main(comm: Comm, name: str = collective, way: str = algorithm) -> Any:
            return (yield from call(comm, name, every[comm.rank].copy(), 3, way))

        assert np.array_equal(every.sum(0), run(main, 4)[3]), (collective, algorithm)


def test_what_is_known_reaches_those_without_a_partner() -> None:
    every = np.arange(49).reshape(7, 7)

    def main(comm: Comm) -> Any:
        return (yield from call(comm, "alltoall", every[comm.rank].copy(), 0, "recursive_doubling"))

    found = run(main, 7, on=resolve("fat-tree-64", stack="mvapich-0.9.5"))
    assert np.array_equal(found, every.T)


def spent(collective: str, algorithm: str, size: int) -> int:
    """Picoseconds of one call among four nodes."""

    def main(comm: Comm) -> Any:
        result = comm.size * size if collective == "alltoall" else size
        yield from getattr(comm, collective)(result, result, algorithm=algorithm)
        return comm.process.sim.now

    return int(max(run(main, 4)))


def test_a_long_call_gains_by_being_divided_and_a_short_one_does_not() -> None:
    assert spent("reduce", "rabenseifner", 2**20) < 0.9 * spent("reduce", "binomial", 2**20)
    assert spent("reduce", "rabenseifner", 8) > spent("reduce", "binomial", 8)
    # It moves all that two send and then all that four send: 3 times what linear moves.
    assert spent("alltoall", "recursive_doubling", 2**16) > 2 * spent("alltoall", "linear", 2**16)


@pytest.mark.parametrize("algorithm", ALGORITHMS["barrier"])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_nobody_leaves_a_barrier_before_all_have_come(algorithm: str, count: int) -> None:
    def main(comm: Comm) -> Any:
        sim = comm.process.sim
        yield sim.timeout(comm.rank * 10**8)
        came = sim.now
        yield from comm.barrier(algorithm)
        return came, sim.now

    times = run(main, count)
    assert min(left for _, left in times) > max(came for came, _ in times)


def test_parts_of_different_length_are_exchanged() -> None:
    counts = np.array([[0, 3, 5], [2, 0, 9000], [1, 4, 7]])

    def main(comm: Comm) -> Any:
        mine, theirs = counts[comm.rank], counts[:, comm.rank]
        out = np.repeat(np.arange(3, dtype="uint8") + 10 * comm.rank, mine)
        into = np.zeros(theirs.sum(), "uint8")
        yield from comm.alltoallv(out, list(map(int, mine)), into, list(map(int, theirs)))
        return into

    for rank, found in enumerate(run(main, 3)):
        wanted = np.repeat(10 * np.arange(3, dtype="uint8") + rank, counts[:, rank])
        assert np.array_equal(found, wanted)


@pytest.mark.parametrize("root", [0, 2])
def test_parts_of_different_length_are_gathered_and_scattered(root: int) -> None:
    counts = [3, 0, 9000]
    whole = np.repeat(np.arange(3, dtype="uint8"), counts)

    def main(comm: Comm) -> Any:
        mine = np.full(counts[comm.rank], comm.rank, "uint8")
        gathered = np.zeros(9003 if comm.rank == root else 0, "uint8")
        yield from comm.gatherv(mine, gathered, counts, root)
        part = np.full(counts[comm.rank], 7, "uint8")
        yield from comm.scatterv(gathered, counts, part, root)
        everywhere = np.zeros(9003, "uint8")
        yield from comm.allgatherv(part, everywhere, counts)
        return gathered, everywhere

    found = run(main, 3)
    assert np.array_equal(found[root][0], whole)
    assert all(np.array_equal(everywhere, whole) for _, everywhere in found)


def test_a_communicator_is_split_by_color_and_ordered_by_key() -> None:
    def main(comm: Comm) -> Any:
        half = yield from comm.Split(comm.rank % 2 if comm.rank != 5 else -1, -comm.rank)
        if half is None:
            return None
        total = np.zeros(1, "int64")
        yield from half.allreduce(np.array([comm.rank]), total, np.add)
        return half.rank, half.size, int(total[0])

    found = run(main, 3, 2)
    assert found == [(2, 3, 6), (1, 2, 4), (1, 3, 6), (0, 2, 4), (0, 3, 6), None]


def test_the_rules_name_every_algorithm_there_is() -> None:
    assert {name: set(known) for name, known in ALGORITHMS.items()} == {
        name: set(known) for name, known in NAMES.items()
    }


def test_rules_choose_by_size_number_of_processes_and_total() -> None:
    rules = "binomial if size < 12K or processes < 8; scatter_ring_allgather"
    assert choose("bcast", rules, 12287, 100) == choose("bcast", rules, 1 << 20, 7) == "binomial"
    assert choose("bcast", rules, 12288, 8) == "scatter_ring_allgather"
    rules = "recursive_doubling if total < 512K and power_of_two; bruck if total < 80K; ring"
    assert choose("allgather", rules, 1024, 8) == "recursive_doubling"
    assert choose("allgather", rules, 1024, 7) == "bruck"
    assert choose("allgather", rules, 1 << 16, 8) == "ring"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("binomal", "found 'binomal'; allowed: .*did you mean 'binomial'"),
        ("binomial if size < 8", "the last rule has a condition"),
        ("binomial if length < 8; binomial", "found 'length < 8'; allowed: size, total"),
        ("binomial if size < many; binomial", "found 'many'"),
    ],
)
def test_a_rule_that_cannot_be_read_is_told(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_rules("bcast", text)


@pytest.mark.pure
@pytest.mark.parametrize(
    ("collective", "algorithm"),
    [(one, name) for one in sorted(set(ALGORITHMS) - {"barrier"}) for name in NAMES[one]],
)
@pytest.mark.parametrize("count", [3, 4])
def test_no_two_places_of_a_call_are_one(
    collective: str, algorithm: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither of what it sends from nor of what it receives into at the same time."""
    exchange = Group.exchange

    def looked_at(self: Group, out: Buffer, dest: int, into: Buffer, source: int) -> Any:
        apart = out.address + out.size <= into.address or into.address + into.size <= out.address
        assert apart or not out.size or not into.size
        return exchange(self, out, dest, into, source)

    monkeypatch.setattr(Group, "exchange", looked_at)
    every = np.arange(count * count * 2.0).reshape(count, -1)

    def main(comm: Comm) -> Any:
        yield from call(comm, collective, every[comm.rank].copy(), 0, algorithm)

    run(main, count, 1)


@pytest.mark.parametrize(
    ("collective", "chosen", "run_instead"),
    [
        ("allgather", "recursive_doubling", "bruck"),
        ("alltoall", "pairwise_xor", "pairwise_shift"),
        ("reduce_scatter", "recursive_halving", "pairwise"),
    ],
)
def test_the_algorithm_that_serves_is_the_one_that_is_told(
    collective: str, chosen: str, run_instead: str
) -> None:
    def main(comm: Comm) -> Any:
        yield from call(comm, collective, np.ones(12), 0, chosen)
        return comm.algorithm

    assert run(main, 3, 1) == [run_instead] * 3
    assert run(main, 4, 1) == [chosen] * 4


@pytest.mark.parametrize("collective", ["gather", "scatter"])
def test_who_has_nobody_below_copies_nothing(collective: str) -> None:
    """As in MPICH: data go from where they are to where they are wanted."""

    def main(comm: Comm) -> Any:
        yield from call(comm, collective, np.ones(4 * 512), 0, "binomial")
        return comm.process.heap._temporaries

    assert [len(made) for made in run(main, 4, 1)] == [0, 0, 1, 0]


COUNTS = st.integers(2, 600)


@given(COUNTS)
def test_each_tree_joins_all_ranks_to_one_root(count: int) -> None:
    for tree in (neighbours, second):
        parents = [tree(rank, count)[0] for rank in range(count)]
        (root,) = (rank for rank in range(count) if parents[rank] < 0)
        for rank in range(count):
            assert all(parents[child] == rank for child in tree(rank, count)[1])
            way, steps = rank, 0
            while way != root:
                way, steps = parents[way], steps + 1
                assert steps <= count.bit_length()
        assert sum(len(tree(rank, count)[1]) for rank in range(count)) == count - 1


@given(COUNTS)
def test_nobody_is_inside_both_trees_but_roots_and_one_beside_them(count: int) -> None:
    inside = [
        rank for rank in range(count) if neighbours(rank, count)[1] and second(rank, count)[1]
    ]
    assert len(inside) <= 1 + count % 2
    assert all(
        len(tree(rank, count)[1]) <= 2 for rank in range(count) for tree in (neighbours, second)
    )


@pytest.mark.parametrize("count", [2, 3, 5, 8])
@pytest.mark.parametrize("size", [64, 8 * PIECE])
def test_both_trees_send_each_piece_up_and_down_once(count: int, size: int) -> None:
    one = job(count, on=resolve("fat-tree-64", mpi=True))

    def main(comm: Comm) -> Any:
        yield from comm.allreduce(size, size, algorithm="tree")

    one.run(main)
    sent = [way for process in one.processes for way in process.connections.values()]
    pieces = 2 * max(1, size // 2 // PIECE)
    assert sum(way.messages for way in sent) == 2 * (count - 1) * pieces
    assert sum(way.sent_bytes for way in sent) == 2 * (count - 1) * size


@pytest.mark.parametrize("count", [2, 3, 5, 8])
def test_a_ring_sends_twice_a_part_for_each_other_process(count: int) -> None:
    one = job(count, on=resolve("fat-tree-64", mpi=True))
    size = 1000 * 8 * count

    def main(comm: Comm) -> Any:
        yield from comm.allreduce(size, size, algorithm="ring")

    one.run(main)
    for process in one.processes:
        sent, parts = process.connections[(process.rank + 1) % count], 2 * (count - 1)
        assert (sent.messages, sent.sent_bytes) == (parts, parts * size // count)
        assert sum(way.messages for way in process.connections.values()) == sent.messages


def test_an_accelerator_combines_at_its_rate() -> None:
    def spent(rate: float | None) -> int:
        def main(comm: Comm) -> Any:
            comm.process.combine_rate = rate
            yield from comm.allreduce(2**20, 2**20, algorithm="reduce_broadcast")
            return comm.process.sim.now

        return int(max(run(main, 2)))

    at_once, at_1_gb, host = spent(float("inf")), spent(1e9), spent(None)
    assert at_1_gb - at_once == pytest.approx(2**20 * 1000, rel=1e-9)
    assert host > at_once
