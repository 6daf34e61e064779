"""OSU's programs and the titles that they print, version 3 to 7."""

from __future__ import annotations

import re

TITLE = re.compile(
    r"\s*(?:#\s*)?OSU (?:One Sided )?MPI(?P<name>.*?) Test"
    r"(?:\s+\(?(?:v|Version )\s?(?P<version>[\w.]+)\)?)?\s*"
)
SIMULATED = re.compile(r"# hcasim (?P<workload>\w+) \((?P<adapter>\S+)\) v(?P<version>\S+)")
"""The title of what `hcasim bench --format osu` prints."""
WITHOUT_SIZES = ("init", "hello world", "barrier latency")
ACCELERATED = re.compile(r"-(CUDA|OPENACC|ROCM|MANAGED|SYCL)\b")
NAMES = {
    "latency": "osu_latency",
    "bandwidth": "osu_bw",
    "bi-directional bandwidth": "osu_bibw",
    "bidirectional bandwidth": "osu_bibw",
    "multiple bandwidth / message rate": "osu_mbw_mr",
    "multi latency": "osu_multi_lat",
    "multi pairs latency": "osu_multi_lat",
    "multi-threaded latency": "osu_latency_mt",
    "multithreaded latency": "osu_latency_mt",
    "multi-process latency": "osu_latency_mp",
    "latency persistent": "osu_latency_persistent",
    "bandwidth persistent": "osu_bw_persistent",
    "bi-directional bandwidth persistent": "osu_bibw_persistent",
    "all-to-all personalized exchange latency": "osu_alltoall",
    "alltoall latency": "osu_alltoall",
    "all-to-allv personalized exchange latency": "osu_alltoallv",
    "allreduce latency": "osu_allreduce",
    "allgather latency": "osu_allgather",
    "allgatherv latency": "osu_allgatherv",
    "broadcast latency": "osu_bcast",
    "gather latency": "osu_gather",
    "gatherv latency": "osu_gatherv",
    "scatter latency": "osu_scatter",
    "scatterv latency": "osu_scatterv",
    "reduce latency": "osu_reduce",
    "reduce_scatter latency": "osu_reduce_scatter",
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
HALF_ROUND_TRIPS = (
    *("osu_latency", "osu_multi_lat", "osu_latency_mt", "osu_latency_mp"),
    "osu_latency_persistent",
)
WORKLOADS = tuple(dict.fromkeys(NAMES.values()))
"""The names of OSU's programs."""
