"""The fit itself: bounded least squares, rounded, with its uncertainty; to claims or traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from hcasim.calibrate.confidence import Confidence, confidence, examine_ties, verdicts
from hcasim.calibrate.descent import TRACES, USUAL, Search, Solution, searched
from hcasim.calibrate.estimate import Estimate, Samples, compared
from hcasim.calibrate.intervals import (
    TRIES,
    UNNOTICED,
    profiled,
    unfinished,
    with_bootstrap,
    with_linear,
)
from hcasim.calibrate.loss import LOSSES
from hcasim.calibrate.objective import Objective, Run, simulate
from hcasim.calibrate.observation import Observation, without_repeats
from hcasim.calibrate.parameters import FreeParameter, Space, free_parameters, settings
from hcasim.calibrate.report import FitReport, Local, Traced, method
from hcasim.calibrate.request import Prepared
from hcasim.calibrate.sampling import straight_samples, weighed_samples
from hcasim.catalog import Fit
from hcasim.runs.executor import time_limit
from hcasim.runs.machine import each_machine_once

SAMPLES = 200
"""Samples that a file keeps."""
SEARCHES = 4
"""Most searches, each but the first from a place that is better than the fit before."""


@each_machine_once()
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


def fit_traces(prepared: Prepared, run: Run) -> FitReport:
    """Fit a machine to traces.

    Parameters:
        prepared: of `prepare_fit`.
        run: simulates points.

    Raises:
        OutOfTime: the seconds of the budget are over.
    """
    budget = prepared.request.budget
    seconds = None if budget is None else budget.seconds
    with time_limit(None if seconds is None else monotonic() + seconds):
        return _fitted(prepared, run)


def _fitted(prepared: Prepared, run: Run) -> FitReport:
    gathered = prepared.gathered
    fitted, held = gathered.split(prepared.request.holdout)
    report, samples = _searched(prepared, fitted, run)
    seen = report.local.objective.observations
    start = {path: one.parameter.start for one in report.parameters for path in one.parameter.paths}
    (before,) = report.local.objective.simulated([start])
    after: Sequence[float] = ()
    if held:
        parameters = [one.parameter for one in report.parameters]
        after = Objective(held, parameters, run).simulated([report.local.point])[0].tolist()
    return replace(
        report,
        traced=Traced(prepared, compared(seen, before), compared(held, after), samples),
    )


def _searched(
    prepared: Prepared, fitted: Sequence[Observation], run: Run
) -> tuple[FitReport, Samples]:
    """Search, and look around; if a better place comes up, search again from there."""
    request = prepared.request
    search = replace(TRACES, loss=LOSSES[request.loss], budget=request.budget)
    objectives = []
    for _ in range(SEARCHES):
        report = calibrate(prepared.fit, fitted, run=run, search=search)
        objectives.append(report.local.objective)
        rng = np.random.default_rng(request.seed)
        if not report.converged:
            report = unfinished(report)
        if not report.converged or request.intervals == "linear":
            report = with_linear(report)
            samples = straight_samples(report, rng, SAMPLES)
            break
        # A bootstrap with a straight model would not see how far the data leave a combination
        # open: verdicts and samples are those of the simulator.
        profile = profiled(report)
        report, cheaper = profile.report, profile.cheaper
        if cheaper is None:
            samples = weighed_samples(profile, rng, SAMPLES)
            cheaper = samples.cheaper
        if cheaper is None:
            if request.intervals == "bootstrap":
                tries = (TRIES, len(report.residuals))
                report = with_bootstrap(report, rng.standard_normal(tries))
            break
        search = replace(search, begin=cheaper)
    else:
        # What meets the data better again and again is no fit.
        report = with_linear(unfinished(replace(report, converged=False)))
        samples = straight_samples(report, rng, SAMPLES)
    evaluations = sum(one.evaluations for one in objectives)
    return replace(report, evaluations=evaluations), samples
