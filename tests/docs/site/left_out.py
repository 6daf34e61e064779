"""Each source predicted without what only it determined, as if it had measured nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median

from hcasim.catalog import Parameter, Value, one_of
from hcasim.ground.errors import refuse
from hcasim.papers.claim import references
from hcasim.papers.plan import Line, Plan, plan, plan_papers
from hcasim.papers.replay import Replay, replay_all
from hcasim.papers.roles import Standing, standings
from hcasim.papers.verdict import Verdict, errors_of, judge
from hcasim.runs.executor import Progress
from hcasim.runs.machine import each_machine_once
from tests.docs.site.free import FreeValue, Place, free_values, places_of


@dataclass(frozen=True)
class PutBack:
    """A value that only one source determined, and what stands in its place without that source.

    Parameters:
        value: as it is.
        base: of what its description is based on; None if nothing says another value.
    """

    value: FreeValue
    base: Parameter[Value] | None


@dataclass(frozen=True)
class LeftOut:
    """The claims of one source, with what it determined and without.

    Parameters:
        source: who published them.
        values: what it alone determined.
        own: the claims with these values.
        based: the same claims with the bases of these values.
    """

    source: str
    values: tuple[PutBack, ...]
    own: tuple[Verdict, ...]
    based: tuple[Verdict, ...]

    @cached_property
    def medians(self) -> tuple[float, float] | None:
        """The median absolute errors of both; None of a source without numbers."""
        errors = [errors_of(side) for side in (self.own, self.based)]
        return (median(errors[0]), median(errors[1])) if all(errors) else None


@each_machine_once()
def leave_out(
    sources: Iterable[str] = (),
    jobs: int | None = None,
    progress: Progress | None = None,
    cache: bool = True,
) -> list[LeftOut]:
    """Predict the claims of sources with and without the values that only they determined.

    Parameters:
        sources: some of `Scenario.publication`; without them all.
        jobs, progress, cache: as of `hcasim.bench`.

    Raises:
        CatalogError: a source that nobody is.
    """
    plans = plan_papers()
    standing, values = standings(plans), free_values(plans)
    known = sorted({one.scenario.publication for one in plans})
    wanted = list(sources) or known
    allowed = one_of(known)
    refuse(*(f"sources: found {n!r}; allowed: {allowed}" for n in wanted if n not in known))
    back: dict[str, dict[Place, PutBack]] = {}
    sides: dict[tuple[str, bool], list[Plan]] = {}
    for source in wanted:
        alone = {one.place: one for one in values if one.determined_by == source}
        back[source] = {place: PutBack(one, one.base(alone)) for place, one in alone.items()}
        own = [*plans_of(source, plans)]
        sides[source, False] = own
        sides[source, True] = [_based(one, back[source]) for one in own]
    replays = iter(
        replay_all([one for side in sides.values() for one in side], jobs, progress, cache)
    )
    found = {
        (source, based): _judged(source, [next(replays) for _ in side], standing)
        for (source, based), side in sides.items()
    }
    return [
        LeftOut(source, tuple(back[source].values()), found[source, False], found[source, True])
        for source in wanted
    ]


def plans_of(source: str, plans: Iterable[Plan]) -> Iterator[Plan]:
    """Yield the scenarios of a source, and of others the series that their claims read."""
    own = [one for one in plans if one.scenario.publication == source]
    yield from own
    read = {
        one.scenario.qualified(name)
        for one in own
        for claim in one.scenario.claims
        for name, *_ in references(claim)
    }
    others = (one.only(read) for one in plans if one.scenario.publication != source)
    yield from (one for one in others if one.lines)


def _based(own: Plan, back: Mapping[Place, PutBack]) -> Plan:
    """Plan a scenario again, each series with the bases of what its machine has."""
    lines: list[Line] = []
    for line in own.lines:
        overrides = {
            path: base.text
            for path, place in places_of(line)
            if place in back
            and (base := back[place].base)
            and path not in line.jobs[0].machine.overrides
        }
        lines += plan(own.scenario, series=line.name, overrides=overrides).lines
    return replace(own, lines=tuple(lines))


def _judged(
    source: str, replays: Sequence[Replay], standing: Mapping[str, Standing]
) -> tuple[Verdict, ...]:
    curves = {
        one.scenario.qualified(name): curve for one in replays for name, curve in one.curves.items()
    }
    return tuple(
        judge(claim, one.scenario, curves, standing[claim.id])
        for one in replays
        if one.scenario.publication == source
        for claim in one.scenario.claims
    )
