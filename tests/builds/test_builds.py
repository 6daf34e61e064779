"""The compiled build is all of the simulator, and gives the numbers of the other to the last digit.

Only in `make test-compiled`, on what the compiled wheel has installed.
"""

import json
import os
import runpy
import shutil
import subprocess
import sys
from importlib import import_module
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

import hcasim
from hcasim.ground.process import build

pytestmark = pytest.mark.skipif(build() != "compiled", reason="this is the pure build")

PACKAGE = Path(hcasim.__file__).parent


@pytest.fixture(scope="module")
def rooms(root: Path) -> tuple[str, ...]:
    """The rooms that are to be compiled."""
    found: tuple[str, ...] = runpy.run_path(str(root / ".ci" / "compile.py"))["ROOMS"]
    return found


def test_every_module_of_the_rooms_is_compiled_and_no_other(rooms: tuple[str, ...]) -> None:
    compiled = set()
    for file in PACKAGE.rglob("*.py"):
        parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
        if parts[-1] == "__main__" or "_data" in parts:
            continue
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if not str(import_module(name).__file__).endswith(".py"):
            compiled.add(file)
    assert compiled == {file for room in rooms for file in (PACKAGE / room).rglob("*.py")}


def test_the_wheel_is_one_of_this_platform() -> None:
    text = distribution("hcasim").read_text("WHEEL")
    assert text is not None
    lines = text.splitlines()
    assert "Root-Is-Purelib: false" in lines
    (tag,) = (line for line in lines if line.startswith("Tag: "))
    assert tag.startswith(f"Tag: cp3{sys.version_info.minor}-cp3{sys.version_info.minor}-")


@pytest.fixture(scope="module")
def pure(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the same package, but nothing compiled."""
    folder = tmp_path_factory.mktemp("pure")
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(PACKAGE, folder / "hcasim", ignore=ignored)
    return folder


def printed(folder: Path, words: str, **variables: str) -> str:
    """What a command prints in a folder, which comes first where modules are looked for."""
    done = subprocess.run(
        [sys.executable, "-m", "hcasim", *words.split()],
        cwd=folder,
        env=os.environ | {"HCASIM_CACHE": ""} | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def numbers(text: str) -> Any:
    """A document without what took how long."""

    def kept(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: kept(one) for key, one in value.items() if key != "wall_seconds"}
        return [kept(one) for one in value] if isinstance(value, list) else value

    return kept(json.loads(text))


@pytest.mark.parametrize(
    "words",
    [
        "reproduce sur2005 --json",
        "reproduce liu2004/fig05 --json",
        "reproduce rashti2007/fig2 --json",
        "bench osu_allreduce --testbed liu2004 --json",
        "bench write_lat --testbed liu2004 --size 8 --explain --json",
        "bench window_bw --testbed liu2004 --size 1K,1M --profile --no-timing --json",
        "bench osu_alltoall --testbed liu2004 --size 1K --profile --no-timing --json",
    ],
)
def test_both_builds_give_the_same_to_the_last_digit(
    words: str, pure: Path, tmp_path: Path
) -> None:
    assert printed(pure, "--version").endswith(", pure Python\n")
    assert printed(tmp_path, "--version").endswith(", compiled\n")
    assert numbers(printed(pure, words)) == numbers(printed(tmp_path, words))


def test_a_handler_that_raises_in_a_long_product_is_no_lack_of_memory(tmp_path: Path) -> None:
    program = """
import signal
from fractions import Fraction
from hcasim.engine import Rate

def answer(number, frame):
    raise KeyError

long = (1 << 3_000_000) - 1
rate = Rate(Fraction(long))
signal.signal(signal.SIGALRM, answer)
signal.setitimer(signal.ITIMER_REAL, 0.05)
try:
    rate.time(long)
    len(())
except KeyError:
    print("raised")
"""
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "raised\n", "")
