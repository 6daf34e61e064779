"""Jobs that train: each computes, reduces gradients around a ring of its nodes, and begins again.

Nodes are dealt to jobs in turn. In each of the 2 (n - 1) steps of a ring allreduce of n nodes, each
sends an nth of the gradients to the next one, and goes on when it has sent and received that. No
time is taken to add them up.

Source: Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations
(2009).
"""

from __future__ import annotations

from dataclasses import replace

from hcasim.engine import Simulator
from hcasim.workloads.end import OPCODES, Steps
from hcasim.workloads.flows import circles_told, loaded, percentile
from hcasim.workloads.latency import SendEnd, WriteEnd
from hcasim.workloads.result import Result
from hcasim.workloads.run import Run

_Edge = tuple[WriteEnd | SendEnd, WriteEnd | SendEnd]
"""The two ends of a connection, the one that sends first."""


def _edge(run: Run, source: int, target: int) -> _Edge:
    kind: type[WriteEnd | SendEnd] = SendEnd if run.options.verb == "send" else WriteEnd
    one, other = (kind(run, node, 0, OPCODES[run.options.verb]) for node in (source, target))
    one.connect(other)
    other.connect(one)
    run.sim.run(until=run.sim.process(other.prepare()))
    return one, other


def _node(run: Run, ahead: _Edge, behind: _Edge, steps: int, took_ps: list[int]) -> Steps:
    """What a node does; it notes how long each iteration took."""
    for _ in range(run.options.iters):
        began = run.sim.now
        yield run.sim.timeout(run.options.compute * 1_000_000)
        for _ in range(steps):
            yield from ahead[0].post()
            yield from ahead[0].cq.wait()
            yield from behind[1].receive()
        took_ps.append(run.sim.now - began)


def _iterations(run: Run) -> list[list[int]]:
    """What the iterations of each job took at its first node, in ps."""
    options, sim, nodes = run.options, run.sim, len(run.cluster.nodes)
    # To look for what repeats itself takes as long as all else where jobs meet by chance.
    sim.forward = None
    programs: list[Steps] = []
    took: list[list[int]] = [[] for _ in range(nodes)]
    for job in range(options.rings):
        members = range(job, nodes, options.rings)
        edges = [_edge(run, one, members[n - len(members) + 1]) for n, one in enumerate(members)]
        steps = 2 * (len(members) - 1)
        for place, one in enumerate(members):
            programs.append(_node(run, edges[place], edges[place - 1], steps, took[one]))
    sim.run()
    with circles_told(run.cluster):
        sim.run(until=sim.all_of([sim.process(one) for one in programs]))
    return took[: options.rings]


def training(run: Run) -> Result:
    """Iterations of all jobs, and of the first one alone on its nodes."""
    options = run.options
    members = options.nodes // options.rings
    part = replace(options, size=-(-options.size // members))
    whole = replace(run, options=part)
    took = [one for each in _iterations(whole) for one in each]
    chosen = run.choose(run.machine, options)[:: options.rings]
    single = replace(part, rings=1, nodes=members)
    alone = Run(run.name, Simulator(), run.machine, single, lambda machine, options: chosen)
    (apart,) = _iterations(alone)
    mean, mean_alone = sum(took) / len(took) / 1e6, sum(apart) / len(apart) / 1e6
    sent = 2 * (members - 1) * part.size * options.nodes * options.iters
    row = {
        "size": options.size,
        "nodes": options.nodes,
        "rings": options.rings,
        "iteration_mean_us": mean,
        "iteration_p99_us": percentile(took, 99) / 1e6,
        "iteration_max_us": max(took) / 1e6,
        "network_us": mean - options.compute,
        "alone_us": mean_alone,
        "slowdown_times": mean / mean_alone,
        **loaded(whole.cluster, sent),
    }
    return whole.result(row, sized=())
