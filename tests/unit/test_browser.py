"""The browser of the tests notices what it is there for."""

from pathlib import Path

import pytest

from tests.browser import Pages


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("<script>throw new Error('broken')</script>", "error: broken"),
        ("<script>console.error('wrong')</script>", "console: wrong"),
        ("<img src='http://example.com/a.png'>", "request: http://example.com/a.png"),
        ("<link rel=stylesheet href=lost.css>", "failed: file://"),
    ],
)
def test_what_goes_wrong_in_a_page_is_noticed(
    opened: Pages, tmp_path: Path, content: str, fault: str
) -> None:
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><title>A</title>{content}")
    opened(page)
    found, opened.faults[:] = list(opened.faults), []
    assert any(one.startswith(fault) for one in found)


def test_a_sound_page_is_shown(opened: Pages, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><title>A</title><link rel=icon href=data:,><p>text")
    assert opened(page, color_scheme="dark", java_script_enabled=False).inner_text("p") == "text"
