"""What is brought to workers comes back once, whatever becomes of them."""

from collections import Counter, deque
from collections.abc import Iterable
from concurrent.futures import BrokenExecutor, Future
from math import inf
from typing import Any

import pytest

from hcasim.catalog import resolve
from hcasim.runs.place import TRIES, Crew, Task, WorkerDied
from hcasim.runs.point import Point
from hcasim.workloads import Options, Result

MACHINE = resolve("liu2004")


class Breaking:
    """A place whose worker dies of one point, once or always, as others have just been finished."""

    workers = 2
    ready = True

    def __init__(self, size: int, deaths: float = 1) -> None:
        self.size, self.deaths = size, deaths
        self.asked: Counter[int] = Counter()
        self.tasks: list[int] = []
        self.begun = self.left = 0

    def begin(self) -> None:
        self.begun += 1

    def submit(self, task: Any, profile: bool) -> Future[list[Result]]:
        sizes = [point.options.size for point in task]
        self.asked.update(sizes)
        self.tasks.append(len(sizes))
        future: Future[list[Result]] = Future()
        if self.size in sizes and self.asked[self.size] <= self.deaths:
            future.set_exception(BrokenExecutor())
        else:
            future.set_result([Result({"size": size}) for size in sizes])
        return future

    def explain(self, error: Exception, task: Task) -> Exception:
        return error

    def end(self) -> None:
        raise AssertionError

    def leave(self) -> None:
        self.left += 1


def brought(place: Breaking, sizes: Iterable[int]) -> tuple[Crew, list[int]]:
    points = deque(Point("window_bw", MACHINE, Options(size=size)) for size in sizes)
    noted: list[int] = []
    crew = Crew(place, points, lambda point, result: noted.append(result.row["size"]), False, 0)
    crew.run()
    return crew, noted


def test_what_was_finished_as_a_worker_died_is_kept_and_not_done_again() -> None:
    sizes = [4096, 4, 8, 16, 32, 64]
    place = Breaking(4096)
    crew, noted = brought(place, sizes)
    assert crew.error is None
    assert sorted(noted) == sorted(sizes)
    assert place.asked == Counter({4096: 2, **dict.fromkeys(sizes[1:], 1)})
    assert (place.begun, place.left) == (2, 1)


def test_short_points_come_several_to_a_task_until_few_are_left() -> None:
    place = Breaking(0, 0)
    crew, noted = brought(place, range(1, 101))
    assert crew.error is None
    assert sorted(noted) == [*range(1, 101)]
    assert place.tasks[0] == place.tasks[-1] == 1
    # Four tasks are under way, and no worker gets more than a fourth of what is left.
    assert max(place.tasks) in range(10, 25)


@pytest.mark.parametrize("deadly", [1, 50, 100])
def test_of_points_that_are_given_together_only_the_deadly_one_is_blamed(deadly: int) -> None:
    place = Breaking(deadly, inf)
    crew, noted = brought(place, range(1, 101))
    assert sorted(noted) == [size for size in range(1, 101) if size != deadly]
    assert isinstance(crew.error, WorkerDied)
    assert f"size {deadly} died" in str(crew.error)
    assert place.asked[deadly] == TRIES
