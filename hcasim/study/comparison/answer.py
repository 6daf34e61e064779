"""What explains the difference between two machines: causes, and the share of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hcasim.ground.quantities import number
from hcasim.ground.text import brief, html_table
from hcasim.runs.table import Table
from hcasim.study.comparison.breakdown import Breakdown
from hcasim.study.comparison.document import ExplainedAnswer, ExplainedShare, WhyDocument

Part = tuple[str, tuple[str, ...], list[tuple[str, ...]]]
"""Title, heads of the columns, and rows."""


@dataclass(frozen=True)
class Cause:
    """Something in which the two machines differ, or several such things together.

    Parameters:
        name: a path, an option, "structure" or "others".
        members: the paths and options that change with it.
        a: what the first machine has, in words.
        b: what the second machine has.
    """

    name: str
    members: tuple[str, ...]
    a: str = ""
    b: str = ""


@dataclass(frozen=True)
class Share:
    """What a cause does to one number.

    Parameters:
        cause: the cause.
        alone: by how much the number of A changes if only this becomes what B has.
        last: by how much B's number changes as this, of all, becomes what B has at last.
        share: Shapley's value: the mean over all orders; the shares sum up to the difference.
    """

    cause: Cause
    alone: float
    last: float
    share: float

    def document(self) -> ExplainedShare:
        """Return it in the form of the schema `why`."""
        told = {name: one for name, one in vars(self.cause).items() if name != "name"}
        effects = {name: one for name, one in vars(self).items() if name != "cause"}
        return ExplainedShare(cause=self.cause.name, **told, **effects)


@dataclass(frozen=True)
class Answer:
    """Of one number, what explains the difference.

    Parameters:
        name: the number, such as "latency_us at Size 8".
        unit: its unit.
        a: what the first machine gives.
        b: what the second machine gives.
        shares: of each cause, the largest first.
        breakdown: where the time goes on both; None of workloads that explain nothing.
    """

    name: str
    unit: str
    a: float
    b: float
    shares: tuple[Share, ...]
    breakdown: Breakdown | None = None

    @property
    def difference(self) -> float:
        """What B has more than A."""
        return self.b - self.a

    def percent(self, one: Share) -> float | None:
        """Return a share in percent of the difference, if there is one."""
        return 100 * one.share / self.difference + 0.0 if self.difference else None

    def words(self) -> str:
        """Say it in a sentence or two."""
        ends = f"{number(self.a)} to {number(self.b, self.unit)}"
        if not self.difference:
            return f"{self.name}: {number(self.a, self.unit)} on both."
        main = [
            f"{one.cause.name} {self.percent(one):.0f} %"
            for one in self.shares
            if abs(one.share) >= 0.05 * abs(self.difference)
        ]
        alone = sum(one.alone for one in self.shares) / self.difference
        apart = abs(alone - 1) > 0.1
        more = f" Each alone, they make {alone:.0%} of it: they act together." if apart else ""
        where = f" {self.breakdown.words()}".rstrip() if self.breakdown else ""
        return f"{self.name}, {ends}: {', '.join(main) or 'many small ones'}.{more}{where}"

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
                (f"waiting for {one.name}" if one.waited else one.name, *map(_percent, one.both))
                for one in found.telling
            ]
            a, b = (one or "nothing" for one in found.binds)
            title = f"What limits {at}: {a} in A, {b} in B"
            yield title, ("Block", "A (% of time)", "B (% of time)"), rows

    def document(self) -> ExplainedAnswer:
        """Return it in the form of the schema `why`."""
        return ExplainedAnswer(
            name=self.name,
            unit=self.unit,
            a=self.a,
            b=self.b,
            shares=tuple(one.document() for one in self.shares),
            words=self.words(),
            breakdown=self.breakdown.document() if self.breakdown else None,
        )


def _us(value: float | None, sign: str = "") -> str:
    return "" if value is None else f"{value:{sign if value else ''}.3f}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


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

    def __repr__(self) -> str:
        return brief(self, self.title, answers=len(self.answers))

    axes = ("output", "cause")
    fields = ("from", "to", "alone", "last", "share")

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Each share of each number as one flat row."""
        return [
            {
                "output": answer.name,
                "unit": answer.unit,
                "cause": one.cause.name,
                "from": one.cause.a,
                "to": one.cause.b,
                "alone": one.alone,
                "last": one.last,
                "share": one.share,
                "percent": answer.percent(one),
            }
            for answer in self.answers
            for one in answer.shares
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON, in the form of the schema `why`."""
        return WhyDocument(
            **WhyDocument.head(),
            title=self.title,
            answers=tuple(one.document() for one in self.answers),
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

    def to_html(self) -> str:
        """Return all tables as HTML, as notebooks show them."""
        return super().to_html() + "".join(
            html_table(head, lines, title)
            for answer in self.answers
            for title, head, lines in answer.tables()
        )
