"""Text that people and programs read: printable, aligned, as HTML, and as a shell takes it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from html import escape
from typing import Any

STEERING = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
"""Controls, ends of lines of Unicode, marks that turn the direction of writing, and what stands for
bytes that are no text: the inside of a class of characters of a regular expression."""
_UNPRINTABLE = re.compile(f"[{STEERING}]")
_UNPRINTABLE_IN_LINES = re.compile(f"(?![\n\t])[{STEERING}]")


def printable(text: str) -> str:
    """Return a line with escapes, such as \\n, for what would end it or steer a terminal.

    Names of files and devices may hold such characters, and traces come from other people.
    """
    return _UNPRINTABLE.sub(_escape, text)


def printable_lines(text: str) -> str:
    """Return a text of many lines as `printable` does, but with its ends of lines and tabs."""
    return _UNPRINTABLE_IN_LINES.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    return ascii(match[0])[1:-1]


def plain_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[str] = ()
) -> str:
    """Return a table as aligned text below its title, some columns aligned to the right."""
    lines = [list(columns), *([printable(cell) for cell in row] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
    text = [printable(title)] if title else []
    for line in lines:
        cells = (
            cell.rjust(width) if name in right else cell.ljust(width)
            for cell, width, name in zip(line, widths, columns, strict=True)
        )
        text.append("  ".join(cells).rstrip())
    return "\n".join(text) + "\n"


def html_table(columns: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Return a table of HTML whose cells are text, and the first of each row its title."""

    def cells(kind: str, texts: Iterable[str]) -> str:
        return "".join(f"<{kind}>{escape(one)}</{kind}>" for one in texts)

    body = "".join(
        f"<tr>{cells('th', [first])}{cells('td', others)}</tr>" for first, *others in rows
    )
    over = f"<caption>{escape(caption)}</caption>" if caption else ""
    head = f"<tr>{cells('th', columns)}</tr>"
    return f"<table>{over}<thead>{head}</thead><tbody>{body}</tbody></table>"


def command_line(words: Iterable[str]) -> str:
    """Return words as a shell takes them for the same, on one line whatever they hold."""
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    if word.isprintable():
        return shlex.quote(word)
    # What bash and its like take for these bytes; with a " in front Python escapes each '.
    return f"$'{ascii(os.fsencode(chr(34) + word))[3:-1]}'"


def plain(value: object) -> object:
    """Return a number of NumPy as Python's own, a whole one as an integer, others as they are."""
    # What NumPy calls a scalar has no dimensions, and so has an array of one number.
    with suppress(Exception):
        if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
            value = value.item()
    return int(value) if isinstance(value, float) and value.is_integer() else value


def items_of(given: Any) -> list[Any] | None:
    """Return what is in a collection or comes from an iterator; None of anything else."""
    try:
        return list(given)
    except TypeError:
        return None


def brief(thing: object, *names: object, **parts: object) -> str:
    """Return the line that stands for a result: its class, names and parts of it."""
    words = [*map(repr, names), *(f"{name}={part!r}" for name, part in parts.items())]
    return f"{type(thing).__name__}({', '.join(words)})"
