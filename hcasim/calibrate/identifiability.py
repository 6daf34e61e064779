"""Which parameters the data can tell apart, and which ties they make necessary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hcasim.calibrate.confidence import deviations, split
from hcasim.calibrate.entries import Verdict
from hcasim.calibrate.loss import Array
from hcasim.calibrate.objective import Objective
from hcasim.calibrate.parameters import FreeParameter

PART = 0.05
"""A parameter takes part in a direction from this share of it on."""


@dataclass(frozen=True)
class Tie:
    """What happens if a tied parameter is freed.

    Parameters:
        path: the parameter that follows.
        leader: the one that it follows.
        direction: the move that the data do not notice, by path: what the others must change by
            if 1 is added to this one; empty if the data tell them apart.
    """

    path: str
    leader: str
    direction: tuple[tuple[str, float], ...]

    @property
    def separable(self) -> bool:
        """Whether the data would determine the parameter without the tie."""
        return not self.direction

    @property
    def judgement(self) -> str:
        """What the data say about the parameter, were it free, in words."""
        partners = tuple(path for path, _ in self.direction if path != self.path)
        return "identified if freed" if self.separable else str(Verdict(False, partners))

    @property
    def move(self) -> str:
        """The direction in words."""
        if self.separable:
            return "nothing: there is no need to tie it"
        return ", ".join(f"{part:+.2f} {path}" for path, part in self.direction)

    def to_dict(self) -> dict[str, Any]:
        """Return the test for JSON."""
        return {
            "path": self.path,
            "tied_to": self.leader,
            "separable": self.separable,
            "direction": {path: round(part, 4) for path, part in self.direction},
        }


def verdicts(undetermined: Array, parameters: Sequence[FreeParameter]) -> list[Verdict]:
    """Judge each free parameter.

    Parameters:
        undetermined: parameters by directions, in widths of the bounds.
        parameters: the free parameters.
    """
    # How much of a move of one parameter the data miss, and what of the others would hide it.
    hidden = undetermined @ undetermined.T
    found = []
    for one in range(len(parameters)):
        partners = tuple(
            parameters[other].path
            for other in range(len(parameters))
            if other != one and abs(hidden[one, other]) >= PART
        )
        found.append(Verdict(True) if hidden[one, one] < PART**2 else Verdict(False, partners))
    return found


def examine_ties(
    objective: Objective, point: Mapping[str, int], parameters: Sequence[FreeParameter]
) -> list[Tie]:
    """Free each tied parameter and look for the move that makes up for it.

    Parameters:
        objective: the observations.
        point: the fit, in base units by path.
        parameters: what was fitted; every tie is undone for this test.
    """
    leaders = [one.alone(one.path) for one in parameters]
    followers = [(one.alone(path), one.path) for one in parameters for path in one.paths[1:]]
    if not followers:
        return []
    columns = [*leaders, *(one for one, _ in followers)]
    widths = np.array([one.width for one in columns], dtype=float)
    sigmas = deviations(objective.observations)
    effects = objective.slopes(point, columns) * widths / sigmas[:, None]
    ties = []
    for number, (follower, leader) in enumerate(followers, start=len(leaders)):
        chosen = [*range(len(leaders)), number]
        _, undetermined = split(effects[:, chosen])
        hidden = (undetermined @ undetermined.T)[-1]
        direction: list[tuple[str, float]] = []
        if hidden[-1] >= PART**2:
            parts = hidden / hidden[-1]
            direction = [
                (columns[n].path, float(part) * columns[n].width / follower.width)
                for n, part in zip(reversed(chosen), reversed(parts), strict=True)
                if abs(part) >= PART
            ]
        ties.append(Tie(follower.path, leader, tuple(direction)))
    return ties
