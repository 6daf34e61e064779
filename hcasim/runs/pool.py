"""Many points: each once, in parallel, here or on a cluster, and stopped cleanly."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from os import PathLike, fspath
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from hcasim.ground.errors import call_fault, count_fault, name_fault, refuse
from hcasim.runs.place import BEAT, Crew, Note, Place, simulate_point
from hcasim.runs.point import Work
from hcasim.runs.processes import Processes
from hcasim.runs.scheduler import ADDRESS, Scheduler

if TYPE_CHECKING:
    from hcasim.runs.store import Store
    from hcasim.workloads import Result

FIRST = 1.0
"""Seconds that a process simulates alone before it starts workers, which take as long to come."""
MANY = 256
"""Points for which workers are started before it is known how long a point takes."""

W = TypeVar("W", bound=Work)
Progress = Callable[[int, int], None]
"""Called with the number of points done and of all points."""


def run_points(
    points: Iterable[W],
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    store: Store | None = None,
    profile: bool = False,
) -> dict[W, Result]:
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
    one_by_one = threading.Lock()

    def note(point: W, result: Result) -> None:
        if result.inputs:
            from hcasim.runs.inputs import tell_inputs

            tell_inputs(result.inputs)
        with one_by_one:
            results[point] = result
            if store is not None:
                store.keep(point, result)
            report(len(results), len(unique))

    report = progress or (lambda done, total: None)
    report(len(results), len(unique))
    most = workers or os.cpu_count() or 1
    count = min(most, len(missing))
    end = _END.get()
    try:
        if missing and scheduler is not None:
            _run_by(scheduler, missing, note, profile, here=False)
        # What is in another process can be ended at any time.
        elif missing and end is not None:
            _run_by(Processes(count, most), missing, note, profile, here=False)
        elif count > 1:
            _run_by(Processes(count, most), missing, note, profile, here=True)
        else:
            for point in missing:
                note(point, simulate_point(point, profile))
    except OutOfTime as error:
        error.results = results
        raise
    return results


class OutOfTime(Exception):
    """The time of `time_limit` is over; what was running has been ended.

    Attributes:
        results: of the points that were finished before.
    """

    results: Mapping[Any, Result] = MappingProxyType({})


_END: ContextVar[float | None] = ContextVar("end", default=None)
_SCHEDULER: ContextVar[Scheduler | None] = ContextVar("scheduler", default=None)


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


@contextlib.contextmanager
def on_scheduler(address: str | PathLike[str] | None) -> Iterator[None]:
    """Have what is simulated inside the block simulated by the workers of a Dask scheduler.

    Parameters:
        address: such as "tcp://node1:8786", or the path of the file that it has written; without
            it all stays as it is.
    """
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
        scheduler.close()


def expect_points(count: int, workers: int | None = None) -> None:
    """Have workers come while points are planned, if there will be many.

    Parameters:
        count: how many points there will be.
        workers: as `run_points` will be told.
    """
    most = workers or os.cpu_count() or 1
    if count >= MANY and most > 1 and _SCHEDULER.get() is None:
        place = Processes(most, most)
        with _interruption_held_back():
            place.start()
        place.leave()


_alone = 0.0
"""Seconds for which this process has simulated so far, while there were no workers."""


def _run_by(place: Place, points: Sequence[Work], note: Note, profile: bool, here: bool) -> None:
    """Simulate points at a place, and in this process until the first worker is there."""
    global _alone
    end = _END.get()
    left = deque(points)
    crew = Crew(
        place, left, note, profile, 0 if place.ready or not here else max(0, FIRST - _alone)
    )
    with _interruption_held_back():
        crew.start()
    began, done = monotonic(), 0
    try:
        while here and crew.is_alive() and not crew.busy:
            try:
                # The workers begin with the longest.
                point = left.pop()
            except IndexError:
                break
            note(point, simulate_point(point, profile))
            done += 1
            if (monotonic() - began) / done * len(left) > FIRST:
                # As the shortest come first, the rest takes longer than that.
                crew.wake()
        _alone += monotonic() - began if here else 0
        crew.wake()
        if not left and not crew.busy:
            # No worker has come yet, and none has a point.
            place.leave()
            return
        while crew.is_alive():
            if end is not None and monotonic() >= end:
                raise OutOfTime
            crew.join(BEAT)
        if crew.error is not None:
            raise crew.error
    except BaseException:
        with _interruption_held_back():
            crew.stop()
        raise


@contextlib.contextmanager
def _interruption_held_back() -> Iterator[None]:
    """Let Ctrl-C, SIGTERM and SIGHUP wait until the end of the block.

    Threads and processes that are started inside never see them: this thread alone answers.
    """
    ending = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ending)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
