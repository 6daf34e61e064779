"""What the samples of one measured point say: a central value, and how far it may be off."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from hcasim.traces import Measured

QUARTILES = 1.348980
"""Distance of the quartiles of a normal distribution, in standard deviations."""
MEDIAN = math.sqrt(math.pi / 2)
"""Standard error of the median of normal samples, in that of their mean."""
_PRINTED = re.compile(r"([0-9]+)(?:\.([0-9]*))?")


@dataclass(frozen=True)
class Measurement:
    """A measured number, in the unit of its quantity.

    Parameters:
        value: the median of the samples, or the number that a tool printed of them.
        sampling: standard error of the value by the spread of the samples; 0 if that is unknown.
        rounding: half a unit of the last digit that was printed; 0 if samples were kept.
    """

    value: float
    sampling: float
    rounding: float

    def deviation(self, floor: float) -> float:
        """Return the standard deviation of the value as an image of what a model can give, whose
        own relative error `floor` is independent of those of the measurement."""
        return math.hypot(self.sampling, self.rounding / math.sqrt(3), floor * self.value)


def measurement(one: Measured) -> Measurement:
    """Read a measured quantity.

    Samples and histograms give their median; its standard error is that of a normal distribution
    with their quartiles, so that a long tail does not widen it. Of printed statistics the median
    counts, else the mean, else the minimum; a printed deviation gives the standard error.
    """
    error = 0.0
    if seen := one.statistics:
        best = next((v for v in (seen.median, seen.mean, seen.minimum) if v is not None), None)
        if best is None:
            return Measurement(0.0, 0.0, 0.0)
        if seen.deviation is not None and seen.count is not None:
            error = seen.deviation / math.sqrt(seen.count) * (MEDIAN if best == seen.median else 1)
        return Measurement(best, error, _rounding(one.printed, best))
    pairs = one.histogram or sorted(Counter(one.samples).items())
    values, counts = zip(*pairs, strict=True)
    low, middle, high = (_quantile(values, counts, part) for part in (0.25, 0.5, 0.75))
    if (count := sum(counts)) > 1:
        error = MEDIAN * (high - low) / QUARTILES / math.sqrt(count)
    return Measurement(middle, error, _rounding(one.printed, middle))


def pooled(repeats: Sequence[Measurement]) -> Measurement:
    """Return what repeated measurements of one thing, one or more, say together.

    How far the runs differ beyond their own errors is estimated from their scatter (the variance
    component of a random effects model: Cochran, Biometrics 10, 1954, page 101) and counts for
    each. Roundings are not averaged away, because that of one number is the same each time.
    """
    if len(repeats) == 1:
        return repeats[0]
    own = [one.sampling**2 + one.rounding**2 / 3 for one in repeats]
    scatter = statistics.variance(one.value for one in repeats)
    between = max(0.0, scatter - statistics.fmean(own))
    # Where the error of one is not known, all count the same.
    known = all(error + between > 0 for error in own)
    weights = [1 / (error + between) if known else 1.0 for error in own]
    shares = [weight / sum(weights) for weight in weights]
    pairs = list(zip(shares, repeats, strict=True))
    return Measurement(
        value=sum(share * one.value for share, one in pairs),
        sampling=math.sqrt(sum(share**2 * (one.sampling**2 + between) for share, one in pairs)),
        rounding=sum(share * one.rounding for share, one in pairs),
    )


def _quantile(values: tuple[float, ...], counts: tuple[int, ...], part: float) -> float:
    """Return a quantile, midway between two samples if it falls between them."""
    wanted, seen = part * sum(counts), 0
    for number, (value, count) in enumerate(zip(values, counts, strict=True)):
        seen += count
        if seen > wanted:
            return value
        if seen == wanted:
            return (value + values[min(number + 1, len(values) - 1)]) / 2
    return values[-1]


def _rounding(printed: str, value: float) -> float:
    """Return half a unit of the last printed digit, whatever the unit it was printed in."""
    match = _PRINTED.search(printed)
    number = float(match.group()) if match else 0.0
    if match is None or not number:
        return 0.0
    return 0.5 * 10.0 ** -len(match.group(2) or "") / number * value
