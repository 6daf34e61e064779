"""Compiling is a part of a build only where it is asked for, and says what it needs."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest


def built(root: Path, what: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Have hatchling do something about this package, without its dependencies."""
    return subprocess.run(
        [sys.executable, "-c", f"from hatchling import build; print(build.{what})"],
        cwd=root,
        env={key: value for key, value in os.environ.items() if key != "CC"} | variables,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("asked", "needed"), [("", False), ("0", False), ("1", True)])
def test_a_build_needs_more_only_if_it_compiles(root: Path, asked: str, needed: bool) -> None:
    done = built(root, "get_requires_for_build_wheel()", HCASIM_COMPILE=asked)
    assert done.returncode == 0, done.stderr
    assert ("mypy[mypyc]" in done.stdout) == needed
    assert (done.stdout == "[]\n") == (not needed)


def test_an_editable_install_is_not_compiled(root: Path, tmp_path: Path) -> None:
    what = f"build_editable({str(tmp_path)!r})"
    done = built(root, what, HCASIM_COMPILE="1")
    assert done.returncode != 0
    assert "install without --editable" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_without_a_compiler_a_compiled_build_is_refused(root: Path, tmp_path: Path) -> None:
    what = f"build_wheel({str(tmp_path)!r})"
    done = built(root, what, HCASIM_COMPILE="1", CC="nowhere/cc -O3")
    assert done.returncode != 0
    assert "needs a C compiler, and there is no nowhere/cc" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_was_compiled_is_kept_by_the_digest_of_its_sources(root: Path, tmp_path: Path) -> None:
    step = runpy.run_path(str(root / ".ci" / "compile.py"))
    source = tmp_path / "hcasim" / step["ROOMS"][0] / "block.py"
    for file in (source, tmp_path / "hcasim" / "__init__.py", tmp_path / ".ci" / "compile.py"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    kept = tmp_path / "kept"
    digests = []
    for number in range(step["MOST"] + 2):
        source.write_text(f"{number}\n")
        (tmp_path / "README.md").write_text(f"{number}\n")
        digests.append(step["_digest"](tmp_path))
        made = tmp_path / "made"
        made.mkdir(exist_ok=True)
        (made / "block.so").write_text(f"{number}\n")
        step["_keep"](made, kept / digests[-1])
        os.utime(kept / digests[-1], (number, number))
    assert len(set(digests)) == len(digests)
    (tmp_path / "README.md").write_text("another\n")
    assert step["_digest"](tmp_path) == digests[-1]
    # The states that were not used for longest have gone, and nothing is left on the way.
    assert {one.name for one in kept.iterdir()} == {*digests[-step["MOST"] :]}
    assert (kept / digests[-1] / "block.so").read_text() == f"{number}\n"
