"""Time to register fresh memory and to deregister it again, by one process on an idle host."""

from __future__ import annotations

from typing import Any

from hcasim.catalog import Machine
from hcasim.cluster import Cluster
from hcasim.engine import Simulator
from hcasim.verbs import PD, Context
from hcasim.workloads.end import ALL_ACCESS, Steps
from hcasim.workloads.explain import stages
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
    row: dict[str, Any] = {
        "size": options.size,
        "page_size": options.page_size,
        "registration_us": (registered - begin) / 1e6,
        "deregistration_us": (deregistered - registered) / 1e6,
    }
    return Result(row, cluster.counters(), stages(trace, begin) if options.explain else {})
