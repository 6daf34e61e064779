"""Parameters that were not freed and would explain the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hcasim.calibrate.confidence import Around
from hcasim.calibrate.entries import path_in_fit, quantity_at
from hcasim.calibrate.freeing import FACTOR, allows
from hcasim.calibrate.loss import Array
from hcasim.calibrate.objective import UNDETERMINED, Objective, Run
from hcasim.calibrate.observation import Observation
from hcasim.calibrate.parameters import FreeParameter
from hcasim.catalog import Machine
from hcasim.catalog.fields import Leaf
from hcasim.ground.units import TIME

ALIKE = 0.95
"""Correlation of the effects of two parameters from which on one would explain the same."""
ROWS = 5
"""Most observations that are looked at."""
MOST = 5
"""Most parameters that are compared: those that move one observation most."""
WORTH = 0.1
"""Effect of a tenth more, in deviations of an observation, that is worth a comparison."""
KNOWN = ("spec", "datasheet", "driver")
"""Evidence of values that a measurement does not put in doubt."""


@dataclass(frozen=True)
class Alternative:
    """A parameter that was not freed whose effect is like that of one that was.

    Parameters:
        path: of a fit.
        like: the path of the one that was freed.
        correlation: of their effects on the observations.
    """

    path: str
    like: str
    correlation: float


def find_alternatives(
    around: Around, machine: Machine, settings: dict[str, str], run: Run
) -> tuple[Alternative, ...]:
    """Move times that nobody has published a little, and compare what that does with the fit.

    Parameters:
        around: the model around a fit.
        machine: its base description.
        settings: what-if settings of it.
        run: simulates points.
    """
    strengths = np.linalg.norm(around.slopes, axis=0)
    freed = [n for n in range(len(around.free)) if strengths[n] >= UNDETERMINED]
    moved = np.abs(around.slopes).max(axis=1)
    seen = np.flatnonzero(moved >= 1)
    if not freed or not seen.size:
        return ()
    chosen = seen[np.linspace(0, seen.size - 1, min(ROWS, seen.size)).round().astype(int)]
    others = _others(around, machine, settings)
    observations = around.objective.observations
    (screened,) = _effects(around, [observations[int(moved.argmax())]], others, run)
    order = np.argsort(-np.abs(screened))[:MOST]
    others = [others[n] for n in order.tolist() if abs(screened[n]) >= WORTH]
    effects = _effects(around, [observations[n] for n in chosen.tolist()], others, run)
    found = []
    for one, effect in zip(others, effects.T, strict=True):
        for n in freed:
            own = around.slopes[chosen, n]
            size = float(np.linalg.norm(own) * np.linalg.norm(effect))
            alike = float(own @ effect) / size if size else 0.0
            if abs(alike) >= ALIKE:
                found.append(Alternative(one.path, around.free[n].path, alike))
    return tuple(found)


def _others(around: Around, machine: Machine, settings: dict[str, str]) -> list[FreeParameter]:
    """Return the times that may be a little longer, the fitted ones left out."""
    found = []
    for one in machine.parameters:
        path, value = path_in_fit(machine, one.path), one.value
        leaf = quantity_at(path)
        if one.evidence in KNOWN or one.path in settings or path in around.point:
            continue
        if not isinstance(leaf, Leaf) or leaf.unit is not TIME or not isinstance(value, int):
            continue
        tenth = leaf.format(value + max(leaf.step or 1, value // 10))
        if value and allows(machine, {**settings, one.path: tenth}):
            found.append(FreeParameter(path, (path,), value, FACTOR * value, value, leaf))
    return found


def _effects(
    around: Around, rows: Sequence[Observation], others: Sequence[FreeParameter], run: Run
) -> Array:
    """Return what a tenth more of each does: observations by parameters, in tolerances."""
    objective = Objective(rows, [*around.free, *others], run)
    point = {**around.point, **{one.path: one.start for one in others}}
    tenths = np.array([one.start / 10 for one in others])
    effects: Array = objective.slopes(point, others, central=False) * tenths
    return effects / objective.scales[:, None]
