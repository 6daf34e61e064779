"""RDMA writes one at a time: how long each takes until its sender knows that it has arrived."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from hcasim.verbs.requests import WROpcode
from hcasim.workloads.flows import percentile
from hcasim.workloads.perftest.side import join, start
from hcasim.workloads.result import Result
from hcasim.workloads.run import Run

COUNTED = ("packet_seq_err", "rp_cnp_handled", "retransmissions")
"""Counters that make columns."""


def put_lat(run: Run) -> Result:
    """Write again and again; each write is posted when the one before it is complete."""
    options, cluster = run.options, run.cluster
    every = replace(options, iters=options.warmup + options.iters, tx_depth=1, cq_mod=1)
    sender, receiver = join(cluster, (0, 1), every, WROpcode.RDMA_WRITE)
    ends: list[int] = []
    sender.on_lap = lambda: ends.append(sender.lapped_ps)
    run.sim.run(until=start(run.sim, [sender, receiver]))
    took = [end - begin for begin, end in pairwise([sender.began_ps, *ends])][options.warmup :]
    counters = cluster.counters()
    row = {
        "completion_mean_us": sum(took) / len(took) / 1e6,
        "completion_p50_us": percentile(took, 50) / 1e6,
        "completion_p99_us": percentile(took, 99) / 1e6,
        "completion_max_us": max(took) / 1e6,
    }
    row |= {f"{name}_count": counters.get(name, 0) for name in COUNTED}
    return run.result(row, run.usage.report, sized=("size",), counters=counters)
