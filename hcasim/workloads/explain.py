"""Where the time of an operation goes, and which resource limits a stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hcasim.engine import Event, Simulator
from hcasim.workloads.limits import limiting
from hcasim.workloads.options import Options

NEAR = 0.2
"""Share of the time from which on a resource may come to bind, if it is slower than is known."""
TELLING = 0.5
"""Share of the time from which on what is done for one of many is worth telling."""
KEPT = 64
"""Most operations of a run that are looked at in one."""
LINE = ".qp"
"""What a unit does for one queue pair."""


def explained(
    sim: Simulator, options: Options, explain: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """What explains a result: of each that nobody records, for which it may go on a little.

    Unless that is asked for, resources are left out that do not come near to binding.
    """
    if options.explain:
        return explain()
    found = {} if sim.listeners else explain()
    if "resources" in found:
        every = found["resources"]
        near = [one for one in every if max(one.get("busy", 0), one.get("waited", 0)) >= NEAR]
        found["resources"] = near
    return found


def stages(marks: list[tuple[int, str]], start_ps: int, *, typical: bool = True) -> dict[str, Any]:
    """The stages of one operation, adding up to its duration; those that take no time are left out.

    Parameters:
        marks: (time in ps, stage that ends then).
        typical: whether all operations last as long.
    """
    found, before = [], start_ps
    for time_ps, stage in sorted(marks, key=lambda mark: mark[0]):
        if time_ps > before:
            found.append({"stage": stage, "us": (time_ps - before) / 1e6})
            before = time_ps
    return {"stages": found, "total_us": (before - start_ps) / 1e6, "typical": typical}


class Follower:
    """Listens from now on, to explain one of the operations that follow."""

    def __init__(self, sim: Simulator) -> None:
        self._sim = sim
        self._begin = sim.now
        self._marks: dict[int, list[tuple[int, str]]] = {}
        sim.listeners.append(self._note)

    def _note(self, time_ps: int, block: str, event: str, operation: int, details: str) -> None:
        self._marks.setdefault(operation, []).append((time_ps, event))

    def stages(self, operation: int, *, typical: bool) -> dict[str, Any]:
        """The stages of an operation that began when this did; nobody listens any more."""
        self._sim.listeners.remove(self._note)
        return stages(self._marks[operation], self._begin, typical=typical)


class Sample(Follower):
    """Listens to a whole run, to say what an operation in the midst of it takes in the mean.

    Few operations are kept, the farther apart the more there are.
    """

    _every = 1

    def _note(self, time_ps: int, block: str, event: str, operation: int, details: str) -> None:
        if not operation or operation % self._every:
            return
        super()._note(time_ps, block, event, operation, details)
        if len(self._marks) > KEPT:
            self._every *= 2
            self._marks = {n: one for n, one in self._marks.items() if n % self._every == 0}

    def mean(self) -> list[dict[str, Any]]:
        """The stages of an operation from its posting on, the longest first."""
        every = list(self._marks.values())
        midst = every[len(every) // 4 : -(len(every) // 4) or None]
        spent: dict[str, float] = {}
        for marks in midst:
            for one in stages(marks, min(marks)[0])["stages"]:
                spent[one["stage"]] = spent.get(one["stage"], 0.0) + one["us"] / len(midst)
        longest = sorted(spent.items(), key=lambda item: -item[1])
        return [{"stage": stage, "us": round(us, 6)} for stage, us in longest]


class Utilisation:
    """How busy the resources of a machine are between two moments."""

    def __init__(self, sim: Simulator) -> None:
        self._sim = sim
        self.mark()

    @property
    def elapsed_ps(self) -> int:
        """Time in ps since the mark."""
        return max(1, self._sim.now - self._since)

    def mark(self) -> None:
        """Begin here."""
        self._since = self._sim.now
        self._busy = self._sim.resources.busy_ps()
        self._waiting = self._sim.resources.waiting_ps()

    def between(self, begun: Event, over: Event) -> None:
        """Run to the second event, and begin at the first."""
        self._sim.run(until=begun)
        self.mark()
        self._sim.run(until=over)

    def report(self, full_ps: Mapping[str, int] | None = None) -> dict[str, Any]:
        """Shares of the time since the mark, and what binds.

        What binds is empty if nothing is saturated; what is about as busy is told with it. What is
        full is the time in ps that processes waited since then because their queues were full.
        """
        elapsed = self.elapsed_ps
        resources = self._sim.resources
        busy = _shares(resources.busy_ps(), self._busy, elapsed)
        waiting = _shares(resources.waiting_ps(), self._waiting, elapsed)
        waiting |= _shares(full_ps or {}, {}, elapsed)
        binds, *also = limiting(busy, waiting) or [""]
        found: list[dict[str, Any]] = [{"name": n, "busy": b} for n, b in busy.items() if b > 0]
        found += [{"name": n, "waited": w} for n, w in waiting.items() if w > 0]
        return {"binds": binds, "also": also, "resources": found}


def _shares(
    after: Mapping[str, int], before: Mapping[str, int], elapsed_ps: int
) -> dict[str, float]:
    """Shares of a time, without what is done for single queue pairs for a small part of it."""
    shares = {n: min(1.0, (value - before.get(n, 0)) / elapsed_ps) for n, value in after.items()}
    return {n: one for n, one in shares.items() if LINE not in n or one > TELLING}
