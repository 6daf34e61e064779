"""Machines between two: some of what differs as the one has it, the rest as the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hcasim.catalog import CatalogError, Machine
from hcasim.runs.experiment import Experiment
from hcasim.runs.point import Point
from hcasim.study.comparison.breakdown import Breakdown, side_by_side
from hcasim.study.comparison.sides import differences
from hcasim.study.meaning import meaning_of
from hcasim.study.sensitivity.subject import Run, names_of
from hcasim.workloads import find_workload
from hcasim.workloads.options import varying

PART = "part"
"""What causes may be put together by: the adapter, the host and so on."""
REST = "structure"
"""What no setting of a description says: which blocks there are, and how they are connected."""
WHOLES = ("adapter", "host", "stack")
"""What may be another as a whole in a testbed."""
_PARTS = (*WHOLES, "link")
"""What each group of nodes has of its own."""


@dataclass(frozen=True)
class Cause:
    """Something in which the two machines differ, or several such things together.

    Parameters:
        name: a path, an option, "structure" or "others".
        members: the paths and options that change with it.
        a, b: what each machine has, in words.
        meaning: of a parameter, as its description has it.
    """

    name: str
    members: tuple[str, ...]
    a: str = ""
    b: str = ""
    meaning: str = ""


def _whole(name: str, side: Experiment, machine: Machine) -> dict[str, Any]:
    """Return the settings that make a whole what it is on a side, by name and by path."""
    own: dict[str, Any] = {name: side.choices.get(name) or getattr(machine, name).id}
    if name == "adapter":
        own["firmware_mode"] = machine.groups[0].firmware_mode
    return own | {p: one for p, one in side.overrides.items() if p.startswith(f"{name}.")}


class Mixed:
    """Machines between two: some of what differs as B has it, all else as A has it.

    Parameters:
        a, b: the two sides.
        field: what is read of the rows of their benchmark.
        grouped: put causes together by parts; where both sides have another adapter, host or
            stack, it is exchanged as a whole.
        run: simulates points.

    Attributes:
        causes: what can be exchanged, one by one; the last is the structure.
        together: paths that cannot, with why.

    Raises:
        CatalogError: the sides do not measure the same points.
    """

    def __init__(self, a: Experiment, b: Experiment, field: str, grouped: bool, run: Run) -> None:
        self.sides, self.field, self._run = (a, b), field, run
        self._known: dict[Point, float] = {}
        self.together: dict[str, str] = {}
        self._paths: dict[str, tuple[str, str]] = {}
        self._wholes: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        ends = [one.benchmark() for one in (a, b)]
        if len(ends[0]) != len(ends[1]):
            found = f"found {len(ends[0])} and {len(ends[1])} points"
            raise CatalogError([f"a and b: {found}; allowed: the same points"])
        first, second = (vars(one[0].options) for one in ends)
        pairs = {
            name: (a.options.get(name, first[name]), b.options.get(name, second[name]))
            for name in dict.fromkeys([*a.options, *b.options])
        }
        self._options = {name: one for name, one in pairs.items() if str(one[0]) != str(one[1])}
        varied = varying([vars(point.options) for every in ends for point in every])
        axes = [one.name for one in varied if one.name not in self._options]
        self.names = names_of(ends[0], field, axes)
        machines = (ends[0][0].machine, ends[1][0].machine)
        if grouped:
            self._take_wholes(*machines)
        self._take(*machines)
        given = {name: (str(x), str(y)) for name, (x, y) in self._options.items()}
        single = [
            Cause(name, (name,), *texts, meaning_of(machines, name))
            for name, texts in {**self._paths, **given}.items()
        ]
        wholes = [
            Cause(name, (name,), str(ours[name]), str(theirs[name]))
            for name, (ours, theirs) in self._wholes.items()
        ]
        rest = Cause(REST, (REST, *self.together))
        self.causes = [*wholes, *(_by_part(single) if grouped else single), rest]

    @property
    def simulated(self) -> int:
        """Different points that were needed."""
        return len(self._known)

    def _take_wholes(self, a: Machine, b: Machine) -> None:
        """Find the adapters, hosts and stacks that can be exchanged alone, on both sides."""
        whole = any(isinstance(one.testbed, Machine) for one in self.sides)
        if whole or len(a.groups) > 1 or len(b.groups) > 1:
            return
        for name in WHOLES:
            if getattr(a, name).id == getattr(b, name).id:
                continue
            self._wholes[name] = (_whole(name, self.sides[0], a), _whole(name, self.sides[1], b))
            if self._fault(name):
                # Its values may still be exchanged one by one.
                del self._wholes[name]

    def _take(self, a: Machine, b: Machine) -> None:
        """Find the paths that can be exchanged alone, on both sides."""
        for one in differences(a, b):
            if one.path.partition(".")[0] in self._wholes:
                continue
            if one.a is None or one.b is None:
                self.together[one.path] = "only one of both has it"
                continue
            self._paths[one.path] = one.texts
            if fault := self._fault(one.path):
                del self._paths[one.path]
                self.together[one.path] = fault

    def _fault(self, name: str) -> str:
        """Say why something cannot be exchanged alone on one of both sides, if it cannot."""
        for members in ({name}, {REST, *self._wholes, *self._paths} - {name}):
            try:
                self._points(members)
            except CatalogError as error:
                return error.faults[0]
        return ""

    def _points(self, members: Iterable[str]) -> list[Point]:
        """Return the points of the machine that has ``members`` as B has them."""
        chosen = set(members)
        own = int(REST in chosen)
        base = self.sides[own]
        for name, pair in self._wholes.items():
            if (name in chosen) != bool(own):
                left = {n: one for n, one in base.settings.items() if n not in pair[own]}
                paths = {p: v for p, v in base.overrides.items() if not p.startswith(f"{name}.")}
                base = replace(base, settings=left, overrides=paths).with_(**pair[not own])
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
            self._known[point] = float(result.row[self.field])
        return [[self._known[p] for p in one] for one in points]

    def breakdowns(self) -> list[Breakdown | None]:
        """Return where the time goes on both sides, point by point."""
        known = find_workload(self.sides[0].workload)
        ends = [one.benchmark() for one in self.sides]
        if known is None or "explain" not in known.options:
            return [None for _ in ends[0]]
        told = [[replace(p, options=replace(p.options, explain=True)) for p in one] for one in ends]
        found = self._run(point for one in told for point in one)
        every: list[Breakdown | None] = []
        # Stages are those of what a workload measures first.
        timed = self.field.endswith("_us")
        untold = {"stages": ()} if timed and self.field != known.fields[0] else {}
        for a, b in zip(*([found[point] for point in one] for one in told), strict=True):
            both = (float(a.row[self.field]), float(b.row[self.field]))
            ours, theirs = ({**one.breakdown, **untold} for one in (a, b))
            every.append(side_by_side(ours, theirs, both if timed else None))
        return every


def _by_part(causes: Sequence[Cause]) -> list[Cause]:
    """Put causes together that belong to one part, in the order of the first of each."""
    found: dict[str, list[Cause]] = {}
    for one in causes:
        names = one.name.split(".")
        # Where nodes are of several groups, their parts stand below the name of the group.
        depth = 2 if len(names) > 2 and names[1] in _PARTS else 1
        found.setdefault(".".join(names[:depth]), []).append(one)
    return [_together(name, members) for name, members in found.items()]


def _together(name: str, members: Sequence[Cause]) -> Cause:
    if len(members) == 1:
        return replace(members[0], name=name)
    paths = tuple(path for one in members for path in one.members)
    return Cause(name, paths, f"{len(members)} values", f"{len(members)} others")
