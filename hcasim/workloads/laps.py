"""Iterations: whose turn it is, and their time, cut short once they repeat or it is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate, cycle, pairwise, repeat
from math import exp, inf, sqrt
from random import Random
from statistics import NormalDist
from typing import Any

from hcasim.engine import find_period, settled
from hcasim.workloads.end import ENTRIES, SEED, stride
from hcasim.workloads.options import Options, Pattern

UNPROVEN = 2e-3
"""Least relative error of a rate that stands for what is left out."""
EXPONENT = 1.0
"""Of Zipf's law: the queue pair of rank r has its turn with a probability proportional to 1/r."""
ERROR = 0.01
"""Relative error to which a mean over a random order is known."""
FEWEST = 200
"""Iterations in a random order of which a mean may be known at the earliest."""
LEAST = 3
"""What is left out is no less than one of so many iterations: of fewer the end is soon there."""
FIRST = 0.05
"""Part of an iteration that the first use of something may take, as one that has been used again
may not have been seen yet."""
GROWTH = 1.25
"""How many times as many durations there are when their mean is next looked at."""
PER_PAGE = 64
"""Entries of a queue that lie on a page."""
LINE = 8
"""Translations of pages that are read together."""
BLOCK = 256
"""Bytes of memory that are in the cache of a processor together."""


