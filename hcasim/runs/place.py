"""Where points are simulated: what a place with workers has to offer, and how they get theirs."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Future
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from hcasim.runs.point import Work

if TYPE_CHECKING:
    from hcasim.workloads import Result

TRIES = 3
"""How often a point is tried whose worker dies; the last time all others are done."""
TASK = 0.2
"""Seconds of work that a worker is given at once, if points are shorter: each task costs some."""
BEAT = 0.2
"""Seconds after which a wait looks whether it is to end."""

Note = Callable[[Any, "Result"], None]
Task = Sequence[Work]
"""Points that a worker simulates one after the other."""


class WorkerDied(Exception):
    """Whatever simulates some points dies, each time that they are tried."""

    def __init__(self, points: Sequence[Work]) -> None:
        each = ", ".join(point.title for point in points)
        found = f"each process that simulated {each} died"
        super().__init__(f"{found}; allowed: more memory, if that ran out, or smaller points")


class Place(Protocol):
    """Workers that simulate points.

    Attributes:
        workers: how many tasks are done at a time; None if the place decides that, and is given
            each point alone.
        ready: it takes no time until the workers are there.
    """

    @property
    def workers(self) -> int | None: ...

    @property
    def ready(self) -> bool: ...

    def begin(self) -> None:
        """Have workers, new ones if the last have died, and wait for the first."""

    def submit(self, task: Task, profile: bool) -> Future[list[Result]]:
        """Have points simulated; if a worker dies this, or the future, raises BrokenExecutor."""

    def explain(self, error: Exception, task: Task) -> Exception:
        """Return what to raise of what a task ended with."""

    def end(self) -> None:
        """End what is running, at once."""

    def leave(self) -> None:
        """Let go of the workers, who have nothing left to do."""


def simulate(task: Task, profile: bool) -> list[Result]:
    """Return the results of points; what a worker does."""
    return [simulate_point(point, profile) for point in task]


def simulate_point(point: Work, profile: bool) -> Result:
    """Simulate a point in this process, and note what it reads."""
    if not point.reads:
        return point.run(profile=profile)
    from hcasim.runs.inputs import watching_inputs

    with watching_inputs() as inputs:
        result = point.run(profile=profile)
    return replace(result, inputs=inputs.digests())


class Crew(threading.Thread):
    """Brings the workers of a place their points, until none is left.

    Parameters:
        place: where the workers are.
        left: points, of which others may take some from the end.
        note: is given each result, by one thread at a time.
        profile: also measure what each costs.
        wait: seconds after which it begins.

    Attributes:
        busy: the workers are there, and have or had points.
        error: what has gone wrong, or None.
    """

    def __init__(
        self, place: Place, left: deque[Work], note: Note, profile: bool, wait: float
    ) -> None:
        super().__init__(daemon=True)
        self.busy = False
        self.error: BaseException | None = None
        self._place = place
        self._left = left
        self._note = note
        self._profile = profile
        self._wait = wait
        self._woken = threading.Event()
        self._stopped = threading.Event()

    def run(self) -> None:
        self._woken.wait(self._wait)
        try:
            self._bring_all()
        except BaseException as error:  # noqa: BLE001
            # Whoever stops it expects that futures break.
            if not self._stopped.is_set():
                self.error = error

    def wake(self) -> None:
        """Do not wait any longer."""
        self._woken.set()

    def stop(self) -> None:
        """End what is running, at once."""
        self._stopped.set()
        self._woken.set()
        self._place.end()
        self.join()
        # It may have begun anew meanwhile.
        self._place.end()

    def _bring_all(self) -> None:
        tries: Counter[Work] = Counter()
        suspected: deque[Work] = deque()
        workers = self._place.workers
        while lost := self._bring(self._left, None if workers is None else 2 * workers):
            # The others were waiting for a worker.
            tries.update(chain.from_iterable(lost[:workers]))
            for point in chain.from_iterable(lost):
                (suspected if tries[point] >= TRIES - 1 else self._left).appendleft(point)
        # Workers may die of any of these: nothing else is to suffer.
        deadly = [point for point in suspected if self._bring(deque([point]), 1)]
        if deadly:
            raise WorkerDied(deadly)
        if not self._stopped.is_set():
            self._place.leave()

    def _bring(self, left: deque[Work], most: int | None) -> Sequence[Task]:
        """Have points simulated, so many tasks at a time; return those lost with a worker."""
        running: dict[Future[list[Result]], Task] = {}
        done: SimpleQueue[Future[list[Result]]] = SimpleQueue()
        if left and not self._stopped.is_set():
            self._place.begin()
        self.busy = True
        began, finished = monotonic(), 0
        while not self._stopped.is_set():
            while most is None or len(running) < most:
                share = 0 if most is None else len(left) // most
                pace = finished / max(1, most // 2) / (monotonic() - began) if most else 0
                task = _taken(left, max(1, min(int(TASK * pace), share)))
                if not task:
                    break
                try:
                    future = self._place.submit(task, self._profile)
                except BrokenExecutor:
                    return [*running.values(), task]
                running[future] = task
                future.add_done_callback(done.put)
            if not running:
                break
            try:
                future = done.get(timeout=BEAT)
            except Empty:
                continue
            try:
                results = future.result()
            except BrokenExecutor:
                return self._saved(running)
            except Exception as error:
                told = self._place.explain(error, running[future])
                if told is error:
                    raise
                raise told from error
            self._note_all(running.pop(future), results)
            finished += len(results)
        return []

    def _note_all(self, task: Task, results: Sequence[Result]) -> None:
        for point, result in zip(task, results, strict=True):
            self._note(point, result)

    def _saved(self, running: dict[Future[list[Result]], Task]) -> Sequence[Task]:
        """Note what was finished before a worker died; return the rest."""
        lost = []
        for future, task in running.items():
            try:
                self._note_all(task, future.result())
            except BrokenExecutor:
                lost.append(task)
        return lost


def _taken(left: deque[Work], count: int) -> Task:
    """Take so many points, or what there is, while others take some from the end."""
    task: list[Work] = []
    with suppress(IndexError):
        while len(task) < count:
            task.append(left.popleft())
    return task
