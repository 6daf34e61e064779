"""What a calibration makes small: the simulated beside the published numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hcasim.calibrate.entries import prefixes_of, renamed
from hcasim.calibrate.loss import Array
from hcasim.calibrate.observation import Observation
from hcasim.calibrate.parameters import FreeParameter
from hcasim.runs.executor import Progress, run_points
from hcasim.runs.experiment import Experiment
from hcasim.runs.machine import each_machine_once
from hcasim.runs.point import Point
from hcasim.runs.store import Store

STEP = 0.01
"""How far a parameter is moved to see a slope, in widths of its bounds: far above the picosecond
that times are whole in, and within one smooth piece of the model."""
NORMAL_95 = 1.959964
"""Half the width of the interval that holds 95 % of a normal distribution, in sigmas."""
UNDETERMINED = 2 * NORMAL_95
"""A move across all of the bounds that changes the observations by fewer sigmas than this is one
whose 95 % interval is wider than the bounds: the data say nothing about it."""

Row = Mapping[str, Any]
_Asked = tuple[Experiment, tuple[tuple[str, str], ...]]
Run = Callable[[Sequence[Point]], Sequence[Row]]
"""Simulates points, in any order or at the same time; returns their rows in the order asked."""


def runner(
    *, jobs: int | None = None, progress: Progress | None = None, store: Store | None = None
) -> Run:
    """Return what simulates the points of a calibration in so many processes, or on all processors.

    The progress is told how many points are done, of those known to be needed; the store knows
    results of earlier runs and keeps new ones.
    """
    done = 0

    def run(wanted: Sequence[Point]) -> list[Row]:
        nonlocal done
        report = None if progress is None else lambda now, all_: progress(done + now, done + all_)
        points = run_points(wanted, workers=jobs, progress=report, store=store)
        done += len(points)
        return [points[job].row for job in wanted]

    return run


simulate = runner(jobs=1)
"""Simulates points one after another in this process."""


class Objective:
    """The observations as a function of the parameters.

    Points are values in base units by path, tied paths included.

    Parameters:
        observations: what was published.
        parameters: what will be set.
        run: simulates points.

    Attributes:
        evaluations: different points at which the observations have been computed.
        published: the numbers.
        scales: they times their tolerances, which makes residuals of errors.
        sigmas: their standard deviations.
    """

    def __init__(
        self,
        observations: Sequence[Observation],
        parameters: Sequence[FreeParameter],
        run: Run = simulate,
    ) -> None:
        self.observations = tuple(observations)
        self.run = run
        self.evaluations = 0
        self.published: Array = np.array([float(one.published) for one in observations])
        self.scales: Array = np.array(
            [float(one.published) * one.tolerance for one in observations]
        )
        self.sigmas: Array = np.array([one.deviation for one in observations])
        self._leaves = {path: one.leaf for one in parameters for path in one.paths}
        with each_machine_once():
            # With their usual values the points have the same options as with any others.
            self._points = {
                one: one.benchmark()[0] for each in observations for one in each.experiments
            }
        self._prefixes = {one: prefixes_of(point.machine) for one, point in self._points.items()}
        self._rows: dict[_Asked, Row] = {}
        self._values: dict[tuple[tuple[str, int], ...], Array] = {}

    def simulated(self, points: Sequence[Mapping[str, int]]) -> list[Array]:
        """Return what the model gives for each observation at several points.

        All that is not known yet is simulated in one call of `run`.
        """
        keys = [tuple(sorted(point.items())) for point in points]
        new = dict.fromkeys(key for key in keys if key not in self._values)
        asked = {key: [self._asked(one, key) for one in self.observations] for key in new}
        every = dict.fromkeys(pair for key in new for pairs in asked[key] for pair in pairs)
        missing = [pair for pair in every if pair not in self._rows]
        if missing:
            with each_machine_once():
                jobs = [self._point(*pair) for pair in missing]
            self._rows.update(zip(missing, self.run(jobs), strict=True))
        for key in new:
            self.evaluations += 1
            rows = [[self._rows[pair] for pair in pairs] for pairs in asked[key]]
            read = [one.read(row) for one, row in zip(self.observations, rows, strict=True)]
            self._values[key] = np.array(read)
        return [self._values[key] for key in keys]

    def known(self) -> list[tuple[dict[str, int], Array]]:
        """Return all points that were computed, with the residuals there."""
        return [
            (dict(key), (values - self.published) / self.scales)
            for key, values in self._values.items()
        ]

    def residuals(self, point: Mapping[str, int]) -> Array:
        """Return the relative errors at a point, in tolerances."""
        residuals: Array = (self.simulated([point])[0] - self.published) / self.scales
        return residuals

    def slopes(
        self, point: Mapping[str, int], columns: Sequence[FreeParameter], *, central: bool = True
    ) -> Array:
        """Return how each observation changes with each parameter.

        Parameters:
            point: where.
            columns: each moves its paths by the same amount, within its bounds.
            central: move to both sides, which is exact for a bend too; else to the farther bound
                only, which is half the work.

        Returns:
            Observations by columns, per base unit.
        """
        pairs: list[tuple[int, int]] = []
        points: list[dict[str, int]] = []
        for one in columns:
            step = max(one.step, one.snap(STEP * one.width))
            center = point[one.paths[0]]
            pair = (one.clip(center - step), one.clip(center + step))
            if not central:
                upwards = one.high - center > center - one.low
                pair = (center, pair[1]) if upwards else (pair[0], center)
            pairs.append(pair)
            points += [{**point, **dict.fromkeys(one.paths, value)} for value in pair]
        found = self.simulated(points)
        slopes = [
            (found[2 * n + 1] - found[2 * n]) / (high - low) for n, (low, high) in enumerate(pairs)
        ]
        return np.array(slopes).T.reshape(len(self.observations), len(columns))

    def _asked(self, one: Observation, point: Sequence[tuple[str, int]]) -> list[_Asked]:
        """Return each experiment with its settings, which other machines' parameters do not
        change."""
        return [
            (
                experiment,
                tuple(
                    (name, self._leaves[path].format(value))
                    for path, value in point
                    for name in renamed(path, self._prefixes[experiment])
                ),
            )
            for experiment in one.experiments
        ]

    def _point(self, experiment: Experiment, settings: tuple[tuple[str, str], ...]) -> Point:
        machine = experiment.with_(overrides=dict(settings)).machine()
        return replace(self._points[experiment], machine=machine)


def split(sensitivity: Array, least: float = UNDETERMINED) -> tuple[Array, Array]:
    """Divide all moves of the parameters into those that the data notice and those they do not.

    The sensitivity is observations by parameters: sigmas of the observation per width of the
    bounds; `least` of them are noticed. What is returned are two orthonormal bases, as parameters
    by directions.
    """
    _, strengths, directions = np.linalg.svd(sensitivity, full_matrices=True)
    strengths = np.pad(strengths, (0, len(directions) - len(strengths)))
    noticed = strengths >= least
    return directions[noticed].T, directions[~noticed].T
