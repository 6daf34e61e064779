"""Who sends to whom."""

from collections import Counter
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.workloads.flows.patterns import (
    each_to_each,
    into_one,
    neighbours,
    permuted,
    shifted,
    torus,
)

NODES = st.integers(2, 60)


@given(NODES)
def test_each_sends_once_to_each_other(nodes: int) -> None:
    pairs = each_to_each(nodes)
    assert len(set(pairs)) == len(pairs) == nodes * (nodes - 1)
    assert all(a != b for a, b in pairs)


@given(NODES)
def test_all_others_send_to_the_first(nodes: int) -> None:
    assert into_one(nodes) == [(n, 0) for n in range(1, nodes)]


@given(NODES, st.integers(0, 2**31 - 1))
def test_a_drawn_permutation_leaves_no_node_by_itself(nodes: int, seed: int) -> None:
    pairs = permuted(nodes, seed)
    assert [a for a, _ in pairs] == sorted(b for _, b in pairs) == list(range(nodes))
    assert all(a != b for a, b in pairs)
    assert permuted(nodes, seed) == pairs


def test_the_seed_chooses_the_permutation() -> None:
    assert len({tuple(permuted(16, seed)) for seed in range(8)}) == 8


def test_all_permutations_without_a_fixed_place_come_equally_often() -> None:
    found = Counter(tuple(permuted(4, seed)) for seed in range(3600))
    assert len(found) == 9
    assert all(300 < count < 500 for count in found.values())


@given(NODES, st.data())
def test_a_shift_has_the_same_distance_everywhere(nodes: int, data: st.DataObject) -> None:
    by = data.draw(st.integers(1, nodes - 1))
    assert {(b - a) % nodes for a, b in shifted(nodes, by)} == {by}


@pytest.mark.parametrize(
    ("nodes", "dimensions", "shape"),
    [
        # Those of MPI_Dims_create (MPI 4.0, example 8.1), and of some machines.
        (6, 2, (3, 2)),
        (7, 2, (7, 1)),
        (1024, 1, (1024,)),
        (1024, 2, (32, 32)),
        (1024, 3, (16, 8, 8)),
        (36, 3, (4, 3, 3)),
        (2, 3, (2, 1, 1)),
    ],
)
def test_a_torus_is_as_equal_as_it_can_be(
    nodes: int, dimensions: int, shape: tuple[int, ...]
) -> None:
    assert torus(nodes, dimensions) == shape


@given(NODES, st.integers(1, 6))
def test_neighbours_send_to_each_other_along_each_dimension(nodes: int, dimensions: int) -> None:
    shape = torus(nodes, dimensions)
    assert prod(shape) == nodes
    assert sorted(shape, reverse=True) == list(shape)
    pairs = neighbours(nodes, dimensions)
    assert len(set(pairs)) == len(pairs)
    assert {(b, a) for a, b in pairs} == set(pairs)
    each = sum(min(2, length - 1) for length in shape)
    assert set(Counter(a for a, _ in pairs).values()) == {each}


def test_the_neighbours_of_a_ring_and_of_a_torus_in_numbers() -> None:
    assert neighbours(4, 1) == [(0, 1), (0, 3), (1, 2), (1, 0), (2, 3), (2, 1), (3, 0), (3, 2)]
    # Three rows of two.
    assert [b for a, b in neighbours(6, 2) if a == 3] == [5, 1, 2]
