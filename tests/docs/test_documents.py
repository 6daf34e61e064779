"""Every command and example in the documents works, and shows what it says it shows."""

import re
import shutil
import tomllib
from pathlib import Path

import pytest

from hcasim import bench
from hcasim.runs.foreign import printed as printed_as
from tests.docs.examples import ROOT, Reader, examples

README = "README.md"
PAGE = "calibration/README.md"
CARD = "calibration/mycard/README.md"
MADE_WITH = {"send.latency": 290, "responder.latency": 170}
"""Latencies in ns of the adapter that the printed measurement of the card stands for."""
FIRST_STEPS = "tests/docs/site/pages/tutorial/first-steps.md"
FITTED = (PAGE, CARD)
OTHERS = ("CONTRIBUTING.md", "CHANGELOG.md", "calibration/probes/README.md")
SITE = ROOT / "tests/docs/site/pages"
PAGES = tuple(
    str(file.relative_to(ROOT))
    for room in ("tutorial", "howto", "explanation", "reference")
    for file in sorted((SITE / room).rglob("*.md"))
    # Those of the reference are made.
    if file != SITE / "reference/index.md"
)
"""What the site has beside them."""
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


@pytest.fixture
def reader(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Reader:
    return Reader(tmp_path, capfd)


@pytest.fixture
def fitter(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Reader:
    return Reader(tmp_path, capfd, fits=True)


@pytest.mark.parametrize("document", [README, "CONTRIBUTING.md", "CHANGELOG.md"])
def test_what_a_document_says_works(document: str, reader: Reader) -> None:
    reader.follow(document)


@pytest.mark.check
@pytest.mark.parametrize(
    "document", [one for one in PAGES if one != FIRST_STEPS and any(examples(one))]
)
def test_what_a_page_says_works(document: str, reader: Reader) -> None:
    reader.follow(document)


@pytest.mark.check
def test_a_user_comes_from_a_trace_to_a_what_if_question(fitter: Reader, tmp_path: Path) -> None:
    fitter.follow(PAGE)
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"lat.jsonl", "bw.jsonl", "mine.toml", "mine.html"}


@pytest.mark.check
def test_a_user_takes_the_first_steps(fitter: Reader, tmp_path: Path) -> None:
    fitter.follow(FIRST_STEPS)
    # The answer that the page gives.
    (narrow,) = (text for command, text in fitter.outputs.items() if "lanes=4" in command)
    assert 700 < float(narrow.splitlines()[-1].split()[1]) < 1000
    (fit,) = (text for command, text in fitter.outputs.items() if "calibrate" in command)
    assert "identified" in fit
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"measured.txt", "measured.jsonl", "mine.toml", "fig03.png"}


@pytest.mark.check
def test_a_user_describes_a_card_fits_it_and_asks(fitter: Reader, tmp_path: Path) -> None:
    for file in (ROOT / CARD).parent.iterdir():
        shutil.copy(file, tmp_path)
    assert len((tmp_path / "mycard.toml").read_text().splitlines()) <= 30
    fitter.follow(CARD)
    (fit,) = (text for command, text in fitter.outputs.items() if "calibrate" in command)
    assert fit.count("identified") == 2
    assert "is not met" not in fit
    values = tomllib.loads((tmp_path / "fit.toml").read_text())["entries"]
    near = MADE_WITH
    for name, nanoseconds in near.items():
        (value,) = (one["value"] for path, one in values.items() if path.endswith(name))
        assert float(value.removesuffix(" ns")) == pytest.approx(nanoseconds, abs=15)
        assert f"{nanoseconds} ns" in (ROOT / CARD).read_text()
    small, large, wide, x16, x4 = (
        float(text.splitlines()[2].split()[1])
        for command, text in fitter.outputs.items()
        if "--calibration" in command
    )
    assert large > 2 * small
    assert x16 > 1.3 * wide > 2 * x4


@pytest.mark.parametrize("workload", ["write_lat", "read_lat"])
def test_what_the_card_printed_is_what_the_simulator_prints(workload: str) -> None:
    """Else a fit to it would find other latencies than those it was made with."""
    overrides = {f"adapter.{name}": f"{value} ns" for name, value in MADE_WITH.items()}
    found = bench(
        workload,
        "pair",
        adapter=(ROOT / CARD).parent / "mycard.toml",
        size="8,64,1K",
        overrides=overrides,
    )
    printed = (ROOT / CARD).with_name("perftest.txt").read_text()
    table = printed_as(found, "perftest").partition("#bytes")[2]
    assert table
    assert table in printed


def test_each_link_to_a_file_leads_somewhere() -> None:
    missing = []
    for document in (README, *FITTED, *OTHERS, *PAGES):
        file = ROOT / document
        links = LINK.findall(file.read_text(encoding="utf-8"))
        # Those that begin with / are places of the site, which complains of them itself.
        inside = [one for one in links if "://" not in one and not one.startswith("/")]
        missing += [(document, one) for one in inside if not (file.parent / one).exists()]
    assert missing == []
