"""All at once: how much of what a result may be comes from which parameter."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hcasim.study.sensitivity.factor import Factor
from hcasim.study.sensitivity.subject import Output, Reading, Subject
from hcasim.study.sensitivity.tornado import Evaluator

if TYPE_CHECKING:
    from numpy.typing import NDArray

_RESAMPLES = 100
"""Of the bootstrap that the intervals of indices come from."""
_CONFIDENCE = 1.959963984540054
"""Standard deviations on each side of an interval of 95 %."""

Indices = Mapping[str, float]
"""Sobol's indices of a parameter: "first", the share of the variance that it alone explains, and
"total", with what it does together with others; "_confidence" behind the name of each is the half
width of its interval of 95 %."""


@dataclass(frozen=True)
class Spread:
    """What an output is over all samples.

    Parameters:
        quantiles: of 5, 50 and 95 %.
        holding: share of the samples in which a claim holds; None where nothing is claimed.
    """

    quantiles: tuple[float, float, float]
    holding: float | None


def sampled(
    subject: Subject, factors: Mapping[str, Factor], evaluate: Evaluator, samples: int, seed: int
) -> tuple[dict[tuple[str, Output], Indices], dict[Output, Spread], int]:
    """Return indices by path and output, the outputs' spreads, and the number of machines.

    Raises:
        CatalogError: a machine cannot have all values of a sample.
    """
    import numpy as np

    values = [
        {path: one.at(share) for (path, one), share in zip(factors.items(), place, strict=True)}
        for place in _design([one.continuous for one in factors.values()], samples, seed)
    ]
    readings = evaluate(values)
    indices: dict[tuple[str, Output], Indices] = {}
    spreads = {}
    for output, own in zip(subject.outputs, zip(*readings, strict=True), strict=True):
        numbers = np.array([one.value for one in own])
        for path, found in zip(factors, _sobol(numbers, len(factors), seed), strict=True):
            indices[path, output] = found
        spreads[output] = _spread(numbers, own)
    return indices, spreads, len(values)


def _spread(numbers: NDArray[Any], readings: Sequence[Reading]) -> Spread:
    import numpy as np

    low, middle, high = np.quantile(numbers, [0.05, 0.5, 0.95]).tolist()
    claimed = readings[0].holds is not None
    share = sum(bool(one.holds) for one in readings) / len(readings)
    return Spread((low, middle, high), share if claimed else None)


def _design(continuous: Sequence[bool], samples: int, seed: int) -> NDArray[Any]:
    """Return two samples, between each pair of places those of the first with one coordinate of
    the second."""
    import numpy as np
    from scipy.stats.qmc import Sobol

    number = len(continuous)
    with warnings.catch_warnings():
        # Of a number of samples that is no power of two.
        warnings.simplefilter("ignore")
        both = Sobol(2 * number, seed=seed).random(samples)
    # The first digits of Sobol's sequences may be the same in two dimensions. A parameter of
    # two values would then have the same in both samples, and seem to do nothing.
    draw = np.random.default_rng(seed)
    stepped = [place for place, one in enumerate(continuous) if not one]
    for column in (*stepped, *(number + one for one in stepped)):
        both[:, column] = (draw.permutation(samples) + 0.5) / samples
    one, own = np.eye(number, dtype=bool), []
    for first, second in zip(*np.hsplit(both, 2), strict=True):
        own += [first, *np.where(one, second, first), second]
    return np.array(own)


def _sobol(numbers: NDArray[Any], parameters: int, seed: int) -> list[Indices]:
    """Return the indices of each parameter from the numbers of a design.

    Source: A. Saltelli et al., Computer Physics Communications 181, 2010, table 2 (b) and (f).
    """
    import numpy as np

    table = numbers.reshape(-1, parameters + 2)
    table = (table - table.mean()) / (table.std() or 1.0)

    def indices(rows: Any) -> NDArray[Any]:
        first, mixed, second = np.split(table[rows], [1, -1], axis=-1)
        variance = np.var(np.concatenate([first, second]), axis=0)
        alone = np.mean(second * (mixed - first), axis=0)
        total = np.mean((first - mixed) ** 2, axis=0) / 2
        return np.array([alone, total]) / np.where(variance > 0, variance, np.inf)

    count = len(table)
    again = np.random.default_rng(seed).integers(count, size=(count, _RESAMPLES))
    widths = _CONFIDENCE * indices(again).std(axis=1, ddof=1)
    return [
        {"first": one, "first_confidence": near, "total": all_, "total_confidence": far}
        for (one, all_), (near, far) in zip(
            indices(slice(None)).T.tolist(), widths.T.tolist(), strict=True
        )
    ]
