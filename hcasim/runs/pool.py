"""Many points on this machine: each once, in parallel, and stopped cleanly."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing.context import BaseContext
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from hcasim.runs.point import Point

if TYPE_CHECKING:
    from hcasim.workloads import Result

Progress = Callable[[int, int], None]
"""Called with the number of points done and of all points."""


def run_points(
    points: Iterable[Point], *, workers: int | None = None, progress: Progress | None = None
) -> dict[Point, Result]:
    """Simulate points, equal ones only once.

    Parameters:
        points: what to simulate.
        workers: processes to use; all processors without it, this process alone if 1.
        progress: is told how many points are done.

    Returns:
        The result of each point.

    Raises:
        KeyboardInterrupt: after the worker processes have ended.
    """
    # Imported before the workers start, which inherit it.
    import hcasim.workloads.registry  # noqa: F401

    unique = sorted(dict.fromkeys(points), key=lambda point: point.weight, reverse=True)
    count = min(workers or os.cpu_count() or 1, len(unique))
    report = progress or (lambda done, total: None)
    report(0, len(unique))
    if count > 1:
        return _run_in_pool(unique, count, report)
    results = {}
    for point in unique:
        results[point] = point.run()
        report(len(results), len(unique))
    return results


def _run_in_pool(points: list[Point], count: int, report: Progress) -> dict[Point, Result]:
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(count, mp_context=_context(), initializer=_start_worker)
    results: dict[Point, Result] = {}
    done: SimpleQueue[Future[Result]] = SimpleQueue()
    try:
        with _interruption_held_back(), _quiet_fork():
            futures = {pool.submit(point.run): point for point in points}
        for future in futures:
            future.add_done_callback(done.put)
        while len(results) < len(points):
            # A Ctrl-C that comes just before the wait does not end it: wait only so long.
            try:
                future = done.get(timeout=0.2)
            except Empty:
                continue
            results[futures[future]] = future.result()
            report(len(results), len(points))
    except BaseException:
        with _interruption_held_back():
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()
            pool.shutdown(cancel_futures=True)
        raise
    pool.shutdown()
    return results


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
