"""Many points: each once, here, in processes of this machine or of others, stopped cleanly."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future
from contextvars import ContextVar
from os import PathLike, fspath
from queue import Empty, SimpleQueue
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, TypeVar

from hcasim.ground.errors import call_fault, count_fault, name_fault, refuse
from hcasim.ground.process import look_for_room
from hcasim.runs.point import Work
from hcasim.runs.scheduler import ADDRESS, Scheduler

if TYPE_CHECKING:
    from hcasim.runs.store import Store
    from hcasim.workloads import Result

FIRST = 1.0
"""Seconds that a process simulates alone before it starts workers, which take as long to come;
also what is guessed to take longer is left to them."""
TRIES = 3
"""How often a point is tried whose worker dies; the last time nothing runs beside it."""
TASK = 0.2
"""Seconds of work that a worker is given at once, if points are shorter: each task costs some."""
BEAT = 0.2
"""Seconds after which a wait looks whether it is to end."""
IDLE = 20
"""Seconds for which workers stay for the next points: those of a fit, or of a notebook."""
_THREADS = 32 * 2**20
"""Bytes for the stacks of the threads of a pool, which waits for ever if one is missing."""

W = TypeVar("W", bound=Work)
Progress = Callable[[int, int], None]
"""Called with the number of points done and of all points."""
Done = tuple[float, list["Result"]]
"""Seconds that some points took, and their results."""


class WorkerDied(Exception):
    """Each process that simulated one of some points died."""

    def __init__(self, points: Sequence[Work]) -> None:
        each = ", ".join(point.title for point in points)
        found = f"each process that simulated {each} died"
        super().__init__(f"{found}; allowed: more memory, if that ran out, or smaller points")


class OutOfTime(Exception):
    """The time of `time_limit` is over; what was running has been ended."""


_END: ContextVar[float | None] = ContextVar("end", default=None)
_SCHEDULER: ContextVar[Scheduler | None] = ContextVar("scheduler", default=None)
_alone = 0.0
"""Seconds for which this process has simulated so far, while there were no workers."""


def run_points(
    points: Iterable[W],
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    store: Store | None = None,
    profile: bool = False,
) -> dict[W, Result]:
    """Simulate points, equal ones only once, and return the result of each.

    Parameters:
        points: what to simulate.
        workers: processes to use; all processors without it, this process alone if 1.
        progress: is told how many points are done.
        store: knows results of earlier runs and keeps each as soon as it is there; or none.
        profile: also measure what each costs, whatever the store knows.

    Raises:
        CatalogError: a number of processes that cannot be, or a scheduler that cannot be used.
        KeyboardInterrupt: after the worker processes have ended.
        OutOfTime: if `time_limit` is over, after the worker processes have ended.
        WorkerDied: each process that simulates a point dies.
    """
    scheduler = _SCHEDULER.get()
    refuse(
        count_fault("jobs", workers),
        call_fault("progress", progress),
        "jobs: contradicts the scheduler, which has workers of its own; leave one out"
        if scheduler is not None and workers is not None
        else "",
    )
    unique = dict.fromkeys(points)
    store = None if profile else store
    results = {} if store is None else store.find(unique)
    missing = [point for point in unique if point not in results]
    missing.sort(key=lambda point: point.weight, reverse=True)
    report = progress or (lambda done, total: None)

    def note(point: Any, result: Result) -> None:
        results[point] = result
        if store is not None:
            store.keep(point, result)
        report(len(results), len(unique))

    report(len(results), len(unique))
    most = workers or os.cpu_count() or 1
    count = min(most, len(missing))
    if missing and scheduler is not None:
        _HandOut(scheduler, missing, note, profile).run()
    # What is in another process can be ended at any time.
    elif count > 1 or (missing and _END.get() is not None):
        _HandOut(_processes(count, most), missing, note, profile).run()
    else:
        for point in missing:
            note(point, point.run(profile=profile))
    return results


@contextlib.contextmanager
def time_limit(end: float | None) -> Iterator[None]:
    """End what is simulated inside at a moment of the monotonic clock, in the middle of a point."""
    token = _END.set(end)
    try:
        yield
    finally:
        _END.reset(token)


@contextlib.contextmanager
def on_scheduler(address: str | PathLike[str] | None) -> Iterator[None]:
    """Let the workers of a Dask scheduler, by its address or file, simulate inside the block."""
    if address is None:
        yield
        return
    refuse(name_fault("scheduler", address, ADDRESS))
    scheduler = Scheduler(fspath(address))
    token = _SCHEDULER.set(scheduler)
    try:
        yield
    finally:
        _SCHEDULER.reset(token)
        scheduler.end()


class _HandOut:
    """Brings points to workers until all are done; what dies with a worker comes again."""

    def __init__(
        self,
        place: _Processes | Scheduler,
        points: Sequence[Work],
        note: Callable[[Work, Result], None],
        profile: bool,
    ) -> None:
        self._place, self._note, self._profile = place, note, profile
        self._left = deque(points)
        self._suspects: deque[Work] = deque()
        self._running: dict[Future[Done], list[Work]] = {}
        self._ended: SimpleQueue[Future[Done]] = SimpleQueue()
        self._lost: list[Work] = []
        self._tries: Counter[Work] = Counter()
        self._seconds, self._count = 0.0, 0

    def run(self) -> None:
        end = _END.get()
        try:
            if end is None and not self._place.ready:
                self._run_here()
            while self._left or self._suspects or self._running or self._lost:
                if end is not None and monotonic() >= end:
                    raise OutOfTime
                if self._lost and not self._running:
                    self._sort_lost()
                if not self._lost:
                    self._fill()
                with contextlib.suppress(Empty):
                    self._take(self._ended.get(timeout=BEAT))
            if deadly := [one for one, tries in self._tries.items() if tries == TRIES]:
                raise WorkerDied(deadly)
        except BaseException:
            with _interruption_held_back():
                while not self._ended.empty():
                    with contextlib.suppress(Exception):
                        self._take(self._ended.get())
                self._place.end()
            raise
        self._place.leave()

    def _run_here(self) -> None:
        """Simulate what is short in this process, until workers are worth their start and there."""
        global _alone
        began, done = monotonic(), 0
        while self._left and self._left[-1].weight < FIRST and not self._place.ready:
            point = self._left.pop()
            self._note(point, point.run(profile=self._profile))
            elapsed, done = monotonic() - began, done + 1
            long = max(_alone + elapsed, elapsed / done * len(self._left)) > FIRST
            if long and not self._running:
                self._fill()
        _alone += monotonic() - began

    def _fill(self) -> None:
        """Give each worker points, and the next; a suspect is done when nothing else is."""
        most = 2 * self._place.workers
        while len(self._running) < most:
            share = min(len(self._left) // most, int(TASK * self._count / (self._seconds or 1)))
            task = [self._left.popleft() for _ in range(min(max(1, share), len(self._left)))]
            if not (task or self._running) and self._suspects:
                task = [self._suspects.popleft()]
            if not task:
                break
            try:
                bare = [point.bare() for point in task]
                future = self._place.submit(_simulate, bare, self._profile)
            except BrokenExecutor:
                self._lost += task
                break
            self._running[future] = task
            future.add_done_callback(self._ended.put)

    def _take(self, future: Future[Done]) -> None:
        task = self._running.pop(future)
        try:
            seconds, results = future.result()
        except BrokenExecutor:
            self._lost += task
            return
        except Exception as error:
            if type(error).__name__ == "KilledWorker":
                raise WorkerDied(task) from error
            self._place.explain(error)
            raise
        self._seconds += seconds
        self._count += len(task)
        for point, result in zip(task, results, strict=True):
            self._note(point, result)

    def _sort_lost(self) -> None:
        self._place.end()
        self._tries.update(self._lost)
        for point in self._lost:
            if self._tries[point] < TRIES:
                alone = self._tries[point] == TRIES - 1
                (self._suspects if alone else self._left).appendleft(point)
        self._lost = []


def _simulate(points: Sequence[Work], profile: bool) -> Done:
    began = monotonic()
    results = [point.run(profile=profile) for point in points]
    return monotonic() - began, results


class _Processes:
    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._executor: Any = None
        self._first: Future[int] | None = None

    @property
    def ready(self) -> bool:
        return self._first is not None and self._first.done()

    def submit(self, *call: Any) -> Future[Any]:
        """Have a worker call a function; if one dies this, or the future, raises BrokenExecutor."""
        from multiprocessing.resource_tracker import ensure_running

        from loky import ProcessPoolExecutor

        with _interruption_held_back():
            if self._executor is None:
                # As it starts its process, Python's tracker lets through signals that were
                # blocked: a worker that starts afterwards would see Ctrl-C.
                with _interruption_held_back():
                    ensure_running()
                begin = {"initializer": _start_worker, "initargs": (os.getpid(),)}
                self._executor = ProcessPoolExecutor(self.workers, timeout=IDLE, **begin)
                self._first = self._executor.submit(os.getpid)
            future: Future[Any] = self._executor.submit(*call)
        return future

    def explain(self, error: Exception) -> None:
        """Raise what a call ended with in better words; there are none."""

    def end(self) -> None:
        executor, self._executor, self._first = self._executor, None, None
        if executor is not None:
            executor.shutdown(kill_workers=True)
            for thread in threading.enumerate():
                # What brings it tasks frees semaphores as it ends. If Python ends meanwhile, its
                # tracker warns of them. A full pipe may keep it for ever.
                if thread.name == "QueueFeederThread":
                    thread.join(1)

    def leave(self) -> None:
        with _KEPT_LOCK:
            _kept.append(self)


_kept: list[_Processes] = []
_KEPT_LOCK = threading.Lock()


def _processes(workers: int, most: int) -> _Processes:
    """Return so many processes, or those that are there unless they are more than may be."""
    look_for_room(_THREADS)
    with _KEPT_LOCK:
        if _kept and workers <= _kept[-1].workers <= most:
            return _kept.pop()
    end_workers()
    return _Processes(workers)


def end_workers() -> None:
    """End workers that have nothing to do, for which the interpreter would wait."""
    with _KEPT_LOCK:
        while _kept:
            _kept.pop().end()


def _start_worker(parent: int) -> None:
    """Let a worker end with its parent, which cannot tell it if it is killed."""

    def watch() -> None:
        while os.getppid() == parent:
            sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    # Before the first point comes.
    import hcasim.workloads.registry  # noqa: F401


@contextlib.contextmanager
def _interruption_held_back() -> Iterator[None]:
    """Let Ctrl-C, SIGTERM and SIGHUP wait until the end of the block.

    Threads and processes that are started inside never see them: the main thread alone answers.
    """
    ending = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ending)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
