"""The search for the machine that traces were taken on, with what they leave open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import monotonic

import numpy as np

from hcasim.calibrate.descent import TRACES
from hcasim.calibrate.estimate import compared
from hcasim.calibrate.fit import calibrate
from hcasim.calibrate.gathering import Observations
from hcasim.calibrate.linear import TRIES, unfinished, with_bootstrap, with_linear
from hcasim.calibrate.loss import LOSSES, Array
from hcasim.calibrate.objective import Objective, Run
from hcasim.calibrate.observation import Observation
from hcasim.calibrate.profile import profiled
from hcasim.calibrate.report import FitReport
from hcasim.calibrate.request import Prepared
from hcasim.calibrate.sampling import Samples, straight_samples, weighed_samples
from hcasim.calibrate.trace_report import TraceReport
from hcasim.runs.pool import time_limit

SAMPLES = 200
"""Samples that a file keeps."""
SEARCHES = 4
"""Most searches, each but the first from a place that is better than the fit before."""


def fit_traces(prepared: Prepared, run: Run) -> TraceReport:
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


def _fitted(prepared: Prepared, run: Run) -> TraceReport:
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
    return TraceReport(prepared, report, compared(seen, before), compared(held, after), samples)


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
                seen = report.local.objective.observations
                report = with_bootstrap(report, _draws(prepared.gathered, seen, rng))
            break
        search = replace(search, begin=cheaper)
    else:
        # What meets the data better again and again is no fit.
        report = with_linear(unfinished(replace(report, converged=False)))
        samples = straight_samples(report, rng, SAMPLES)
    evaluations = sum(one.evaluations for one in objectives)
    return replace(report, evaluations=evaluations), samples


def _draws(gathered: Observations, seen: Sequence[Observation], rng: np.random.Generator) -> Array:
    """Return what each observation may be off, in its tolerances: tries by observations."""
    columns = []
    for one in seen:
        taken = gathered.measurements[one.id]
        columns.append(taken.draws(rng, TRIES, gathered.floor) / taken.deviation(gathered.floor))
    return np.array(columns).T
