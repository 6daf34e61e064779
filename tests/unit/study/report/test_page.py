"""`reproduce --report`: one page that has the numbers of the report and needs nothing else."""

import json
from pathlib import Path

import pytest

from tests.browser import Pages, chromium, opened
from tests.unit.cli.conftest import Hcasim, hcasim_

__all__ = ["chromium", "hcasim_", "opened"]

NAME = "liu2004/fig03"


@pytest.mark.parametrize("ending", [".md", ".tex"])
def test_tables_for_papers_have_each_claim(hcasim_: Hcasim, tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"out{ending}"
    done = hcasim_("reproduce", NAME, "--json", "-j", "1", "--report", str(file))
    claims = [one["id"] for one in json.loads(done.output)["claims"]]
    text = file.read_text(encoding="utf-8")
    assert claims
    assert all(one in text for one in claims)


@pytest.mark.check
def test_the_page_shows_what_json_says_also_without_scripts(
    hcasim_: Hcasim, tmp_path: Path, opened: Pages
) -> None:
    file = tmp_path / "out.html"
    done = hcasim_("reproduce", NAME, "--json", "-j", "1", "--report", str(file))
    claims = json.loads(done.output)["claims"]
    for scripts in (True, False):
        page = opened(file, java_script_enabled=scripts)
        text = page.locator("body").inner_text()
        for claim in claims:
            row = page.locator(f"tr:has(th:text-is('{claim['id']}'))").first.inner_text()
            assert claim["status"] in row
            assert claim["role"] in row
        assert "adapter.bus.lanes" in text
        assert page.locator("svg").count() >= 1


def test_another_ending_is_refused(hcasim_: Hcasim) -> None:
    (fault,) = hcasim_("reproduce", NAME, "--report", "x.pdf").faults
    assert fault.startswith("--report: found 'x.pdf'; allowed endings")
