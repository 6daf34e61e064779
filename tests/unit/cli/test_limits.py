"""Memory or files that run out are a line and a code of their own."""

import re
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hcasim.workloads

Hcasim = Callable[..., Any]
CHECK = pytest.mark.check


def limit(kind: int, most: int) -> dict[str, Any]:
    """What gives a process a limit."""
    return {"timeout": 600, "preexec_fn": lambda: resource.setrlimit(kind, (most, most))}


def address_space(megabytes: int) -> dict[str, Any]:
    """What gives a process so much of it."""
    return limit(resource.RLIMIT_AS, megabytes * 2**20)


def assert_memory_ran_out(done: Any) -> None:
    told = [
        line for line in done.messages.splitlines() if not line.startswith(("free: ", "Bounds"))
    ]
    assert done.code == 71, done.messages
    assert len(told) == 1
    assert told[0].startswith("Error: memory ran out; allowed: ")


# OpenBLAS ends a process with 1 or waits for ever where it finds too little: NumPy's as it is
# loaded and first used, then SciPy's.
@pytest.mark.parametrize(
    ("megabytes", "jobs"),
    [
        (120, 2),
        (140, 1),
        (256, 1),
        *(
            pytest.param(*one, marks=CHECK)
            for one in ((96, 1), (200, 1), (212, 2), (290, 1), (512, 2))
        ),
    ],
)
def test_a_fit_is_right_or_says_that_memory_ran_out_whatever_its_address_space(
    process: Hcasim, exact: Path, megabytes: int, jobs: int
) -> None:
    fit = ("--testbed", "liu2004", "--free", "adapter.send.latency", "-j", str(jobs))
    words = ("calibrate", str(exact / "write_lat.jsonl"), *fit)
    done = process(*words, **address_space(megabytes))
    if megabytes < 512:
        assert_memory_ran_out(done)
    else:
        assert done.code == 0
        assert re.search(r"write_lat  fitted +2 .* 0\.\d\d\n", done.output)


@pytest.mark.parametrize(
    ("megabytes", "words"),
    [
        (38, ("bench", "write_lat", "--testbed", "liu2004", "--size", "8,64", "-j", "2")),
        (58, ("bench", "write_lat", "--testbed", "liu2004", "--size", "8,64", "-j", "2")),
        (96, ("run", "liu2004/fig05", "--plot", "m.svg", "-j", "1")),
        (116, ("run", "liu2004/fig05", "--plot", "m.svg", "-j", "1")),
        # Where that is too little depends on what the rest takes.
        pytest.param(
            *(195, ("run", "liu2004/fig05", "--plot", "m.svg", "-j", "1")), marks=pytest.mark.pure
        ),
    ],
)
def test_a_command_with_too_little_address_space_says_so_and_writes_nothing(
    process: Hcasim, in_empty_folder: Path, megabytes: int, words: tuple[str, ...]
) -> None:
    assert_memory_ran_out(process(*words, cwd=in_empty_folder, **address_space(megabytes)))
    assert list(in_empty_folder.iterdir()) == []


@pytest.mark.parametrize("files", [5, *(pytest.param(one, marks=CHECK) for one in (8, 12))])
def test_a_command_that_may_open_too_few_files_says_so(process: Hcasim, files: int) -> None:
    words = ("run", "liu2004/fig09", "--no-cache", "-j", "2")
    done = process(*words, **limit(resource.RLIMIT_NOFILE, files))
    assert (done.code, done.output) == (71, "")
    (line,) = done.messages.splitlines()
    allowed = f"allowed: {files}; `ulimit -n` allows more"
    assert line == f"Error: too many files would be open; {allowed}"


def test_memory_that_runs_out_in_a_worker_is_a_line_and_a_code_of_its_own(
    hcasim_: Hcasim, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*words: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(hcasim.workloads, "run_point", fail)
    found = hcasim_("bench", "write_lat", "--testbed", "liu2004", "--size", "8,64", "-j", "2")
    assert (found.code, found.output) == (71, "")
    assert found.messages.startswith("Error: memory ran out; allowed: ")
    assert found.messages.count("\n") == 1
