"""Published numbers beside simulated ones, and how far apart they may be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hcasim.ground.errors import refuse
from hcasim.ground.quantities import QUANTITIES
from hcasim.ground.text import brief, plain, plain_table
from hcasim.papers.claim import TOLERANCES
from hcasim.papers.verdict import Number, relative_error

_PERCENT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*%\s*", re.ASCII)
_COLUMNS = ("published", "simulated", "error", "allowed")


@dataclass(frozen=True)
class Compared:
    """One published number beside the simulated one.

    Parameters:
        label: which point it is.
        published: the number, or both ends of a range.
        simulated: in the same unit.
        unit: of both.
        allowed: largest absolute relative error.
    """

    label: str
    published: Number
    simulated: float
    unit: str
    allowed: float

    @property
    def error(self) -> float:
        """By how much the simulated number is too large, relative to the published one."""
        return relative_error(self.simulated, self.published)

    @property
    def agrees(self) -> bool:
        """Whether the error is allowed; that of what is no number is not."""
        return abs(self.error) <= self.allowed

    @property
    def cells(self) -> tuple[str, ...]:
        """The line of a table."""
        ends = self.published if isinstance(self.published, tuple) else (self.published,)
        published = f"{' to '.join(f'{one:.6g}' for one in ends)} {self.unit}"
        error = f"{100 * self.error:+.1f} %{'' if self.agrees else ' !'}"
        return (
            self.label,
            published.strip(),
            f"{self.simulated:.6g} {self.unit}".strip(),
            error.ljust(len(error) + 2 * self.agrees),
            f"{100 * self.allowed:g} %",
        )


@dataclass(frozen=True, repr=False)
class Agreement:
    """A published curve beside the simulated one; its text is a table.

    Parameters:
        title: what was compared.
        axis: what tells the points apart.
        points: each point.
    """

    title: str
    axis: str
    points: Sequence[Compared]

    def __repr__(self) -> str:
        return brief(self, self.title, points=len(self.points), missed=len(self.missed))

    @property
    def missed(self) -> list[Compared]:
        """The points that do not agree."""
        return [one for one in self.points if not one.agrees]

    def __str__(self) -> str:
        title = f"{self.title}: {len(self.missed)} of {len(self.points)} points missed (!)"
        columns = (self.axis, *_COLUMNS)
        return plain_table(title, columns, [one.cells for one in self.points], columns)


class Disagreement(AssertionError):
    """The model misses a published curve; its text is the table of both."""


def checked(found: Agreement) -> Agreement:
    """Return an agreement.

    Raises:
        Disagreement: one of its points is missed.
    """
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
