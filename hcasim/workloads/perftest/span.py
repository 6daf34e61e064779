"""What is moved while a test runs, measured over a part of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import inf
from typing import ClassVar

from hcasim.cluster import Node
from hcasim.engine import Onlooker, Simulator, mean_error
from hcasim.workloads.laps import UNPROVEN

SLICE_PS = 10_000_000
LONG = 128
"""Packets of a message between which nothing is looked at."""
PATIENCE = 16
"""Looks at nothing having moved, after which looks become rarer: latencies may be of seconds."""
PARTS = 16
"""Parts of what is timed, whose rates are compared."""


def moved_bytes(node: Node, reads: bool) -> int:
    """Bytes of data that have left a node, or, where data comes back, have come there."""
    ports = node.adapter.ports
    return sum(p.payload_received if reads else p.egress.payload_bytes for p in ports)


class Span:
    """What is moved in a part of a run, looked at every so often.

    Args:
        sim: the simulator.
        moved: tell the bytes that each of those who are looked at has moved so far.
        size: bytes to time; a quarter as many go before.
        before: bytes that go before at least.
        packets: of a message. Looks are the rarer the longer messages are.

    Attributes:
        begun, over: events of its two ends.
    """

    looks_on: ClassVar[bool] = True

    def __init__(
        self,
        sim: Simulator,
        moved: Sequence[Callable[[], float]],
        size: int,
        packets: int = 1,
        before: int = 0,
    ) -> None:
        self.sim = sim
        self._slice_ps = SLICE_PS * (packets if packets > LONG else 1)
        self._moved = moved
        self.begun, self.over = self.sim.event(), self.sim.event()
        before = max(before, size // 4)
        self._limits = [before + size * part // PARTS for part in range(PARTS + 1)]
        self._seen: list[tuple[int, list[float]]] = []
        self._last = 0.0
        self._idle = 0
        self._look_after(self._slice_ps)

    def _look_after(self, delay_ps: int) -> None:
        self.sim.schedule(self.sim.now + delay_ps, Onlooker(self._look, ()))

    def _look(self) -> None:
        moved = [tell() for tell in self._moved]
        total = sum(moved)
        self._idle = self._idle + 1 if total == self._last else 0
        self._last = total
        if total > self._limits[0]:
            self._seen.append((self.sim.now, moved))
            self._limits, last = [one for one in self._limits if one >= total], self._limits[-1]
            if len(self._seen) == 1:
                self.begun.succeed()
                self._limits = self._limits or [last]
            elif not self._limits:
                self.over.succeed()
        # Where nothing else is to come, nobody waits in vain.
        if not self.over.triggered and self.sim.peek() < inf:
            self._look_after(self._slice_ps << max(0, self._idle - PATIENCE))

    @property
    def error(self) -> float:
        """Relative error of the rate of all together, as the rates of its parts scatter.

        Nothing proves that what follows is like them, however alike they are.
        """
        parts = [
            (sum(after) - sum(before)) / (end - begin)
            for (begin, before), (end, after) in pairwise(self._seen)
        ]
        return max(UNPROVEN, mean_error(parts))

    def rates(self) -> list[float]:
        """Bytes a second of each."""
        (begin, before), (end, after) = self._seen[0], self._seen[-1]
        return [(b - a) / (end - begin) * 1e12 for a, b in zip(before, after, strict=True)]
