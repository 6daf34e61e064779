"""What it costs to come back to a queue pair after all the others.

The method is that of sur2005 section 4.1: a ping-pong over n queue pairs in turn, of which only
the round trips on the first are reported.
"""

from __future__ import annotations

from dataclasses import replace

from hcasim.catalog import Machine
from hcasim.engine import Simulator
from hcasim.workloads.laps import Laps
from hcasim.workloads.latency import WritePingPong
from hcasim.workloads.options import Options
from hcasim.workloads.result import Result

SLACK = 1e-4


class FirstOfMany(WritePingPong):
    """A ping-pong whose iterations are whole cycles over the queue pairs."""

    def __init__(self, sim: Simulator, machine: Machine, options: Options) -> None:
        super().__init__(sim, machine, options)
        count = options.qps
        self.laps = Laps(
            options.warmup * count,
            options.iters * count,
            options.exact,
            cycle=count,
            slack=SLACK,
        )

    def mean_ps(self) -> float:
        return self.laps.mean_ps(every=self.options.qps)


def qp_lat(sim: Simulator, machine: Machine, options: Options) -> Result:
    """Latency of RDMA writes on the first of the queue pairs that are used in turn."""
    return FirstOfMany(sim, machine, replace(options, pattern="cyclic")).run()
