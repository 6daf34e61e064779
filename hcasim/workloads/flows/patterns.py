"""Who sends to whom: pairs of nodes, by their places among those that take part."""

from __future__ import annotations

from itertools import product
from math import prod
from random import Random

Pairs = list[tuple[int, int]]


def each_to_each(nodes: int) -> Pairs:
    """Each node to each other, beginning with the next."""
    return [(n, (n + away) % nodes) for n in range(nodes) for away in range(1, nodes)]


def into_one(nodes: int) -> Pairs:
    """All others to the first node."""
    return [(n, 0) for n in range(1, nodes)]


def shifted(nodes: int, by: int) -> Pairs:
    """Each node to the one so many places behind it, in a circle."""
    return [(n, (n + by) % nodes) for n in range(nodes)]


def permuted(nodes: int, seed: int) -> Pairs:
    """Each node to another one and from another one, drawn: no node sends to itself."""
    draw, targets = Random(seed), list(range(nodes))
    while any(n == target for n, target in enumerate(targets)):
        draw.shuffle(targets)
    return list(enumerate(targets))


def torus(nodes: int, dimensions: int) -> tuple[int, ...]:
    """The nodes along each dimension of a torus, as equal as they can be, the longest first.

    As MPI_Dims_create has it (MPI 4.0, 8.5.2).
    """
    best, least = (nodes,) + (1,) * (dimensions - 1), nodes
    for shape in _shapes(nodes, dimensions, nodes):
        if (spread := shape[0] - shape[-1]) < least:
            best, least = shape, spread
    return best


def _shapes(nodes: int, dimensions: int, most: int) -> list[tuple[int, ...]]:
    """All ways to write a number as a product of factors that do not grow."""
    if dimensions == 1:
        return [(nodes,)] if nodes <= most else []
    factors = (one for one in range(1, min(nodes, most) + 1) if nodes % one == 0)
    return [(one, *rest) for one in factors for rest in _shapes(nodes // one, dimensions - 1, one)]


def neighbours(nodes: int, dimensions: int) -> Pairs:
    """Each node to those before and behind it along each dimension of a torus.

    Nodes are numbered along the last dimension first.
    """
    shape = torus(nodes, dimensions)
    strides = [prod(shape[axis + 1 :]) for axis in range(dimensions)]
    found: Pairs = []
    for place in product(*map(range, shape)):
        number = sum(at * stride for at, stride in zip(place, strides, strict=True))
        for at, length, stride in zip(place, shape, strides, strict=True):
            # A dimension of two has the same node on both sides.
            others = dict.fromkeys(((at + 1) % length, (at - 1) % length))
            found += [(number, number + (other - at) * stride) for other in others if other != at]
    return found
