"""Machines between two: some of what differs as the one has it, the rest as the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from hcasim.catalog import CatalogError, Machine
from hcasim.runs.executor import Progress, run_points
from hcasim.runs.experiment import Experiment
from hcasim.runs.point import Point
from hcasim.runs.store import Store
from hcasim.study.comparison.answer import Cause
from hcasim.study.comparison.breakdown import Breakdown, side_by_side
from hcasim.study.comparison.difference import differences
from hcasim.study.comparison.grouping import PART, grouped
from hcasim.workloads import find_workload
from hcasim.workloads.options import AXES, varying
from hcasim.workloads.result import Result

REST = "structure"
"""What no setting of a description says: which blocks there are, and how they are connected."""

WHOLES = ("adapter", "host", "stack")
"""What may be another as a whole in a testbed."""
Whole = dict[str, dict[str, Any]]
"""Choices and overrides that make a whole what it is on a side."""


def _whole(name: str, side: Experiment, machine: Machine) -> Whole:
    choices = {name: side.choices.get(name) or getattr(machine, name).id}
    if name == "adapter":
        choices["firmware_mode"] = machine.groups[0].firmware_mode or None
    own = {p: v for p, v in side.overrides.items() if p.partition(".")[0] == name}
    return {"choices": choices, "overrides": own}


class Mixed:
    """Machines between two: some of what differs as B has it, all else as A has it.

    Parameters:
        a, b: the two sides.
        field: what is read of its rows.
        groups: how causes are put together, as `grouped` takes it; with "part" a whole adapter,
            host or stack is exchanged where both have others.
        jobs, progress, store: as `run_points` takes them.

    Attributes:
        workload: the benchmark.
        causes: what can be exchanged, one by one; the last is the structure.
        together: paths that cannot, with why.
        simulated: different points that were needed.

    Raises:
        CatalogError: the sides do not measure the same points.
    """

    def __init__(
        self,
        a: Experiment,
        b: Experiment,
        field: str,
        groups: Sequence[str] = (),
        jobs: int | None = None,
        progress: Progress | None = None,
        store: Store | None = None,
    ) -> None:
        self._sides, self.workload, self._field = (a, b), a.workload, field
        self._jobs, self._progress, self._store = jobs, progress, store
        self._known: dict[Point, float] = {}
        self.together: dict[str, str] = {}
        self._options: dict[str, tuple[Any, Any]] = {}
        self._paths: dict[str, tuple[str, str]] = {}
        self._wholes: dict[str, tuple[Whole, Whole]] = {}
        ends = [one.benchmark() for one in (a, b)]
        varied = [one.name for one in varying([vars(p.options) for p in (*ends[0], *ends[1])])]
        first, second = (vars(one[0].options) for one in ends)
        for name in dict.fromkeys([*a.options, *b.options]):
            pair = (a.options.get(name, first[name]), b.options.get(name, second[name]))
            if str(pair[0]) != str(pair[1]):
                self._options[name] = pair
        axes = [name for name in varied if name not in self._options] or ["size"]
        if len(ends[0]) != len(ends[1]):
            found = f"found {len(ends[0])} and {len(ends[1])} points"
            raise CatalogError([f"a and b: {found}; allowed: the same points"])
        self.names = [
            f"{field} at "
            + ", ".join(f"{AXES[n].title} {AXES[n].label(getattr(p.options, n))}" for n in axes)
            for p in ends[0]
        ]
        machines = (ends[0][0].machine, ends[1][0].machine)
        if PART in groups:
            self._take_wholes(*machines)
        self._take(*machines)
        given = {name: (str(x), str(y)) for name, (x, y) in self._options.items()}
        single = [Cause(name, (name,), *texts) for name, texts in {**self._paths, **given}.items()]
        wholes = [
            Cause(name, (name,), *(str(one["choices"][name]) for one in pair))
            for name, pair in self._wholes.items()
        ]
        self.causes = [*wholes, *grouped(single, groups)]
        self.causes.append(Cause(REST, (REST, *self.together)))

    @property
    def simulated(self) -> int:
        """Different points that were needed."""
        return len(self._known)

    def _take_wholes(self, a: Machine, b: Machine) -> None:
        """Find the adapters, hosts and stacks that can be exchanged alone, on both sides."""
        if any(isinstance(one.testbed, Machine) for one in self._sides):
            return
        if len(a.groups) > 1 or len(b.groups) > 1:
            return
        for name in WHOLES:
            if getattr(a, name).id == getattr(b, name).id:
                continue
            pair = [
                _whole(name, side, machine)
                for side, machine in zip(self._sides, (a, b), strict=True)
            ]
            self._wholes[name] = (pair[0], pair[1])
            for members in ({name}, {REST, *self._wholes} - {name}):
                try:
                    self._points(members)
                except CatalogError:
                    # Its values may still be exchanged one by one.
                    del self._wholes[name]
                    break

    def _take(self, a: Machine, b: Machine) -> None:
        """Find the paths that can be exchanged alone, on both sides."""
        for one in differences(a, b):
            if one.path.partition(".")[0] in self._wholes:
                continue
            if one.a is None or one.b is None:
                self.together[one.path] = "only one of both has it"
                continue
            self._paths[one.path] = one.texts
            for members in ({one.path}, {REST, *self._wholes, *self._paths} - {one.path}):
                try:
                    self._points(members)
                except CatalogError as error:
                    del self._paths[one.path]
                    self.together[one.path] = error.faults[0]
                    break

    def _points(self, members: Iterable[str]) -> list[Point]:
        """Return the points of the machine that has ``members`` as B has them."""
        chosen = set(members)
        own = int(REST in chosen)
        base = self._sides[own]
        for name, pair in self._wholes.items():
            if (name in chosen) != bool(own):
                kept = {p: v for p, v in base.overrides.items() if p.partition(".")[0] != name}
                theirs = pair[name in chosen]
                settings = {**base.settings, **theirs["choices"]}
                base = replace(base, settings=settings, overrides={**kept, **theirs["overrides"]})
        overrides = {
            path: texts[path in chosen]
            for path, texts in self._paths.items()
            if (path in chosen) != bool(own)
        }
        # A what-if setting of a choice, such as the MTU, stands in its place.
        kept = {name: one for name, one in base.settings.items() if name not in overrides}
        options = {name: pair[name in chosen] for name, pair in self._options.items()}
        return replace(base, settings=kept).with_(**options, overrides=overrides).benchmark()

    def __call__(self, every: Sequence[Iterable[str]]) -> list[list[float]]:
        """Return the numbers of the machines with some members as B has them."""
        points = [self._points(members) for members in every]
        wanted = dict.fromkeys(p for one in points for p in one if p not in self._known)
        for point, result in self._run(wanted).items():
            self._known[point] = float(result.row[self._field])
        return [[self._known[p] for p in one] for one in points]

    def breakdowns(self) -> list[Breakdown | None]:
        """Return where the time goes on both sides, point by point."""
        known = find_workload(self.workload)
        ends = [one.benchmark() for one in self._sides]
        if known is None or "explain" not in known.options:
            return [None for _ in ends[0]]
        told = [[replace(p, options=replace(p.options, explain=True)) for p in one] for one in ends]
        found = self._run(point for one in told for point in one)
        every: list[Breakdown | None] = []
        # Stages are those of what a workload measures first.
        timed = self._field.endswith("_us")
        untold = {"stages": ()} if timed and self._field != known.fields[0] else {}
        for a, b in zip(*([found[point] for point in one] for one in told), strict=True):
            both = (float(a.row[self._field]), float(b.row[self._field]))
            ours, theirs = ({**one.breakdown, **untold} for one in (a, b))
            every.append(side_by_side(ours, theirs, both if timed else None))
        return every

    def _run(self, points: Iterable[Point]) -> dict[Point, Result]:
        return run_points(points, workers=self._jobs, progress=self._progress, store=self._store)
