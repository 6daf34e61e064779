"""The probes, built from the checkout, and a virtual machine to run them in."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hcasim.traces import Trace, read_trace
from tests.probes.guest import run_everything
from tests.probes.machine import Machine, Outcome, Unavailable
from tests.programs import give_up

NEEDED = "infiniband/verbs.h", "rdma/rdma_cma.h"


@pytest.fixture(scope="session")
def sources(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources, so that building leaves nothing in the checkout."""
    for program in ("cc", "make"):
        if shutil.which(program) is None:
            give_up(f"{program} is missing; on Debian: apt install gcc make")
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
def stranger(sources: Path) -> Path:
    """A program that asks for connections that nobody expects."""
    program = sources / "stranger"
    compile_c("stranger.c", program, "-lrdmacm")
    return program


@pytest.fixture(scope="session")
def always_blocking(sources: Path) -> Path:
    """A library to preload, with which no socket can be set up."""
    library = sources / "always_blocking.so"
    compile_c("always_blocking.c", library, "-shared", "-fPIC")
    return library


def compile_c(name: str, into: Path, *words: str) -> None:
    """Compile a program or library of these tests."""
    source = Path(__file__).with_name(name)
    command = ["cc", "-Wall", "-Wextra", "-Werror", "-o", into, source, *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    work = tmp_path_factory.mktemp("machine")
    try:
        yield Machine(work)
    except Unavailable as reason:
        give_up(str(reason))
    # Half a gigabyte of packages.
    shutil.rmtree(work, ignore_errors=True)


@pytest.fixture(scope="session")
def outcome(
    probes: Path,
    checked_probes: Path,
    stranger: Path,
    always_blocking: Path,
    machine: Machine,
    tmp_path_factory: pytest.TempPathFactory,
) -> Outcome:
    """What the guest has left behind."""
    programs = {
        "plain": probes,
        "checked": checked_probes,
        "stranger": stranger,
        "always_blocking.so": always_blocking,
    }
    try:
        return run_everything(machine, programs, tmp_path_factory.mktemp("guest"))
    except Unavailable as reason:
        give_up(str(reason))


@pytest.fixture(scope="session")
def trace(outcome: Outcome) -> Callable[[str], Trace]:
    """A trace that was written in the guest, by its name."""
    return lambda name: read_trace(outcome.folder / f"{name}.jsonl")


@pytest.fixture(scope="session")
def codes(outcome: Outcome) -> dict[str, int]:
    """The exit code of each command in the guest."""
    assert outcome.status == 0, (outcome.folder / "stderr.txt").read_text()
    lines = (outcome.folder / "codes").read_text().splitlines()
    return {name: int(code) for name, code in (line.split() for line in lines)}
