"""A processor core that runs one thread."""

from __future__ import annotations

from simpy.events import Timeout

from hcasim.engine import Simulator


class Core:
    """A core owned by one simulated process; its work takes time and nothing preempts it.

    Attributes:
        busy_ps: time spent in calls so far, in ps; spinning in a poll loop is not counted.
    """

    def __init__(self, sim: Simulator, name: str) -> None:
        self.sim = sim
        self.name = name
        self.busy_ps = 0

    def work(self, duration_ps: int) -> Timeout:
        """An event to yield: ``duration_ps`` of computing."""
        self.busy_ps += duration_ps
        return self.sim.timeout(duration_ps)
