"""The site is made without a complaint, holds what it should, and is a pleasure to read.

It is made once for all of these.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from html import unescape
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import click
import pytest

import hcasim as hc
from hcasim.catalog import MODELS, list_ids, load
from hcasim.papers.loader import list_papers, load_scenarios
from hcasim.workloads import WORKLOADS
from tests.browser import Pages
from tests.docs.site import documents, parameters, program
from tests.docs.site.markdown import code, plain, prose
from tests.notebooks.running import read

app = import_module("hcasim.cli.main")
pytestmark = pytest.mark.check

LINK = re.compile(r'href="([^"]*)"')
ANCHOR = re.compile(r'\bid="([^"]*)"')
LOADED = re.compile(r"<(?:script|img|link|iframe|source)\b[^>]*\b(?:src|href)=\"([^\"]*)\"")


DESKTOP = {"width": 1400, "height": 900}
PHONE = {"width": 390, "height": 844}

PAGES = (
    "index",
    "tutorial/first-steps",
    "howto/index",
    "howto/mpi",
    "howto/notebooks/04-memfree",
    "howto/notebooks/08-ports",
    "reference/commands/bench",
    "reference/parameters/adapter",
    "reference/models/adapters/mt25208",
    "reference/accuracy",
    "reference/scenarios/liu2004",
    "reference/python/index",
    "explanation/index",
    "explanation/validity",
    "changelog",
)


@pytest.fixture(scope="module")
def site(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` makes it."""
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "tests.docs.site", out]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return out


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, str]:
    """Its pages by their files."""
    return {file.resolve(): file.read_text(encoding="utf-8") for file in site.rglob("*.html")}


def test_each_option_stands_beside_the_commands_that_take_it() -> None:
    (page,) = (text for name, text in program.pages() if name == "reference/commands/options")
    for option, takes in (
        ("--ranks", "app, launch, sweep"),
        ("--testbed", "run, reproduce, app, launch, bench, "),
    ):
        (line,) = (one for one in page.splitlines() if f"`{option}`" in one)
        assert takes in re.sub(r"\[`(\w+)`\]\([^)]*\)", r"\1", line)


def test_no_link_is_broken(pages: dict[Path, str]) -> None:
    anchors = {file: set(ANCHOR.findall(text)) for file, text in pages.items()}
    broken = []
    for file, text in pages.items():
        for link in LINK.findall(text):
            place, _, anchor = unquote(link).partition("#")
            place = place.partition("?")[0]
            target = (file.parent / place).resolve() if place else file
            if "://" in link or (target == file and not anchor):
                continue
            found = anchor in anchors.get(target, ()) if anchor else target.exists()
            if not found:
                broken.append(f"{file.name}: {link}")
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, str]) -> None:
    found = {link for text in pages.values() for link in LOADED.findall(text)}
    assert found
    assert [link for link in found if "//" in link.partition("?")[0]] == []
    for style in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", style.read_text()), style


def words_of(text: str) -> str:
    """Parts of paths are words of their own."""
    return f" {' '.join(re.sub('[.,;:()]', ' ', text).split())} "


@cache
def text_of(site: Path, name: str) -> str:
    """The words of a page, without marks."""
    html = (site / f"{name}.html").read_text(encoding="utf-8")
    body = html[html.index("<article") : html.index("</article>")]
    return words_of(unescape(re.sub(r"<[^>]*>", "", body)))


def wanted(root: Path) -> Iterator[tuple[str, str]]:
    """Yield pages, each with words that have to be on it."""
    group = app.LazyGroup("hcasim")
    for name in app.COMMANDS:
        command = group.get_command(click.Context(group), name)
        assert command is not None
        options = [word for one in command.params for word in one.opts]
        yield from ((f"reference/commands/{name}", one) for one in options if one[0] == "-")
    for kind, one in zip(MODELS, parameters.KINDS, strict=True):
        for name in list_ids(kind):
            for path in (parameter.path for parameter in load(name, kind).parameters):
                yield f"reference/models/{kind}/{name}", path
                # What is before the last word may be a name of the user's own.
                yield f"reference/parameters/{one}", path.rpartition(".")[2]
    for paper in list_papers():
        claims = [claim for scenario in load_scenarios([paper]) for claim in scenario.claims]
        yield "explanation/validity", f"{paper} {len(claims)}"
        for claim in claims:
            yield f"reference/scenarios/{paper}", claim.id
            if claim.deviation:
                yield f"reference/scenarios/{paper}", claim.deviation.reason
    yield from (("reference/workloads/index", name) for name in WORKLOADS)
    codes = [app.BAD_INPUT, app.UNEXPECTED, app.NO_ROOM, app.BROKEN_PIPE]
    codes += [code for code, _ in app.ENDED.values()]
    every = "".join(file.read_text() for file in (root / "hcasim").rglob("*.py"))
    variables = set(re.findall(r'"((?:HCASIM|XDG)_[A-Z_]+)"', every))
    assert variables
    yield from (("reference/environment", str(one)) for one in (*codes, *variables))


def test_what_the_program_and_its_data_have_is_there(site: Path, root: Path) -> None:
    missing = [
        (page, text) for page, text in wanted(root) if words_of(text) not in text_of(site, page)
    ]
    assert missing == []


