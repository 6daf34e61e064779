"""Tables in HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def html_table(columns: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Return a table whose cells are text, and the first of each row its title.

    Parameters:
        columns: their titles.
        rows: the cells.
        caption: what the table is about.
    """
    head = "".join(f"<th>{escape(one)}</th>" for one in columns)
    body = "".join(
        f"<tr><th>{escape(first)}</th>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + "</tr>"
        for first, *cells in rows
    )
    over = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{over}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
