"""`reproduce --report` and `sweep --report`: one page that needs nothing else, or tables."""

import json
from pathlib import Path

import pytest

from hcasim.ground.quantities import written
from tests.browser import Pages, chromium, opened
from tests.unit.cli.conftest import Hcasim, hcasim_

__all__ = ["chromium", "hcasim_", "opened"]

REPRODUCE = ("reproduce", "liu2004/fig03", "--json", "-j", "1")
SWEEP = (
    *("sweep", "write_lat", "--testbed", "liu2004", "--size", "8,1K", "-j", "1", "--json"),
    *("--set", "adapter.bus.lanes=4,8"),
)


def test_tables_for_papers_have_each_claim_and_each_point(hcasim_: Hcasim, tmp_path: Path) -> None:
    file = tmp_path / "out.md"
    claims = json.loads(hcasim_(*REPRODUCE, "--report", str(file)).output)["claims"]
    text = file.read_text(encoding="utf-8")
    assert claims
    assert all(one["id"] in text for one in claims)
    rows = json.loads(hcasim_(*SWEEP, "--report", str(file)).output)["rows"]
    text = file.read_text(encoding="utf-8")
    assert len(rows) == 4
    assert all(written(row["latency_us"], "latency_us") in text for row in rows)
    assert "hcasim sweep write" in text.replace("\\", "")


@pytest.mark.check
@pytest.mark.parametrize("scripts", [True, False])
def test_the_page_of_a_reproduction_shows_what_json_says(
    hcasim_: Hcasim, tmp_path: Path, opened: Pages, scripts: bool
) -> None:
    file = tmp_path / "out.html"
    claims = json.loads(hcasim_(*REPRODUCE, "--report", str(file)).output)["claims"]
    page = opened(file, java_script_enabled=scripts)
    for claim in claims:
        row = page.locator(f"tr:has(th:text-is('{claim['id']}'))").first.inner_text()
        assert claim["status"] in row
        assert claim["role"] in row
    assert "adapter.bus.lanes" in page.locator("body").inner_text()
    assert page.locator("svg").count() >= 1


@pytest.mark.parametrize("scripts", [True, False])
def test_the_page_of_a_sweep_shows_each_point_and_the_sources(
    hcasim_: Hcasim, tmp_path: Path, opened: Pages, scripts: bool
) -> None:
    file = tmp_path / "out.html"
    rows = json.loads(hcasim_(*SWEEP, "--report", str(file), "--x", "size").output)["rows"]
    page = opened(file, java_script_enabled=scripts)
    lines = [one.split() for one in page.locator("tbody tr").all_inner_texts()]
    for row in rows:
        shown = [f"{row[name]}" for name in ("size", "adapter.bus.lanes")]
        assert any(all(word in line for word in shown) for line in lines)
    assert page.locator("svg").count() >= 1
    assert "adapter.send.latency" in (page.locator("body").text_content() or "")


@pytest.mark.parametrize("words", [REPRODUCE, SWEEP])
def test_another_ending_is_refused(hcasim_: Hcasim, words: tuple[str, ...]) -> None:
    (fault,) = hcasim_(*words, "--report", "x.pdf").faults
    assert fault.startswith("--report: found 'x.pdf'; allowed endings")
