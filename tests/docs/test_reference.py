"""The reference is made from the docstrings without a complaint, and its links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

import hcasim as hc

LINK = re.compile(r'href="([^"]*)"')
ANCHOR = re.compile(r'\bid="([^"]*)"')


@pytest.fixture(scope="module")
def pages(root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[Path, str]:
    """The reference as `make docs` makes it: its pages by their files."""
    out = tmp_path_factory.mktemp("html")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            "-q",
            "-W",
            "--keep-going",
            root / "tests/docs/reference",
            out,
        ],
        cwd=root,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return {file.resolve(): file.read_text(encoding="utf-8") for file in out.rglob("*.html")}


def test_each_entry_point_and_result_is_there(pages: dict[Path, str]) -> None:
    whole = "".join(pages.values())
    for name in hc.__all__:
        assert f'id="hcasim.{name}"' in whole, name
    for name in ("runs.benchmark.Benchmark.to_pandas", "papers.report.Report.median_error"):
        assert f'id="hcasim.{name}"' in whole, name


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
