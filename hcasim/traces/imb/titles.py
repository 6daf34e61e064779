"""The Intel MPI Benchmarks by name."""

from __future__ import annotations

PAIR = 2
"""Processes of a ping-pong."""
_NAMES = (
    *("PingPong", "PingPing", "Sendrecv", "Exchange"),
    *("Allreduce", "Reduce", "Reduce_scatter", "Allgather", "Allgatherv", "Gather", "Gatherv"),
    *("Scatter", "Scatterv", "Alltoall", "Alltoallv", "Bcast", "Barrier"),
)
TITLES = {f"imb_{name.lower()}": name for name in _NAMES}
"""What each workload is called in the output (IMB_bnames_mpi1.h)."""
