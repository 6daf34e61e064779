"""What processors do with memory: they copy it, or register it with the adapter."""

from __future__ import annotations

from hcasim.verbs import PD, Context
from hcasim.workloads.end import ALL_ACCESS, Steps, rate_columns
from hcasim.workloads.explain import stages
from hcasim.workloads.laps import Laps
from hcasim.workloads.result import Result
from hcasim.workloads.run import Run


def reg_mr(run: Run) -> Result:
    """Register ``options.size`` bytes in pages of ``options.page_size``, then deregister them.

    The processor has nothing else to do and every page is in memory already, so one turn tells the
    time of all.
    """
    sim, options = run.sim, run.options
    pd = PD(Context(sim, run.cluster.nodes[0]))
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
        "registration_us": (registered - begin) / 1e6,
        "deregistration_us": (deregistered - registered) / 1e6,
    }
    return run.result(row, lambda: stages(trace, begin), sized=("size", "page_size"))


def copy_bw(run: Run) -> Result:
    """Bandwidth of ``options.processes`` cores, each of which copies a buffer again and again.

    With ``options.buffers`` each has so many pairs of buffers and takes them in turn. Bytes copied
    count once.
    """
    sim, options = run.sim, run.options
    node, size, turns = run.cluster.nodes[0], options.size, options.buffers
    laps = Laps.of(options, cycle=turns, error=1e-3)

    def program(core: int) -> Steps:
        pairs = [(node.allocate(size), node.allocate(size)) for _ in range(turns)]
        while not laps.done:
            for source, destination in pairs:
                began = sim.now
                yield node.cores[core].copy(size, source, destination)
                if core == 0:
                    laps.lap(sim.now - began)
            if core == 0 and len(laps.durations_ps) == turns:
                run.usage.mark()

    programs = [sim.process(program(core)) for core in range(options.processes)]
    sim.run(until=programs[0])
    rate = options.processes / (laps.mean_ps() / 1e12)
    row = {**rate_columns(rate, size), "error_percent": laps.error_percent}
    return run.result(row, sized=("size",), counters={})
