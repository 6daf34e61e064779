"""Where the time of an operation goes, and which resource limits a stream."""

from __future__ import annotations

from typing import Any

from hcasim.cluster import Cluster
from hcasim.engine import Simulator

SATURATED = 0.97


def stages(marks: list[tuple[int, str]], start_ps: int, *, typical: bool = True) -> dict[str, Any]:
    """The stages of one operation, adding up to its duration; those that take no time are left out.

    Args:
        marks: (time in ps, stage that ends then).
        start_ps: when the operation began.
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


class Utilisation:
    """How busy the resources of a cluster are between two moments.

    Args:
        cluster: its resources are read at both moments.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.mark()

    def mark(self) -> None:
        """Begin here."""
        self._since = self._cluster.sim.now
        self._busy = self._cluster.busy_ps()
        self._waiting = self._cluster.waiting_ps()

    def report(self) -> dict[str, Any]:
        """Shares of the time since the mark, and what binds.

        A resource that is busy all the time binds; if none is, the pool of tags or credits, or the
        cache, that work waited for longest does.
        """
        elapsed = max(1, self._cluster.sim.now - self._since)
        busy = {
            name: min(1.0, (value - self._busy.get(name, 0)) / elapsed)
            for name, value in self._cluster.busy_ps().items()
        }
        waiting = {
            name: min(1.0, (value - self._waiting.get(name, 0)) / elapsed)
            for name, value in self._cluster.waiting_ps().items()
        }
        binds = max(busy, key=lambda name: busy[name])
        # Staging slots only wait for what is behind them.
        pools = {name: share for name, share in waiting.items() if ".requests" not in name}
        worst = max(pools, key=lambda name: pools[name], default="")
        if busy[binds] < SATURATED and worst and pools[worst] > busy[binds]:
            binds = worst
        resources = [{"name": n, "busy": b} for n, b in busy.items() if b > 0]
        resources += [{"name": n, "waited": w} for n, w in waiting.items() if w > 0]
        return {"binds": binds, "resources": resources}
