"""Documents of the repository as pages: each section of the README is one."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.docs.site.markdown import contents, page, slug

ROOT = Path(__file__).resolve().parents[3]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
WHOLE = {
    "calibration/README.md": "howto/calibrate",
    "calibration/mycard/README.md": "howto/mycard",
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changelog",
}
"""Documents that are a page, by their file."""
_SHOWN = {str(one.relative_to(ROOT)): f"howto/{one.relative_to(ROOT)}" for one in NOTEBOOKS}
_PLACES = {
    "Two commands": "tutorial/install",
    "Compiled": "tutorial/compiled",
    "A tour": "tutorial/tour",
    "From Python": "tutorial/python",
    "Speed": "explanation/speed",
    "What it does not do": "explanation/limits",
    "For programs": "reference/programs",
    "More": "",
}
"""Where sections of the README are that are no how-to."""
_SECTION = re.compile(r"^## (.*)$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)([^)#\s]+)\)")


def pages() -> Iterator[tuple[str, str]]:
    """Yield each page by its name."""
    intro, *sections = _SECTION.split(_read("README.md"))
    yield "included/introduction", _linked(intro.partition("\n")[2], "README.md", "index")
    guides = []
    for title, text in zip(sections[::2], sections[1::2], strict=True):
        name = _PLACES.get(title, f"howto/{slug(title)}")
        if name:
            # Marks for what writes a part of the README are none for readers.
            text = re.sub(r"^<!--.*-->\n", "", text, flags=re.MULTILINE)
            yield name, page(title, _linked(text, "README.md", name))
        if name.startswith("howto/"):
            guides.append(name.removeprefix("howto/"))
    yield "included/notebooks", contents(f"/howto/notebooks/{one.stem}" for one in NOTEBOOKS)
    yield "included/guides", contents(f"/howto/{one}" for one in guides)
    for file, name in WHOLE.items():
        yield name, _linked(_read(file), file, name)


def _read(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


def _linked(text: str, file: str, name: str) -> str:
    """Let links between documents lead from page to page; those to other files are their names."""

    def link(match: re.Match[str]) -> str:
        target = (ROOT / file).parent.joinpath(match[2]).resolve()
        inside = str(target.relative_to(ROOT)) if target.is_relative_to(ROOT) else match[2]
        if inside == "README.md":
            return f"[{match[1]}](/index.md)"
        if inside in _SHOWN:
            return f"[{match[1]}](/{_SHOWN[inside]})"
        if inside in WHOLE:
            return f"[{match[1]}](/{WHOLE[inside]}.md)"
        return match[1] if match[1].startswith("`") or " " in match[1] else f"`{match[1]}`"

    return _LINK.sub(link, text)
