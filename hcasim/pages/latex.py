"""Documents in LaTeX, with tables of longtable and booktabs; figures are left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

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

_HEAD = r"""\documentclass[a4paper,landscape]{article}
\usepackage[T1]{fontenc}
\usepackage{array,booktabs,longtable,textcomp}
\usepackage[margin=15mm]{geometry}
\setlength{\LTleft}{0pt}
\setlength{\tabcolsep}{3pt}
\sloppy
\begin{document}
"""
_LEVELS = ("section", "subsection", "subsubsection", "paragraph", "subparagraph")
_ESCAPED = {
    **{one: rf"\{one}" for one in "#$%&_{}"},
    **dict(
        zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", (rf"\textsuperscript{{{one}}}" for one in "0123456789-"), strict=True)
    ),
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "µ": r"\textmu{}",
    "μ": r"\textmu{}",
    "×": r"\texttimes{}",
    "±": r"\textpm{}",
    "°": r"\textdegree{}",
    "·": r"\textperiodcentered{}",
    "…": r"\ldots{}",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "≤": r"\ensuremath{\leq}",
    "≥": r"\ensuremath{\geq}",
    "≈": r"\ensuremath{\approx}",
    "→": r"\textrightarrow{}",
    "←": r"\textleftarrow{}",
    "\xa0": "~",
}
_LETTERS = re.compile("[À-ÖØ-öø-ſ]")
"""Letters that the usual fonts have."""


def to_latex(document: Document) -> str:
    """Return the text and the tables of a document, ready to be compiled."""
    title = rf"\section*{{{_text(document.title)}}}"
    return "\n".join([_HEAD + title, *_blocks(document.blocks, 0), r"\end{document}", ""])


def _blocks(blocks: Iterable[Block], level: int) -> Iterator[str]:
    for block in blocks:
        match block:
            case Section(title, inside):
                parts = list(_blocks(inside, level + 1))
                if parts:
                    yield rf"\{_LEVELS[min(level, len(_LEVELS) - 1)]}{{{_text(title)}}}"
                    yield from parts
            case Text(text):
                yield f"{_text(text)}\n"
            case Code(text):
                lines = (_text(one) for one in printable_lines(text).splitlines())
                told = (line.replace(" ", r"\ ") or r"\ " for line in lines)
                code = "\\par\n".join(told)
                yield rf"{{\ttfamily\raggedright {code}\par}}"
            case Counts(counts):
                yield ", ".join(f"{count} {_text(what)}" for what, count, _ in counts) + "\n"
            case Facts():
                items = (
                    rf"\item[{{{_text(name)}}}] {', '.join(_text(one.text) for one in cells)}"
                    for name, cells in block.pairs
                )
                yield "\n".join([r"\begin{description}", *items, r"\end{description}"])
            case Table():
                yield _table(block)
            case Figure():
                pass


def _table(table: Table) -> str:
    heads, lines = table.heads, table.lines
    columns = "".join(_columns(heads, lines))
    head = _row(rf"\textbf{{{_text(one.title)}}}" for one in heads)
    return "\n".join(
        [
            r"\begingroup\footnotesize",
            rf"\begin{{longtable}}{{@{{}}{columns}@{{}}}}",
            rf"\caption{{{_text(table.title)}}}\\",
            rf"\toprule {head} \midrule",
            r"\endfirsthead",
            rf"\toprule {head} \midrule",
            r"\endhead",
            r"\bottomrule",
            r"\endfoot",
            *(_row(_text(cell.text) for cell in row) for row in lines),
            r"\end{longtable}",
            r"\endgroup",
        ]
    )


def _columns(heads: list[Column], lines: list[list[Cell]]) -> Iterator[str]:
    """Yield how wide each column is: prose shares what the others leave."""
    longest = [
        max((len(row[number].text) for row in lines), default=0) for number in range(len(heads))
    ]
    plain = [
        max(one, len(head.title))
        for one, head in zip(longest, heads, strict=True)
        if not head.prose
    ]
    # Of the width of the page, a character takes about one part in 190.
    left = max(0.3, 0.97 - sum(plain) / 190)
    for head in heads:
        if head.prose:
            width = left / sum(one.prose for one in heads)
            yield rf">{{\raggedright\arraybackslash}}p{{{width:.2f}\linewidth}}"
        else:
            yield "r" if head.right else "l"


def _row(cells: Iterable[str]) -> str:
    row = " & ".join(cells)
    # Else the end of the row above would take these for its own.
    return rf"{'{}' * row.startswith(('[', '*'))}{row} \\"


def _text(text: str) -> str:
    # Two hyphens would become a dash.
    return "".join(map(_character, printable(text))).replace("--", "-{}-")


def _character(one: str) -> str:
    if one in _ESCAPED:
        return _ESCAPED[one]
    # Others are told by their number: LaTeX would stop at them.
    return one if one.isascii() or _LETTERS.match(one) else f"U+{ord(one):04X}"
