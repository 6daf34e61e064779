"""Published numbers beside simulated ones, and how far apart they may be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from hcasim.ground.errors import refuse
from hcasim.ground.quantities import QUANTITIES
from hcasim.ground.text import brief, plain, plain_table
from hcasim.papers.claim import TOLERANCES
from hcasim.papers.verdict import Number, relative_error
from hcasim.runs.document import Form, Head
from hcasim.runs.table import Table
from hcasim.workloads.options import AXES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PERCENT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*", re.ASCII)


class Compared(Form):
    """A published or measured number beside the simulated one."""

    point: str
    published: float
    published_to: float | None = Field(None, description="the other end of a range")
    simulated: float
    unit: str
    error: float = Field(description="relative and signed")
    allowed: float = Field(description="largest absolute relative error")
    agrees: bool

    @classmethod
    def of(
        cls, point: str, published: Number, simulated: float, unit: str, allowed: float
    ) -> Compared:
        """Compare a number, or a range, with the simulated one; what is no number never agrees."""
        low, *high = published if isinstance(published, tuple) else (published,)
        error = relative_error(simulated, published)
        return cls(
            point=point,
            published=low,
            **({"published_to": high[0]} if high else {}),
            simulated=simulated,
            unit=unit,
            error=error,
            allowed=allowed,
            agrees=abs(error) <= allowed,
        )

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends of the published range; the number twice if it is none."""
        high = self.published if self.published_to is None else self.published_to
        return self.published, high

    @property
    def cells(self) -> tuple[str, ...]:
        """The line of a table."""
        published = " to ".join(f"{one:.6g}" for one in dict.fromkeys(self.ends))
        error = f"{100 * self.error:+.1f} %{'' if self.agrees else ' !'}"
        return (
            self.point,
            f"{published} {self.unit}".strip(),
            f"{self.simulated:.6g} {self.unit}".strip(),
            error.ljust(len(error) + 2 * self.agrees),
            f"{100 * self.allowed:g} %",
        )


class CheckDocument(Head):
    """What `hcasim check --json` prints."""

    schema_: Literal["hcasim-check"] = Field(alias="schema")
    title: str
    agrees: bool
    points: tuple[Compared, ...]
    notes: tuple[str, ...] = Field(description="what was left out, and what else to know")


@dataclass(frozen=True, repr=False)
class Agreement(Table):
    """A measured or published curve beside the simulated one.

    Parameters:
        title: what was compared.
        axis: what tells the points apart.
        points: each point.
        places: the curve that each is on, and its place on the axis of a figure.
        known: what the numbers are: "published" or "measured".
        notes: what was left out, and what else to know of the measurement.
    """

    title: str
    axis: str
    points: Sequence[Compared]
    places: Sequence[tuple[str, int]] = ()
    known: str = "published"
    notes: tuple[str, ...] = ()

    axes = ("point",)

    def __repr__(self) -> str:
        return brief(self, self.title, points=len(self.points), missed=len(self.missed))

    @property
    def missed(self) -> list[Compared]:
        """The points that do not agree."""
        return [one for one in self.points if not one.agrees]

    @property
    def heading(self) -> str:
        """The title with how many points are missed."""
        return f"{self.title}: {len(self.missed)} of {len(self.points)} points missed (!)"

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A mapping for each point; errors are relative."""
        return [one.to_dict() for one in self.points]

    def lines(self) -> list[tuple[str, ...]]:
        """Return the titles of the columns, and the cells of each point as text."""
        head = (self.axis, self.known, "simulated", "error", "allowed")
        return [head, *(one.cells for one in self.points)]

    def __str__(self) -> str:
        head, *lines = self.lines()
        return plain_table(self.heading, head, lines, right=head)

    to_text = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON, in the form of the schema `check`."""
        return CheckDocument(
            **CheckDocument.head(),
            title=self.title,
            agrees=not self.missed,
            points=tuple(self.points),
            notes=self.notes,
        ).to_dict()

    def plot(self) -> Figure:
        """Draw each curve, as it is known and as it is simulated."""
        from hcasim.runs.drawing import mark_axis, new_figure
        from hcasim.runs.drawing import plain as unmarked

        curves: dict[tuple[str, str], list[tuple[int, Compared]]] = {}
        for one, (curve, x) in zip(self.points, self.places, strict=True):
            curves.setdefault((curve, one.unit), []).append((x, one))
        figure = new_figure(width=6.4 * len(curves))
        panels = figure.subplots(1, len(curves), squeeze=False)[0]
        for panel, ((name, unit), placed) in zip(panels, curves.items(), strict=True):
            xs = [x for x, _ in placed]
            points = [one for _, one in placed]
            middles = [sum(one.ends) / 2 for one in points]
            reach = [abs(one.ends[1] - one.ends[0]) / 2 for one in points]
            panel.errorbar(xs, middles, yerr=reach, fmt="o", color="black", label=self.known)
            panel.plot(xs, [one.simulated for one in points], marker=".", label="simulated")
            panel.set_title(unmarked(name), fontsize=10)
            panel.set_ylabel(unmarked(unit))
            panel.set_ylim(bottom=0)
            option = next((one for one in AXES.values() if one.title == self.axis), AXES["size"])
            mark_axis(panel, option, xs)
            panel.set_xlabel(option.title)
            panel.legend(fontsize=8)
            panel.grid(alpha=0.3)
        figure.suptitle(unmarked(self.title), fontsize=10)
        return figure


class Disagreement(AssertionError):
    """The model misses a published curve; its text is the table of both."""


def checked(found: Agreement) -> Agreement:
    """Return an agreement; raise a Disagreement if one of its points is missed."""
    if found.missed:
        raise Disagreement(str(found))
    return found


def share(within: object, field: str) -> float:
    """Return the relative error that is allowed.

    Parameters:
        within: text such as "5 %", a number below 1, or None for the usual tolerance of claims.
        field: the key of a row that is compared.

    Raises:
        CatalogError: it is neither, or there is no usual one.
    """
    allowed = "a number from 0 to below 1 such as 0.05, or text such as '5 %'"
    if within is None:
        named = (name for name, one in QUANTITIES.items() if one.field == field)
        usual = TOLERANCES.get(next(named, ""))
        refuse("" if usual else f"within: missing; {field} has no usual tolerance; give {allowed}")
        return usual or 0.0
    found: Any = plain(within)
    if isinstance(found, str) and (match := _PERCENT.fullmatch(found)):
        found = float(match[1]) / 100
    fits = isinstance(found, int | float) and not isinstance(found, bool) and 0 <= found < 1
    refuse("" if fits else f"within: found {within!r}; allowed: {allowed}")
    return float(found)
