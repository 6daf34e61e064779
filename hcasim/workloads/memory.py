"""What processors do with memory: they copy it, or register it with the adapter."""

from __future__ import annotations

from hcasim.catalog import Machine
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.verbs import PD, Context
from hcasim.workloads.end import ALL_ACCESS, Steps, rate_columns
from hcasim.workloads.explain import Utilisation, stages
from hcasim.workloads.laps import Laps
from hcasim.workloads.options import Options
from hcasim.workloads.result import Result


def reg_mr(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Register ``options.size`` bytes in pages of ``options.page_size``, then deregister them.

    The processor has nothing else to do and every page is in memory already, so one turn tells the
    time of all.
    """
    cluster = Cluster(sim, machine, 2)
    pd = PD(Context(sim, cluster.nodes[0]))
    trace: list[tuple[int, str]] = []

    def turn() -> Steps:
        mr = yield from pd.timed_reg_mr(
            options.size, ALL_ACCESS, page_size=options.page_size, memory=options.memory
        )
        trace.append((sim.now, "register"))
        yield from mr.timed_dereg()
        trace.append((sim.now, "deregister"))

    begin = sim.now
    sim.run(until=sim.process(turn()))
    registered, deregistered = (time for time, _ in trace)
    row = {
        "size": options.size,
        "page_size": options.page_size,
        "registration_us": (registered - begin) / 1e6,
        "deregistration_us": (deregistered - registered) / 1e6,
    }
    return Result(row, cluster.counters(), stages(trace, begin) if options.explain else {})


def copy_bw(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Bandwidth of ``options.processes`` cores, each of which copies a buffer again and again.

    With ``options.buffers`` each has so many pairs of buffers and takes them in turn. Bytes copied
    count once.
    """
    cluster = Cluster(sim, machine, 2)
    node, size, turns = cluster.nodes[0], options.size, options.buffers
    laps = Laps.of(options, cycle=turns, error=1e-3)
    used = Utilisation(sim)

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
        **rate_columns(rate, size),
        "error_percent": laps.error_percent,
    }
    return Result(row, {}, used.report() if options.explain else {})
