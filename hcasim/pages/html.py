"""Documents as pages: one file with its style and script, readable without a network."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from functools import singledispatchmethod
from hashlib import sha256
from importlib.resources import files
from itertools import chain, count
from string import Template

from hcasim.ground.html import Html, join, tag
from hcasim.ground.printable import printable, printable_lines
from hcasim.pages.document import (
    Block,
    Cell,
    Code,
    Column,
    Counts,
    Document,
    Facts,
    Figure,
    Section,
    Table,
    Text,
)
from hcasim.pages.svg import to_svg

_DEEPEST = 6
"""The deepest heading of HTML."""


def to_html(document: Document) -> str:
    """Return a page that needs no other file; it is the same for the same document."""
    room = files("hcasim.pages")
    frame, style, script = (
        (room / name).read_text(encoding="utf-8") for name in ("page.html", "page.css", "page.js")
    )
    body = _Body(dict(_places(document.blocks, set())))
    # A browser runs this script and no other, whatever a text may hold.
    hashed = b64encode(sha256(script.encode()).digest()).decode()
    return Template(frame).substitute(
        title=join([printable(document.title)]),
        style=style,
        script=script,
        hash=hashed,
        contents=body.contents(document.blocks),
        body=body.blocks(document.blocks, level=2),
    )


def _places(blocks: Iterable[Block], taken: set[str]) -> Iterator[tuple[int, str]]:
    """Yield each section, by its identity, and its name, which no other has."""
    for one in blocks:
        if isinstance(one, Section):
            wanted = one.place or re.sub(r"\W+", "-", one.title.lower()).strip("-")
            names = chain([wanted], (f"{wanted}-{number}" for number in count(2)))
            place = next(name for name in names if name not in taken)
            taken.add(place)
            yield id(one), place
            yield from _places(one.blocks, taken)


class _Body:
    """Makes elements of blocks.

    Parameters:
        places: the name of each section, by its identity.
    """

    def __init__(self, places: Mapping[int, str]) -> None:
        self._places = places
        self._figures = 0

    def contents(self, blocks: Iterable[Block], deeper: int = 1) -> Html:
        """Return a list of the sections, and of those in them."""
        items = [
            tag(
                "li",
                tag("a", printable(one.title), href=f"#{self._places[id(one)]}"),
                self.contents(one.blocks, deeper - 1) if deeper else "",
            )
            for one in blocks
            if isinstance(one, Section) and not one.folded
        ]
        return tag("ul", *items) if items else Html()

    def blocks(self, blocks: Iterable[Block], level: int) -> Html:
        """Return blocks under headings of some level."""
        return join((self.block(one, level) for one in blocks), "\n")

    @singledispatchmethod
    def block(self, block: Block, level: int) -> Html:
        raise TypeError(f"no block of a document: {block!r}")

    @block.register
    def _(self, block: Section, level: int) -> Html:
        heading = tag(f"h{min(level, _DEEPEST)}", printable(block.title))
        inside = self.blocks(block.blocks, level + 1)
        if block.folded:
            return tag("details", tag("summary", heading), inside, id=self._places[id(block)])
        return tag("section", heading, inside, id=self._places[id(block)])

    @block.register
    def _(self, block: Text, level: int) -> Html:
        return tag("p", printable(block.text))

    @block.register
    def _(self, block: Code, level: int) -> Html:
        return tag("pre", tag("code", printable_lines(block.text)), tabindex="0")

    @block.register
    def _(self, block: Counts, level: int) -> Html:
        parts = (
            tag("li", tag("b", str(count)), f" {printable(what)}", class_=mark)
            for what, count, mark in block.counts
        )
        return tag("ul", *parts, class_="counts")

    @block.register
    def _(self, block: Facts, level: int) -> Html:
        return tag(
            "dl",
            *(
                tag("div", tag("dt", printable(name)), tag("dd", join(map(_inside, cells), ", ")))
                for name, cells in block.pairs
            ),
        )

    @block.register
    def _(self, block: Figure, level: int) -> Html:
        self._figures += 1
        caption = printable(block.caption)
        drawing = Html(to_svg(block.drawing, f"f{self._figures}", caption))
        return tag("figure", drawing, tag("figcaption", caption))

    @block.register
    def _(self, block: Table, level: int) -> Html:
        title, heads = printable(block.title), block.heads
        rows = (tag("tr", *_cells(heads, row)) for row in block.lines)
        head = tag("tr", *(_head(one) for one in heads))
        table = tag(
            "table",
            tag("caption", title),
            tag("thead", head),
            tag("tbody", join(rows, "\n")),
            class_="filtered" if block.filtered else "",
        )
        return tag("div", table, class_="wide", role="region", aria_label=title, tabindex="0")


def _head(column: Column) -> Html:
    words = _words(column)
    return tag("th", printable(column.title), scope="col", class_=words, data_chosen=column.chosen)


def _cells(heads: Iterable[Column], cells: Iterable[Cell]) -> Iterator[Html]:
    for number, (head, cell) in enumerate(zip(heads, cells, strict=True)):
        yield tag(
            "td" if number else "th",
            _inside(cell),
            scope="" if number else "row",
            id=cell.place,
            class_=_words(head),
            data_order="" if cell.order is None else repr(cell.order),
        )


def _words(column: Column) -> str:
    return " ".join(["n"] * column.right + ["prose"] * column.prose)


def _inside(cell: Cell) -> Html:
    shown: Html | str = printable(cell.text)
    if cell.link:
        shown = tag("a", shown, href=f"#{cell.link}")
    if cell.mark:
        shown = tag("span", shown, class_=f"mark {cell.mark}")
    more = [tag("small", printable(cell.below))] if cell.below else []
    if cell.share is not None:
        width = min(abs(cell.share), 1)
        over = " over" if abs(cell.share) > 1 else ""
        less = " less" if cell.share < 0 else ""
        bar = tag("i", style=f"width:{50 * width:.0f}%", class_=f"share{less}{over}")
        more.append(tag("span", bar, class_="bar", aria_hidden="true"))
    return join([shown, *more])
