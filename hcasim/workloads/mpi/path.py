"""The critical path of messages: what each moment of their time was spent on, and where."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from hcasim.engine import Simulator
from hcasim.mpi.process import Process
from hcasim.workloads.explain import stages

WAIT = "wait"
DATA = "data"
_LANDINGS = ("data write", "CQE write")
Mark = tuple[int, str]


@dataclass(slots=True)
class _Posted:
    core: str
    step: int
    time_ps: int
    label: str = ""
    before: int = 0


@dataclass(slots=True)
class Step:
    """A step of a path: work of a process, or the way of an operation to the one that waits for it.

    Who works has the same rank in both; several steps of one name before the path leaves a rank are
    counted together. Stages are those of an operation, in the adapters and the fabric.
    """

    rank: int
    to: int
    name: str
    on_the_way: bool
    duration_ps: int
    count: int = 1
    stages: list[dict[str, Any]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return {
            "rank": self.rank,
            **({"to": self.to} if self.on_the_way else {}),
            "step": self.name,
            "us": self.duration_ps / 1e6,
            **({"count": self.count} if self.count > 1 else {}),
            **({"stages": self.stages} if self.stages else {}),
        }


class CriticalPath:
    """Listens from now on, to find what the end of some work depended on.

    A process works, or waits for an operation. So the path goes back in time with a process until
    it has waited; then along the operation that it waited for, to the process that posted it. What
    follows data on their queue pair begins when these have landed.
    """

    def __init__(self, sim: Simulator, processes: Iterable[Process]) -> None:
        self._sim = sim
        self._ranks = {one.context.core.name: one.rank for one in processes}
        self._steps: dict[str, list[tuple[int, str, int]]] = {core: [] for core in self._ranks}
        self._posted: dict[int, _Posted] = {}
        self._last: dict[tuple[str, str], int] = {}
        self._marks: dict[int, list[Mark]] = defaultdict(list)
        sim.listeners.append(self._note)

    def _note(self, time_ps: int, block: str, event: str, operation: int, details: str) -> None:
        steps = self._steps.get(block)
        if steps is None:
            if operation:
                self._marks[operation].append((time_ps, event))
            return
        if event == "post_send":
            before = self._last.get((block, details), 0)
            self._last[block, details] = operation
            self._posted[operation] = _Posted(block, len(steps), time_ps, event, before)
        elif event.startswith("post "):
            # The verb has told of itself just before; shared memory needs none.
            posted = self._posted.setdefault(operation, _Posted(block, len(steps), time_ps))
            posted.label = event.removeprefix("post ")
            del steps[posted.step :]
        steps.append((time_ps, event, operation))

    def back(self, rank: int, end_ps: int, begin_ps: int) -> list[Step]:
        """The steps between two moments of which the last ends in a rank; nobody listens any more.

        They add up to the time between the moments.
        """
        if self._note in self._sim.listeners:
            self._sim.listeners.remove(self._note)
        (core,) = (core for core, one in self._ranks.items() if one == rank)
        place = sum(time_ps <= end_ps for time_ps, *_ in self._steps[core]) - 1
        found: list[Step] = []
        now = end_ps
        while now > begin_ps:
            if place < 0:
                found.append(self._work(core, WAIT, now - begin_ps))
                break
            time_ps, name, _ = self._steps[core][place]
            if time_ps < now:
                # What nobody has told of.
                since = max(time_ps, begin_ps)
                found.append(self._work(core, "other", now - since))
                now = since
                continue
            cause = self._cause(core, place) if name == WAIT else None
            if cause is not None:
                core, place, now = self._along(cause, core, now, begin_ps, found)
                continue
            before = self._steps[core][place - 1][0] if place else begin_ps
            since = max(before, begin_ps)
            found.append(self._work(core, name, now - since))
            now, place = since, place - 1
        return _together(reversed(found))

    def _work(self, core: str, name: str, duration_ps: int) -> Step:
        rank = self._ranks[core]
        return Step(rank, rank, name, False, duration_ps)

    def _cause(self, core: str, place: int) -> int | None:
        """What a process has noticed first after it had waited."""
        for _, name, operation in self._steps[core][place + 1 : place + 2]:
            if name.startswith("poll") and operation in self._posted:
                return operation
        return None

    def _along(
        self, operation: int, waiting: str, now: int, begin_ps: int, found: list[Step]
    ) -> tuple[str, int, int]:
        """Add the way of an operation that has landed now; return who posted it, and when."""
        while True:
            posted = self._posted[operation]
            landed = self._landed(posted.before, now)
            since = max(posted.time_ps, landed, begin_ps)
            marks = [mark for mark in self._marks[operation] if since < mark[0] <= now]
            of, to = self._ranks[posted.core], self._ranks[waiting]
            along = _stages(marks, since, now)
            found.append(Step(of, to, posted.label, True, now - since, stages=along))
            now = since
            if since == posted.time_ps or since == begin_ps:
                return posted.core, posted.step, now
            operation = posted.before

    def _landed(self, operation: int, by_ps: int) -> int:
        """When data have landed, not after a moment; 0 if they have not, or are none."""
        posted = self._posted.get(operation)
        if posted is None or posted.label != DATA:
            return 0
        return max(
            (at for at, event in self._marks[operation] if at <= by_ps and event in _LANDINGS),
            default=0,
        )


def _stages(marks: list[Mark], since: int, end: int) -> list[dict[str, Any]]:
    """The stages of an operation; what follows the last of its own is its acknowledgement."""
    found: list[dict[str, Any]] = stages([*marks, (end, "acknowledgement")], since)["stages"]
    return found


def _together(steps: Iterable[Step]) -> list[Step]:
    """Put those of one name together that a path has while it stays with a rank."""
    found: list[Step] = []
    visit: dict[str, Step] = {}
    before = None
    for step in steps:
        where = step.on_the_way, step.rank, step.to
        if where != before:
            visit, before = {}, where
        if (same := visit.setdefault(step.name, step)) is step:
            found.append(step)
            continue
        same.duration_ps += step.duration_ps
        same.count += step.count
        same.stages += step.stages
    return [step for step in found if step.duration_ps or step.on_the_way]