def test_each_entry_point_and_result_is_there(pages: dict[Path, str]) -> None:
    whole = "".join(pages.values())
    results = ("runs.table.Table.to_pandas", "papers.report.Report.median_error")
    missing = [one for one in (*hc.__all__, *results) if f'id="hcasim.{one}"' not in whole]
    assert missing == []


def test_each_workload_is_there_with_its_options(site: Path) -> None:
    every = "".join(file.read_text() for file in (site / "reference/workloads").glob("*.html"))
    for name, one in WORKLOADS.items():
        (section,) = re.findall(
            rf'<section id="{name.replace("_", "-")}">(.*?)</section>', every, re.DOTALL
        )
        unspanned = re.sub(r"</?span[^>]*>", "", section)
        shown = set(re.findall(r"<td><p><code[^>]*>--([a-z-]+)<", unspanned))
        assert shown == {option.replace("_", "-") for option in one.options}, name


def test_each_notebook_is_a_page_with_what_it_shows(site: Path) -> None:
    guides = (site / "howto/index.html").read_text(encoding="utf-8")
    assert documents.NOTEBOOKS
    for file in documents.NOTEBOOKS:
        name = f"notebooks/{file.stem}.html"
        assert f'href="{name}"' in guides
        page = unescape((site / "howto" / name).read_text(encoding="utf-8"))
        text = " ".join(re.sub(r"<[^>]*>", "", page).split())
        outputs = [one for cell in read(file).cells for one in cell.get("outputs", [])]
        drawn = [one for one in outputs if "image/png" in one.get("data", {})]
        assert len(re.findall(r"<img[^>]*/_images/", page)) == len(drawn) > 0, name
        printed = [" ".join(one.text.split()) for one in outputs if one.output_type == "stream"]
        assert [one for one in printed if one not in text] == [], name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a|b", r"a\|b"),
        ("*x* <b> [y](z) `c` $ ~", r"\*x\* \<b\> \[y\](z) \`c\` \$ \~"),
        ("a\nb", "a b"),
    ],
)
def test_plain_text_stays_plain(text: str, expected: str) -> None:
    assert plain(text) == expected


def test_code_and_paragraphs_of_a_docstring_stay() -> None:
    assert code("a|b") == r"`a\|b`"
    assert code("a`b") == "`` a`b ``"
    assert prose("One ``x_y``\nand `z`.\n\nTwo_three.") == "One `x_y` and `z`.\n\nTwo\\_three."


def overflow(page: Any) -> int:
    """How many pixels of a text are to the right of the window, where what is wide does not scroll
    by itself."""
    text = "document.querySelector('article')"
    right = f"{text}.getBoundingClientRect().left + {text}.scrollWidth"
    return max(0, round(page.evaluate(f"{right} - document.documentElement.clientWidth")))


def brightness(page: Any, what: str) -> float:
    """How bright the background or text of a page is, from 0 to 255."""
    colour = page.evaluate(f"getComputedStyle(document.body).{what}")
    parts = colour[colour.index("(") + 1 : -1].split(",")[:3]
    return sum(map(float, parts)) / 3


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("scheme", "viewport"), [("light", DESKTOP), ("dark", PHONE)])
def test_a_page_fits_and_is_light_or_dark(
    opened: Pages, site: Path, name: str, scheme: str, viewport: Any
) -> None:
    page = opened(site / f"{name}.html", color_scheme=scheme, viewport=viewport)
    assert overflow(page) == 0
    paper, ink = (brightness(page, what) for what in ("backgroundColor", "color"))
    assert (paper > 200 > 60 > ink) == (scheme == "light")
    assert abs(paper - ink) > 150


def test_search_finds_a_parameter_without_a_network(opened: Pages, site: Path) -> None:
    page = opened(site / "index.html")
    page.locator("input[name=q]").first.fill("blueflame")
    page.keyboard.press("Enter")
    page.get_by_text("Search finished").wait_for()
    found = page.locator("#search-results li a").all_inner_texts()
    assert {"Verbs, doorbells and work requests", "connectx5"} <= set(found)
    page.locator("#search-results li a", has_text="connectx5").first.click()
    assert page.locator("h1").inner_text().startswith("connectx5")
    assert "blueflame" in page.content().lower()


def test_a_reader_comes_from_the_front_page_to_an_answer(opened: Pages, site: Path) -> None:
    page = opened(site / "index.html")
    page.locator(".sd-card", has_text="Tutorial").click()
    page.get_by_role("link", name="First steps").first.click()
    assert "First steps" in page.title()
    page.get_by_role("link", name="How valid the model is").first.click()
    page.get_by_role("link", name="liu2004").first.click()
    assert page.locator("h2").first.inner_text().startswith("fig02")
    # Models, which navigation leaves out, are reached from where they are used.
    page.get_by_role("link", name="mt25208").first.click()
    page.get_by_role("link", name="Adapters", exact=True).last.click()
    page.get_by_role("link", name="connectx7", exact=True).wait_for()


@pytest.mark.parametrize("name", ["index", "explanation/index"])
def test_each_block_of_the_diagram_leads_to_its_page(opened: Pages, site: Path, name: str) -> None:
    page = opened(site / f"{name}.html")
    blocks = page.locator("svg.blocks a")
    targets = [one.get_attribute("href") for one in blocks.all()]
    assert len(targets) > 15
    assert [one for one in targets if not ((site / name).parent / str(one)).exists()] == []
    blocks.filter(has_text="Translation").click()
    assert "Contexts and translation" in page.title()
