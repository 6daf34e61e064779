"""Points run in parallel, each once, and stop cleanly."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import BrokenExecutor, Future
from math import inf
from pathlib import Path
from typing import Any

import pytest

from hcasim.catalog import resolve
from hcasim.runs import executor
from hcasim.runs.executor import TRIES, OutOfTime, WorkerDied, run_points, time_limit
from hcasim.runs.point import Point
from hcasim.runs.store import Store
from hcasim.workloads import Options, Result
from tests.unit.runs.points import Doing, doing, told, wait_for_end

Simulated = Callable[[], list[Any]]


def jobs(*sizes: int, adapter: str = "mt25208") -> list[Point]:
    machine = resolve("liu2004", adapter=adapter)
    return [Point("window_bw", machine, Options(size=size)) for size in sizes]


@pytest.mark.parametrize("workers", [1, 2])
def test_each_point_is_simulated_once(simulated: Simulated, workers: int) -> None:
    points = run_points([*jobs(4, 8, 16), *jobs(16, 8)], workers=workers)
    assert len(points) == 3
    assert len(simulated()) == 3


def test_long_points_come_first(simulated: Simulated) -> None:
    run_points(jobs(64, 4096, 512), workers=1)
    assert [size for _, _, size, _ in simulated()] == [4096, 512, 64]


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_counts_up_to_all_points(simulated: Simulated, workers: int) -> None:
    seen: list[tuple[int, int]] = []
    run_points(jobs(4, 8, 16), workers=workers, progress=lambda *now: seen.append(now))
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]


class Breaking(executor._Processes):
    """Workers of which one dies of a point, so many times, as others have just been finished."""

    ready = True  # type: ignore[assignment]

    def __init__(self, size: int, deaths: float = 1) -> None:
        super().__init__(2)
        self.size, self.deaths = size, deaths
        self.asked: Counter[int] = Counter()
        self.tasks: list[int] = []

    def submit(self, *call: Any) -> Future[Any]:
        sizes = [point.options.size for point in call[1]]
        self.asked.update(sizes)
        self.tasks.append(len(sizes))
        future: Future[Any] = Future()
        if self.size in sizes and self.asked[self.size] <= self.deaths:
            future.set_exception(BrokenExecutor())
        else:
            future.set_result((len(sizes) / 1000, [Result({"size": size}) for size in sizes]))
        return future


def handed_out(place: Breaking, sizes: Iterable[int]) -> list[int]:
    noted: list[int] = []
    points = jobs(*sizes)
    executor._HandOut(place, points, lambda _, one: noted.append(one.row["size"]), False).run()
    return noted


def test_what_was_finished_as_a_worker_died_is_kept_and_not_done_again() -> None:
    sizes = [4096, 4, 8, 16, 32, 64]
    place = Breaking(4096)
    assert sorted(handed_out(place, sizes)) == sorted(sizes)
    assert place.asked == Counter({4096: 2, **dict.fromkeys(sizes[1:], 1)})


def test_short_points_come_several_to_a_task_until_few_are_left() -> None:
    place = Breaking(0, 0)
    assert sorted(handed_out(place, range(1, 101))) == [*range(1, 101)]
    assert place.tasks[0] == place.tasks[-1] == 1
    # Four tasks are under way, and no worker gets more than a fourth of what is left.
    assert max(place.tasks) in range(10, 25)


@pytest.mark.parametrize("deadly", [1, 50, 100])
def test_of_points_that_are_given_together_only_the_deadly_one_is_blamed(deadly: int) -> None:
    place = Breaking(deadly, inf)
    with pytest.raises(WorkerDied, match=f"simulated window_bw with size {deadly} died"):
        handed_out(place, range(1, 101))
    assert set(place.asked) == {*range(1, 101)}
    assert place.asked[deadly] == TRIES


def test_what_workers_are_sent_has_the_same_result_and_is_much_smaller() -> None:
    (point,) = jobs(4096)
    assert point.bare().key == point.key
    assert point.bare().run() == point.run()
    assert len(pickle.dumps(point.bare())) < len(pickle.dumps(point)) / 3


@pytest.fixture
def workers_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers start with the first point."""
    monkeypatch.setattr(executor, "FIRST", 0)


def few(log: Path, first: str = "", number: int = 60) -> list[Doing]:
    """Return points that take a moment, after a long one that does something."""
    return doing(log, {4096: first, **dict.fromkeys(range(1, number + 1), "")})


@pytest.mark.usefixtures("workers_at_once")
def test_a_failure_ends_the_workers_and_is_passed_on(tmp_path: Path) -> None:
    deeds = {4096: "fail", 2048: "sleep", 1024: "sleep"} | dict.fromkeys(range(1, 61), "")
    with pytest.raises(ZeroDivisionError):
        run_points(doing(tmp_path / "log", deeds), workers=2)
    assert not (tmp_path / "log slept").exists()
    assert not multiprocessing.active_children()


