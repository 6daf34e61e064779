"""What a calibration makes small: the simulated beside the published numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hcasim.calibrate.entries import prefixes, renamed
from hcasim.calibrate.search.loss import Array
from hcasim.calibrate.search.observation import Observation, Setup
from hcasim.calibrate.search.parameters import FreeParameter
from hcasim.catalog import Machine, resolve
from hcasim.catalog.loader import Known, each_file_once
from hcasim.runs.executor import Progress, run_points
from hcasim.runs.point import Point
from hcasim.runs.store import Store

STEP = 0.01
"""How far a parameter is moved to see a slope, in widths of its bounds: far above the picosecond
that times are whole in, and within one smooth piece of the model."""


Row = Mapping[str, Any]
Run = Callable[[Sequence[Point]], Sequence[Row]]
"""Simulates points, in any order or at the same time; returns their rows in the order asked."""


def runner(
    *, jobs: int | None = None, progress: Progress | None = None, store: Store | None = None
) -> Run:
    """Return what simulates the points of a calibration in parallel.

    Parameters:
        jobs: processes to use; all processors without it.
        progress: is told how many points are done, of those known to be needed.
        store: knows results of earlier runs and keeps new ones; or none.
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


class BudgetSpent(Exception):
    """A search has used up what it was given; the best point so far is the objective's."""


@dataclass(frozen=True)
class Budget:
    """How much a fit may take.

    Parameters:
        evaluations: points of the parameters at which a search may compute the observations, or
            None.
        seconds: of all that is simulated, or None.
    """

    evaluations: int | None = None
    seconds: float | None = None


class Objective:
    """The observations as a function of the parameters.

    Parameters:
        observations: what was published.
        parameters: what will be set; points hold a value for each of their paths.
        run: simulates points.
        budget: its number of evaluations ends a search; without end if None.

    Attributes:
        evaluations: different points at which the observations have been computed.
    """

    def __init__(
        self,
        observations: Sequence[Observation],
        parameters: Sequence[FreeParameter],
        run: Run = simulate,
        budget: Budget | None = None,
    ) -> None:
        self.observations = tuple(observations)
        self.run = run
        self.budget = budget
        self.evaluations = 0
        self._files: Known = {}
        self._machines: dict[tuple[Any, ...], Machine] = {}
        self._leaves = {path: one.leaf for one in parameters for path in one.paths}
        self._prefixes = {
            setup.place: prefixes(*setup.place) for one in observations for setup in one.setups
        }
        self._rows: dict[tuple[Setup, tuple[tuple[str, str], ...]], Row] = {}
        self._values: dict[tuple[tuple[str, int], ...], Array] = {}

    def simulated(self, points: Sequence[Mapping[str, int]]) -> list[Array]:
        """Return what the model gives for each observation at several points.

        All that is not known yet is simulated in one call of `run`.

        Parameters:
            points: values in base units by path, tied paths included.
        """
        keys = [tuple(sorted(point.items())) for point in points]
        new = dict.fromkeys(key for key in keys if key not in self._values)
        most = None if self.budget is None else self.budget.evaluations
        if new and most is not None and self.evaluations >= most:
            raise BudgetSpent
        wanted: dict[tuple[Setup, tuple[tuple[str, str], ...]], None] = {}
        for key in new:
            for one in self.observations:
                for setup in one.setups:
                    wanted.setdefault((setup, self._overrides(setup, key)))
        missing = [one for one in wanted if one not in self._rows]
        if missing:
            with each_file_once(self._files):
                jobs = [self._job(*one) for one in missing]
            rows = self.run(jobs)
            self._rows.update(zip(missing, rows, strict=True))
        for key in new:
            self.evaluations += 1
            self._values[key] = np.array(
                [
                    one.read([self._rows[s, self._overrides(s, key)] for s in one.setups])
                    for one in self.observations
                ]
            )
        return [self._values[key] for key in keys]

    def residuals(self, point: Mapping[str, int]) -> Array:
        """Return the relative errors at a point, in tolerances."""
        published = np.array([float(one.published) for one in self.observations])
        residuals: Array = (self.simulated([point])[0] - published) / self.scales()
        return residuals

    def scales(self) -> Array:
        """Return the published numbers times their tolerances: what makes residuals of errors."""
        return np.array([float(one.published) * one.tolerance for one in self.observations])

    def slopes(
        self, point: Mapping[str, int], columns: Sequence[FreeParameter], *, central: bool = True
    ) -> Array:
        """Return how each observation changes with each parameter.

        Parameters:
            point: values in base units by path, tied paths included.
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

    def _overrides(
        self, setup: Setup, point: Sequence[tuple[str, int]]
    ) -> tuple[tuple[str, str], ...]:
        """Return the settings of one machine, which other machines' parameters do not change."""
        known = self._prefixes[setup.place]
        return tuple(
            (name, self._leaves[path].format(value))
            for path, value in point
            for name in renamed(path, known)
        )

    def _job(self, setup: Setup, overrides: tuple[tuple[str, str], ...]) -> Point:
        settings = (*setup.overrides, *overrides)
        fixed = (*setup.place, setup.mtu, setup.firmware_mode, setup.switch)
        key = (*fixed, settings)
        if key not in self._machines:
            self._machines[key] = resolve(
                setup.testbed,
                adapter=setup.adapter,
                overrides=dict(settings),
                mtu=setup.mtu,
                firmware_mode=setup.firmware_mode,
                switch=setup.switch,
                stack=setup.stack,
                mpi=setup.mpi,
                host=setup.host,
            )
        return Point(setup.workload, self._machines[key], setup.options)
