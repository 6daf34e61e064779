"""What a benchmark returns, and what simulating it cost the computer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from time import perf_counter
from typing import Any

from hcasim.engine import Profile, Simulator
from hcasim.ground.quantities import is_rate, is_time


@dataclass(frozen=True)
class Cost:
    """What simulating one or several points cost; times of several are sums.

    Attributes:
        packets: those that adapters sent and that were run one by one.
        left_out: packets that were accounted for without being run.
        wall_s: time from the begin of building the machine to the result, in s.
        queue_s: part of it that the queue of events took, and counting, in s.
        calls: events by block.
        seconds: what they took by block, in s.
    """

    packets: int
    left_out: int
    wall_s: float
    queue_s: float
    calls: Mapping[str, int]
    seconds: Mapping[str, float]

    @property
    def events(self) -> int:
        """Events that were run."""
        return sum(self.calls.values())

    @property
    def packets_per_s(self) -> float:
        """Packets that were run for each second of `wall_s`."""
        return self.packets / self.wall_s if self.wall_s else 0.0

    @property
    def setup_s(self) -> float:
        """What was not of events, in s: building the machine above all."""
        return max(0.0, self.wall_s - self.queue_s - sum(self.seconds.values()))

    @property
    def dearest(self) -> list[str]:
        """The blocks, those that took longest first."""
        return sorted(self.seconds, key=lambda block: -self.seconds[block])

    @property
    def busiest(self) -> list[str]:
        """The blocks, those of most events first."""
        return sorted(self.calls, key=lambda block: (-self.calls[block], block))


class Meter:
    """Measures what simulating costs from now on; somebody else may listen to the simulators."""

    def __init__(self, listen: Callable[[Simulator], None] | None = None) -> None:
        self._listen = listen
        self._profile = Profile()
        self._begin = perf_counter()

    def watch(self, sim: Simulator) -> None:
        """Measure a simulator, in which nothing has happened yet."""
        sim.profile = self._profile
        if self._listen is not None:
            self._listen(sim)

    def cost(self) -> Cost:
        """Return what it has cost up to now."""
        profile = self._profile
        return Cost(
            profile.packets() - profile.left_out,
            profile.left_out,
            perf_counter() - self._begin,
            profile.queue_ns / 1e9,
            profile.calls,
            {block: ns / 1e9 for block, ns in profile.ns.items()},
        )


def total(costs: Iterable[Cost]) -> Cost:
    """Add up what several points cost."""
    packets, left_out, wall_s, queue_s = 0, 0, 0.0, 0.0
    calls: dict[str, int] = {}
    seconds: dict[str, float] = {}
    for one in costs:
        packets, left_out = packets + one.packets, left_out + one.left_out
        wall_s, queue_s = wall_s + one.wall_s, queue_s + one.queue_s
        for block in one.calls:
            calls[block] = calls.get(block, 0) + one.calls[block]
            seconds[block] = seconds.get(block, 0.0) + one.seconds.get(block, 0.0)
    return Cost(packets, left_out, wall_s, queue_s, calls, seconds)


@dataclass(frozen=True)
class Result:
    """One measured point.

    Attributes:
        row: the numbers, by column.
        counters: what the adapters and buses counted, by name.
        breakdown: where the time went, or what was busy, as far as that is known.
        cost: what simulating it cost, if that was asked for.
    """

    row: dict[str, Any]
    counters: dict[str, int] = field(default_factory=dict)
    breakdown: dict[str, Any] = field(default_factory=dict)
    cost: Cost | None = None

    def faults(self, fields: Sequence[str]) -> Iterator[str]:
        """Yield a line for each number that cannot be a measurement.

        Parameters:
            fields: columns that the benchmark measures, the one that it is about first. All numbers
                have to be finite, and no time or rate of these columns can be negative. Only the
                first, if it is one, cannot be 0 either: a wait or a part of a time may be.
        """
        for name, value in self.row.items():
            if not isinstance(value, int | float):
                continue
            positive = name in fields and (is_time(name) or is_rate(name))
            if not isfinite(value):
                yield f"{name}: found {value}; allowed: finite numbers"
            elif positive and (value < 0 or (value == 0 and name == fields[0])):
                yield f"{name}: found {value:g}; allowed: more than 0"


def profile(
    costs: Sequence[Cost], points: Sequence[Mapping[str, int]], *, timing: bool
) -> dict[str, Any]:
    """Return what points cost, together and each; nothing of none.

    Parameters:
        points: what tells each from the others.
        timing: whether to say times, which differ from run to run.
    """
    found = profile_of(costs, timing=timing)
    if len(costs) > 1:
        named = zip(points, costs, strict=True)
        found["points"] = [{"point": point, **_counts(one, timing)} for point, one in named]
    return found


def profile_of(costs: Iterable[Cost], *, timing: bool) -> dict[str, Any]:
    """Return what points cost together; nothing of none."""
    every = list(costs)
    if not every:
        return {}
    cost = total(every)
    rest = {"queue_s": cost.queue_s, "setup_s": cost.setup_s} if timing else {}
    blocks = []
    for block in cost.dearest if timing else cost.busiest:
        seconds = cost.seconds[block]
        times = {"seconds": seconds, "share": seconds / cost.wall_s} if timing else {}
        blocks.append({"block": block, "calls": cost.calls[block], **times})
    return {**_counts(cost, timing), **rest, "blocks": blocks}


def _counts(cost: Cost, timing: bool) -> dict[str, Any]:
    times = {"wall_s": cost.wall_s, "packets_per_s": cost.packets_per_s} if timing else {}
    counts = {"packets": cost.packets, "packets_left_out": cost.left_out}
    return {"events": cost.events, **counts, **times}
