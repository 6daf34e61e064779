"""Points run in parallel, each once, and stop cleanly."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hcasim.workloads
from hcasim.catalog import Machine, resolve
from hcasim.runs.point import Point
from hcasim.runs.pool import OutOfTime, run_points, time_limit
from hcasim.workloads import Options, Result

Simulated = Callable[[], list[Any]]


def jobs(*sizes: int, adapter: str = "mt25208") -> list[Point]:
    machine = resolve("liu2004", adapter=adapter)
    return [Point("window_bw", machine, Options(size=size)) for size in sizes]


@pytest.mark.parametrize("workers", [1, 2])
def test_each_point_is_simulated_once(simulated: Simulated, workers: int) -> None:
    points = run_points([*jobs(4, 8, 16), *jobs(16, 8)], workers=workers)
    assert len(points) == 3
    assert len(simulated()) == 3


def test_in_parallel_the_results_are_those_of_one_process(simulated: Simulated) -> None:
    wanted = [*jobs(4, 8, 16), *jobs(4, 8, adapter="mt23108")]
    alone, together = (run_points(wanted, workers=workers) for workers in (1, 2))
    assert {job: alone[job].row for job in wanted} == {job: together[job].row for job in wanted}


def test_long_points_come_first(simulated: Simulated) -> None:
    run_points(jobs(64, 4096, 512), workers=1)
    assert [size for _, _, size, _ in simulated()] == [4096, 512, 64]


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_counts_up_to_all_points(simulated: Simulated, workers: int) -> None:
    seen: list[tuple[int, int]] = []
    run_points(jobs(4, 8, 16), workers=workers, progress=lambda *now: seen.append(now))
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_nothing_to_do_is_no_fault() -> None:
    assert run_points([]) == {}


def test_a_failure_ends_the_workers_and_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str, machine: Machine, options: Options, log: object) -> Result:
        if options.size == 4096:
            raise ZeroDivisionError
        time.sleep(60)
        raise AssertionError

    monkeypatch.setattr(hcasim.workloads, "run_point", fail)
    began = time.monotonic()
    with pytest.raises(ZeroDivisionError):
        run_points(jobs(4096, 8, 16, 32), workers=2)
    assert time.monotonic() - began < 30
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_time_limit_ends_a_point_inside_and_tells_what_was_finished(
    monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    def run(name: str, machine: Machine, options: Options, listen: object) -> Result:
        while options.size == 4:
            pass
        return Result({"size": options.size})

    monkeypatch.setattr(hcasim.workloads, "run_point", run)
    began = time.monotonic()
    with time_limit(began + 1.5), pytest.raises(OutOfTime) as caught:
        run_points(jobs(4, 8, 16), workers=workers)
    assert time.monotonic() - began < 10
    assert {one.options.size for one in caught.value.results} == {8, 16}
    assert not multiprocessing.active_children()
    # Outside of the block there is none.
    assert len(run_points(jobs(8), workers=1)) == 1


# A shell may have started the tests in the background, and then SIGINT is ignored.
SLEEPER = """
import signal
import time
import hcasim.workloads
from hcasim.catalog import resolve
from hcasim.runs.point import Point
from hcasim.runs.pool import OutOfTime, run_points, time_limit
from hcasim.workloads import Options

signal.signal(signal.SIGINT, signal.default_int_handler)
hcasim.workloads.run_point = lambda *arguments: time.sleep(60)
machine = resolve("liu2004")
started = lambda done, total: print("started", flush=True)
jobs = [Point("window_bw", machine, Options(size=size)) for size in (4, 8, 16)]
try:
    run_points(jobs, workers=2, progress=started)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def start_sleeper(root: Path) -> subprocess.Popen[str]:
    """A process whose workers are under way, in a session of its own."""
    child = subprocess.Popen(
        [sys.executable, "-c", SLEEPER],
        cwd=root,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "started\n"
    time.sleep(0.5)
    return child


@pytest.mark.parametrize("group", [False, True], ids=["parent alone", "whole group"])
def test_an_interruption_ends_the_workers(root: Path, group: bool) -> None:
    child = start_sleeper(root)
    if group:
        os.killpg(child.pid, signal.SIGINT)
    else:
        child.send_signal(signal.SIGINT)
    output, errors = child.communicate(timeout=30)
    assert (output, errors, child.returncode) == ("interrupted\n", "", 0)
    with pytest.raises(ProcessLookupError):
        os.killpg(child.pid, 0)


def test_workers_end_with_a_parent_that_is_killed(root: Path) -> None:
    child = start_sleeper(root)
    child.kill()
    # The workers hold its output open as long as they live.
    assert child.communicate(timeout=30) == ("", "")
