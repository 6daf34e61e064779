"""Elements of HTML, in which all text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, *inside: str, **attributes: str | bool) -> Html:
    """Return an element.

    Parameters:
        name: of the element.
        inside: what it holds: text, which is escaped, or `Html`.
        attributes: by name, in which "_" stands for "-", and one at the end for nothing, as in
            `class_`; True for one without a value, False or "" for none.
    """
    words = [name]
    for key, value in attributes.items():
        if value:
            word = key.rstrip("_").replace("_", "-")
            words.append(word if value is True else f'{word}="{escape(value)}"')
    return Html(f"<{' '.join(words)}>{join(inside)}</{name}>")


def join(parts: Iterable[str], between: str = "") -> Html:
    """Return pieces of text, which are escaped, and of HTML as one."""
    return Html(between.join(one if isinstance(one, Html) else escape(one) for one in parts))


def html_table(columns: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Return a table whose cells are text, and the first of each row its title.

    Parameters:
        columns: their titles.
        rows: the cells.
        caption: what the table is about.
    """
    head = tag("tr", *(tag("th", one) for one in columns))
    body = (
        tag("tr", tag("th", first), *(tag("td", cell) for cell in cells)) for first, *cells in rows
    )
    over = [tag("caption", caption)] if caption else []
    return tag("table", *over, tag("thead", head), tag("tbody", *body))
