"""Processors that copy memory; the adapters rest."""

from __future__ import annotations

from hcasim.catalog import Machine
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.workloads.end import Steps
from hcasim.workloads.explain import Utilisation
from hcasim.workloads.laps import Laps
from hcasim.workloads.options import Options
from hcasim.workloads.result import Result


def copy_bw(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Bandwidth of ``options.processes`` cores, each of which copies a buffer again and again.

    With ``options.buffers`` each has so many pairs of buffers and takes them in turn. Bytes copied
    count once.
    """
    cluster = Cluster(sim, machine, 2)
    node, size, turns = cluster.nodes[0], options.size, options.buffers
    laps = Laps(options.warmup, options.iters, options.exact, cycle=turns, error=1e-3)
    used = Utilisation(cluster.sim)

    def program(core: int) -> Steps:
        pairs = [(node.allocate(size), node.allocate(size)) for _ in range(turns)]
        while not laps.done:
            for source, destination in pairs:
                began = sim.now
                yield node.cores[core].copy(size, source, destination)
                if core == 0:
                    laps.lap(sim.now - began)
            if core == 0 and len(laps.durations_ps) == turns:
                used.mark()

    programs = [sim.process(program(core)) for core in range(options.processes)]
    sim.run(until=programs[0])
    rate = options.processes / (laps.mean_ps() / 1e12)
    row = {
        "size": size,
        "bandwidth_MBps": rate * size / 1e6,
        "rate_Mps": rate / 1e6,
        "error_percent": laps.error_percent,
    }
    return Result(row, {}, used.report() if options.explain else {})
