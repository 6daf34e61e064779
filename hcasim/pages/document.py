"""A document for readers: sections, text, tables, figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


@dataclass(frozen=True)
class Cell:
    """A part of a table that is more than its text.

    Parameters:
        text: what is read.
        order: the number that it is sorted by.
        mark: a word that gives it a colour: "pass", "fail", "deviation", "context".
        share: of what is allowed, with its sign, to be shown as a bar; beyond 1 is too much.
        below: more about it, in smaller print.
        place: name of the cell, to which others lead.
        link: name of a section or cell that it leads to.
    """

    text: str
    order: float | None = None
    mark: str = ""
    share: float | None = None
    below: str = ""
    place: str = ""
    link: str = ""


Content: TypeAlias = str | Cell


def _listed(cells: Iterable[Content]) -> list[Cell]:
    return [one if isinstance(one, Cell) else Cell(one) for one in cells]


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Parameters:
        right: whether it is aligned to the right, as numbers are.
        chosen: whether readers may choose rows by the words that stand in it.
        prose: whether its cells are sentences, which may take several lines.
    """

    title: str
    right: bool = False
    chosen: bool = False
    prose: bool = False


@dataclass(frozen=True)
class Table:
    """A table, which readers of a page can sort; the first cell of a row is its title.

    Parameters:
        filtered: whether readers may leave out rows.
    """

    title: str
    columns: Sequence[str | Column]
    rows: Sequence[Sequence[Content]]
    filtered: bool = False

    @property
    def heads(self) -> list[Column]:
        """The columns in full."""
        return [one if isinstance(one, Column) else Column(one) for one in self.columns]

    @property
    def lines(self) -> list[list[Cell]]:
        """The rows, of cells in full."""
        return [_listed(row) for row in self.rows]


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Code:
    """Lines as they were typed or printed."""

    text: str


@dataclass(frozen=True)
class Counts:
    """Headline numbers: each with what it counts, and a mark as of a `Cell`."""

    counts: Sequence[tuple[str, int, str]]


@dataclass(frozen=True)
class Facts:
    """Things that are known, each by a name: one, or several."""

    facts: Sequence[tuple[str, Content | Sequence[Content]]]

    @property
    def pairs(self) -> list[tuple[str, list[Cell]]]:
        """The names, each with what is known."""
        return [
            (name, _listed([one] if isinstance(one, str | Cell) else one))
            for name, one in self.facts
        ]


@dataclass(frozen=True, eq=False)
class Figure:
    """A drawing in the colours of the page."""

    caption: str
    drawing: Drawing


@dataclass(frozen=True)
class Section:
    """A part of a document under a heading.

    Parameters:
        place: its name, to which cells lead; made of the title without.
        folded: whether readers of a page have to open it.
    """

    title: str
    blocks: Sequence[Block]
    place: str = ""
    folded: bool = False


Block: TypeAlias = Text | Code | Counts | Facts | Table | Figure | Section


@dataclass(frozen=True)
class Document:
    """All of it; what comes before the first section is its summary."""

    title: str
    blocks: Sequence[Block]
