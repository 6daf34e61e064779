"""How many requests the threads of each node post in a second, and how well that is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Protocol

from hcasim.catalog import CatalogError
from hcasim.cluster import Node
from hcasim.engine import Simulator, mean_error
from hcasim.workloads.end import Steps
from hcasim.workloads.laps import UNPROVEN
from hcasim.workloads.run import Run

BATCHES = 16
"""Least parts of a run whose rates are compared."""
MANY = 50
"""Batches of the longest run, if no more are in flight."""
FEWEST = 4000
"""Requests before which nothing is taken for steady: each queue's pages have to be in use."""
ERROR = 0.02


class Meter:
    """Counts what threads post, and ends the run once their rate is known.

    The requests after a warm-up are divided into batches; the scatter of the rates of the batches
    gives the error of their mean (method of batch means).

    Parameters:
        nodes: the numbers of those whose threads post.
        warm, most: requests of all that are not counted, and that are counted at most.
        in_flight: requests of all in flight; a batch has no fewer if there are enough of them.
        exact: whether as many as that are counted in any case.

    Attributes:
        begun, over: events of the two ends of what is counted.
        batches: those that have passed.
        error: relative error of the rate; 0 once all are counted.
    """

    def __init__(
        self,
        sim: Simulator,
        nodes: Iterable[int],
        warm: int,
        most: int,
        in_flight: int,
        exact: bool,
    ) -> None:
        self._sim = sim
        self._posted = dict.fromkeys(nodes, 0)
        self._total = 0
        self._next = warm
        self._batch = max(1, min(max(in_flight, most // MANY), most // BATCHES))
        self._last = warm + most
        self._first = warm + FEWEST
        self._exact = exact
        self._before: dict[int, int] = {}
        self._times: list[int] = []
        self.begun, self.over = sim.event(), sim.event()
        self.error = 0.0
        self.batches = 0

    def posted(self, node: int, count: int) -> None:
        """Note that a thread of a node has posted requests."""
        self._posted[node] += count
        self._total += count
        if self._total >= self._next and not self.over.triggered:
            self._mark()

    def _mark(self) -> None:
        self._times.append(self._sim.now)
        if len(self._times) == 1:
            self._before = {**self._posted}
            self.begun.succeed()
        self._next = min(self._total + self._batch, self._last)
        self.batches = len(self._times) - 1
        if self.batches > 1:
            spans = [after - before for before, after in pairwise(self._times)]
            self.error = max(UNPROVEN, mean_error(spans))
        settled = self.batches >= BATCHES and self.error <= ERROR and not self._exact
        if self._total >= self._last:
            self.error = 0.0
            self.over.succeed()
        elif settled and self._total >= self._first:
            self.over.succeed()

    def rates(self) -> list[float]:
        """Requests a second of each node.

        Raises:
            CatalogError: all were posted at the same time.
        """
        seconds = (self._times[-1] - self._times[0]) / 1e12
        if not seconds:
            found = f"{self._last} requests with the warm-up, all posted at the same time"
            raise CatalogError([f"iters: found {found}; allowed: more"])
        return [(self._posted[node] - before) / seconds for node, before in self._before.items()]


class Thread(Protocol):
    """One whose requests are counted, with its node, and how many are in flight at most."""

    home: Node

    @property
    def in_flight(self) -> int: ...
    def run(self, meter: Meter) -> Steps: ...


def metered(run: Run, threads: Sequence[Thread], whole: bool = False) -> Meter:
    """Let threads run until their rate is known, or in whole, and return their meter."""
    sim, options = run.sim, run.options
    meter = Meter(
        sim,
        (one.home.index for one in threads),
        len(threads) * options.warmup,
        len(threads) * options.iters,
        sum(one.in_flight for one in threads),
        whole or options.exact,
    )
    for one in threads:
        sim.process(one.run(meter))
    run.usage.between(meter.begun, meter.over)
    return meter
