"""Free values of the models: who determined each, whose experiments use it, what it can touch."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, replace

from hcasim.catalog import MODELS, Parameter, Value, list_ids, load
from hcasim.catalog.loader import each_file_once
from hcasim.papers.claim import references
from hcasim.papers.loader import list_papers, load_context
from hcasim.papers.plan import Line, Plan

FREE = ("fitted", "chosen", "assumed")
"""Evidence of what no public document gives."""
STANDS_FOR = {
    ("adapters", "connectx3"): "connect_ib",
    ("adapters", "connect_ib"): "connectx3",
    ("hosts", "dell-2650"): "generic",
    ("hosts", "haswell-e5-2620v3"): "generic-modern",
    ("hosts", "xeon-e7520"): "generic",
    ("stacks", "nes"): "ofed",
}
"""What is nearest to a description that is based on no other, by kind and id."""
Place = tuple[str, str, str]
"""The kind and the id of the description that says a value, and its path there."""


@dataclass(frozen=True)
class FreeValue:
    """A value that no public document gives.

    Parameters:
        kind: of the description that says it, such as "hosts".
        part: its id.
        parameter: the value with its evidence; the path starts inside the description.
        sources: who published the statements that determined it.
        users: who published experiments that run with it.
        claims: ids of the claims that are read off such experiments.
    """

    kind: str
    part: str
    parameter: Parameter[Value]
    sources: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()

    @property
    def place(self) -> Place:
        """What tells it from all others."""
        return self.kind, self.part, self.parameter.path

    @property
    def determined_by(self) -> str:
        """The one source that determined it, if there is one alone."""
        return self.sources[0] if len(self.sources) == 1 else ""

    @property
    def serves(self) -> str:
        """The one source whose experiments alone use it, if that is so."""
        return self.users[0] if len(self.users) == 1 else ""

    def base(self, but: Container[Place] = ()) -> Parameter[Value] | None:
        """Return the same value of what the description is based on, or is nearest to.

        Parameters:
            but: places of values that do not count, as those that the same source determined.
        """
        part, known = self.part, {self.part}
        while True:
            nearest = STANDS_FOR.get((self.kind, part), "")
            part = load(part, self.kind).model.based_on or nearest
            if not part or part in known:
                return None
            known.add(part)
            every = {one.path: one for one in load(part, self.kind).parameters}
            found = every.get(self.parameter.path)
            if found is not None:
                owner = found.inherited_from or part
                if (self.kind, owner, found.path) not in but:
                    return replace(found, inherited_from=owner)


@each_file_once()
def free_values(plans: Iterable[Plan]) -> list[FreeValue]:
    """Return the free values of all descriptions of the catalogue, in the order of their places.

    Parameters:
        plans: of all scenarios, whose claims tell who determined and who uses a value.
    """
    plans = list(plans)
    said = {one.id: paper for paper in list_papers() for one in load_context(paper)}
    said |= {claim.id: one.scenario.publication for one in plans for claim in one.scenario.claims}
    found = {
        (kind, name, one.path): FreeValue(kind, name, one, _sorted(map(said.get, one.claims)))
        for kind in MODELS
        for name in list_ids(kind)
        for one in load(name, kind).parameters
        if one.evidence in FREE and not one.inherited_from
    }
    users: dict[Place, set[str]] = {place: set() for place in found}
    claims: dict[Place, set[str]] = {place: set() for place in found}
    lines = {one.scenario.qualified(line.name): line for one in plans for line in one.lines}
    places = {name: {place for _, place in places_of(line)} for name, line in lines.items()}
    for name, line in lines.items():
        for place in places[name] & found.keys():
            users[place].add(line.scenario.publication)
    for scenario in (one.scenario for one in plans):
        for claim in scenario.claims:
            for name in {scenario.qualified(name) for name, *_ in references(claim)}:
                for place in places[name] & found.keys():
                    claims[place].add(claim.id)
    return [
        replace(one, users=_sorted(users[place]), claims=_sorted(claims[place]))
        for place, one in found.items()
    ]


def places_of(line: Line) -> Iterator[tuple[str, Place]]:
    """Yield each value of the machine of a line: its path as a setting, and who says it."""
    machine = line.jobs[0].machine
    several = len(machine.groups) > 1
    parts = [("testbeds", machine.id, "")]
    for group in machine.groups:
        start = f"{group.name}." if several else ""
        for kind in ("adapter", "host", "stack"):
            parts.append((f"{kind}s", getattr(group, kind).id, f"{start}{kind}."))
    for name, switch in machine.switches.items():
        parts.append(("switches", switch.id, f"{name}.switch.".lstrip(".")))
    for kind, part, start in parts:
        for one in load(part, kind).parameters:
            yield f"{start}{one.path}", (kind, one.inherited_from or part, one.path)


def _sorted(names: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(sorted({one for one in names if one}))
