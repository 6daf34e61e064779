"""The model around a fit, and intervals by it: to first order and by bootstrap."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from hcasim.calibrate.confidence import NORMAL_95, correlations
from hcasim.calibrate.entries import Verdict
from hcasim.calibrate.loss import Array, straight_fit
from hcasim.calibrate.parameters import Space, settings
from hcasim.calibrate.report import FitReport, Local

KINDS = ("profile", "bootstrap", "linear")
METHODS = {
    "profile": (
        "Intervals: 95 %, by profile likelihood: each end is where the simulated cost, the other",
        "parameters following, is 1.92 above that of the fit (scaled as the errors are).",
    ),
    "bootstrap": (
        "Intervals: 95 %, by bootstrap: quantiles of fits to resampled medians, with the model",
        "taken as straight around the fit.",
    ),
    "linear": ("Intervals: 95 %, from the errors of the observations, to first order.",),
}
HIDDEN = 3.0
"""A parameter that can go so many times as far as alone, its partners making up for it, is known
only together with those that are at a bound then. (Of two, a correlation of 0.94.)"""
TRIES = 1000
"""Fits of a bootstrap."""
UNNOTICED = 0.1
"""Change of the cost, which at 1.92 reaches the end of a 95 % interval, that means nothing."""
ANYWHERE = 0.3
"""Standard deviation of moves that the data do not notice, in widths of the bounds: about that of
an even spread over them."""


class Around(Space):
    """The free parameters as numbers from 0 to 1, and the model over them.

    Attributes:
        start: the fit.
        slopes: of the residuals, in tolerances per width of the bounds.
        spread: covariance of the parameters, where moves that the data do not notice are as wide
            as the bounds allow.
        scale: of the cost, as `Confidence` has it.
        cheaper: the best place that was simulated, by path in base units, if it meets the data
            better than the fit.
    """

    def __init__(self, report: FitReport) -> None:
        super().__init__([one.parameter for one in report.parameters])
        self.local: Local = report.local
        self.start = self.place({one.path: one.value for one in report.parameters})
        scales = self.local.objective.scales()
        self.slopes: Array = self.local.slopes * self.widths / scales[:, None]
        blind = self.local.confidence.undetermined
        self.spread: Array = self.local.confidence.covariance + ANYWHERE**2 * blind @ blind.T
        self.scale = self.local.confidence.scale
        self.cheaper: Mapping[str, int] | None = None
        self._best = self.local.loss.cost(self.local.residuals) - UNNOTICED * self.scale

    def noticed(self) -> Array:
        """Return the moves that the data would notice, were they made alone: 1.96 deviations."""
        strengths = np.linalg.norm(self.slopes, axis=0)
        found: Array = NORMAL_95 * math.sqrt(self.scale) / np.maximum(strengths, 1e-300)
        return found

    def residuals(self, places: Sequence[Array]) -> list[Array]:
        """Simulate several places at once."""
        objective = self.local.objective
        chosen = [self.values(place) for place in places]
        points = [settings(one, self.free) for one in chosen]
        objective.simulated(points)
        found = [objective.residuals(point) for point in points]
        for one, errors in zip(chosen, found, strict=True):
            cost = self.local.loss.cost(errors)
            if cost < self._best:
                self._best, self.cheaper = cost, one
        return found


def correlated(report: FitReport, space: Around) -> FitReport:
    """Return a report with correlations over all moves, also those that the data do not notice."""
    found = correlations(space.spread)
    paths = [one.path for one in space.free]
    parameters = tuple(
        replace(one, correlation=dict(zip(paths, map(float, row), strict=True)))
        for one, row in zip(report.parameters, found, strict=True)
    )
    return replace(report, parameters=parameters)


def unfinished(report: FitReport) -> FitReport:
    """Return a report of a search that was cut off, which tells nothing of any parameter."""
    nothing = Verdict(False, ended=False)
    found = (replace(one, verdict=nothing, deviation=math.inf) for one in report.parameters)
    return replace(report, parameters=tuple(found))


def with_linear(report: FitReport) -> FitReport:
    """Return a report with intervals to first order.

    What reaches a bound is not identified; nor is what its partners hide, for a straight model
    does not see how far they can make up for it.
    """
    space = Around(report)
    noticed = space.noticed()
    reaches = NORMAL_95 * np.sqrt(np.diag(space.spread))
    judged = []
    for n, one in enumerate(report.parameters):
        (low, high), allowed = one.interval, one.parameter
        ends = [low <= allowed.low, high >= allowed.high]
        verdict = one.verdict
        hidden = reaches[n] > HIDDEN * noticed[n]
        if verdict.identified and (hidden or any(ends)):
            known = "" if all(ends) or not any(ends) else ("above" if ends[0] else "below")
            follow = np.abs(space.spread[n]) / space.spread[n, n] * reaches[n] >= noticed
            others = [m for m in np.flatnonzero(follow & hidden).tolist() if m != n]
            verdict = Verdict(False, tuple(space.free[m].path for m in others), known)
        judged.append(replace(one, verdict=verdict))
    found = replace(report, parameters=tuple(judged), method=METHODS["linear"])
    return correlated(found, space)


def with_bootstrap(report: FitReport, draws: Array) -> FitReport:
    """Return a report whose intervals come from fits to what might as well have been measured.

    Parameters:
        report: to first order, or with verdicts of profiles.
        draws: tries by observations: what each is off, in its tolerances.
    """
    space = Around(report)
    inflation = space.local.confidence.inflation
    fits = [
        straight_fit(
            space.local.residuals - inflation * draw, space.slopes, space.start, space.local.loss
        )
        for draw in draws
    ]
    values = space.lows + np.array(fits) * space.widths
    ends = {}
    for n, one in enumerate(report.parameters):
        # A straight model is none for a number whose effect has steps.
        if one.verdict.identified and not one.parameter.stepped:
            low, high = np.quantile(values[:, n], [0.025, 0.975])
            ends[one.path] = (min(float(low), one.value), max(float(high), one.value))
    return with_ends(report, ends, METHODS["bootstrap"])


def with_ends(
    report: FitReport, ends: Mapping[str, tuple[float, float]], method: tuple[str, ...]
) -> FitReport:
    """Return a report with other ends of some intervals.

    Parameters:
        report: of a fit.
        ends: in base units, by path; what is not in it keeps its own.
        method: what a table says of them, by lines.
    """
    found = (replace(one, ends=ends.get(one.path, one.ends)) for one in report.parameters)
    return replace(report, parameters=tuple(found), method=method)
