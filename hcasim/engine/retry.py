"""Trying again without end what is refused: whether anything else is to come."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from hcasim.engine.changes import Changes
from hcasim.engine.clock import Args, Call, Simulator


class Stuck(Exception):
    """Nothing is to come but retries without end, all of which were refused and will be again."""


class Retry(Call):
    """A call that ends a pause after a refusal, however often it was refused before.

    Nothing can change any more if, since a time at which only retries were to come, each of them
    was refused again and no program went on. The run then ends with a `Stuck`.

    Args:
        what: says in `Stuck` what is tried.
    """

    changes: ClassVar[Changes] = Changes(unseen="count tried_ps")

    __slots__ = ("count", "sim", "tried_ps", "what")

    def __init__(
        self, sim: Simulator, what: object, function: Callable[[*Args], None], *args: *Args
    ) -> None:
        super().__init__(function, args)
        self.sim = sim
        self.what = what
        self.count = 0
        self.tried_ps = -1

    def act(self) -> None:
        sim = self.sim
        self.count += 1
        # Ever less often, because the actions to come may be many.
        if not self.count & (self.count - 1):
            to_come = [one for _, _, one in sim.to_come()]
            if all(isinstance(one, Retry) for one in to_come):
                self._alone([one for one in to_come if isinstance(one, Retry)])
        self.tried_ps = sim.now
        super().act()

    def _alone(self, others: list[Retry]) -> None:
        """End the run if all was tried since programs went on last and only retries were left."""
        sim = self.sim
        steps, since_ps = sim.quiet
        if steps != sim.steps:
            sim.quiet = sim.steps, sim.now
        elif all(one.tried_ps >= since_ps for one in [self, *others]):
            sim.schedule(sim.now, self)
            whose = ", ".join(sorted({str(one.what) for one in [self, *others]}))
            raise Stuck(
                f"nothing can go on: no receive is posted for what is sent without end: {whose}"
            )
