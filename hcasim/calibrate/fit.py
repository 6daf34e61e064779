"""The fit itself: bounded least squares, rounded, with its uncertainty; to claims or traces."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from hcasim.calibrate.alternatives import find_alternatives
from hcasim.calibrate.confidence import UNNOTICED, Around, examine_ties, verdicts
from hcasim.calibrate.descent import TRACES, USUAL, Search, searched
from hcasim.calibrate.estimate import Estimate, compared
from hcasim.calibrate.intervals import Side, drawn, profiled, unfinished, with_linear
from hcasim.calibrate.loss import LOSSES, Array
from hcasim.calibrate.objective import Objective, Run, simulate
from hcasim.calibrate.observation import Observation, without_repeats
from hcasim.calibrate.parameters import free_parameters
from hcasim.calibrate.report import FitReport, Traced, method
from hcasim.calibrate.request import Prepared
from hcasim.catalog import Fit
from hcasim.runs.executor import OutOfTime, time_limit
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
    objective = Objective(kept, parameters, run)
    solution = searched(objective, parameters, search)
    around = Around(objective, parameters, solution.values, solution.residuals, search.loss)
    if not search.thorough and around.confidence.undetermined.size:
        around = restored(around)
    found = around.confidence
    (simulated,) = objective.simulated([around.point])
    fitted = []
    for n, (one, verdict) in enumerate(
        zip(parameters, verdicts(found.undetermined, parameters), strict=True)
    ):
        row = map(float, found.correlation[n])
        fitted.append(
            Estimate(
                parameter=one,
                value=around.point[one.path],
                deviation=float(found.deviations[n]) if verdict.identified else float("inf"),
                verdict=verdict,
                claims=_claims(kept, found.influences[n]),
                correlation=dict(zip((other.path for other in parameters), row, strict=True)),
            )
        )
    return FitReport(
        fit=fit,
        parameters=tuple(fitted),
        residuals=compared(kept, simulated),
        ties=tuple(examine_ties(around)),
        cost=search.loss.cost(objective.residuals(around.point)),
        evaluations=objective.evaluations,
        converged=solution.converged,
        around=around,
        method=method(fit.floor_percent),
    )


def restored(around: Around) -> Around:
    """Go back to the start along the moves that the data do not notice, if that costs nothing."""
    objective, found, loss = around.objective, around.confidence, around.loss
    start = around.place({one.path: one.start for one in around.free})
    blind = found.undetermined
    place = around.start + blind @ (blind.T @ (start - around.start))
    values = around.rounded(np.clip(place, 0, 1))
    residuals = objective.residuals(around.settings(values))
    if loss.cost(residuals) > around.floor + UNNOTICED * found.scale:
        return around
    return Around(objective, around.free, values, residuals, loss)


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
    seconds = prepared.request.budget
    with time_limit(None if seconds is None else monotonic() + seconds):
        fitted, held = prepared.gathered.split(prepared.request.holdout)
        report, samples = _searched(prepared, fitted, run)
        objective = report.around.objective
        start = {path: one.start for one in report.around.free for path in one.paths}
        (before,) = objective.simulated([start])
        after: Sequence[float] = ()
        if held:
            apart = Objective(held, report.around.free, run)
            after = apart.simulated([report.around.point])[0].tolist()
        seen = compared(objective.observations, before)
        traced = Traced(prepared, seen, compared(held, after), samples)
        report = replace(report, traced=traced)
        if not report.converged:
            return report
        # A fit that is found is kept though the time for this is over.
        with suppress(OutOfTime):
            settings = dict(prepared.base.overrides)
            others = find_alternatives(report.around, prepared.machine, settings, run)
            report = replace(report, alternatives=others)
        return report


def _searched(
    prepared: Prepared, fitted: Sequence[Observation], run: Run
) -> tuple[FitReport, Array]:
    """Search, and look around; if a better place comes up, search again from there."""
    request = prepared.request
    search = replace(TRACES, loss=LOSSES[request.loss])
    evaluations = 0
    profiles: Sequence[Side] = ()
    for _ in range(SEARCHES):
        report = calibrate(prepared.fit, fitted, run=run, search=search)
        if not report.converged or request.intervals == "linear":
            break
        report, profiles = profiled(report)
        if report.around.cheaper is None:
            break
        evaluations += report.around.objective.evaluations
        search = replace(search, begin=report.around.cheaper)
    else:
        # What meets the data better again and again is no fit.
        evaluations -= report.around.objective.evaluations
        report = replace(report, converged=False)
    if not report.converged:
        report, profiles = unfinished(report), ()
    if not profiles:
        report = with_linear(report)
    samples = drawn(report.around, np.random.default_rng(request.seed), SAMPLES, profiles)
    evaluations += report.around.objective.evaluations
    return replace(report, evaluations=evaluations), samples
