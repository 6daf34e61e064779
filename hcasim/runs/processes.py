"""Workers on this machine: processes of loky."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hcasim.ground.process import look_for_room
from hcasim.runs.place import Task, simulate

if TYPE_CHECKING:
    from hcasim.workloads import Result

IDLE = 20
"""Seconds for which workers stay for the next points: those of a fit, or of a notebook."""
_THREADS = 32 * 2**20
"""Bytes for the stacks of the threads of a pool, which waits for ever if one is missing."""


@dataclass
class _Pool:
    size: int
    executor: Any
    first: Future[int]
    """Is done when the first process is there."""


_kept: list[_Pool] = []
"""At most one that has nothing to do."""
_keeping = threading.Lock()


class Processes:
    """Processes that simulate points.

    Parameters:
        workers: how many are needed.
        most: how many there may be.
    """

    def __init__(self, workers: int, most: int) -> None:
        self.workers = workers
        self._pool: _Pool | None = None
        look_for_room(_THREADS)
        with _keeping:
            while _kept:
                pool = _kept.pop()
                if workers <= pool.size <= most and not pool.executor._flags.broken:
                    self._pool = pool
                else:
                    pool.executor.shutdown(wait=False)

    @property
    def ready(self) -> bool:
        """Whether processes have been started for earlier points."""
        return self._pool is not None

    def begin(self) -> None:
        """Have workers, new ones if the last have died, and wait for the first."""
        self.start().first.result()

    def start(self) -> _Pool:
        """Have workers, new ones if the last have died, who will come."""
        if self._pool is None or self._pool.executor._flags.broken:
            with _often_switched():
                self._pool = _started(self.workers)
        return self._pool

    def submit(self, task: Task, profile: bool) -> Future[list[Result]]:
        """Have points simulated; if a worker dies this, or the future, raises BrokenExecutor."""
        assert self._pool is not None
        bare = [point.bare() for point in task]
        future: Future[list[Result]] = self._pool.executor.submit(simulate, bare, profile)
        return future

    def explain(self, error: Exception, task: Task) -> Exception:
        """Return what to raise of what a task ended with."""
        return error

    def end(self) -> None:
        """End what is running, at once."""
        pool, self._pool = self._pool, None
        if pool is not None:
            _end(pool)

    def leave(self) -> None:
        """Keep the workers for the next points."""
        with _keeping:
            pool, self._pool = self._pool, None
            if pool is not None:
                _kept.append(pool)


@atexit.register
def end_kept() -> None:
    """End workers that have nothing to do."""
    with _keeping:
        while _kept:
            _end(_kept.pop())


def _end(pool: _Pool) -> None:
    feeder = getattr(pool.executor._call_queue, "_thread", None)
    pool.executor.shutdown(kill_workers=True)
    if feeder is not None:
        # It frees semaphores as it ends. At the end of Python a thread is cut off between freeing
        # one and telling the tracker, who would warn of it. A full pipe may keep it for ever.
        feeder.join(1)


def _started(workers: int) -> _Pool:
    from multiprocessing.resource_tracker import ensure_running

    from loky import ProcessPoolExecutor

    # As it starts its process, Python's tracker lets through signals that were blocked: a worker
    # that starts afterwards would see Ctrl-C before it can do anything about it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    executor = ProcessPoolExecutor(workers, timeout=IDLE, initializer=_start_worker)
    return _Pool(workers, executor, executor.submit(os.getpid))


@contextlib.contextmanager
def _often_switched() -> Iterator[None]:
    """Let this thread, which often waits for a file, take turns with one that simulates.

    It would get its turn back after 5 ms each time, and take seconds.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _start_worker() -> None:
    """Let a worker end at once on SIGTERM and SIGHUP, and with the process that started it."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM, signal.SIGHUP})
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    # Before the first point comes.
    import hcasim.workloads.registry  # noqa: F401


def _end_with(parent: int) -> None:
    # A parent that is killed cannot tell its workers, which would go on.
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
