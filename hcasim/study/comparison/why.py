"""Which parameter explains how much of a difference between two machines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import factorial
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from hcasim.catalog import CatalogError, Machine
from hcasim.ground.errors import Fault, flag_fault, is_one, refuse, settings_fault
from hcasim.ground.quantities import number
from hcasim.ground.text import brief, html_table
from hcasim.runs.document import Form, Head
from hcasim.runs.executor import Progress, on_scheduler, run_points
from hcasim.runs.experiment import Experiment
from hcasim.runs.machine import each_machine_once
from hcasim.runs.store import usual_store
from hcasim.runs.table import Table
from hcasim.study.comparison.breakdown import Breakdown
from hcasim.study.comparison.mixed import PART, Cause, Mixed
from hcasim.study.comparison.sides import is_result, read_sides
from hcasim.study.sensitivity.factor import Part, meanings
from hcasim.study.sensitivity.subject import field_of, unit_of
from hcasim.workloads import find_workload, unknown_workload

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OTHERS = "others"
TOP = 7
"""Differences that get a share of their own, unless the user says otherwise."""
_RESULT = "found a result; allowed: a testbed by id or file, which can be changed"
MOST = 11
"""More would need more than 2^12 machines."""


class Share(Form):
    """What something in which the machines differ does to a number."""

    cause: str
    members: tuple[str, ...] = Field(description="paths and options that change with it")
    meaning: str = Field(description="of a parameter; empty of others")
    a: str
    b: str
    alone: float = Field(description="change of A if only this becomes what B has")
    last: float = Field(description="change as this becomes what B has at last")
    share: float = Field(description="mean of the change over all orders; they add up")


class Answer(Form):
    """What explains the difference of a number."""

    name: str
    unit: str
    a: float
    b: float
    shares: tuple[Share, ...] = Field(description="the largest first")
    words: str
    breakdown: Breakdown | None = Field(description="null of workloads that explain nothing")

    @property
    def difference(self) -> float:
        """What B has more than A."""
        return self.b - self.a

    def percent(self, one: Share) -> float | None:
        """Return a share in percent of the difference, if there is one."""
        return 100 * one.share / self.difference + 0.0 if self.difference else None

    def tables(self) -> Iterator[Part]:
        """Yield where the time goes on both machines: stage by stage, and what limits."""
        found = self.breakdown
        at = self.name.partition(" at ")[2]
        if found is not None and found.stages:
            rows = [
                (one.name, *(_us(us) for us in (one.a, one.b)), _us(one.difference, "+"))
                for one in (*found.stages, found.totals)
            ]
            yield f"Where the time goes at {at}", ("Stage", "A (us)", "B (us)", "B - A (us)"), rows
        if found is not None and found.telling:
            rows = [
                (
                    f"waiting for {one.name}" if one.waited else one.name,
                    *map(_percent, (one.a, one.b)),
                )
                for one in found.telling
            ]
            a, b = (one or "nothing" for one in found.binds)
            title = f"What limits {at}: {a} in A, {b} in B"
            yield title, ("Block", "A (% of time)", "B (% of time)"), rows


def _words(
    name: str, unit: str, worth: Sequence[float], shares: Sequence[Share], where: str
) -> str:
    """Say an answer in a sentence or two."""
    a, b = worth[0], worth[-1]
    if a == b:
        return f"{name}: {number(a, unit)} on both."
    main = [
        f"{one.cause} {100 * one.share / (b - a) + 0.0:.0f} %"
        for one in shares
        if abs(one.share) >= 0.05 * abs(b - a)
    ]
    alone = sum(one.alone for one in shares) / (b - a)
    more = f" Each alone, they make {alone:.0%} of it: they act together."
    more = more if abs(alone - 1) > 0.1 else ""
    ends = f"{number(a)} to {number(b, unit)}"
    return f"{name}, {ends}: {', '.join(main) or 'many small ones'}.{more} {where}".rstrip()


def _us(value: float | None, sign: str = "") -> str:
    return "" if value is None else f"{value:{sign if value else ''}.3f}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


class WhyDocument(Head):
    """Which parameters explain the difference between two machines."""

    schema_: Literal["hcasim-why"] = Field(alias="schema")
    title: str
    answers: tuple[Answer, ...]
    together: dict[str, str] = Field(description="what went with the structure, by path, and why")


@dataclass(frozen=True, repr=False)
class Why(Table):
    """What explains the difference between two machines.

    Parameters:
        title: what was measured.
        answers: one for each point.
        together: paths that could not be exchanged alone and went with the structure, with why.
        simulated: different points that were needed.
    """

    title: str
    answers: tuple[Answer, ...]
    together: Mapping[str, str]
    simulated: int

    axes = ("output", "cause")
    fields = ("from", "to", "alone", "last", "share")

    def __repr__(self) -> str:
        return brief(self, self.title, answers=len(self.answers))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Each share of each number as one flat row."""
        return [
            {
                "output": answer.name,
                "unit": answer.unit,
                "cause": one.cause,
                "from": one.a,
                "to": one.b,
                "alone": one.alone,
                "last": one.last,
                "share": one.share,
                "percent": answer.percent(one),
            }
            for answer in self.answers
            for one in answer.shares
        ]

    def plot(self) -> Figure:
        """Draw the share of each cause in each difference, the largest on top."""
        from hcasim.runs.drawing import new_figure, plain

        figure = new_figure()
        panels = figure.subplots(len(self.answers), 1, squeeze=False)[:, 0]
        for panel, answer in zip(panels, self.answers, strict=True):
            shares = answer.shares[::-1]
            causes = [plain(one.cause) for one in shares]
            panel.barh(causes, [one.share for one in shares])
            panel.set_xlabel(plain(f"{answer.name}: share of B - A ({answer.unit})"))
            panel.axvline(0, color="black", linewidth=0.8)
        figure.suptitle(plain(self.title), fontsize=10)
        return figure

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON, in the form of the schema `why`."""
        return WhyDocument(
            **WhyDocument.head(),
            title=self.title,
            answers=self.answers,
            together=dict(self.together),
        ).to_dict()

    def lines(self) -> list[tuple[str, ...]]:
        """Return the titles of the columns, and the cells of each row as text."""
        names = (*self.axes, *self.fields)
        rows = (
            tuple(number(v) if isinstance(v := row[name], float) else v for name in names)
            for row in self.rows
        )
        return [names, *rows]

    def meanings(self) -> list[Part]:
        """Return a table of what the causes mean that are parameters, if any is."""
        shares = (share for one in self.answers for share in one.shares)
        return meanings({one.cause: one.meaning for one in shares})

    def to_html(self) -> str:
        """Return all tables as HTML, as notebooks show them."""
        told = [*(part for one in self.answers for part in one.tables()), *self.meanings()]
        return super().to_html() + "".join(html_table(h, lines, title) for title, h, lines in told)


def why(
    a: str | PathLike[str] | Machine,
    b: str | PathLike[str] | Machine,
    workload: str,
    *,
    with_a: Mapping[str, Any] | None = None,
    with_b: Mapping[str, Any] | None = None,
    quantity: str | None = None,
    top: int = TOP,
    group: Literal["part"] | None = None,
    jobs: int | None = None,
    scheduler: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    cache: bool = True,
    **settings: Any,
) -> Why:
    """Ask which parameters explain how two machines differ in a benchmark.

    Each parameter and option that differs is first exchanged alone, in A and in B. Those that move
    the numbers most, all others together, and what no parameter says are then exchanged in every
    combination, which gives each its share of the difference.

    Parameters:
        a: a testbed by id or file.
        b: the same.
        workload: the benchmark.
        with_a: settings of the first side only, by name or by path of --set.
        with_b: settings of the second side only.
        quantity: which of what the workload measures; its first without it.
        top: so many causes get a share of their own, 11 at most.
        group: "part" for causes by part: the adapter, the host and so on, each as a whole where
            the machines have others.
        jobs, scheduler, progress, cache: as of `hcasim.bench`.
        settings: of both sides: arguments of `hcasim.bench`.

    Raises:
        CatalogError: every fault of the request.
    """
    given: Any = top
    fits = isinstance(given, int) and not isinstance(given, bool) and 1 <= given <= MOST
    refuse(
        flag_fault("cache", cache),
        *(settings_fault(one) for one in (with_a, with_b)),
        *(f"{n}: {_RESULT}" for n, side in (("a", a), ("b", b)) if is_result(side)),
        "" if fits else Fault("top", top, f"1 to {MOST}"),
        "" if group is None or is_one(group, [PART]) else Fault("group", group, PART),
    )
    known = find_workload(workload)
    faults = [] if known else [unknown_workload(workload)]
    try:
        field = field_of(workload, quantity) if known else ""
    except CatalogError as error:
        faults += error.faults
    asked = read_sides((a, b), workload, settings, (with_a, with_b), faults)
    sides = [one for one in asked if isinstance(one, Experiment)]
    for one in sides if known else ():
        try:
            one.benchmark()
        except CatalogError as error:
            faults += error.faults
    refuse(*faults)
    store = usual_store() if cache else None
    run = partial(run_points, workers=jobs, progress=progress, store=store)
    with each_machine_once(), on_scheduler(scheduler):
        return _explained(Mixed(sides[0], sides[1], field, group == PART, run), top)


def _explained(mixed: Mixed, top: int) -> Why:
    chosen = _chosen(mixed, top)
    worth = mixed(
        [m for n, one in enumerate(chosen) if bits >> n & 1 for m in one.members]
        for bits in range(1 << len(chosen))
    )
    all_in = len(worth) - 1
    answers = []
    unit = unit_of(mixed.field)
    for place, (name, told) in enumerate(zip(mixed.names, mixed.breakdowns(), strict=True)):
        values = [one[place] for one in worth]
        shares = [
            Share(
                cause=one.name,
                **{part: own for part, own in vars(one).items() if part != "name"},
                alone=values[1 << n] - values[0],
                last=values[-1] - values[all_in ^ 1 << n],
                share=part,
            )
            for n, (one, part) in enumerate(zip(chosen, shapley(values), strict=True))
        ]
        shares.sort(key=lambda one: -abs(one.share))
        words = _words(name, unit, values, shares, told.words() if told else "")
        ends = {"a": values[0], "b": values[-1], "shares": tuple(shares)}
        answers.append(Answer(name=name, unit=unit, words=words, breakdown=told, **ends))
    a, b = (one.testbed for one in mixed.sides)
    title = f"{mixed.sides[0].workload}: from {a} to {b}"
    return Why(title, tuple(answers), mixed.together, mixed.simulated)


def _chosen(mixed: Mixed, top: int) -> list[Cause]:
    """Return the causes that move the numbers most, alone or last, and all others as one."""
    causes = mixed.causes
    every = [member for one in causes for member in one.members]
    others = [[m for m in every if m not in one.members] for one in causes]
    none, full, *rest = mixed([(), every, *(one.members for one in causes), *others])
    spans = [abs(y - x) or abs(x) or 1.0 for x, y in zip(none, full, strict=True)]
    weights = [
        max(
            max(abs(v - x), abs(y - w)) / span
            for x, y, v, w, span in zip(none, full, alone, last, spans, strict=True)
        )
        for alone, last in zip(rest[: len(causes)], rest[len(causes) :], strict=True)
    ]
    order = sorted(range(len(causes)), key=lambda place: (-weights[place], causes[place].name))
    chosen = [causes[place] for place in order]
    if len(chosen) <= top + 1:
        return chosen
    members = tuple(member for one in chosen[top:] for member in one.members)
    return [*chosen[:top], Cause(OTHERS, members, f"{len(chosen) - top} more")]


def shapley(worth: Sequence[float]) -> list[float]:
    """Return each player's share of what all have together, which the shares add up to.

    A player's share is what its joining changes, averaged over all orders of joining, worked out
    exactly (L. S. Shapley, A Value for n-Person Games, 1953).

    Parameters:
        worth: of each set of players; bit n of its place says that player n is in it.
    """
    players = len(worth).bit_length() - 1
    orders = factorial(players)
    weights = [factorial(n) * factorial(players - n - 1) / orders for n in range(players)]
    return [
        sum(
            weights[members.bit_count()] * (worth[members | 1 << one] - worth[members])
            for members in range(len(worth))
            if not members >> one & 1
        )
        for one in range(players)
    ]
