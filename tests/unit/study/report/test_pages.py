"""`reproduce --report`: one page that needs nothing else."""

import json
from pathlib import Path

import pytest

from tests.browser import Pages, chromium, opened
from tests.unit.cli.conftest import Hcasim, hcasim_

__all__ = ["chromium", "hcasim_", "opened"]

REPRODUCE = ("reproduce", "liu2004/fig03", "--json", "-j", "1")


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


def test_another_ending_is_refused(hcasim_: Hcasim) -> None:
    (fault,) = hcasim_(*REPRODUCE, "--report", "x.pdf").faults
    assert fault.startswith("--report: found 'x.pdf'; allowed endings")
