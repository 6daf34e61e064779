"""Machines between two: some of what differs as the one has it, the rest as the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hcasim.catalog import CatalogError, Machine
from hcasim.runs.experiment import Experiment
from hcasim.runs.point import Point
from hcasim.study.comparison.breakdown import Breakdown, side_by_side
from hcasim.study.comparison.sides import Difference, differences
from hcasim.study.sensitivity.factor import meaning_of
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


Settings = dict[str, Any]
"""By name or path, as `Experiment.with_` takes them."""


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
        ends = [one.benchmark() for one in (a, b)]
        if len(ends[0]) != len(ends[1]):
            found = f"found {len(ends[0])} and {len(ends[1])} points"
            raise CatalogError([f"a and b: {found}; allowed: the same points"])
        first, second = (vars(one[0].options) for one in ends)
        options = {
            name: (a.options.get(name, first[name]), b.options.get(name, second[name]))
            for name in dict.fromkeys([*a.options, *b.options])
        }
        options = {name: one for name, one in options.items() if str(one[0]) != str(one[1])}
        varied = varying([vars(point.options) for every in ends for point in every])
        self.names = names_of(ends[0], field, [o.name for o in varied if o.name not in options])
        # What each side has of what can be exchanged.
        self._pairs: dict[str, tuple[Settings, Settings]] = {
            name: ({name: x}, {name: y}) for name, (x, y) in options.items()
        }
        self._options = {*options}
        machines = (ends[0][0].machine, ends[1][0].machine)
        wholes = [*self._wholes(*machines)] if grouped else []
        taken = [one.name for one in wholes]
        single = [
            Cause(one.path, (one.path,), *one.texts, meaning_of(machines, one.path))
            for one in differences(*machines)
            if one.path.partition(".")[0] not in taken and self._is_single(one)
        ]
        single += [Cause(name, (name,), str(x), str(y)) for name, (x, y) in options.items()]
        rest = Cause(REST, (REST, *self.together))
        self.causes = [*wholes, *(_by_part(single) if grouped else single), rest]

    @property
    def simulated(self) -> int:
        """Different points that were needed."""
        return len(self._known)

    def _wholes(self, a: Machine, b: Machine) -> Iterator[Cause]:
        """Yield the adapters, hosts and stacks that can be exchanged; of others the values may."""
        whole = any(isinstance(one.testbed, Machine) for one in self.sides)
        if whole or len(a.groups) > 1 or len(b.groups) > 1:
            return
        for name in WHOLES:
            if getattr(a, name).id == getattr(b, name).id:
                continue
            pair: list[Settings] = []
            for side, machine in zip(self.sides, (a, b), strict=True):
                own = {name: side.choices.get(name) or getattr(machine, name).id}
                if name == "adapter":
                    own["firmware_mode"] = machine.groups[0].firmware_mode
                paths = {p: v for p, v in side.overrides.items() if p.startswith(f"{name}.")}
                pair.append(own | paths)
            if not self._fault(name, *pair):
                yield Cause(name, (name,), *(str(one[name]) for one in pair))

    def _is_single(self, one: Difference) -> bool:
        """Whether a parameter can be exchanged alone; if not, note why."""
        fault = "only one of both has it"
        if one.a is not None and one.b is not None:
            ours, theirs = ({"overrides": {one.path: text}} for text in one.texts)
            fault = self._fault(one.path, ours, theirs)
        if fault:
            self.together[one.path] = fault
        return not fault

    def _fault(self, name: str, a: Settings, b: Settings) -> str:
        """Let something be exchanged, or say why it cannot alone on one of both sides."""
        self._pairs[name] = (a, b)
        for members in ({name}, {REST, *self._pairs} - {name} - self._options):
            try:
                self._points(members)
            except CatalogError as error:
                del self._pairs[name]
                return error.faults[0]
        return ""

    def _points(self, members: Iterable[str]) -> list[Point]:
        """Return the points of the machine that has ``members`` as B has them."""
        chosen = set(members)
        own = int(REST in chosen)
        asked = self.sides[own]
        for name, pair in self._pairs.items():
            if (name in chosen) != bool(own):
                # A what-if setting of a choice, such as the MTU, stands in its place.
                gone = {name, *pair[own]}
                kept, paths = (
                    {n: one for n, one in table.items() if n not in gone}
                    for table in (asked.settings, asked.overrides)
                )
                asked = replace(asked, settings=kept, overrides=paths).with_(**pair[not own])
        return asked.benchmark()

    def __call__(self, every: Iterable[Iterable[str]]) -> list[list[float]]:
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
