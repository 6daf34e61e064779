"""What nodes send or read while a test runs, measured over a part of it."""

from __future__ import annotations

from itertools import pairwise
from math import inf

from hcasim.cluster import Cluster, Node
from hcasim.engine import mean_error

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
    """What each node sends or reads in a part of a run, looked at every so often.

    Args:
        cluster: the nodes.
        reads: whether data comes back to the node that asks for it.
        size: bytes to time; a quarter as many go before.
        packets: of a message. Looks are the rarer the longer messages are.

    Attributes:
        begun, over: events of its two ends.
    """

    def __init__(self, cluster: Cluster, reads: bool, size: int, packets: int = 1) -> None:
        self.sim = cluster.sim
        self._slice_ps = SLICE_PS * (packets if packets > LONG else 1)
        self._nodes = cluster.nodes
        self._reads = reads
        self.begun, self.over = self.sim.event(), self.sim.event()
        self._limits = [size // 4 + size * part // PARTS for part in range(PARTS + 1)]
        self._seen: list[tuple[int, list[int]]] = []
        self._last = self._idle = 0
        self.sim.call_after(self._slice_ps, self._look)

    def _look(self) -> None:
        moved = [moved_bytes(node, self._reads) for node in self._nodes]
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
            self.sim.call_after(self._slice_ps << max(0, self._idle - PATIENCE), self._look)

    @property
    def error(self) -> float:
        """Relative error of the rate of all together, as the rates of its parts scatter."""
        parts = [
            (sum(after) - sum(before)) / (end - begin)
            for (begin, before), (end, after) in pairwise(self._seen)
        ]
        return mean_error(parts)

    def rates(self) -> list[float]:
        """Bytes a second of each node."""
        (begin, before), (end, after) = self._seen[0], self._seen[-1]
        return [(b - a) / (end - begin) * 1e12 for a, b in zip(before, after, strict=True)]
