"""Documents in Markdown as GitHub reads it; figures are left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hcasim.ground.printable import printable, printable_lines
from hcasim.pages.document import (
    Block,
    Code,
    Counts,
    Document,
    Facts,
    Figure,
    Section,
    Table,
    Text,
)

_DEEPEST = 6
# Also what would begin a list.
_SPECIAL = re.compile(r"[\\`*_{}\[\]#|~$]|^[-+>](?=\s)|^\d+(?=[.)]\s)")
_AS_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def to_markdown(document: Document) -> str:
    """Return the text and the tables of a document."""
    parts = [f"# {_text(document.title)}", *_blocks(document.blocks, 2)]
    return "\n\n".join(parts) + "\n"


def _blocks(blocks: Iterable[Block], level: int) -> Iterator[str]:
    for block in blocks:
        match block:
            case Section(title, inside):
                parts = list(_blocks(inside, level + 1))
                if parts:
                    yield f"{'#' * min(level, _DEEPEST)} {_text(title)}"
                    yield from parts
            case Text(text):
                yield _text(text)
            case Code(text):
                yield "\n".join(f"    {line}" for line in printable_lines(text).splitlines())
            case Counts(counts):
                yield ", ".join(f"{count} {_text(what)}" for what, count, _ in counts)
            case Facts():
                yield "\n".join(
                    f"- {_text(name)}: {', '.join(_text(one.text) for one in cells)}"
                    for name, cells in block.pairs
                )
            case Table():
                yield _table(block)
            case Figure():
                pass


def _table(table: Table) -> str:
    heads = table.heads
    lines = [
        [one.title for one in heads],
        *([cell.text for cell in row] for row in table.lines),
    ]
    texts = [_row(map(_text, line)) for line in lines]
    rule = _row("---:" if one.right else "---" for one in heads)
    return "\n".join([f"**{_text(table.title)}**", "", texts[0], rule, *texts[1:]])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _text(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", printable(text)).translate(_AS_HTML)
