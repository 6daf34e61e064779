"""The model around a fit: what it gave, how it bends, and how far the data determine it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hcasim.calibrate.intervals.confidence import Confidence
from hcasim.calibrate.search.loss import Array, Loss
from hcasim.calibrate.search.objective import Objective


@dataclass(frozen=True)
class Local:
    """What a fit leaves for finer questions.

    Parameters:
        objective: simulates further points.
        point: the fit, in base units by path, tied paths included.
        slopes: observations by parameters, per base unit.
        residuals: at the fit, in tolerances.
        confidence: to first order.
        loss: what the fit made small.
    """

    objective: Objective
    point: Mapping[str, int]
    slopes: Array
    residuals: Array
    confidence: Confidence
    loss: Loss
