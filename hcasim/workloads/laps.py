"""Timing of iterations, cut short once they repeat."""

from __future__ import annotations

from hcasim.engine import bounded_mean, find_period

ENOUGH = 6
MOST = 12


class Laps:
    """Durations of the iterations of one process.

    The average is taken over the timed iterations only. Once the durations repeat, the rest
    are known without running them.

    Args:
        warmup: iterations that are not averaged.
        iters: iterations that are.
        exact: whether every iteration has to be run.
        cycle: iterations after which the same queue pair has its turn again.
        repeats: how often the pattern must be seen before it is believed.
        slack: relative difference between repetitions that is still a repetition.
        error: relative error to which the mean of durations that do not repeat should be known;
            after 12 of them it is taken as it is. With 0 they have to repeat.
    """

    def __init__(
        self,
        warmup: int,
        iters: int,
        exact: bool,
        *,
        cycle: int = 1,
        repeats: int = 3,
        slack: float = 0.0,
        error: float = 0.0,
    ) -> None:
        self.durations_ps: list[int] = []
        self._warmup = warmup
        self._iters = iters
        self._exact = exact
        self._cycle = cycle
        self._repeats = repeats
        self._slack = slack
        self._error = error
        self._period: int | None = None

    @property
    def done(self) -> bool:
        """Whether the average is known."""
        return self._period is not None or len(self.durations_ps) >= self._warmup + self._iters

    def lap(self, duration_ps: int) -> None:
        """Note the duration of one more iteration."""
        self.durations_ps.append(duration_ps)
        if self._exact or self._period is not None:
            return
        # The first turn of each queue pair starts cold and is never part of the pattern.
        warm = self.durations_ps[self._cycle :]
        if len(warm) % self._cycle:
            return
        self._period = find_period(warm, repeats=self._repeats, slack=self._slack, step=self._cycle)
        if self._period is None and self._error:
            known = bounded_mean(warm, enough=ENOUGH, error=self._error)
            if known is not None or len(warm) >= MOST:
                self._period = len(warm)

    def settle(self, duration_ps: int) -> None:
        """Note the duration of an iteration that all others are known to repeat."""
        self.durations_ps.append(duration_ps)
        self._period = 1

    def total_ps(self) -> int:
        """Time of all timed iterations in ps, run or repeated."""
        run = self.durations_ps
        timed = run[self._warmup : self._warmup + self._iters]
        total, missing = sum(timed), self._iters - len(timed)
        if not missing:
            return total
        assert self._period is not None
        pattern = run[-self._period :]
        # Repetitions that fall into the warm-up only shift where the pattern starts.
        shift = max(0, self._warmup - len(run)) % self._period
        pattern = pattern[shift:] + pattern[:shift]
        whole, part = divmod(missing, self._period)
        return total + whole * sum(pattern) + sum(pattern[:part])

    def mean_ps(self) -> float:
        """Mean duration of a timed iteration in ps."""
        return self.total_ps() / self._iters
