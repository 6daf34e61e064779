"""The probes, built from the checkout, and a virtual machine to run them in."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hcasim.traces import Trace, read_trace
from tests.probes.guest import run_everything
from tests.programs import give_up, program

NEEDED = "infiniband/verbs.h", "rdma/rdma_cma.h"


@pytest.fixture(scope="session")
def sources(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources, so that building leaves nothing in the checkout."""
    program("cc", "gcc")
    program("make", "make")
    lines = "".join(f"#include <{name}>\n" for name in NEEDED)
    found = subprocess.run(["cc", "-E", "-"], input=lines.encode(), capture_output=True)
    if found.returncode:
        give_up("the headers are missing; on Debian: apt install libibverbs-dev librdmacm-dev")
    copy = tmp_path_factory.mktemp("probes") / "probes"
    ignored = shutil.ignore_patterns("build*")
    shutil.copytree(root / "calibration" / "probes", copy, ignore=ignored)
    return copy


def make(sources: Path, *arguments: str) -> None:
    done = subprocess.run(
        ["make", "--silent", "-j2", *arguments], cwd=sources, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def probes(sources: Path) -> Path:
    make(sources)
    return sources / "build" / "hcasim-probes"


@pytest.fixture(scope="session")
def checked_probes(sources: Path) -> Path:
    """The same with ASan and UBSan, which the guest does not have as libraries."""
    make(sources, "SANITIZE=1", "LDFLAGS=-static-libasan -static-libubsan")
    return sources / "build-sanitize" / "hcasim-probes"


@pytest.fixture(scope="session")
def compile_c(sources: Path) -> Callable[..., Path]:
    """Compile a program or library of these tests; further words are for the compiler."""

    def build(name: str, *words: str | Path) -> Path:
        source, made = Path(__file__).with_name(name), sources / Path(name).stem
        flags = ("-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-I", sources / "src")
        command = ["cc", *flags, "-o", made, source, *words]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return made

    return build


@pytest.fixture(scope="session")
def always_blocking(compile_c: Callable[..., Path]) -> Path:
    """A library to preload, with which no socket can be set up."""
    return compile_c("always_blocking.c", "-shared", "-fPIC")


@pytest.fixture(scope="session")
def results(
    probes: Path,
    checked_probes: Path,
    compile_c: Callable[..., Path],
    always_blocking: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The folder of what the guest has left behind."""
    programs = {
        "plain": probes,
        "checked": checked_probes,
        # Asks for connections that nobody expects.
        "stranger": compile_c("stranger.c", "-lrdmacm"),
        "always_blocking.so": always_blocking,
    }
    folder, status = run_everything(programs, tmp_path_factory.mktemp("guest"))
    assert status == 0, (folder / "stderr.txt").read_text()
    return folder


@pytest.fixture(scope="session")
def trace(results: Path) -> Callable[[str], Trace]:
    """A trace that was written in the guest, by its name."""
    return lambda name: read_trace(results / f"{name}.jsonl")


@pytest.fixture(scope="session")
def codes(results: Path) -> dict[str, int]:
    """The exit code of each command in the guest."""
    lines = (results / "codes").read_text().splitlines()
    return {name: int(code) for name, code in (line.split() for line in lines)}
