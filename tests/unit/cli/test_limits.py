"""Memory or files that run out are a line and a code of their own."""

import resource
from typing import Any

import pytest

import hcasim.workloads
from tests.unit.cli.conftest import Hcasim

WORDS = ("bench", "write_lat", "--testbed", "liu2004", "--size", "8,64", "-j", "2", "--no-cache")
CHECK = pytest.mark.check


def limit(kind: int, most: int) -> dict[str, Any]:
    """What gives a process a limit."""
    return {"timeout": 600, "preexec_fn": lambda: resource.setrlimit(kind, (most, most))}


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
    found = hcasim_(*WORDS)
    assert (found.code, found.output) == (71, "")
    assert found.messages.startswith("Error: memory ran out; allowed: ")
    assert found.messages.count("\n") == 1
