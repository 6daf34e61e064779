"""Running the points of a study: each once, in parallel, and stopped cleanly."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing.context import BaseContext
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from hcasim.catalog import CatalogError, Machine

if TYPE_CHECKING:
    from hcasim.engine import Listener
    from hcasim.workloads import Options, Point

Progress = Callable[[int, int], None]
"""Called with the number of points done and of all points."""


@dataclass(frozen=True)
class Job:
    """One point to simulate.

    Parameters:
        workload: name of the benchmark.
        machine: what it runs on.
        options: message size and the other settings.
    """

    workload: str
    machine: Machine
    options: Options

    @property
    def weight(self) -> int:
        """A guess of the effort, to start long points first: the bytes that are under way."""
        options = self.options
        directions = 2 if "bi" in self.workload else 1
        messages = max(options.window, options.qps) * options.processes * options.ports
        return options.size * messages * directions


def with_swept(row: Mapping[str, Any], job: Job, names: Iterable[str]) -> Mapping[str, Any]:
    """Complete a row with what varies between the points, if it does not say so itself.

    Parameters:
        row: the results of a point.
        job: the point.
        names: of the options that vary.
    """
    missing = {name: getattr(job.options, name) for name in names if name not in row}
    if not missing:
        return row
    first = {name: row[name] for name in ("size", "qps") if name in row}
    return {**first, **missing, **row}


def run_job(job: Job, listener: Listener | None = None) -> Point:
    """Simulate one point in this process.

    Parameters:
        job: the point.
        listener: told what happens in the blocks.

    Raises:
        CatalogError: the machine's limits are too tight for the benchmark.
    """
    from hcasim.verbs import VerbsError
    from hcasim.workloads import run_point

    try:
        return run_point(job.workload, job.machine, job.options, listener)
    except VerbsError as error:
        raise CatalogError([f"{job.workload}: the adapter refuses it: {error}"]) from error


def run_jobs(
    jobs: Iterable[Job], *, workers: int | None = None, progress: Progress | None = None
) -> dict[Job, Point]:
    """Simulate points, equal ones only once.

    Parameters:
        jobs: the points.
        workers: processes to use; all processors without it, this process alone if 1.
        progress: is told how many points are done.

    Returns:
        The result of each point.

    Raises:
        KeyboardInterrupt: after the worker processes have ended.
    """
    # Imported before the workers start, which inherit it.
    import hcasim.workloads  # noqa: F401

    unique = sorted(dict.fromkeys(jobs), key=lambda job: job.weight, reverse=True)
    count = min(workers or os.cpu_count() or 1, len(unique))
    report = progress or (lambda done, total: None)
    report(0, len(unique))
    if count <= 1:
        points = {}
        for job in unique:
            points[job] = run_job(job)
            report(len(points), len(unique))
        return points
    return _run_in_pool(unique, count, report)


def _run_in_pool(jobs: list[Job], count: int, report: Progress) -> dict[Job, Point]:
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(count, mp_context=_context(), initializer=_start_worker)
    points: dict[Job, Point] = {}
    done: SimpleQueue[Future[Point]] = SimpleQueue()
    try:
        with _interruption_held_back(), _quiet_fork():
            futures = {pool.submit(run_job, job): job for job in jobs}
        for future in futures:
            future.add_done_callback(done.put)
        while len(points) < len(jobs):
            # A Ctrl-C that comes just before the wait does not end it: wait only so long.
            try:
                future = done.get(timeout=0.2)
            except Empty:
                continue
            points[futures[future]] = future.result()
            report(len(points), len(jobs))
    except BaseException:
        with _interruption_held_back():
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()
            pool.shutdown(cancel_futures=True)
        raise
    pool.shutdown()
    return points


@contextlib.contextmanager
def _interruption_held_back() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait until the end of the block.

    Processes that are started inside never see Ctrl-C: this one alone answers, and ends them.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_worker() -> None:
    """Let a worker end at once on SIGTERM, and with the process that started it."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    # A parent that is killed cannot tell its workers, which would wait for ever.
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@contextlib.contextmanager
def _quiet_fork() -> Iterator[None]:
    # Python 3.12 and later warn of a fork beside other threads, such as those of a notebook or a
    # linear algebra library. The workers only simulate and take none of their locks.
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
        yield


def _context() -> BaseContext:
    # A fork starts at once and, unlike the other methods, asks nothing of the user's script.
    return multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
