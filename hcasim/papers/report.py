"""Reproducing a paper: every scenario replayed, every statement judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from os import PathLike, fspath
from statistics import median
from time import perf_counter
from typing import Any, Literal, get_args

from pydantic import Field

from hcasim.catalog import CatalogError
from hcasim.ground.errors import flag_fault, name_fault, refuse
from hcasim.ground.text import brief, html_table, items_of
from hcasim.papers.claim import references
from hcasim.papers.evidence import Basis
from hcasim.papers.loader import list_papers, load_context, load_scenarios
from hcasim.papers.plan import plan_papers
from hcasim.papers.replay import Replay, SimulatedRows, replay_all, spent
from hcasim.papers.roles import Role, standings
from hcasim.papers.verdict import NUMBERS, Status, Verdict, errors_of, from_context, judge
from hcasim.runs.document import Form, Head, Profile, Seconds
from hcasim.runs.executor import Progress, on_scheduler
from hcasim.runs.point import Point
from hcasim.runs.table import Table
from hcasim.workloads.result import Cost

_NUMBERS = ("published", "simulated", "error")
COLUMNS = ("claim", "scenario", "system", "statement", *_NUMBERS, "role", "status")
_SHOWN = 8
"""Claims that a line of an overview names."""


class RoleCount(Form):
    """How many claims have a role, about how many readings, and what is stated of these."""

    claims: int
    readings: int
    numbers: int
    orders: int
    limits: int


class Summary(Form):
    """How many statements have each status."""

    passed: int = Field(alias="pass")
    fail: int
    deviation: int
    context: int
    roles: dict[str, RoleCount]
    bases: dict[str, RoleCount]


class Replayed(Form):
    """A scenario that was replayed."""

    scenario: str = Field(description="its id")
    series: tuple[SimulatedRows, ...]


class ReproduceDocument(Head):
    """What `hcasim reproduce --json` prints."""

    schema_: Literal["hcasim-reproduce"] = Field(alias="schema")
    instead: dict[Literal["testbed", "adapter"], str] = Field(
        default={},
        description="id or file of what stood in for the authors' machine; not there if nothing",
    )
    wall_seconds: Seconds = None
    profile: Profile | None = Field(default=None, description="only if it was asked for")
    summary: Summary
    claims: tuple[Verdict, ...]
    scenarios: tuple[Replayed, ...]


@dataclass(frozen=True, repr=False)
class Report(Table):
    """What a reproduction found.

    Parameters:
        verdicts: one for each statement, by number.
        replays: the replayed scenarios, in the order asked for.
        wall_seconds: time that all of it took, or None to leave that out.
        instead: id or file of the testbed and of the adapter that stood in for the authors', if
            any; then the claims are judged on another machine than they were made about.
        costs: what simulating each point cost; empty unless it was asked for.
    """

    verdicts: tuple[Verdict, ...]
    replays: tuple[Replay, ...]
    wall_seconds: float | None
    instead: Mapping[str, str] = field(default_factory=dict)
    costs: Mapping[Point, Cost] = field(default_factory=dict)

    def __repr__(self) -> str:
        return brief(self, scenarios=len(self.replays), **self.instead, **self.summary)

    @property
    def title(self) -> str:
        """What the table shows, and on which machine if that is not the authors'."""
        other = ", ".join(f"{part} {name}" for part, name in self.instead.items())
        return f"Published and simulated{other and f', on another machine: {other}'}"

    @property
    def summary(self) -> dict[str, int]:
        """How many statements have each status."""
        return {name: sum(v.status == name for v in self.verdicts) for name in get_args(Status)}

    @property
    def ok(self) -> bool:
        """Whether no claim is missed without a documented reason."""
        return self.summary["fail"] == 0

    def median_error(self, *kinds: str) -> float | None:
        """Return the median absolute relative error of the numbers with a role, or that rest on
        something, of several kinds together, if there are some.

        A number that several claims state counts once, with the worst of its errors.
        """
        errors = errors_of(one for one in self.verdicts if {one.role, one.basis} & {*kinds})
        return median(errors) if errors else None

    @property
    def roles(self) -> dict[str, dict[str, int]]:
        """The counts of each role, as `RoleCount` has them."""
        return self._counts("role", get_args(Role))

    @property
    def bases(self) -> dict[str, dict[str, int]]:
        """Likewise of what claims rest on."""
        return self._counts("basis", get_args(Basis))

    def _counts(self, field: str, kinds: Iterable[str]) -> dict[str, dict[str, int]]:
        found = {}
        claims = [one for one in self.verdicts if one.status != "context"]
        for kind in kinds:
            own = [one for one in claims if getattr(one, field) == kind]
            readings = {one.first for one in own}
            numbers = {one.first for one in own if one.kind in NUMBERS}
            orders = {one.first for one in own if one.kind == "ordering"} - numbers
            counts = (own, readings, numbers, orders, readings - orders - numbers)
            found[kind] = dict(zip(RoleCount.model_fields, map(len, counts), strict=True))
        return found

    @property
    def by_paper(self) -> dict[str, Report]:
        """The statements of each paper or collection alone."""

        def paper(one: Verdict) -> str:
            return one.scenario.partition("/")[0]

        names = dict.fromkeys(map(paper, self.verdicts))
        every = {name: [one for one in self.verdicts if paper(one) == name] for name in names}
        return {name: replace(self, verdicts=tuple(own)) for name, own in every.items()}

    @property
    def deviations(self) -> list[Verdict]:
        """The claims that are missed, documented or not."""
        return [v for v in self.verdicts if v.status in ("fail", "deviation")]

    def to_dict(self) -> dict[str, Any]:
        """Return the report for JSON, in the form of the schema `reproduce`."""
        return ReproduceDocument(
            **ReproduceDocument.head(),
            **({"instead": self.instead} if self.instead else {}),
            **spent(self.wall_seconds, self.costs),
            summary={**self.summary, "roles": self.roles, "bases": self.bases},
            claims=[verdict.model_dump() for verdict in self.verdicts],
            scenarios=[
                {
                    "scenario": one.scenario.id,
                    "series": [part.to_dict() for part in one.curves.values()],
                }
                for one in self.replays
            ],
        ).to_dict()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each claim, with what stood in for the authors' machine."""
        return [{**verdict.model_dump(), **self.instead} for verdict in self.verdicts]

    axes = ("id",)

    def lines(self) -> list[tuple[str, ...]]:
        """Return COLUMNS, and the claims as text, without statements of context."""
        rows = [
            (one.id, one.scenario, one.system, one.statement, *one.texts, one.label, one.status)
            for one in self.verdicts
            if one.status != "context"
        ]
        return [COLUMNS, *rows]

    def closing_lines(self) -> list[str]:
        """Return the explanations of missed claims and a summary."""
        lines = [*_explanations(self.deviations)]
        for part, name in self.instead.items():
            what = f"all series {'on' if part == 'testbed' else 'with'} {part} {name}"
            lines.append(f"{what}, not with what the authors had")
        told = {"deviation": " (documented)", "context": " (not replayed)"}
        lines.append(", ".join(f"{n} {one}{told.get(one, '')}" for one, n in self.summary.items()))
        for kind, count in {**self._computed, **self.roles}.items():
            error = self.median_error(kind)
            claims, readings, *parts = (f"{one} {name}" for name, one in count.items())
            if error is not None:
                parts[0] += f" (median error {100 * error:.1f} %)"
            if count["claims"]:
                lines.append(f"{kind}: {claims} about {readings}: {', '.join(parts)}")
        return lines

    @property
    def _computed(self) -> dict[str, dict[str, int]]:
        """What claims rest on, if that is known of any."""
        *known, unknown = self.bases.items()
        return dict((*known, unknown)) if any(one["claims"] for _, one in known) else {}

    def overview(self) -> Iterator[str]:
        """Yield a line for all, one for each paper or collection if there are several, and one for
        each kind of miss."""
        took = "" if self.wall_seconds is None else f" in {self.wall_seconds:.0f} s"
        yield f"{self.title}: {_count(len(self.replays), 'figure')}{took}; {self._agreement}"
        papers = self.by_paper
        if len(papers) > 1:
            yield from (f"{name}: {one._agreement}" for name, one in papers.items())
        roles = [
            f"{role}: {_count(count['numbers'], 'number')}, median error {100 * error:.1f} %"
            for role, count in self.roles.items()
            if (error := self.median_error(role)) is not None
        ]
        yield from ["; ".join(roles)] * bool(roles)
        for status, what in (
            ("deviation", "Documented deviations, the largest first"),
            ("fail", "Missed, and no deviation is documented"),
        ):
            missed = [one for one in self.verdicts if one.status == status]
            missed.sort(key=lambda one: -abs(one.error or 0.0))
            named = [f"{one.id} {one.texts[2]}".rstrip() for one in missed[:_SHOWN]]
            more = f" and {len(missed) - _SHOWN} more" if len(missed) > _SHOWN else ""
            if missed:
                yield f"{what}: {', '.join(named)}{more}"

    @property
    def _agreement(self) -> str:
        passed, failed, deviating, _ = self.summary.values()
        text = f"{passed} of {_count(passed + failed + deviating, 'claim')} pass"
        if deviating:
            text += f", {_count(deviating, 'documented deviation')}"
        return text + (f", {failed} missed" if failed else "")

    def to_html(self) -> str:
        """Return the claims and what closes them as HTML, as notebooks show it."""
        closing = "<br>".join(escape(line) for line in self.closing_lines())
        return f"<p>{escape(self.title)}</p>{html_table(COLUMNS, self.lines()[1:])}<p>{closing}</p>"


