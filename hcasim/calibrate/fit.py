"""The fit itself: bounded least squares, rounded, with its uncertainty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hcasim.calibrate.confidence import confidence
from hcasim.calibrate.fitted import FittedParameter, Residual
from hcasim.calibrate.identifiability import examine_ties, verdicts
from hcasim.calibrate.local import Local
from hcasim.calibrate.loss import LINEAR, LOSSES, Loss
from hcasim.calibrate.objective import Budget, BudgetSpent, Objective, Run, simulate
from hcasim.calibrate.observation import Observation, without_repeats
from hcasim.calibrate.parameters import FreeParameter, free_parameters, settings
from hcasim.calibrate.report import FitReport
from hcasim.calibrate.space import UNNOTICED
from hcasim.catalog import Fit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

ROUNDS = 50
"""Most steps of a search before it is given up."""
PLACES = 16
"""Values of a number that is no time, such as the entries of a cache, that are tried before a
search: its effect may be flat here and steep there, where slopes do not find the way."""
INSIDE = 1e-3
"""How far from the bounds the second search sets out, in widths of the bounds."""


@dataclass(frozen=True)
class _Solution:
    """Where a search ended.

    Parameters:
        values: of the free parameters by path, in base units, rounded.
        residuals: relative errors in tolerances before the rounding.
        converged: whether the search ended by itself.
    """

    values: dict[str, int]
    residuals: Array
    converged: bool


@dataclass(frozen=True)
class Search:
    """How a fit is searched for.

    Parameters:
        loss: how an error weighs.
        step: steps that are shorter end the search, in widths of the bounds; by default a tenth
            of what the results are rounded to.
        gain: steps that lower the cost by a smaller share end it, too.
        budget: what it may take; without end if None.
        twice: search again from where the first search ended, even if that is not a bound.
        scan: look for numbers that are no times, whose effect may have steps, over their range.
        keep: leave what the data do not tell as it was at the start, as far as the cost allows.
    """

    loss: Loss = LINEAR
    step: float | None = None
    gain: float = 1e-12
    budget: Budget | None = None
    twice: bool = True
    scan: bool = False
    keep: bool = False


USUAL = Search()
"""The search of a fit to published numbers: to the last digit that is written."""
TRACES = Search(loss=LOSSES["soft_l1"], step=1e-4, gain=1e-3, twice=False, scan=True, keep=True)
"""The search of a fit to traces: a fraction of what their noise can tell."""


def calibrate(
    fit: Fit,
    observations: Sequence[Observation],
    *,
    run: Run = simulate,
    search: Search = USUAL,
) -> FitReport:
    """Fit the free parameters of a fit to published or measured numbers.

    The values that the fit holds do not matter: the search sets out from its `start` entries, so
    that the same bounds and the same observations give the same result.

    Parameters:
        fit: its entries with bounds are chosen anew.
        observations: what to fit them to; a number that comes twice counts once.
        run: simulates points, one after another without it.
        search: how.

    Returns:
        The fit with its uncertainty, and what the data cannot tell.

    Raises:
        CatalogError: every fault of the fit, or a value that some machine does not allow.
    """
    parameters = free_parameters(fit)
    kept = without_repeats(observations)
    objective = Objective(kept, parameters, run, search.budget)
    solution = _search(objective, parameters, search)
    point = settings(solution.values, parameters)
    # What remains is needed to say how good the fit is, however it ended.
    objective.budget = None
    slopes = objective.slopes(point, parameters)
    found = confidence(slopes, solution.residuals, parameters, kept, search.loss)
    if search.keep and found.undetermined.size:
        solution = _kept(objective, parameters, solution, found.undetermined, search)
        point = settings(solution.values, parameters)
        slopes = objective.slopes(point, parameters)
        found = confidence(slopes, solution.residuals, parameters, kept, search.loss)
    simulated = objective.simulated([point])[0]
    residuals = objective.residuals(point)
    ties = examine_ties(objective, point, parameters)
    judged = verdicts(found.undetermined, parameters)
    fitted = []
    for n, (one, verdict) in enumerate(zip(parameters, judged, strict=True)):
        fitted.append(
            FittedParameter(
                parameter=one,
                value=solution.values[one.path],
                deviation=float(found.deviations[n]) if verdict.identified else float("inf"),
                verdict=verdict,
                claims=_claims(kept, found.influences[n]),
                correlation={
                    other.path: float(found.correlation[n, m]) for m, other in enumerate(parameters)
                },
            )
        )
    return FitReport(
        fit=fit,
        parameters=tuple(fitted),
        residuals=tuple(
            Residual(one, float(value)) for one, value in zip(kept, simulated, strict=True)
        ),
        ties=tuple(ties),
        cost=search.loss.cost(residuals),
        inflation=found.inflation,
        evaluations=objective.evaluations,
        converged=solution.converged,
        local=Local(objective, point, slopes, residuals, found, search.loss),
    )


def _kept(
    objective: Objective,
    parameters: Sequence[FreeParameter],
    solution: _Solution,
    undetermined: Array,
    how: Search,
) -> _Solution:
    """Go back to the start along the moves that the data do not notice."""
    import numpy as np

    lows = np.array([one.low for one in parameters], dtype=float)
    widths = np.array([one.width for one in parameters], dtype=float)
    start = (np.array([one.start for one in parameters]) - lows) / widths
    ended = (np.array([solution.values[one.path] for one in parameters]) - lows) / widths
    place = ended + undetermined @ (undetermined.T @ (start - ended))
    found = np.clip(lows + place * widths, lows, lows + widths)
    values = {one.path: one.rounded(v) for one, v in zip(parameters, found, strict=True)}
    residuals = objective.residuals(settings(values, tuple(parameters)))
    before, after = how.loss.cost(solution.residuals), how.loss.cost(residuals)
    if after > before + UNNOTICED:
        return solution
    return replace(solution, values=values, residuals=residuals)


def _claims(observations: Sequence[Observation], influences: NDArray[np.bool_]) -> tuple[str, ...]:
    """Return the statements that determine a parameter; of curves their names."""
    chosen = (one for one, yes in zip(observations, influences, strict=True) if bool(yes))
    return tuple(dict.fromkeys(one.curve or one.id for one in chosen))


def _search(
    objective: Objective, parameters: Sequence[FreeParameter], how: Search = USUAL
) -> _Solution:
    import numpy as np
    from scipy.optimize import least_squares

    free = tuple(parameters)
    lows = np.array([one.low for one in free], dtype=float)
    widths = np.array([one.width for one in free], dtype=float)
    scales = objective.scales()

    def point(x: Array) -> Mapping[str, int]:
        values = lows + x * widths
        return settings(
            {one.path: one.clip(one.snap(v)) for one, v in zip(free, values, strict=True)}, free
        )

    def slopes(x: Array) -> Array:
        found: Array = objective.slopes(point(x), free, central=False) * widths / scales[:, None]
        return found

    # In widths of the bounds all parameters are of one size. The search ends when its steps are
    # below what the result is rounded to.
    finest = min(one.grain / one.width for one in free)
    first = (np.array([one.start for one in free]) - lows) / widths
    best, errors, lowest = first, np.zeros(0), float("inf")

    def residuals(x: Array) -> Array:
        nonlocal best, errors, lowest
        found = objective.residuals(point(x))
        cost = how.loss.cost(found)
        if cost < lowest:
            best, errors, lowest = x.copy(), found, cost
        return found

    def scan(column: int) -> None:
        low, high = 0.0, 1.0
        for _ in range(2):
            places = np.tile(best, (PLACES, 1))
            places[:, column] = np.linspace(low, high, PLACES)
            objective.simulated([point(place) for place in places])
            for place in places:
                residuals(place)
            gap = (high - low) / (PLACES - 1)
            low, high = max(0.0, best[column] - gap), min(1.0, best[column] + gap)

    def search(start: Array, method: str) -> Any:
        return least_squares(
            residuals,
            start,
            jac=slopes,
            bounds=(np.zeros(len(free)), np.ones(len(free))),
            method=method,
            x_scale=1.0,
            xtol=0.1 * finest if how.step is None else how.step,
            ftol=how.gain,
            gtol=1e-12,
            max_nfev=ROUNDS,
            **how.loss.least_squares(),
        )

    # dogbox strides along bounds, where trf creeps in steps that whole picoseconds hide; but it
    # can be caught in a corner if the data do not determine everything, out of which trf finds.
    try:
        if how.scan:
            for column, one in enumerate(free):
                if one.stepped:
                    scan(column)
            first = best
        strides = search(first, "dogbox")
        inside = np.clip(strides.x, INSIDE, 1 - INSIDE)
        settled = strides.status > 0 and not how.twice and np.array_equal(inside, strides.x)
        settles = strides if settled else search(inside, "trf")
    except BudgetSpent:
        converged = False
    else:
        result = min(strides, settles, key=lambda one: one.cost)
        best, converged = result.x, bool(result.status > 0)
        errors = objective.residuals(point(best))
    values = lows + best * widths
    return _Solution(
        {one.path: one.rounded(v) for one, v in zip(free, values, strict=True)}, errors, converged
    )
