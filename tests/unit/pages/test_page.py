"""A page in a browser: readable in dark and light, on paper, and without its script."""

from pathlib import Path

import pytest

from hcasim.pages.document import Cell, Column, Document, Section, Table, Text
from hcasim.pages.writing import write
from tests.browser import Pages
from tests.unit.pages.test_forms import HOSTILE, document

CONTRAST = """() => {
  const channels = text => {
    const canvas = new OffscreenCanvas(1, 1).getContext("2d");
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map(one => one / 255)
    .map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)
    .reduce((sum, one, i) => sum + one * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = element => {
    for (let one = element; one; one = one.parentElement) {
      const found = channels(getComputedStyle(one).backgroundColor);
      if (found[3] === 255) return found;
    }
    return [255, 255, 255, 255];
  };
  const found = {};
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || ["SCRIPT", "OPTION"].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    const colour = element.closest("svg") ? style.fill : style.color;
    const [one, other] = [light(channels(colour)), light(behind(element))].sort((a, b) => b - a);
    const name = `${element.tagName} ${element.className.baseVal ?? element.className}`;
    found[name] = Math.min(found[name] ?? 99, (one + 0.05) / (other + 0.05));
  }
  for (let i = 1; i <= 10; i++) {
    const own = getComputedStyle(document.documentElement);
    const probe = document.body.appendChild(document.createElement("i"));
    probe.style.color = `var(--series-${i})`;
    const colours = [channels(getComputedStyle(probe).color), behind(document.body)];
    const [one, other] = colours.map(light).sort((a, b) => b - a);
    found[`series ${i}`] = 1.5 * (one + 0.05) / (other + 0.05);
  }
  return found;
}"""
"""The contrast of each kind of text with what is behind it; of lines, which need two thirds of that
of text, half as much again."""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    file = tmp_path / "page.html"
    file.write_text(write(document()), encoding="utf-8")
    return file


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    rows = [
        (f"r{number}", Cell(f"{number} us", float(number)), Cell(word, mark="pass"))
        for number, word in ((10, "odd"), (9, "even"), (100, "odd"))
    ]
    columns = ("name", Column("time", right=True), Column("kind", chosen=True))
    table = Table("Times", columns, [*rows, ("none", "", "even")], filtered=True)
    file = tmp_path / "numbers.html"
    file.write_text(write(Document("Numbers", [Section("A", [table])])), "utf-8")
    return file


def shown(page) -> list[str]:
    return page.locator("tbody tr:visible > th").all_inner_texts()


def test_columns_are_sorted_by_number_in_both_directions(opened: Pages, numbers: Path) -> None:
    page = opened(numbers)
    head = page.get_by_role("columnheader", name="time")
    head.get_by_role("button").click()
    assert shown(page) == ["r9", "r10", "r100", "none"]
    assert head.get_attribute("aria-sort") == "ascending"
    head.get_by_role("button").click()
    assert shown(page) == ["r100", "r10", "r9", "none"]
    page.get_by_role("button", name="name").click()
    assert shown(page) == ["none", "r9", "r10", "r100"]


def test_rows_are_found_by_words_and_chosen_by_what_stands_in_a_column(
    opened: Pages, numbers: Path
) -> None:
    page = opened(numbers)
    page.get_by_label("kind").select_option("odd")
    assert shown(page) == ["r10", "r100"]
    page.get_by_label("Search").fill("R100 us")
    assert shown(page) == ["r100"]
    assert page.locator("output").inner_text() == "1 of 4 rows"
    page.get_by_role("button", name="Show all").click()
    assert len(shown(page)) == 4


def test_a_link_leads_to_a_row_that_was_left_out_and_into_what_is_folded(
    opened: Pages, tmp_path: Path
) -> None:
    table = Table("A", ("a", "b"), [(Cell("x", place="row"), "1"), ("y", "2")], filtered=True)
    lead = Table("B", ("a",), [(Cell("go", link="row"),), (Cell("open", link="deep"),)])
    inside = Section("Folded", [Section("Deep", [Text("hidden words")], "deep")], folded=True)
    file = tmp_path / "page.html"
    file.write_text(write(Document("Links", [lead, table, inside])), "utf-8")
    page = opened(file)
    page.get_by_label("Search").fill("y")
    page.get_by_role("link", name="go").click()
    page.locator("#row").wait_for(state="visible")
    page.get_by_role("link", name="open").click()
    page.get_by_text("hidden words").wait_for(state="visible")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_told_from_what_is_behind_it(
    opened: Pages, page: Path, scheme: str
) -> None:
    found = opened(page, color_scheme=scheme).evaluate(CONTRAST)
    assert len(found) > 20
    assert {name: ratio for name, ratio in found.items() if ratio < 4.5} == {}


def test_colours_are_those_of_the_system_until_others_are_chosen(opened: Pages, page: Path) -> None:
    shown = opened(page, color_scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    dark, button = shown.evaluate(background), shown.locator("button.theme")
    button.click()
    assert shown.evaluate(background) == "rgb(255, 255, 255)" != dark
    button.click()
    assert shown.evaluate(background) == dark
    assert opened(page, color_scheme="light").evaluate(background) == "rgb(255, 255, 255)"


def test_everything_is_there_without_the_script(opened: Pages, page: Path) -> None:
    without = opened(page, java_script_enabled=False)
    assert without.locator("table tbody tr:visible").count() == 2
    assert without.locator("svg:visible").count() == 1
    assert without.locator("button, input, select").count() == 0
    without.locator("summary").click()
    without.get_by_text("folded words").wait_for(state="visible")


@pytest.mark.parametrize("scripts", [True, False])
def test_print_has_all_that_is_folded_and_no_controls(
    opened: Pages, page: Path, scripts: bool
) -> None:
    paper = opened(page, media="print", color_scheme="dark", java_script_enabled=scripts)
    # The titles of columns are buttons, and stay.
    controls = ":is(button, input, select):visible:not(thead *)"
    assert paper.locator(controls).count() == 0
    box = paper.get_by_text("folded words").bounding_box()
    assert box is not None
    assert box["height"] > 0
    assert paper.pdf().startswith(b"%PDF")
    if scripts:
        assert paper.evaluate("getComputedStyle(document.body).backgroundColor") == (
            "rgb(255, 255, 255)"
        )


def test_no_text_of_a_document_runs(opened: Pages, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(write(document(HOSTILE)), encoding="utf-8")
    page = opened(file)
    assert page.locator("script").count() == 1
    assert page.locator("h1").inner_text().startswith("<script>alert(1)</script>")


def test_a_phone_shows_it_without_scrolling_aside(opened: Pages, page: Path) -> None:
    phone = opened(page, viewport={"width": 360, "height": 740})
    assert phone.evaluate("document.documentElement.scrollWidth") <= 360
