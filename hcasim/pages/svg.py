"""Drawings of matplotlib as a part of a page: small, in the colours and the font of the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_EMPTY_WITHOUT_PARTS = ("g", "defs")
_NOT_DRAWN = ("metadata", "style")
_MEASURES = ("d", "x", "y", "transform", "width", "height", "r")
_NUMBER = re.compile(r"-?\d+\.\d+")
_NAME = re.compile(r"(^#|url\(#)([\w.-]+)")
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
_FONT_FAMILY = re.compile(r"font-family:[^;]*;? ?")


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
    root = ElementTree.fromstring(buffer.getvalue())
    for part in root.iter():
        part.tag = part.tag.removeprefix(_SVG)
    _prune(root, {one for part in root.iter() for one in _named(part)})
    for part in root.iter():
        part.attrib = dict(_slim(part, name))
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": label}
    return ElementTree.tostring(root, encoding="unicode")


def _named(part: ElementTree.Element) -> Iterator[str]:
    """Yield the ids that an element names."""
    for value in part.attrib.values():
        yield from (match[2] for match in _NAME.finditer(value))


def _prune(parent: ElementTree.Element, named: set[str]) -> None:
    """Drop what is not drawn, ids that nothing names, and groups that say nothing."""
    kept: list[ElementTree.Element] = []
    for part in parent:
        _prune(part, named)
        if part.attrib.get("id") not in named:
            part.attrib.pop("id", None)
        is_patch_of_nothing = part.tag == "path" and part.attrib.get("style") == "fill: none"
        is_empty = part.tag in _EMPTY_WITHOUT_PARTS and not len(part)
        if part.tag in _NOT_DRAWN or is_patch_of_nothing or is_empty:
            continue
        kept += part if part.tag == "g" and not part.attrib else [part]
    parent[:] = kept
    if parent.tag not in ("text", "tspan"):
        parent.text = None
        for part in parent:
            part.tail = None


def _slim(part: ElementTree.Element, name: str) -> Iterator[tuple[str, str]]:
    for key, value in part.attrib.items():
        if key == "id":
            value = f"{name}-{value}"
        value = _COLOUR.sub(lambda match: _COLOURS[match[0]], value)
        value = _NAME.sub(rf"\g<1>{name}-\g<2>", value)
        if key in _MEASURES:
            value = " ".join(_NUMBER.sub(_rounded, value).split())
        if key == "style":
            value = _FONT_FAMILY.sub("", value).replace(": ", ":").replace("; ", ";").rstrip(";")
        if not value.startswith(("rotate(-0 ", "rotate(0 ")):
            yield "href" if key == _HREF else key, value


def _rounded(match: re.Match[str]) -> str:
    # Zero has no sign.
    return f"{round(float(match[0]), 2) + 0.0:g}"
