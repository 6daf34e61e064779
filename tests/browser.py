"""Pages opened in a browser without a network; what goes wrong in them fails the test."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.programs import program

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ALONE = ("--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
PATIENCE_MS = 300_000
INSIDE = ("about", "blob", "data")
"""Schemes of what is part of a page."""


class Pages:
    """Opens pages, each in a context of its own.

    Parameters:
        browser: that shows them.
    """

    def __init__(self, browser: "Browser") -> None:
        self._browser = browser
        self.faults: list[str] = []
        """Errors of scripts and of the console, requests to elsewhere, and those that failed."""

    def __call__(self, where: Path | str, **settings: Any) -> "Page":
        """Open a page.

        Parameters:
            where: a file, or the URL of a page on this machine.
            settings: of `Browser.new_context`, such as color_scheme, java_script_enabled,
                viewport; beside them `media`, "screen" or "print".
        """
        url = where.resolve().as_uri() if isinstance(where, Path) else where
        own, media = urlsplit(url), settings.pop("media", None)
        page = self._browser.new_context(**settings).new_page()
        if media is not None:
            page.emulate_media(media=media)

        def is_strange(other: str) -> bool:
            asked = urlsplit(other)
            return asked.scheme not in INSIDE and asked[:2] != own[:2]

        tell = self.faults.append
        page.on("pageerror", lambda error: tell(f"error: {error}"))
        page.on("console", lambda one: one.type == "error" and tell(f"console: {one.text}"))
        page.on("request", lambda one: is_strange(one.url) and tell(f"request: {one.url}"))
        page.on("requestfailed", lambda one: tell(f"failed: {one.url}"))
        # A busy machine may take long to begin.
        page.set_default_timeout(PATIENCE_MS)
        page.goto(url)
        return page


@pytest.fixture(scope="module")
def chromium() -> Iterator["Browser"]:
    """A browser for the tests of a module: until it ends, asyncio cannot be used beside it."""
    path = program("chromium", "chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ALONE)
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium: "Browser") -> Iterator[Pages]:
    """Opens pages by their file or URL; a fault in one of them fails the test at its end."""
    pages = Pages(chromium)
    yield pages
    for context in chromium.contexts:
        context.close()
    assert pages.faults == []
