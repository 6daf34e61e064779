"""What parameters do to a result: each alone at the ends of its range, or all at once."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import Field

from hcasim.catalog import CatalogError, Value
from hcasim.catalog.loader import each_file_once
from hcasim.runs.document import Form
from hcasim.study.sensitivity.factor import Factor, Found, settings_of
from hcasim.study.sensitivity.subject import Asked, Case, Reading, Run, Subject

if TYPE_CHECKING:
    from numpy.typing import NDArray


Values = Mapping[str, int]
"""Of some factors, by path; the others stay as they are."""


class Evaluator:
    """Gives what a subject becomes at values of factors, all that is asked at once in parallel.

    Attributes:
        simulated: different points that were needed.
    """

    def __init__(self, subject: Subject, factors: Mapping[str, Factor], run: Run) -> None:
        self.simulated = 0
        self._subject, self._factors, self._run = subject, factors, run

    def fault(self, path: str, value: int) -> str:
        """Say why no machine can have a value; empty if one can."""
        try:
            self._case({path: value})
        except CatalogError as error:
            return error.faults[0]
        return ""

    def __call__(self, every: Sequence[Values]) -> list[list[Reading]]:
        """Return the readings of each output at each of some values."""
        with each_file_once():
            cases = [self._case(values) for values in every]
        found = self._run(dict.fromkeys(job for one in cases for job in one.points))
        self.simulated += len(found)
        return [one.read(found) for one in cases]

    def _case(self, values: Values) -> Case:
        return self._subject.case(lambda machine: settings_of(machine, values, self._factors))


class Effect(Form):
    """What a parameter does to an output."""

    parameter: str = Field(description="its path")
    output: str = Field(description="its name")
    low: float = Field(description="the output with the parameter at its lower end")
    high: float = Field(description="and at its upper end")
    swing: float = Field(description="how far the output moves")
    elasticity: float | None = Field(
        description="by how many percent the output changes with one percent of the parameter"
    )
    turns: Value | None = Field(
        description="end at which a claim changes from held to missed or back, in base units"
    )
    indices: dict[str, float] | None = Field(
        default=None,
        description="of Sobol: first, the share of the variance that the parameter alone explains, "
        "and total, with what it does together with others; each with the half width of its "
        "interval of 95 %",
    )

    @classmethod
    def of(
        cls, factor: Factor, output: Asked, base: Reading, low: Reading, high: Reading
    ) -> Effect:
        """Return the effect of a factor from the readings at its value and at its ends."""
        values = (base.value, low.value, high.value)
        width, elasticity = factor.high - factor.low, None
        if base.value and factor.base and width:
            elasticity = (high.value - low.value) / base.value * factor.base / width
        turns = [
            end
            for reading, end in ((low, factor.low), (high, factor.high))
            if reading.holds != base.holds
        ]
        return cls(
            parameter=factor.path,
            output=output.name,
            low=low.value,
            high=high.value,
            swing=max(values) - min(values),
            elasticity=elasticity,
            turns=turns[0] if turns else None,
        )


def usable(found: Found, evaluator: Evaluator) -> dict[str, Factor]:
    """Return the factors of which the machine can have an end; note the others as fixed."""
    factors = {}
    with each_file_once():
        for path, one in found.factors.items():
            kept, faults = one.within(partial(evaluator.fault, path))
            if kept.low == kept.high:
                found.fixed[path] = faults[0]
            else:
                factors[path] = kept
    return factors


def tornado(
    subject: Subject, factors: Mapping[str, Factor], evaluate: Evaluator
) -> tuple[list[Reading], list[Effect]]:
    """Return the outputs as they are, and what each factor does to each, the largest first."""
    ends = [
        (path, end)
        for path, one in factors.items()
        for end in sorted({one.low, one.high} - {one.base})
    ]
    base, *moved = evaluate([{}, *({path: end} for path, end in ends)])
    at = dict(zip(ends, moved, strict=True))
    effects = []
    for number, output in enumerate(subject.outputs):
        own = [
            Effect.of(
                factor,
                output,
                base[number],
                at.get((path, factor.low), base)[number],
                at.get((path, factor.high), base)[number],
            )
            for path, factor in factors.items()
        ]
        effects += sorted(own, key=lambda one: (-one.swing, one.parameter))
    return base, effects


_RESAMPLES = 100
"""Of the bootstrap that the intervals of indices come from."""
_CONFIDENCE = 1.959963984540054
"""Standard deviations on each side of an interval of 95 %."""


def sampled(
    subject: Subject, factors: Mapping[str, Factor], evaluate: Evaluator, samples: int, seed: int
) -> tuple[list[list[Reading]], dict[tuple[str, str], dict[str, float]]]:
    """Return the readings of each output over all samples, and Sobol's indices by parameter and
    output.

    Raises:
        CatalogError: a machine cannot have all values of a sample.
    """
    import numpy as np

    values = [
        {path: one.at(share) for (path, one), share in zip(factors.items(), place, strict=True)}
        for place in _design([one.continuous for one in factors.values()], samples, seed)
    ]
    readings = [list(own) for own in zip(*evaluate(values), strict=True)]
    indices: dict[tuple[str, str], dict[str, float]] = {}
    for output, own in zip(subject.outputs, readings, strict=True):
        found = _sobol(np.array([one.value for one in own]), len(factors), seed)
        indices |= {(path, output.name): one for path, one in zip(factors, found, strict=True)}
    return readings, indices


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


def _sobol(numbers: NDArray[Any], parameters: int, seed: int) -> list[dict[str, float]]:
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
