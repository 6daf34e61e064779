"""Many points on this machine: each once, in parallel, and stopped cleanly."""

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
from contextvars import ContextVar
from multiprocessing.context import BaseContext
from queue import Empty, SimpleQueue
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING

from hcasim.ground.arguments import count_fault, refuse
from hcasim.ground.room import look_for_room
from hcasim.runs.point import Point

if TYPE_CHECKING:
    from hcasim.runs.store import Store
    from hcasim.workloads import Result

_THREADS = 32 * 2**20
"""Bytes for the stacks of the three threads of a pool, which waits for ever if one is missing."""

Progress = Callable[[int, int], None]
"""Called with the number of points done and of all points."""


def run_points(
    points: Iterable[Point],
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    store: Store | None = None,
    profile: bool = False,
) -> dict[Point, Result]:
    """Simulate points, equal ones only once.

    Parameters:
        points: what to simulate.
        workers: processes to use; all processors without it, this process alone if 1.
        progress: is told how many points are done.
        store: knows results of earlier runs and keeps each as soon as it is there; or none.
        profile: also measure what each costs, whatever the store knows.

    Returns:
        The result of each point.

    Raises:
        CatalogError: a number of processes that cannot be.
        KeyboardInterrupt: after the worker processes have ended.
        OutOfTime: if `time_limit` is over, after the worker processes have ended.
    """
    refuse(count_fault("jobs", workers))
    # Imported before the workers start, which inherit it.
    import hcasim.workloads.registry  # noqa: F401

    unique = dict.fromkeys(points)
    store = None if profile else store
    results = {} if store is None else store.find(unique)
    missing = [point for point in unique if point not in results]
    missing.sort(key=lambda point: point.weight, reverse=True)

    def note(point: Point, result: Result) -> None:
        results[point] = result
        if store is not None:
            store.keep(point, result)
        report(len(results), len(unique))

    report = progress or (lambda done, total: None)
    report(len(results), len(unique))
    count = min(workers or os.cpu_count() or 1, len(missing))
    # What is in another process can be ended at any time.
    if count > 1 or (missing and _END.get() is not None):
        try:
            _run_in_pool(missing, count, note, profile)
        except OutOfTime as error:
            error.results = results
            raise
    else:
        for point in missing:
            note(point, point.run(profile=profile))
    return results


class OutOfTime(Exception):
    """The time of `time_limit` is over; what was running has been ended.

    Attributes:
        results: of the points that were finished before.
    """

    results: Mapping[Point, Result] = MappingProxyType({})


_END: ContextVar[float | None] = ContextVar("end", default=None)


@contextlib.contextmanager
def time_limit(end: float | None) -> Iterator[None]:
    """End what is simulated inside the block, in the middle of a point too.

    Parameters:
        end: the moment of the monotonic clock; no limit if None.
    """
    token = _END.set(end)
    try:
        yield
    finally:
        _END.reset(token)


def _run_in_pool(
    points: list[Point], count: int, note: Callable[[Point, Result], None], profile: bool
) -> None:
    look_for_room(_THREADS)
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(count, mp_context=_context(), initializer=_start_worker)
    end = _END.get()
    left = len(points)
    done: SimpleQueue[Future[Result]] = SimpleQueue()
    try:
        with _interruption_held_back(), _quiet_fork():
            futures = {pool.submit(point.run, None, profile): point for point in points}
        for future in futures:
            future.add_done_callback(done.put)
        while left:
            if end is not None and monotonic() >= end:
                raise OutOfTime
            # A Ctrl-C that comes just before the wait does not end it: wait only so long.
            try:
                future = done.get(timeout=0.2)
            except Empty:
                continue
            note(futures[future], future.result())
            left -= 1
    except BaseException:
        with _interruption_held_back():
            for worker in set(multiprocessing.active_children()) - others:
                worker.terminate()
            pool.shutdown(cancel_futures=True)
        raise
    pool.shutdown()


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
