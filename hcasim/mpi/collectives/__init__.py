"""Collectives as algorithms over messages, each named as the literature names it."""

from collections.abc import Callable, Mapping

from hcasim.mpi.collectives import allgather, alltoall, broadcast, reduction, rooted
from hcasim.mpi.collectives.group import Group, Steps

ALGORITHMS: Mapping[str, Mapping[str, Callable[..., Steps]]] = {
    "bcast": broadcast.ALGORITHMS,
    "allgather": allgather.ALGORITHMS,
    "alltoall": alltoall.ALGORITHMS,
    "reduce": reduction.REDUCE,
    "allreduce": reduction.ALLREDUCE,
    "reduce_scatter": reduction.REDUCE_SCATTER,
    "gather": rooted.GATHER,
    "scatter": rooted.SCATTER,
    "barrier": rooted.BARRIER,
}
"""The algorithms of each collective by name."""

__all__ = ["ALGORITHMS", "Group", "Steps"]
