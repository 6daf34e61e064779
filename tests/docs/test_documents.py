"""Every command and example in the documents works, and shows what it says it shows.

A ``console`` block holds commands after ``$`` with, optionally, their output; a ``python`` block
may be followed by a ``text`` block with its output. ``...`` stands for anything.
"""

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = "calibration/README.md"
"""Its commands build on each other."""
CARD = "calibration/mycard/README.md"
"""Its commands build on each other and on the files beside it."""
FIRST_STEPS = "tests/docs/site/pages/tutorial/first-steps.md"
"""Its commands build on each other."""
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
SITE = tuple(
    str(file.relative_to(ROOT)) for file in sorted((ROOT / "tests/docs/site/pages").rglob("*.md"))
)
"""What the site has beside them."""
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
SETTING = re.compile(r"[A-Z_]+=")
# This replays whole papers.
LONG = ("reproduce",)
# These fetch or change what a test must leave alone; the tests in packaging/ install for real.
NOT_RUN = ("git", "cd", "pip", "jupyter", ".venv/bin/pip", "pytest")


@dataclass(frozen=True)
class Example:
    """A piece of a document that can be run, and what the document says it prints."""

    place: str
    code: str
    expected: str

    def check(self, output: str) -> None:
        def stripped(text: str) -> str:
            return "\n".join(line.rstrip() for line in text.strip().splitlines()) + "\n"

        if self.expected.strip():
            checker = doctest.OutputChecker()
            want, got = stripped(self.expected), stripped(output)
            assert checker.check_output(want, got, doctest.ELLIPSIS), f"{self.place} printed\n{got}"


def blocks(documents: tuple[str, ...] = DOCUMENTS) -> Iterator[tuple[str, str, str]]:
    for document in documents:
        text = (ROOT / document).read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{document}:{line}", match[1], match[2]


def commands(documents: tuple[str, ...] = DOCUMENTS) -> Iterator[Example]:
    for place, language, body in blocks(documents):
        if language == "console":
            for part in re.split(r"^\$ ", body.replace("\\\n", ""), flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                yield Example(place, command, output)


def python_examples(documents: tuple[str, ...] = DOCUMENTS) -> Iterator[Example]:
    found = list(blocks(documents))
    for (place, language, body), (_, following, output) in zip(
        found, [*found[1:], ("", "", "")], strict=True
    ):
        if language == "python":
            yield Example(place, body, output if following == "text" else "")


def parameters(examples: Iterator[Example]) -> list[object]:
    return [
        pytest.param(
            example,
            id=f"{example.place} {example.code.splitlines()[0]}",
            marks=[pytest.mark.check] if set(LONG) & set(example.code.split()) else [],
        )
        for example in examples
    ]


def environment(bin_folder: Path) -> dict[str, str]:
    return os.environ | {
        "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }


@pytest.fixture(scope="module")
def bin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose hcasim is the one under test, whether or not it is installed."""
    folder = tmp_path_factory.mktemp("bin")
    script = folder / "hcasim"
    script.write_text(f"#!{sys.executable}\nfrom hcasim.cli import main\nmain()\n")
    script.chmod(0o755)
    return folder


@pytest.mark.parametrize("example", parameters(commands()))
def test_the_command_works(example: Example, bin_folder: Path, tmp_path: Path) -> None:
    words = shlex.split(example.code)
    program, *arguments = dropwhile(lambda word: SETTING.match(word), words)
    if program in NOT_RUN:
        pytest.skip(f"{program} would reach beyond the test")
    if program == "make":
        # Running it would run this test again.
        done = subprocess.run(
            ["make", "--dry-run", *arguments], cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return
    if program == ".ci/run":
        assert os.access(ROOT / program, os.X_OK)
        return
    assert program == "hcasim", f"{example.place} uses {program}, which this test does not know"
    # A fit takes minutes and has tests of its own; that the command is there is checked here.
    suffix = " --help" if "calibrate" in arguments else ""
    example.check(run_command(example, bin_folder, tmp_path, suffix))


def test_a_user_comes_from_a_trace_to_a_what_if_question(bin_folder: Path, tmp_path: Path) -> None:
    for example in commands((PAGE,)):
        assert example.code.startswith("hcasim "), example.place
        example.check(run_command(example, bin_folder, tmp_path))
    for example in python_examples((PAGE,)):
        run_python(example, bin_folder, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "lat.jsonl",
        "bw.jsonl",
        "mine.toml",
        "mine.html",
    }


def test_a_user_takes_the_first_steps(bin_folder: Path, tmp_path: Path) -> None:
    found = {}
    for example in commands((FIRST_STEPS,)):
        if example.code.startswith("hcasim "):
            output = run_command(example, bin_folder, tmp_path)
            example.check(output)
            found[example.code.strip()] = output
    # The answer that the page gives.
    narrow = next(text for command, text in found.items() if "lanes=4" in command)
    assert 700 < float(narrow.splitlines()[-1].split()[1]) < 1000
    (fit,) = (text for command, text in found.items() if "calibrate" in command)
    assert "identified" in fit
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"measured.txt", "measured.jsonl", "mine.toml", "fig03.png"}


def test_no_other_page_of_the_site_has_commands_that_no_test_runs() -> None:
    others = [one for one in SITE if one != FIRST_STEPS]
    assert len(others) > 15
    assert [place for place, language, _ in blocks((*others,)) if language == "console"] == []


def test_a_user_describes_a_card_fits_it_and_asks(bin_folder: Path, tmp_path: Path) -> None:
    for file in (ROOT / CARD).parent.iterdir():
        shutil.copy(file, tmp_path)
    assert len((tmp_path / "mycard.toml").read_text().splitlines()) <= 30
    found = {}
    for example in commands((CARD,)):
        found[example.code.strip()] = run_command(example, bin_folder, tmp_path)
    (fit,) = (text for command, text in found.items() if "calibrate" in command)
    assert fit.count("identified") == 2
    assert "is not met" not in fit
    values = tomllib.loads((tmp_path / "fit.toml").read_text())["entries"]
    near = {"send.latency": 290, "responder.latency": 170}
    for name, nanoseconds in near.items():
        (value,) = (one["value"] for path, one in values.items() if path.endswith(name))
        assert float(value.removesuffix(" ns")) == pytest.approx(nanoseconds, abs=15)
        assert f"{nanoseconds} ns" in (ROOT / CARD).read_text()
    small, large, wide, x16, x4 = (
        float(text.splitlines()[2].split()[1])
        for command, text in found.items()
        if "--calibration" in command
    )
    assert large > 2 * small
    assert x16 > 1.3 * wide > 2 * x4


@pytest.mark.parametrize("example", parameters(python_examples()))
def test_the_python_example_works(example: Example, bin_folder: Path, tmp_path: Path) -> None:
    run_python(example, bin_folder, tmp_path)


def run_command(example: Example, bin_folder: Path, folder: Path, suffix: str = "") -> str:
    done = subprocess.run(
        ["bash", "-c", example.code + suffix],
        cwd=folder,
        env=environment(bin_folder),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{example.place}\n{done.stdout}{done.stderr}"
    return done.stdout


def run_python(example: Example, bin_folder: Path, folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", example.code],
        cwd=folder,
        env=environment(bin_folder),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    example.check(done.stdout)


@pytest.mark.parametrize("document", [*DOCUMENTS, PAGE, CARD, "calibration/probes/README.md"])
def test_each_link_to_a_file_leads_somewhere(document: str) -> None:
    file = ROOT / document
    links = LINK.findall(file.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (file.parent / link).exists()]
    assert missing == []
