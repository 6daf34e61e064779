"""Where the time of an operation goes, and which resource limits a stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from hcasim.engine import Simulator

SATURATED = 0.97
NEARLY = 0.8
"""Share of the time from which on what is busy binds, rather than a window in front of it."""
TELLING = 0.5
"""Share of the time from which on waiting says more than that of what is busy."""
IN_FLIGHT = "device.operations"
"""What a device without queues has under way at once."""
WINDOWS = (
    (".requests", ".responses"),
    (".wqe_fetch", ".receive_wqe_fetch", ".reads_in_flight"),
    (".send_queues", IN_FLIGHT),
)
"""Ends of the names of what limits how much is under way at once, from the link backwards: each
also waits for what is behind it."""
LINE = ".qp"
"""What a unit does for one queue pair."""


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


class Used(Protocol):
    """What has resources, such as a cluster or a bus."""

    sim: Simulator

    def busy_ps(self) -> dict[str, int]:
        """Time in ps that each serial resource was in use so far, by name."""

    def waiting_ps(self) -> dict[str, int]:
        """Time in ps that work waited for each pool of credits so far, by name."""


class Utilisation:
    """How busy the resources of a cluster or a bus are between two moments.

    Args:
        used: its resources are read at both moments.
    """

    def __init__(self, used: Used) -> None:
        self._used = used
        self.mark()

    @property
    def elapsed_ps(self) -> int:
        """Time in ps since the mark."""
        return max(1, self._used.sim.now - self._since)

    def mark(self) -> None:
        """Begin here."""
        self._since = self._used.sim.now
        self._busy = self._used.busy_ps()
        self._waiting = self._used.waiting_ps()

    def report(self, full_ps: Mapping[str, int] | None = None) -> dict[str, Any]:
        """Shares of the time since the mark, and what binds.

        A resource that is busy all the time binds; if none is, the pool of tags or credits, or the
        cache, that work waited for longest does; then what limits how much is under way at once.

        Args:
            full_ps: time in ps that processes waited since then because their queues were full.
        """
        elapsed = self.elapsed_ps
        busy = {
            name: min(1.0, (value - self._busy.get(name, 0)) / elapsed)
            for name, value in self._used.busy_ps().items()
        }
        waiting = {
            name: min(1.0, (value - self._waiting.get(name, 0)) / elapsed)
            for name, value in self._used.waiting_ps().items()
        }
        busy = {name: share for name, share in busy.items() if LINE not in name or share > TELLING}
        waiting |= {name: min(1.0, value / elapsed) for name, value in (full_ps or {}).items()}
        binds = max(busy, key=lambda name: busy[name])
        if busy[binds] < SATURATED:
            binds = _waited_for(waiting, busy[binds]) or binds
        resources = [{"name": n, "busy": b} for n, b in busy.items() if b > 0]
        resources += [{"name": n, "waited": w} for n, w in waiting.items() if w > 0]
        return {"binds": binds, "resources": resources}


def _waited_for(waiting: Mapping[str, float], busy: float) -> str:
    """What binds because work waits for it; nothing if that is what is busy for longest."""
    windows = [[name for name in waiting if name.endswith(ends)] for ends in WINDOWS]
    inside = {name for names in windows for name in names}
    pools = [name for name in waiting if name not in inside]
    for names, least in ((pools, TELLING), *((one, TELLING) for one in windows), (pools, 0.0)):
        worst = max(names, key=lambda name: waiting[name], default="")
        if worst and waiting[worst] > max(busy, least) and (names is pools or busy < NEARLY):
            return worst
    return ""