@dataclass
class Laps:
    """Durations of the iterations of one process.

    The average is taken over the timed iterations only, those that are run as they are. Once the
    durations behind the transient repeat, or their mean is known, that stands for the others.

    Attributes:
        warmup: iterations that are not averaged.
        iters: iterations that are.
        exact: whether every iteration has to be run.
        cycle: iterations after which the same queue pair has its turn again.
        cold: iterations of the transient, behind which everything has been used as often as it
            will be; one cycle without it.
        together: iterations after which what is seldom used has been used once; the pattern has at
            least as many, beside a mean of durations that do not repeat.
        repeats: how often the pattern must be seen before it is believed.
        slack: relative difference between repetitions that is still a repetition.
        drift: relative error of what seems to repeat itself while streams drift against each other.
        error: relative error that a mean may have at the end if durations do not repeat. With 0
            they have to.
        unused: tells how many things that are drawn are expected not to have been used yet after
            some iterations; none if none are drawn. What is drawn never repeats itself.
        durations_ps: of the iterations that were run.
        period: how many of the last ones stand for all that follow; none if that is not known.
        pattern_error: relative error of their mean.
    """

    warmup: int
    iters: int
    exact: bool
    cycle: int = 1
    cold: int | None = None
    together: int = 1
    repeats: int = 3
    slack: float = 0.0
    drift: float = 0.0
    error: float = 0.0
    unused: Callable[[int], float] | None = None
    durations_ps: list[int] = field(default_factory=list)
    period: int | None = None
    pattern_error: float = 0.0
    _next: int = 0

    @classmethod
    def of(cls, options: Options, **how: Any) -> Laps:
        """Those that options ask for, timed in some way."""
        return cls(options.warmup, options.iters, options.exact, **how)

    @property
    def total(self) -> int:
        return self.warmup + self.iters

    @property
    def done(self) -> bool:
        return self.period is not None or len(self.durations_ps) >= self.total

    @property
    def _missing(self) -> float:
        """The part of the timed iterations that has not been run."""
        return max(0, self.total - max(self.warmup, len(self.durations_ps))) / self.iters

    @property
    def error_percent(self) -> float:
        """Error of the mean in percent, to which iterations that were run contribute nothing."""
        return 100 * self.pattern_error * self._missing

    def lap(self, duration_ps: int) -> None:
        self.durations_ps.append(duration_ps)
        known = self.exact or self.period is not None
        if not known and len(self.durations_ps) % self.cycle == 0:
            self._repeat()

    def begin_again(self) -> None:
        """Take what has been run for part of the transient."""
        self.cold, self.period, self._next = len(self.durations_ps), None, 0

    def _repeat(self) -> None:
        # The first turn of each queue pair starts cold and is never part of the pattern.
        cold = self.cycle if self.cold is None else self.cold
        together = -(-self.together // self.cycle) * self.cycle
        left = self.total - len(self.durations_ps)
        if len(self.durations_ps) - cold < max(1, together) or LEAST * left < self.total:
            return
        warm = self.durations_ps[cold:]
        period = None
        if self.unused is None:
            period = find_period(warm, repeats=self.repeats, slack=self.slack, step=self.cycle)
        if period is not None:
            whole = max(period, together // period * period)
            # Of what repeats itself once, earlier laps may have been otherwise.
            apart = abs(sum(warm[-whole:]) * period / (sum(warm[-period:]) * whole) - 1)
            if apart * self._missing <= self.error:
                self.period = whole
                self.pattern_error = max(self.slack, self.drift, apart, self._once(whole))
                return
        if self.error and len(warm) >= self._next:
            self._next = int(GROWTH * len(warm)) + 1
            count, error = settled(warm, self.cycle)
            # Those that are left out scatter about the same mean, the more the fewer they are.
            error = error * sqrt(1 + count / left) + self._news(count, error)
            error = max(self.drift, self.slack, error)
            if error * self._missing <= self.error:
                self.period, self.pattern_error = count, error

    def _news(self, count: int, error: float) -> float:
        """Relative error for what is used for the first time more often in the last iterations
        that were run than in those that are left out.

        What this has changed from their first half to the second is within the error of their
        mean; it changes as much more as it becomes rarer. No more is taken for it than what the
        durations after the first differ by, and no less than one such difference, or what a first
        use may take.
        """
        run = len(self.durations_ps)
        if self.unused is None or run >= self.total:
            return 0.0
        places = (run - count, run - count // 2, run, self.total)
        rest = [self.unused(laps) for laps in places]
        rates = [
            (a - b) / (y - x)
            for (a, b), (x, y) in zip(pairwise(rest), pairwise(places), strict=True)
        ]
        early, late, after = rates
        rarer = abs((early + late) / 2 - after)
        later = self.durations_ps[1:]
        apart = (max(later) - min(later)) * len(later) / sum(later)
        seen = error * rarer / abs(early - late) if early != late else inf
        return max(apart / count, FIRST * rarer, min(apart * rarer, seen))

    def _once(self, period: int) -> float:
        """Relative error for what happens once: pages of queues that are used for the first time.

        No more is taken for that than what the first iteration took longer than others.
        """
        run = self.durations_ps
        mean = sum(run[-period:]) / period
        return max(0.0, max(run) - mean) / mean / self.iters

    def settle(self, duration_ps: int, error: float = 0.0) -> None:
        """Note the duration of an iteration that all others repeat, to a relative error."""
        self.durations_ps.append(duration_ps)
        self.period = 1
        self.pattern_error = error

    def mean_ps(self, every: int = 1) -> float:
        """Mean duration in ps of the timed iterations, run or repeated.

        Only those count whose number, from 0 at the first of all, is a multiple of `every`.
        """
        run, end = self.durations_ps, self.warmup + self.iters
        known = min(len(run), end)
        start = -(-self.warmup // every) * every
        chosen = run[start:known:every]
        count = len(range(start, end, every))
        total, missing = sum(chosen), count - len(chosen)
        if not missing:
            return total / count
        assert self.period is not None
        # The iterations that repeat: as many as it takes until they are in step with ``every``.
        pattern = run[len(run) - self.period :]
        first = max(-(-known // every) * every, start)
        places = [(first - len(run) + k * every) % self.period for k in range(self.period)]
        turns = [pattern[place] for place in places]
        whole, part = divmod(missing, len(turns))
        return (total + whole * sum(turns) + sum(turns[:part])) / count


def turns(pattern: Pattern, count: int, seed: int) -> Iterator[int]:
    """Numbers from 0 to one less than a count, for ever: in turn, or drawn.

    They are drawn uniformly, or by Zipf's law with exponent 1, the first being the most popular.
    """
    if pattern == "cyclic" or count == 1:
        return cycle(range(count))
    draw = Random(seed)
    if pattern == "random":
        return (draw.randrange(count) for _ in repeat(None))
    weights = list(accumulate(_weights(pattern, count)))
    return (draw.choices(range(count), cum_weights=weights)[0] for _ in repeat(None))


def _weights(pattern: Pattern, count: int) -> list[float]:
    exponent = EXPONENT if pattern == "zipf" else 0.0
    return [(rank + 1) ** -exponent for rank in range(count)]


def draw_turns(options: Options) -> Iterator[int]:
    """The queue pairs in the order of their use, for ever, as numbers from 0.

    Processes that are given the same options use the same order. Random orders are drawn anew
    each time.
    """
    return turns(options.pattern, options.qps, SEED)


def repeats(options: Options) -> bool:
    """Whether the order of queue pairs and addresses repeats itself."""
    return (options.pattern == "cyclic" or options.qps == 1) and not options.region


def _unused_pages(uses: float) -> float:
    """Pages of a queue that are expected not to have been used, at so many random uses."""
    rest = NormalDist(uses, sqrt(uses))
    return exp(-uses) + sum(rest.cdf(before + 0.5) for before in range(PER_PAGE, ENTRIES, PER_PAGE))


def make_laps(options: Options) -> Laps:
    """Timing of iterations that each use the next queue pair, and the next place of a region."""
    if repeats(options):
        # The pages of all queues are translated for the first time once, in step.
        cold = ENTRIES * options.qps if options.qps > 1 else 1
        return Laps.of(options, cycle=options.qps, cold=cold)
    cold, places = 1, options.region // stride(options.size)
    drawn: list[int] = []
    weights: list[float] = []
    if options.pattern == "cyclic":
        cold = options.qps
    else:
        weights = _weights(options.pattern, options.qps)
    if options.region and options.access == "random":
        page = options.page_size
        sizes = (max(one, options.size) for one in (BLOCK, page, LINE * page))
        drawn = [-(-options.region // one) for one in sizes]
    elif places <= options.warmup + options.iters:
        cold = max(cold, places)
    whole = sum(weights)
    shares = [weight / whole for weight in weights]

    def unused(laps: int) -> float:
        """Of pages of queues, and of blocks, pages and lines of translations of the region."""
        blocks = sum(one * (1 - 1 / one) ** laps for one in drawn)
        pages = max(0, 4 * options.qps - laps) / PER_PAGE
        return blocks + pages + sum(_unused_pages(share * laps) for share in shares)

    return Laps.of(options, cold=cold, together=FEWEST, error=ERROR, unused=unused)
