"""What is brought to workers comes back once, whatever becomes of them."""

from collections import Counter, deque
from concurrent.futures import BrokenExecutor, Future
from typing import Any

from hcasim.catalog import resolve
from hcasim.runs.place import Crew
from hcasim.runs.point import Point, Work
from hcasim.workloads import Options, Result


class Breaking:
    """A place whose worker dies once, of the first point, as others have just been finished."""

    workers = 2
    ready = True

    def __init__(self) -> None:
        self.asked: Counter[int] = Counter()
        self.begun = self.left = 0

    def begin(self) -> None:
        self.begun += 1

    def submit(self, point: Any, profile: bool) -> Future[Result]:
        size = point.options.size
        self.asked[size] += 1
        future: Future[Result] = Future()
        if size == 4096 and self.asked[size] == 1:
            future.set_exception(BrokenExecutor())
        else:
            future.set_result(Result({"size": size}))
        return future

    def explain(self, error: Exception, point: Work) -> Exception:
        return error

    def end(self) -> None:
        raise AssertionError

    def leave(self) -> None:
        self.left += 1


def test_what_was_finished_as_a_worker_died_is_kept_and_not_done_again() -> None:
    machine = resolve("liu2004")
    sizes = [4096, 4, 8, 16, 32, 64]
    points = deque(Point("window_bw", machine, Options(size=size)) for size in sizes)
    place, noted = Breaking(), []
    crew = Crew(place, points, lambda point, result: noted.append(result.row["size"]), False, 0)
    crew.run()
    assert crew.error is None
    assert sorted(noted) == sorted(sizes)
    assert place.asked == Counter({4096: 2, **dict.fromkeys(sizes[1:], 1)})
    assert (place.begun, place.left) == (2, 1)
