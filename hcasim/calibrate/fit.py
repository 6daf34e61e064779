"""The fit itself: bounded least squares, rounded, with its uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hcasim.calibrate.confidence import Confidence, confidence
from hcasim.calibrate.descent import USUAL, Search, Solution, searched
from hcasim.calibrate.estimate import Estimate, compared
from hcasim.calibrate.identifiability import examine_ties, verdicts
from hcasim.calibrate.linear import UNNOTICED
from hcasim.calibrate.objective import Objective, Run, simulate
from hcasim.calibrate.observation import Observation, without_repeats
from hcasim.calibrate.parameters import FreeParameter, Space, free_parameters, settings
from hcasim.calibrate.report import FitReport, Local, method
from hcasim.catalog import Fit


def calibrate(
    fit: Fit, observations: Sequence[Observation], *, run: Run = simulate, search: Search = USUAL
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
    solution = searched(objective, parameters, search)
    point = settings(solution.values, parameters)
    # What remains is needed to say how good the fit is, however it ended.
    objective.budget = None
    slopes = objective.slopes(point, parameters)
    found = confidence(slopes, solution.residuals, parameters, kept, search.loss)
    if search.keep and found.undetermined.size:
        solution = _kept(objective, parameters, solution, found, search)
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
            Estimate(
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
        residuals=compared(kept, simulated),
        ties=tuple(ties),
        cost=search.loss.cost(residuals),
        inflation=found.inflation,
        evaluations=objective.evaluations,
        converged=solution.converged,
        method=method(fit.floor_percent),
        local=Local(objective, point, slopes, residuals, found, search.loss),
    )


def _kept(
    objective: Objective,
    parameters: Sequence[FreeParameter],
    solution: Solution,
    found: Confidence,
    how: Search,
) -> Solution:
    """Go back to the start along the moves that the data do not notice."""
    space = Space(parameters)
    start = space.place({one.path: one.start for one in parameters})
    ended = space.place(solution.values)
    place = ended + found.undetermined @ (found.undetermined.T @ (start - ended))
    values = space.rounded(np.clip(place, 0, 1))
    residuals = objective.residuals(settings(values, tuple(parameters)))
    before, after = how.loss.cost(solution.residuals), how.loss.cost(residuals)
    if after > before + UNNOTICED * found.scale:
        return solution
    return replace(solution, values=values, residuals=residuals)


def _claims(observations: Sequence[Observation], influences: NDArray[np.bool_]) -> tuple[str, ...]:
    """Return the statements that determine a parameter; of curves their names."""
    chosen = (one for one, yes in zip(observations, influences, strict=True) if bool(yes))
    return tuple(dict.fromkeys(one.curve or one.id for one in chosen))
