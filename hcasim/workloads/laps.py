"""Iterations: whose turn it is, and their time, cut short once they repeat or it is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate, chain, cycle, repeat
from math import sqrt
from random import Random
from typing import Any

from hcasim.engine import bounded_mean, find_period, mean_error
from hcasim.workloads.end import ENTRIES, SEED
from hcasim.workloads.options import Options, Pattern

ENOUGH = 6
STANDARD_ERRORS = 2
UNPROVEN = 2e-3
"""Least relative error of a rate that stands for what is left out."""
EXPONENT = 1.0
"""Of Zipf's law: the queue pair of rank r has its turn with a probability proportional to 1/r."""
FEWEST = 200
ERROR = 0.01


@dataclass
class Laps:
    """Durations of the iterations of one process.

    The average is taken over the timed iterations only. Once the durations repeat, the rest
    are known without running them.

    Attributes:
        warmup: iterations that are not averaged.
        iters: iterations that are.
        exact: whether every iteration has to be run.
        cycle: iterations after which the same queue pair has its turn again.
        cold: iterations at the start that are never part of the pattern; one cycle without it.
        together: iterations after which what is seldom used has been used once; the pattern has at
            least as many, beside a mean of durations that do not repeat.
        repeats: how often the pattern must be seen before it is believed.
        slack: relative difference between repetitions that is still a repetition.
        drift: relative error of what seems to repeat itself while streams drift against each other.
        error: relative error to which the mean of durations that do not repeat should be known;
            after twice ``enough`` of them it is taken as it is. With 0 they have to repeat.
        enough: durations of which a mean may be known at the earliest.
        samples: if not 0, the iterations are drawn at random and never repeat: there have to be
            at least as many timed ones, and twice the standard error of their mean must not
            exceed ``error``.
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
    enough: int = ENOUGH
    samples: int = 0
    durations_ps: list[int] = field(default_factory=list)
    period: int | None = None
    pattern_error: float = 0.0
    _sum: int = 0
    _squares: int = 0

    @classmethod
    def of(cls, options: Options, **how: Any) -> Laps:
        """Those that options ask for, timed in some way."""
        return cls(options.warmup, options.iters, options.exact, **how)

    @property
    def done(self) -> bool:
        return self.period is not None or len(self.durations_ps) >= self.warmup + self.iters

    @property
    def error_percent(self) -> float:
        """Error of the mean in percent, to which iterations that were run contribute nothing."""
        missing = self.warmup + self.iters - max(self.warmup, len(self.durations_ps))
        return 100 * (self.pattern_error * max(0, missing) / self.iters)

    def lap(self, duration_ps: int) -> None:
        self.durations_ps.append(duration_ps)
        if self.exact or self.period is not None:
            return
        if self.samples:
            self._sample(duration_ps)
        elif len(self.durations_ps) % self.cycle == 0:
            self._repeat()

    def _repeat(self) -> None:
        # The first turn of each queue pair starts cold and is never part of the pattern.
        warm = self.durations_ps[self.cycle if self.cold is None else self.cold :]
        together = -(-self.together // self.cycle) * self.cycle
        if len(warm) < together:
            return
        period = find_period(warm, repeats=self.repeats, slack=self.slack, step=self.cycle)
        if period is not None:
            self.period = max(period, together // period * period)
            self.pattern_error = max(self.slack, self.drift, self._once(period))
        elif self.error:
            known = bounded_mean(warm, enough=self.enough, error=self.error)
            if known is not None or len(warm) >= 2 * self.enough:
                self.period = len(warm)
                self.pattern_error = mean_error(warm)

    def _once(self, period: int) -> float:
        """Relative error for what happens once: pages of queues that are used for the first time.

        No more is taken for that than what the first iteration took longer than others.
        """
        run = self.durations_ps
        mean = sum(run[-period:]) / period
        return max(0.0, max(run) - mean) / mean / self.iters

    def _sample(self, duration_ps: int) -> None:
        count = len(self.durations_ps) - self.warmup
        if count <= 0:
            return
        self._sum += duration_ps
        self._squares += duration_ps * duration_ps
        if count < self.samples:
            return
        mean = self._sum / count
        variance = (self._squares - self._sum * self._sum // count) / (count - 1)
        self.pattern_error = STANDARD_ERRORS * sqrt(variance / count) / mean
        if self.pattern_error <= self.error:
            self.period = count

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
    weights = list(accumulate((rank + 1) ** -EXPONENT for rank in range(count)))
    return (draw.choices(range(count), cum_weights=weights)[0] for _ in repeat(None))


def draw_turns(options: Options) -> Iterator[int]:
    """The queue pairs in the order of their use, for ever, as numbers from 0.

    Processes that are given the same options use the same order. Random orders are drawn anew
    each time.
    """
    drawn = turns(options.pattern, options.qps, SEED)
    if repeats(options) or not _warm_laps(options):
        return drawn
    return chain(reversed(range(options.qps)), drawn)


def repeats(options: Options) -> bool:
    """Whether the order of queue pairs and addresses repeats itself."""
    return (options.pattern == "cyclic" or options.qps == 1) and not options.region


def _warm_laps(options: Options) -> int:
    """Iterations that bring a short run of a random order to what a long one settles at.

    Each queue pair has its turn once, the most popular last, and then as many random turns
    follow as there are queue pairs, but no more than the warm-up. 0: not worth shortening.
    """
    warm = options.qps + min(options.warmup, options.qps)
    worth = warm + FEWEST < options.warmup + options.iters
    return warm if worth and not options.exact else 0


def make_laps(options: Options) -> Laps:
    """Timing of iterations that each use the next queue pair."""
    if repeats(options):
        # The pages of all queues are translated for the first time once, in step.
        cold = ENTRIES * options.qps if options.qps > 1 else 1
        return Laps.of(options, cycle=options.qps, cold=cold)
    warm = _warm_laps(options)
    return Laps(warm or options.warmup, options.iters, exact=not warm, samples=FEWEST, error=ERROR)
