"""Where points are simulated: what a place with workers has to offer, and how they get theirs."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Future
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

from hcasim.runs.point import Work

if TYPE_CHECKING:
    from hcasim.workloads import Result

TRIES = 3
"""How often a point is tried whose worker dies; the last time all others are done."""
BEAT = 0.2
"""Seconds after which a wait looks whether it is to end."""

Note = Callable[[Any, "Result"], None]


class WorkerDied(Exception):
    """Whatever simulates some points dies, each time that they are tried."""

    def __init__(self, points: Sequence[Work]) -> None:
        each = ", ".join(point.title for point in points)
        found = f"each process that simulated {each} died"
        super().__init__(f"{found}; allowed: more memory, if that ran out, or smaller points")


class Place(Protocol):
    """Workers that simulate points.

    Attributes:
        workers: how many points are simulated at a time; None if the place decides that.
        ready: it takes no time until the workers are there.
    """

    @property
    def workers(self) -> int | None: ...

    @property
    def ready(self) -> bool: ...

    def begin(self) -> None:
        """Have workers, new ones if the last have died, and wait for the first."""

    def submit(self, point: Work, profile: bool) -> Future[Result]:
        """Have a point simulated; if a worker dies this, or the future, raises BrokenExecutor."""

    def explain(self, error: Exception, point: Work) -> Exception:
        """Return what to raise of what a point ended with."""

    def end(self) -> None:
        """End what is running, at once."""

    def leave(self) -> None:
        """Let go of the workers, who have nothing left to do."""


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
            tries.update(lost[:workers])
            for point in lost:
                (suspected if tries[point] >= TRIES - 1 else self._left).appendleft(point)
        # Workers may die of any of these: nothing else is to suffer.
        deadly = [point for point in suspected if self._bring(deque([point]), 1)]
        if deadly:
            raise WorkerDied(deadly)
        if not self._stopped.is_set():
            self._place.leave()

    def _bring(self, left: deque[Work], most: int | None) -> Sequence[Work]:
        """Have points simulated, so many at a time; return those that were lost with a worker."""
        running: dict[Future[Result], Work] = {}
        done: SimpleQueue[Future[Result]] = SimpleQueue()
        if left and not self._stopped.is_set():
            self._place.begin()
        self.busy = True
        while not self._stopped.is_set():
            while most is None or len(running) < most:
                try:
                    point = left.popleft()
                except IndexError:
                    break
                try:
                    future = self._place.submit(point, self._profile)
                except BrokenExecutor:
                    return [*running.values(), point]
                running[future] = point
                future.add_done_callback(done.put)
            if not running:
                break
            try:
                future = done.get(timeout=BEAT)
            except Empty:
                continue
            try:
                result = future.result()
            except BrokenExecutor:
                return self._saved(running)
            except Exception as error:
                told = self._place.explain(error, running[future])
                if told is error:
                    raise
                raise told from error
            self._note(running.pop(future), result)
        return []

    def _saved(self, running: dict[Future[Result], Work]) -> Sequence[Work]:
        """Note what was finished before a worker died; return the rest."""
        lost = []
        for future, point in running.items():
            try:
                self._note(point, future.result())
            except BrokenExecutor:
                lost.append(point)
        return lost
