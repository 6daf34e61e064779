"""`sweep --report`: one page with the points of a sweep, and where the values come from."""

import json
from pathlib import Path

import pytest

from hcasim.ground.quantities import written
from tests.browser import Pages, chromium, opened
from tests.unit.cli.conftest import Hcasim, hcasim_

__all__ = ["chromium", "hcasim_", "opened"]

SWEEP = (
    *("sweep", "write_lat", "--testbed", "liu2004", "--size", "8,1K", "-j", "1", "--json"),
    *("--set", "adapter.bus.lanes=4,8"),
)


@pytest.mark.parametrize("ending", [".md", ".tex"])
def test_tables_for_papers_have_each_point(hcasim_: Hcasim, tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"out{ending}"
    rows = json.loads(hcasim_(*SWEEP, "--report", str(file)).output)["rows"]
    text = file.read_text(encoding="utf-8")
    assert len(rows) == 4
    for row in rows:
        assert written(row["latency_us"], "latency_us") in text
    assert "hcasim sweep write" in text.replace("\\", "")


def test_the_page_shows_each_point_and_the_sources(
    hcasim_: Hcasim, tmp_path: Path, opened: Pages
) -> None:
    file = tmp_path / "out.html"
    rows = json.loads(hcasim_(*SWEEP, "--report", str(file), "--x", "size").output)["rows"]
    for scripts in (True, False):
        page = opened(file, java_script_enabled=scripts)
        lines = [one.split() for one in page.locator("tbody tr").all_inner_texts()]
        for row in rows:
            shown = [f"{row[name]}" for name in ("size", "adapter.bus.lanes")]
            assert any(all(word in line for word in shown) for line in lines)
        assert page.locator("svg").count() >= 1
        text = page.locator("body").text_content()
        assert text is not None
        assert "adapter.send.latency" in text


def test_another_ending_is_refused(hcasim_: Hcasim) -> None:
    (fault,) = hcasim_(*SWEEP, "--report", "x.pdf").faults
    assert fault.startswith("--report: found 'x.pdf'; allowed endings")
