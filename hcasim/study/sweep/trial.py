"""One point of a sweep, which may be refused while the others go on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hcasim.catalog import CatalogError
from hcasim.runs.launch import Launch
from hcasim.runs.point import Point
from hcasim.workloads.result import Result

if TYPE_CHECKING:
    from hcasim.workloads.registry import Listen

ERROR = "error"
"""Key of the row of a point that was refused."""


@dataclass(frozen=True)
class Trial:
    """A point whose refusal is a result.

    Parameters:
        point: what to simulate.
    """

    point: Point | Launch

    @property
    def weight(self) -> int:
        """A guess of the effort."""
        return self.point.weight

    @property
    def key(self) -> str:
        """What tells it from all others, in any process."""
        return f"trial {self.point.key}"

    @property
    def reads(self) -> bool:
        """Whether it reads files, which its key does not tell of."""
        return self.point.reads

    @property
    def title(self) -> str:
        """What it is, in few words."""
        return self.point.title

    def bare(self) -> Trial:
        """Return it with no more than its result follows from."""
        return Trial(self.point.bare())

    def run(self, listen: Listen | None = None, profile: bool = False) -> Result:
        """Simulate it in this process; the row of what is refused says why."""
        try:
            return self.point.run(listen, profile)
        except CatalogError as error:
            return Result({ERROR: "; ".join(error.faults)})
