"""Finding the steady state of a deterministic model, which is periodic."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt

STANDARD_ERRORS = 4
BATCHES = 8


def find_period(
    intervals_ps: Sequence[int],
    *,
    longest: int = 8,
    repeats: int = 3,
    slack: float = 0.0,
    step: int = 1,
) -> int | None:
    """The shortest period, in intervals, with which a sequence of them ends, or None.

    The last ``repeats * period`` intervals must be ``repeats`` copies of each other, to the
    picosecond, or, with ``slack``, each copy must last the same to that relative precision.

    Args:
        intervals_ps: times between successive events of one kind, in ps, oldest first.
        longest: longest period to look for, in steps.
        step: the period must be a multiple of it.
    """
    count = len(intervals_ps)
    for period in range(step, longest * step + 1, step):
        needed = period * repeats
        if needed > count:
            return None
        tail = intervals_ps[count - needed :]
        if slack == 0.0:
            if all(tail[i] == tail[i - period] for i in range(period, needed)):
                return period
            continue
        lengths = [sum(tail[k * period : (k + 1) * period]) for k in range(repeats)]
        if max(lengths) - min(lengths) <= slack * max(lengths):
            return period
    return None


def bounded_mean(intervals_ps: Sequence[int], *, enough: int, error: float) -> int | None:
    """Mean of at least ``enough`` irregular intervals in ps, if known to the relative ``error``.

    The error is estimated as half the difference between the means of the two halves.
    """
    count = len(intervals_ps)
    if count < enough:
        return None
    half = count // 2
    early = sum(intervals_ps[:half]) / half
    late = sum(intervals_ps[count - half :]) / half
    mean = sum(intervals_ps) / count
    return round(mean) if abs(early - late) <= 2 * error * mean else None


def mean_error(parts: Sequence[float]) -> float:
    """Relative error of the mean of equally long parts, as far as their scatter shows it.

    It is four standard errors of the mean of batches, which are less alike their neighbours than
    single ones, or the difference of the means of the two halves if that is more: a drift, which
    may go on. Of fewer than two parts nothing shows.
    """
    count = min(BATCHES, len(parts))
    if count < 2:
        return 0.0
    ends = [len(parts) * number // count for number in range(count + 1)]
    means = [sum(parts[a:b]) / (b - a) for a, b in pairwise(ends)]
    mean = sum(means) / count
    variance = sum((one - mean) ** 2 for one in means) / (count - 1)
    half = count // 2
    early, late = sum(means[:half], 0.0), sum(means[-half:], 0.0)
    drift = abs(late - early) / half
    return max(STANDARD_ERRORS * sqrt(variance / count), drift) / mean
