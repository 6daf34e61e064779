"""Drawings of matplotlib as a part of a page: small, in the colours and the font of the page."""

from __future__ import annotations

import re
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# matplotlib's usual order of colours, and what else it draws in black, white and grey.
_SERIES = (
    *("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd"),
    *("#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf"),
)
_COLOURS = {
    "#000000": "currentColor",
    "#b0b0b0": "var(--soft)",
    "#ffffff": "var(--paper)",
    "#cccccc": "var(--line)",
    **{colour: f"var(--series-{number})" for number, colour in enumerate(_SERIES, start=1)},
}
_COLOUR = re.compile("|".join(_COLOURS))
_HEAD = re.compile(r'.*?<svg [^>]*viewBox="([^"]*)"[^>]*>', re.DOTALL)
_NOT_DRAWN = re.compile(r"<(metadata|style)\b.*?</\1>|<!--.*?-->|(?<=>)\n\s*(?=<)", re.DOTALL)
_TAG = re.compile(r"<\w[^>]*>")
_NAME = re.compile(r'(\bid="|href="#|url\(#)')
_NUMBER = re.compile(r"-?\d+\.\d+")
_FONT_FAMILY = re.compile(r"font-family:[^;\"]*;? ?")


def to_svg(figure: Figure, name: str, label: str) -> str:
    """Return a drawing as an element of a page.

    Parameters:
        figure: what to draw.
        name: what its ids begin with, which no other drawing of the page has.
        label: what it shows, for those who cannot see it.
    """
    import matplotlib as mpl

    buffer = BytesIO()
    with mpl.rc_context({"svg.hashsalt": "hcasim", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue().decode()

    def slim(tag: re.Match[str]) -> str:
        found = _COLOUR.sub(lambda colour: _COLOURS[colour[0]], tag[0])
        found = _NUMBER.sub(lambda number: f"{round(float(number[0]), 2) + 0.0:g}", found)
        return (
            _NAME.sub(rf"\g<1>{name}-", _FONT_FAMILY.sub("", found))
            .replace("xlink:", "")
            .replace("\n", "")
        )

    head = _HEAD.match(text)
    assert head is not None
    drawn = _TAG.sub(slim, _NOT_DRAWN.sub("", text[head.end() :]))
    return f'<svg viewBox="{head[1]}" role="img" aria-label="{escape(label)}">{drawn}'
