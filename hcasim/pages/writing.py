"""Documents as text, in the form that the ending of a file says: each is a template beside this."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from hashlib import sha256
from html import escape
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from hcasim.ground.text import printable, printable_lines
from hcasim.pages.document import Block, Column, Document, Section
from hcasim.pages.svg import to_svg

if TYPE_CHECKING:
    from jinja2 import Template

_HERE = Path(__file__).parent


# Also what would begin a list.
_MARKDOWN = re.compile(r"[\\`*_{}\[\]#|~$]|^[-+>](?=\s)|^\d+(?=[.)]\s)")
_AS_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def _in_markdown(text: str) -> str:
    return _MARKDOWN.sub(r"\\\g<0>", printable(text)).translate(_AS_HTML)


def _code_in_markdown(text: str) -> str:
    return "\n".join(f"    {line}" for line in printable_lines(text).splitlines())


def _class_of(column: Column) -> str:
    words = " ".join(["n"] * column.right + ["prose"] * column.prose)
    return f' class="{words}"' if words else ""


_FORMS: dict[str, tuple[Callable[[str], str], Callable[[str], str]]] = {
    ".html": (lambda text: escape(printable(text)), lambda code: escape(printable_lines(code))),
    ".md": (_in_markdown, _code_in_markdown),
}
"""How each form escapes text of one line, and code."""
ENDINGS = tuple(_FORMS)
"""Of files that documents are written to."""


def write(document: Document, ending: str) -> str:
    """Return a document as text; it is the same for the same document.

    Parameters:
        document: what to write.
        ending: one of ENDINGS, also in capitals; anything else, as of a device, is HTML.
    """
    from markupsafe import Markup

    form = ending.lower() if ending.lower() in _FORMS else ".html"
    places = dict(_places(document.blocks, set()))
    numbers = count(1)
    style, script = ((_HERE / name).read_text("utf-8") for name in ("page.css", "page.js"))
    text = _template(form).render(
        document=document,
        place=lambda section: places[id(section)],
        svg=lambda one: Markup(to_svg(one.drawing, f"f{next(numbers)}", printable(one.caption))),
        style=Markup(style),
        script=Markup(script),
        # A browser runs this script and no other, whatever a text may hold.
        hash=b64encode(sha256(script.encode()).digest()).decode(),
    )
    return text.rstrip("\n") + "\n"


@cache
def _template(ending: str) -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    escaped, code = _FORMS[ending]
    environment = Environment(
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        # All that a template inserts is escaped, unless it is of this form already.
        finalize=lambda one: one if isinstance(one, Markup) else Markup(escaped(str(one))),
        autoescape=True,
        loader=FileSystemLoader(_HERE),
    )
    environment.filters |= {
        "kind": lambda block: type(block).__name__,
        "code": lambda text: Markup(code(text)),
        "class_of": lambda head: Markup(_class_of(head)),
        "sections": lambda blocks: [
            one for one in blocks if isinstance(one, Section) and not one.folded
        ],
    }
    return environment.get_template(f"page{ending}.jinja")


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
