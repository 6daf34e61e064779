"""Timing of iterations, cut short once they repeat or their mean is known."""

from __future__ import annotations

from math import sqrt

from hcasim.engine import bounded_mean, find_period, mean_error

ENOUGH = 6
STANDARD_ERRORS = 2
UNPROVEN = 2e-3
"""Least relative error of a rate that stands for what is left out."""


class Laps:
    """Durations of the iterations of one process.

    The average is taken over the timed iterations only. Once the durations repeat, the rest
    are known without running them.

    Args:
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
    """

    def __init__(
        self,
        warmup: int,
        iters: int,
        exact: bool,
        *,
        cycle: int = 1,
        cold: int | None = None,
        together: int = 1,
        repeats: int = 3,
        slack: float = 0.0,
        drift: float = 0.0,
        error: float = 0.0,
        enough: int = ENOUGH,
        samples: int = 0,
    ) -> None:
        self.durations_ps: list[int] = []
        self._warmup = warmup
        self._iters = iters
        self._exact = exact
        self._cycle = cycle
        self._cold = cycle if cold is None else cold
        self._together = -(-together // cycle) * cycle
        self._repeats = repeats
        self._slack = slack
        self._drift = drift
        self._error = error
        self._enough = enough
        self._samples = samples
        self._sum = 0
        self._sum_of_squares = 0
        self._period: int | None = None
        self._pattern_error = 0.0

    @property
    def done(self) -> bool:
        """Whether the average is known."""
        return self._period is not None or len(self.durations_ps) >= self._warmup + self._iters

    @property
    def pattern_ps(self) -> list[int]:
        """The durations that repeat, or, if none do, those of which the mean is known."""
        return self.durations_ps[len(self.durations_ps) - (self._period or 0) :]

    @property
    def pattern_error(self) -> float:
        """Relative error of the mean of the pattern."""
        return self._pattern_error

    @property
    def error(self) -> float:
        """Relative error of the mean, to which iterations that were run contribute nothing."""
        missing = self._warmup + self._iters - max(self._warmup, len(self.durations_ps))
        return self._pattern_error * max(0, missing) / self._iters

    @property
    def error_percent(self) -> float:
        """That error in percent."""
        return 100 * self.error

    def lap(self, duration_ps: int) -> None:
        """Note the duration of one more iteration."""
        self.durations_ps.append(duration_ps)
        if self._exact or self._period is not None:
            return
        if self._samples:
            self._sample(duration_ps)
        elif len(self.durations_ps) % self._cycle == 0:
            self._repeat()

    def _repeat(self) -> None:
        # The first turn of each queue pair starts cold and is never part of the pattern.
        warm = self.durations_ps[self._cold :]
        if len(warm) < self._together:
            return
        period = find_period(warm, repeats=self._repeats, slack=self._slack, step=self._cycle)
        if period is not None:
            self._period = max(period, self._together // period * period)
            self._pattern_error = max(self._slack, self._drift, self._once(period))
        if self._period is None and self._error:
            known = bounded_mean(warm, enough=self._enough, error=self._error)
            if known is not None or len(warm) >= 2 * self._enough:
                self._period = len(warm)
                self._pattern_error = mean_error(warm)

    def _once(self, period: int) -> float:
        """Relative error for what happens once: pages of queues that are used for the first time.

        No more is taken for that than what the first iteration took longer than others.
        """
        run = self.durations_ps
        mean = sum(run[-period:]) / period
        return max(0.0, max(run) - mean) / mean / self._iters

    def _sample(self, duration_ps: int) -> None:
        count = len(self.durations_ps) - self._warmup
        if count <= 0:
            return
        self._sum += duration_ps
        self._sum_of_squares += duration_ps * duration_ps
        if count < self._samples:
            return
        mean = self._sum / count
        variance = (self._sum_of_squares - self._sum * self._sum // count) / (count - 1)
        self._pattern_error = STANDARD_ERRORS * sqrt(variance / count) / mean
        if self._pattern_error <= self._error:
            self._period = count

    def settle(self, duration_ps: int, error: float = 0.0) -> None:
        """Note the duration of an iteration that all others are known to repeat.

        Args:
            error: relative one to which it is known.
        """
        self.durations_ps.append(duration_ps)
        self._period = 1
        self._pattern_error = error

    def mean_ps(self, every: int = 1) -> float:
        """Mean duration in ps of the timed iterations, run or repeated.

        Args:
            every: average only those whose number, counted from 0 at the first iteration of all,
                is a multiple of it.
        """
        run, end = self.durations_ps, self._warmup + self._iters
        known = min(len(run), end)
        chosen = run[-(-self._warmup // every) * every : known : every]
        count = len(range(-(-self._warmup // every) * every, end, every))
        total, missing = sum(chosen), count - len(chosen)
        if not missing:
            return total / count
        assert self._period is not None
        # The iterations that repeat: as many as it takes until they are in step with ``every``.
        pattern = run[len(run) - self._period :]
        first = max(-(-known // every) * every, -(-self._warmup // every) * every)
        places = [(first - len(run) + k * every) % self._period for k in range(self._period)]
        turns = [pattern[place] for place in places]
        whole, part = divmod(missing, len(turns))
        return (total + whole * sum(turns) + sum(turns[:part])) / count
