"""Collectives as algorithms over messages, each named as the literature names it."""

from collections.abc import Callable, Mapping

from hcasim.mpi.collectives import exchanges, reduction, rooted
from hcasim.mpi.collectives.group import Group
from hcasim.mpi.collectives.tree import tree
from hcasim.mpi.message import Steps

ALGORITHMS: Mapping[str, Mapping[str, Callable[..., Steps]]] = {
    "bcast": {
        "binomial": rooted.bcast_binomial,
        "scatter_ring_allgather": rooted.scatter_ring_allgather,
        "scatter_recursive_doubling_allgather": rooted.scatter_recursive_doubling_allgather,
    },
    "allgather": {
        "ring": exchanges.allgather_ring,
        "recursive_doubling": exchanges.allgather_recursive_doubling,
        "bruck": exchanges.allgather_bruck,
    },
    "alltoall": {
        "recursive_doubling": exchanges.alltoall_recursive_doubling,
        "linear": exchanges.alltoall_linear,
        "pairwise_xor": exchanges.pairwise_xor,
        "pairwise_shift": exchanges.pairwise_shift,
        "bruck": exchanges.alltoall_bruck,
    },
    "reduce": {"binomial": reduction.reduce_binomial, "rabenseifner": reduction.reduce_to_parts},
    "allreduce": {
        "recursive_doubling": reduction.recursive_doubling,
        "rabenseifner": reduction.rabenseifner,
        "ring": reduction.allreduce_ring,
        "reduce_broadcast": reduction.reduce_broadcast,
        "tree": tree,
    },
    "reduce_scatter": {"pairwise": reduction.pairwise, "recursive_halving": reduction.halving},
    "gather": {"binomial": rooted.gather_binomial, "linear": rooted.gather_linear},
    "scatter": {"binomial": rooted.scatter_binomial, "linear": rooted.scatter_linear},
    "barrier": {"dissemination": rooted.barrier_dissemination, "tree": rooted.barrier_tree},
}
"""The algorithms of each collective by name."""

INSTEAD = {
    ("allgather", "recursive_doubling"): "bruck",
    ("alltoall", "pairwise_xor"): "pairwise_shift",
    ("reduce_scatter", "recursive_halving"): "pairwise",
}
"""What serves for other numbers of processes in place of an algorithm for powers of two."""

__all__ = ["ALGORITHMS", "INSTEAD", "Group"]
