"""All at once: how much of what a result may be comes from which parameter, by SALib."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hcasim.catalog import CatalogError
from hcasim.study.sensitivity.factor import Factor
from hcasim.study.sensitivity.subject import Output, Reading, Subject
from hcasim.study.sensitivity.tornado import Evaluator

USUAL: Mapping[str, int] = {"morris": 16, "sobol": 64}
"""Trajectories of Morris, and samples of Sobol before they are combined."""


@dataclass(frozen=True)
class Index:
    """What one parameter does to one output while all others vary, too.

    Parameters:
        factor: the parameter.
        output: what it does something to.
        values: by name, each with the half width of its interval of 95 %, if it has one. Of Sobol
            "first", the share of the variance that the parameter alone explains, and "total", with
            what it does together with others (A. Saltelli et al., Computer Physics Communications
            181, 2010). Of Morris "mean_absolute", the mean size of the change over the range, and
            "mean" and "deviation" (M. D. Morris, Technometrics 33, 1991), in the output's unit.
    """

    factor: Factor
    output: Output
    values: Mapping[str, tuple[float, float | None]]

    @property
    def numbers(self) -> dict[str, float]:
        """The values and, behind each that has one, the half width of its interval, by name."""
        found: dict[str, float] = {}
        for name, (value, width) in self.values.items():
            found[name] = value
            if width is not None:
                found[f"{name}_confidence"] = width
        return found


@dataclass(frozen=True)
class Spread:
    """What an output is over all samples.

    Parameters:
        output: which.
        quantiles: of 5, 50 and 95 %.
        holding: share of the samples in which a claim holds; None where nothing is claimed.
    """

    output: Output
    quantiles: tuple[float, float, float]
    holding: float | None


def sampled(
    method: str,
    subject: Subject,
    factors: Mapping[str, Factor],
    evaluate: Evaluator,
    samples: int,
    seed: int,
) -> tuple[list[Index], list[Spread], int]:
    """Return indices of each factor and output, the outputs' spreads, and the number of samples.

    Raises:
        CatalogError: SALib is not there, or a machine cannot have all values of a sample.
    """
    import numpy as np

    draw, analyse = _salib(method)
    number = len(factors)
    problem = {"num_vars": number, "names": [*factors], "bounds": [[0.0, 1.0]] * number}
    stepped = [place for place, one in enumerate(factors.values()) if not one.continuous]
    with warnings.catch_warnings():
        # Of a number of samples that is no power of two, and of outputs that stay as they are.
        warnings.simplefilter("ignore")
        places = draw(problem, stepped, samples, seed)
        values = [
            {path: one.at(share) for (path, one), share in zip(factors.items(), place, strict=True)}
            for place in places
        ]
        readings = evaluate(values)
        indices = []
        for place, output in enumerate(subject.outputs):
            found = analyse(problem, places, np.array([one[place].value for one in readings]), seed)
            indices += [
                Index(factor, output, {name: pairs[n] for name, pairs in found.items()})
                for n, factor in enumerate(factors.values())
            ]
    spreads = [
        _spread(output, [one[place] for one in readings])
        for place, output in enumerate(subject.outputs)
    ]
    return indices, spreads, len(values)


def _spread(output: Output, readings: Sequence[Reading]) -> Spread:
    import numpy as np

    low, middle, high = np.quantile([one.value for one in readings], [0.05, 0.5, 0.95]).tolist()
    claimed = readings[0].holds is not None
    share = sum(bool(one.holds) for one in readings) / len(readings)
    return Spread(output, (low, middle, high), share if claimed else None)


def _salib(method: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return what draws samples, and what makes indices of them."""
    try:
        from SALib.analyze import morris as of_morris
        from SALib.analyze import sobol as of_sobol
        from SALib.sample import morris
    except ImportError:
        needs = "needs SALib; allowed: pip install 'hcasim[sensitivity]'"
        raise CatalogError([f"method: {method} {needs}"]) from None

    def draw_morris(problem: Any, stepped: Any, samples: int, seed: int) -> Any:
        return morris.sample(problem, samples, num_levels=4, seed=seed)

    def read_morris(problem: Any, places: Any, column: Any, seed: int) -> Any:
        found = of_morris.analyze(problem, places, column, num_levels=4, seed=seed)
        return {
            "mean_absolute": _pairs(found["mu_star"], found["mu_star_conf"]),
            "mean": _pairs(found["mu"]),
            "deviation": _pairs(found["sigma"]),
        }

    def read_sobol(problem: Any, places: Any, column: Any, seed: int) -> Any:
        if column.min() == column.max():
            return dict.fromkeys(("first", "total"), [(0.0, 0.0)] * problem["num_vars"])
        found = of_sobol.analyze(problem, column, calc_second_order=False, seed=seed)
        return {
            "first": _pairs(found["S1"], found["S1_conf"]),
            "total": _pairs(found["ST"], found["ST_conf"]),
        }

    return (draw_morris, read_morris) if method == "morris" else (_draw_sobol, read_sobol)


def _draw_sobol(problem: Any, stepped: Any, samples: int, seed: int) -> Any:
    """Return two samples as SALib expects them: between each pair of places those of the first with
    one coordinate of the second."""
    import numpy as np
    from scipy.stats.qmc import Sobol

    number = problem["num_vars"]
    both = Sobol(2 * number, seed=seed).random(samples)
    # The first digits of Sobol's sequences may be the same in two dimensions. A parameter of
    # two values would then have the same in both samples, and seem to do nothing.
    draw = np.random.default_rng(seed)
    for column in (*stepped, *(number + one for one in stepped)):
        both[:, column] = (draw.permutation(samples) + 0.5) / samples
    one, own = np.eye(number, dtype=bool), []
    for first, second in zip(*np.hsplit(both, 2), strict=True):
        own += [first, *np.where(one, second, first), second]
    return np.array(own)


def _pairs(values: Any, widths: Any = None) -> list[tuple[float, float | None]]:
    ends = [None] * len(values) if widths is None else [float(one) for one in widths]
    return [(float(value), end) for value, end in zip(values, ends, strict=True)]
