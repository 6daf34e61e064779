"""Markdown that Sphinx reads, made of plain text."""

import re
from collections.abc import Iterable, Sequence

_MARKUP = re.compile(r"([\\`*_{}\[\]<>|#~$^])")
_CODE = re.compile(r"`([^`]+)`")


def plain(text: object) -> str:
    """Text as it is, on one line."""
    return _MARKUP.sub(r"\\\1", " ".join(str(text).split()))


def code(text: object) -> str:
    """A word of a program; in a table a bar would end the cell."""
    told = " ".join(str(text).split()).replace("|", r"\|")
    return f"`` {told} ``" if "`" in told else f"`{told}`" if told else ""


def prose(text: str) -> str:
    """A docstring: paragraphs, with code between backticks, one or two."""
    paragraphs = text.replace("``", "`").strip().split("\n\n")
    return "\n\n".join(_marked(" ".join(one.split())) for one in paragraphs)


def _marked(text: str) -> str:
    parts = _CODE.split(text)
    return "".join(
        f"`{one}`" if number % 2 else _MARKUP.sub(r"\\\1", one) for number, one in enumerate(parts)
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def page(title: str, *parts: str) -> str:
    """A page, or a part of one if its title begins with more marks."""
    head = title if title.startswith("#") else f"# {title}"
    return "\n\n".join([head, *(one.strip("\n") for one in parts if one.strip())]) + "\n"


def beside(text: str) -> str:
    """A page that is reached by links: navigation, which each page repeats, does without it."""
    return f"---\norphan: true\n---\n\n{text}"


def slug(title: str) -> str:
    """A name of a file for a title."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def contents(names: Iterable[str], *, hidden: bool = False) -> str:
    """A list of pages, which navigation shows, too."""
    hide = ":hidden:\n" if hidden else ""
    return f"```{{toctree}}\n:maxdepth: 1\n{hide}\n" + "\n".join(names) + "\n```"
