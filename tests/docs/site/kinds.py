"""What kind of measurement a claim is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from hcasim.papers.claim import Claim
from hcasim.papers.plan import Line, Plan
from hcasim.papers.scenario import Scenario
from hcasim.workloads import WORKLOADS

Kind = Literal[
    "rate of one thread",
    "many queue pairs",
    "MPI",
    "latency",
    "bandwidth",
    "bus",
    "memory and time",
]
"""What was measured; the first that fits, in the order of `kind_of`."""
SMALL = 1024
"""Bytes up to which a thread's stream of messages is about their rate."""
FEW = 4
"""Queue pairs of a node up to which a stream is that of one thread."""


def kinds_of(plans: Iterable[Plan]) -> dict[str, Kind]:
    """Return what each claim of some plans is about, by its id."""
    plans = list(plans)
    lines = {one.scenario.qualified(line.name): line for one in plans for line in one.lines}
    return {
        claim.id: kind_of(claim, one.scenario, lines)
        for one in plans
        for claim in one.scenario.claims
    }


def kind_of(claim: Claim, scenario: Scenario, lines: Mapping[str, Line]) -> Kind:
    """Return what a claim is about, from the last point of the first series that it reads."""
    ((line, *_), points), _ = next(scenario.readings(claim.measure[0], lines))
    point = next(job for job, x in zip(line.jobs, line.x, strict=True) if x == max(points))
    workload, options = WORKLOADS[point.workload], point.options
    if not workload.rdma:
        return "bus"
    if workload.mpi:
        return "MPI"
    if claim.quantity == "latency":
        return "latency"
    if claim.quantity not in ("bandwidth", "rate"):
        return "memory and time"
    if workload.queue_pairs(options) > FEW:
        return "many queue pairs"
    return "rate of one thread" if options.size <= SMALL else "bandwidth"
