"""OSU's programs and the titles that they print, version 3 to 7."""

from __future__ import annotations

import re

TITLE = re.compile(
    r"\s*(?:#\s*)?OSU (?:One Sided )?MPI(?P<name>.*?) Test"
    r"(?:\s+\(?(?:v|Version )\s?(?P<version>[\w.]+)\)?)?\s*"
)
SIMULATED = re.compile(r"# hcasim (?P<workload>(?!imb_)\w+) \((?P<adapter>\S+)\) v(?P<version>\S+)")
"""A title of what `hcasim bench --format osu` prints."""
WITHOUT_SIZES = ("init", "hello world")
ACCELERATED = re.compile(r"-(CUDA|OPENACC|ROCM|MANAGED|SYCL)\b")
TITLES = {
    "osu_latency": "Latency",
    "osu_bw": "Bandwidth",
    "osu_bibw": "Bi-Directional Bandwidth",
    "osu_mbw_mr": "Multiple Bandwidth / Message Rate",
    "osu_multi_lat": "Multi Latency",
    "osu_alltoall": "All-to-All Personalized Exchange Latency",
    "osu_allreduce": "Allreduce Latency",
    "osu_allgather": "Allgather Latency",
    "osu_barrier": "Barrier Latency",
    "osu_bcast": "Broadcast Latency",
    "osu_gather": "Gather Latency",
    "osu_reduce": "Reduce Latency",
    "osu_reduce_scatter": "Reduce_scatter Latency",
    "osu_scatter": "Scatter Latency",
}
"""What the programs that are workloads call themselves, between "OSU MPI" and "Test"."""
NAMES = {title.lower(): name for name, title in TITLES.items()} | {
    "bidirectional bandwidth": "osu_bibw",
    "multi pairs latency": "osu_multi_lat",
    "multi-threaded latency": "osu_latency_mt",
    "multithreaded latency": "osu_latency_mt",
    "multi-process latency": "osu_latency_mp",
    "latency persistent": "osu_latency_persistent",
    "bandwidth persistent": "osu_bw_persistent",
    "bi-directional bandwidth persistent": "osu_bibw_persistent",
    "alltoall latency": "osu_alltoall",
    "all-to-allv personalized exchange latency": "osu_alltoallv",
    "allgatherv latency": "osu_allgatherv",
    "gatherv latency": "osu_gatherv",
    "scatterv latency": "osu_scatterv",
    "_put latency": "osu_put_latency",
    "_get latency": "osu_get_latency",
    "_put bandwidth": "osu_put_bw",
    "_get bandwidth": "osu_get_bw",
    "_put bi-directional bandwidth": "osu_put_bibw",
    "_accumulate latency": "osu_acc_latency",
    "_get_accumulate latency": "osu_get_acc_latency",
    "_fetch_and_op latency": "osu_fop_latency",
    "_compare_and_swap latency": "osu_cas_latency",
}
COLLECTIVES = (
    *("osu_alltoall", "osu_alltoallv", "osu_allreduce", "osu_allgather", "osu_allgatherv"),
    *("osu_barrier", "osu_bcast", "osu_gather", "osu_gatherv", "osu_reduce"),
    *("osu_reduce_scatter", "osu_scatter", "osu_scatterv"),
)
"""Those whose times are of calls of all processes."""
PAIRS = ("osu_latency", "osu_bw", "osu_bibw")
"""Those of two processes."""
MANY_PAIRS = ("osu_mbw_mr", "osu_multi_lat")
"""Those of several pairs; the first says how many, and prints a rate."""
HALF_ROUND_TRIPS = (
    *("osu_latency", "osu_multi_lat", "osu_latency_mt", "osu_latency_mp"),
    "osu_latency_persistent",
)
WORKLOADS = tuple(dict.fromkeys(NAMES.values()))
"""The names of OSU's programs."""
