"""Watching a simulator, to write what happens into a file."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from hcasim.engine import Simulator
from hcasim.ground.writing import written_through

Write = Callable[[bytes], object]
"""Takes pieces of a file."""


class Onlooker:
    """Watches a simulator; a class that derives from this notes what it needs of machines (built),
    events, work, how much something holds (level), and operations that an adapter has done."""

    def __init__(self) -> None:
        self.sim = Simulator()

    def follow(self, sim: Simulator) -> None:
        """Watch a simulator from now on."""
        self.sim = sim
        sim.watch(self)

    def built(self, what: object) -> None: ...

    def event(
        self,
        time_ps: int,
        block: str,
        event: str,
        operation: int,
        details: object,
        since_ps: int | None,
    ) -> None: ...

    def work(self, block: str, what: str, start_ps: int, end_ps: int, details: object) -> None: ...

    def level(self, block: str, time_ps: int, value: int) -> None: ...

    def over(self, block: str, operation: int, details: object) -> None: ...

    def finish(self) -> None:
        """Write what is left: the run is over."""


Watching = TypeVar("Watching", bound=Onlooker)


@contextmanager
def written(file: Path, make: Callable[[Write], Watching]) -> Iterator[Watching]:
    """Write a file while something runs; if it does not end, nothing is left of the file."""
    with written_through(file) as write:
        watching = make(write)
        yield watching
        watching.finish()
