"""Finding the steady state of a deterministic model, which is periodic, or known by its mean."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf, sqrt
from typing import Final

FEWEST: Final = 8
"""Batches of which a mean is known at the least."""
NORMAL: Final = 3.29
"""Standard errors within which a mean of many normal batches lies, but for one in a thousand."""
LONGEST_MEMORY: Final = 0.9
"""Most correlation of neighbours that is corrected for; more of it is a drift."""


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


def settled(values: Sequence[float], step: int = 1) -> tuple[int, float]:
    """How many of the last values stand best for what follows, and the error of their mean.

    They are all, three quarters, or half of them; values left out are a multiple of ``step``.
    """
    count = len(values)
    starts = [count * part // 4 // step * step for part in range(3)]
    errors = [mean_error(values[start:]) for start in starts]
    best = errors.index(min(errors))
    return count - starts[best], errors[best]


def mean_error(values: Sequence[float]) -> float:
    """Relative error of the mean of values for those that follow, by the method of batch means.

    Batches become twice as long until they do not depend on their neighbours. The error is the
    confidence interval by Student's distribution, or the difference of the means of the two halves
    if that is more: a drift, which may go on. It is infinite if there are too few values.
    """
    count, total = len(values), sum(values, 0.0)
    if count < FEWEST or total <= 0:
        return inf
    batches = list(values)
    while len(batches) >= 2 * FEWEST and abs(_correlation(batches)) > 2 / sqrt(len(batches)):
        # An odd one at the start is left out.
        late = batches[len(batches) % 2 :]
        batches = [(a + b) / 2 for a, b in zip(late[::2], late[1::2], strict=True)]
    number = len(batches)
    variance = sum(((one - total / count) ** 2 for one in batches), 0.0) / (number - 1)
    memory = min(LONGEST_MEMORY, max(0.0, _correlation(batches)))
    scatter = _quantile(number - 1) * sqrt(variance / number * (1 + memory) / (1 - memory))
    half = count // 2
    drift = abs(sum(values[:half], 0.0) - sum(values[count - half :], 0.0)) / half
    return max(scatter, drift) / (total / count)


def _correlation(values: Sequence[float]) -> float:
    """Of each of the values with the next one."""
    mean = sum(values, 0.0) / len(values)
    apart = [one - mean for one in values]
    whole = sum((one * one for one in apart), 0.0)
    return sum((a * b for a, b in pairwise(apart)), 0.0) / whole if whole else 0.0


def _quantile(freedom: int) -> float:
    """Student's quantile for as many degrees of freedom (Abramowitz and Stegun 26.7.5)."""
    one, square = NORMAL, NORMAL * NORMAL
    return one * (
        1
        + (square + 1) / (4 * freedom)
        + ((5 * square + 16) * square + 3) / (96 * freedom**2)
        + (((3 * square + 19) * square + 17) * square - 15) / (384 * freedom**3)
    )
