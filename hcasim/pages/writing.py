"""Documents as pages of HTML, which need nothing else to be read: a template beside this."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from html import escape
from io import BytesIO
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from hcasim.ground.text import printable, printable_lines
from hcasim.pages.document import Block, Column, Document, Section

if TYPE_CHECKING:
    from jinja2 import Template
    from matplotlib.figure import Figure

_HERE = Path(__file__).parent


def _class_of(column: Column) -> str:
    words = " ".join(["n"] * column.right + ["prose"] * column.prose)
    return f' class="{words}"' if words else ""


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


def write(document: Document) -> str:
    """Return a document as a page; it is the same for the same document."""
    from markupsafe import Markup

    places = dict(_places(document.blocks, set()))
    numbers = count(1)
    style, script = ((_HERE / name).read_text("utf-8") for name in ("page.css", "page.js"))
    text = _template().render(
        document=document,
        place=lambda section: places[id(section)],
        svg=lambda one: Markup(_to_svg(one.drawing, f"f{next(numbers)}", printable(one.caption))),
        style=Markup(style),
        script=Markup(script),
        # A browser runs this script and no other, whatever a text may hold.
        hash=b64encode(sha256(script.encode()).digest()).decode(),
    )
    return text.rstrip("\n") + "\n"


@cache
def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        # All that a template inserts is escaped, unless it is HTML already.
        finalize=lambda one: (
            one if isinstance(one, Markup) else Markup(escape(printable(str(one))))
        ),
        autoescape=True,
        loader=FileSystemLoader(_HERE),
    )
    environment.filters |= {
        "kind": lambda block: type(block).__name__,
        "code": lambda text: Markup(escape(printable_lines(text))),
        "class_of": lambda head: Markup(_class_of(head)),
        "sections": lambda blocks: [
            one for one in blocks if isinstance(one, Section) and not one.folded
        ],
    }
    return environment.get_template("page.html.jinja")


def _places(blocks: Iterable[Block], taken: set[str]) -> Iterator[tuple[int, str]]:
    """Yield each section, by its identity, and its name, which no other has."""
    for one in blocks:
        if isinstance(one, Section):
            wanted = one.place or re.sub(r"\W+", "-", one.title.lower()).strip("-") or "part"
            names = chain([wanted], (f"{wanted}-{number}" for number in count(2)))
            place = next(name for name in names if name not in taken)
            taken.add(place)
            yield id(one), place
            yield from _places(one.blocks, taken)


def _to_svg(figure: Figure, name: str, label: str) -> str:
    """Return a drawing as an element of a page, small, in the colours and the font of the page.

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
