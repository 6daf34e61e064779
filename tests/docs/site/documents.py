"""Documents of the repository as pages, and links from pages to them."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.docs.site.markdown import contents

ROOT = Path(__file__).resolve().parents[3]
PAGES = "tests/docs/site/pages/"
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
WHOLE = {
    "calibration/README.md": "howto/calibrate",
    "calibration/mycard/README.md": "howto/mycard",
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changelog",
}
"""Documents that are a page, by their file."""
_SHOWN = {str(one.relative_to(ROOT)): f"howto/{one.relative_to(ROOT)}" for one in NOTEBOOKS}
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|/)([^)#\s]+)(#[^)\s]+)?\)")


def pages() -> Iterator[tuple[str, str]]:
    """Yield each page by its name."""
    introduction = _read("README.md").partition("\n## ")[0].partition("\n")[2]
    yield "included/introduction", linked(introduction, "README.md")
    yield "included/notebooks", contents(f"/howto/notebooks/{one.stem}" for one in NOTEBOOKS)
    for file, name in WHOLE.items():
        yield name, linked(_read(file), file)
    for one in sorted((ROOT / PAGES).rglob("*.md")):
        file = str(one.relative_to(ROOT))
        yield file.removeprefix(PAGES).removesuffix(".md"), linked(_read(file), file)


def _read(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


def linked(text: str, file: str) -> str:
    """Let links between documents lead from page to page; those to other files are their names."""

    def link(match: re.Match[str]) -> str:
        target = (ROOT / file).parent.joinpath(match[2]).resolve()
        inside = str(target.relative_to(ROOT)) if target.is_relative_to(ROOT) else match[2]
        place = match[3] or ""
        if inside == "README.md":
            return f"[{match[1]}](/index.md)"
        if inside.startswith(PAGES):
            return f"[{match[1]}](/{inside.removeprefix(PAGES)}{place})"
        if inside in _SHOWN:
            return f"[{match[1]}](/{_SHOWN[inside]})"
        if inside in WHOLE:
            return f"[{match[1]}](/{WHOLE[inside]}.md{place})"
        return match[1] if match[1].startswith("`") or " " in match[1] else f"`{match[1]}`"

    return _LINK.sub(link, text)