def reproduce(
    identifiers: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
    *,
    testbed: str | PathLike[str] | None = None,
    adapter: str | PathLike[str] | None = None,
    jobs: int | None = None,
    scheduler: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    cache: bool = True,
    profile: bool = False,
) -> Report:
    """Replay papers, collections or scenarios and compare them with their claims.

    On another machine the claims are the same, and so are the series that they compare: with
    `adapter`, two that differ by their adapters only become one. Roles follow from the evidence of
    the values of that machine. Of whole papers the result also has the statements of context.

    Parameters:
        identifiers: papers or collections such as "liu2004", or scenarios such as "liu2004/fig03"
            or the path of a file; without them all papers and collections.
        testbed: id or file of another one than the authors had, for all series.
        adapter: id or file of one that all series have instead of their own.
        jobs, scheduler, progress, cache, profile: as of `hcasim.bench`.

    Raises:
        CatalogError: every fault of the request and of the files.
    """
    started = perf_counter()
    given: Any = identifiers
    items = None if isinstance(given, str | PathLike) else items_of(given)
    named = [given] if items is None else items
    allowed = "papers, collections, scenarios, or paths of files"
    refuse(
        *(name_fault("identifiers", one, allowed) for one in named),
        "" if testbed is None else name_fault("testbed", testbed),
        "" if adapter is None else name_fault("adapter", adapter),
        flag_fault("cache", cache),
        flag_fault("profile", profile),
    )
    wanted = [fspath(one) for one in named]
    parts = {"testbed": testbed, "adapter": adapter}
    instead = {part: fspath(name) for part, name in parts.items() if name is not None}
    if instead and not wanted:
        fault = "found without a name; allowed: with papers, collections or scenarios"
        raise CatalogError(f"{part}: {fault}" for part in instead)
    wanted = wanted or list_papers()
    asked = load_scenarios(wanted)
    read = {
        one.qualified(name)
        for one in asked
        for name in (*one.series, *(name for claim in one.claims for name, *_ in references(claim)))
    }
    others = {name.partition(":")[0] for name in read} - {one.id for one in asked}
    beside = load_scenarios(sorted(others))
    # What claims compare is all on the same machine.
    moved = [one.moved(testbed, adapter) for one in (*asked, *beside)]
    asked = moved[: len(asked)]
    every = plan_papers(moved)
    standing = standings(every)
    needed = [one for plan in every if (one := plan.only(read)).lines]
    with on_scheduler(scheduler):
        replays = replay_all(needed, jobs, progress, cache, profile)
    curves = {
        one.scenario.qualified(name): curve for one in replays for name, curve in one.curves.items()
    }
    verdicts = [judge(said, one, curves, standing[said.id]) for one in asked for said in one.claims]
    verdicts += [
        from_context(context, paper)
        for paper in list_papers()
        if paper in wanted
        for context in load_context(paper)
    ]
    verdicts.sort(key=lambda verdict: verdict.id)
    shown = tuple(one for one in replays if one.scenario in asked)
    costs = {job: cost for one in replays for job, cost in one.costs.items()}
    return Report(tuple(verdicts), shown, perf_counter() - started, instead, costs)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _explanations(verdicts: Iterable[Verdict]) -> Iterator[str]:
    """Say of each missed claim why; what was said of one before is not said again."""
    told: dict[str, str] = {}
    for verdict in verdicts:
        if verdict.status != "deviation":
            details = f" ({verdict.note})" if verdict.note else ""
            yield f"{verdict.id}: missed, and no deviation is documented{details}"
            continue
        parts = verdict.note.split("; ")
        ends = ["; ".join(parts[number:]) for number in range(len(parts))]
        known = next((number for number, end in enumerate(ends) if end in told), None)
        if known is not None:
            parts[known:] = [f"as {told[ends[known]]}"]
        yield f"{verdict.id}: {'; '.join(parts)}"
        for end in filter(None, ends):
            told.setdefault(end, verdict.id)