@pytest.mark.check
@pytest.mark.usefixtures("workers_at_once")
def test_a_point_of_which_every_worker_dies_is_named(tmp_path: Path) -> None:
    kept = Store(tmp_path / "kept", "")
    points = few(tmp_path / "log", "die 99")
    with pytest.raises(WorkerDied, match="simulated window_bw with size 4096 died"):
        run_points(points, workers=2, store=kept)
    assert len(told(tmp_path / "log", 4096)) == 3
    assert not multiprocessing.active_children()
    # All others are there.
    assert len(kept.find(points)) == len(points) - 1


def test_a_second_is_simulated_here_before_workers_start(tmp_path: Path) -> None:
    run_points(few(tmp_path / "log", number=2), workers=2)
    assert set(told(tmp_path / "log")) == {os.getpid()}


@pytest.mark.check
@pytest.mark.usefixtures("workers_at_once")
def test_workers_stay_for_the_next_points(tmp_path: Path) -> None:
    run_points(few(tmp_path / "log"), workers=2)
    before = set(told(tmp_path / "log")) - {os.getpid()}
    assert len(before) == 2
    run_points(few(tmp_path / "next"), workers=2)
    assert set(told(tmp_path / "next")) - {os.getpid()} <= before


@pytest.mark.check
@pytest.mark.parametrize("workers", [1, 2])
def test_a_time_limit_ends_a_point_inside_and_what_was_finished_is_kept(
    tmp_path: Path, workers: int
) -> None:
    points = doing(tmp_path / "log", {16: "", 8: "", 4: "sleep"})
    store = Store(tmp_path / "kept", "")
    # Processes that have started are kept, so that the limit is not spent on their start.
    run_points(few(tmp_path / "first"), workers=workers)
    with time_limit(time.monotonic() + 8), pytest.raises(OutOfTime):
        run_points(points, workers=workers, store=store)
    assert not (tmp_path / "log slept").exists()
    assert {one.options.size for one in store.find(points)} == {8, 16}
    assert not multiprocessing.active_children()
    # Outside of the block there is none.
    assert len(run_points(jobs(8), workers=1)) == 1


# In a process of its own: once something has started Python's tracker, it is never started again.
BLOCKED = """
import signal
from hcasim.runs.executor import _Processes

if __name__ == "__main__":
    place = _Processes(1)
    blocked = place.submit(signal.pthread_sigmask, signal.SIG_BLOCK, ()).result()
    print(signal.SIGINT in blocked)
    place.end()
"""


def test_workers_never_see_ctrl_c(root: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(BLOCKED)
    child = subprocess.run([sys.executable, script], cwd=root, capture_output=True, text=True)
    assert (child.stdout, child.stderr, child.returncode) == ("True\n", "", 0)


# A shell may have started the tests in the background, and then SIGINT is ignored.
SLEEPER = """
import signal
import sys
import threading
from pathlib import Path
from hcasim.runs import executor
from tests.unit.runs.points import doing

signal.signal(signal.SIGINT, signal.default_int_handler)
executor.FIRST = 0
deeds = dict.fromkeys((32, 64), "sleep") | dict.fromkeys(range(1, 61), "")
started = lambda done, total: print("started", flush=True) if not done else None
try:
    executor.run_points(doing(Path(sys.argv[1]), deeds), workers=2, progress=started)
except KeyboardInterrupt:
    print("interrupted", *threading.enumerate()[1:], flush=True)
"""


def start_sleeper(root: Path, log: Path) -> subprocess.Popen[str]:
    """A process whose workers are under way, in a session of its own."""
    child = subprocess.Popen(
        [sys.executable, "-c", SLEEPER, str(log)],
        cwd=root,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "started\n"
    while not log.exists() or len({*told(log)} - {child.pid}) < 2:
        time.sleep(0.05)
    return child


@pytest.mark.check
@pytest.mark.parametrize("group", [False, True], ids=["parent alone", "whole group"])
def test_an_interruption_ends_the_workers(root: Path, tmp_path: Path, group: bool) -> None:
    child = start_sleeper(root, tmp_path / "log")
    if group:
        os.killpg(child.pid, signal.SIGINT)
    else:
        child.send_signal(signal.SIGINT)
    output, errors = child.communicate(timeout=30)
    assert (output, errors, child.returncode) == ("interrupted\n", "", 0)
    wait_for_end(child.pid)


@pytest.mark.check
def test_workers_end_with_a_parent_that_is_killed(root: Path, tmp_path: Path) -> None:
    child = start_sleeper(root, tmp_path / "log")
    child.kill()
    # The workers hold its output open as long as they live.
    output, errors = child.communicate(timeout=30)
    assert output == ""
    # loky tells what of a process that was killed it puts away.
    assert "Traceback" not in errors
    wait_for_end(child.pid)
