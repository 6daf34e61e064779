"""How much an error weighs: as its square, or less if it is far out of what was expected."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Loss:
    """A loss function of SciPy's least squares.

    Parameters:
        name: "linear" or "soft_l1".
        scale: residual from which on an error is taken to be an outlier, in standard deviations.
    """

    name: str
    scale: float = 1.0

    def least_squares(self) -> dict[str, Any]:
        """The arguments of `scipy.optimize.least_squares`."""
        return {"loss": self.name, "f_scale": self.scale}

    def cost(self, residuals: Array) -> float:
        """Return what the search makes small: half the sum of the weighted squares."""
        ratio = (residuals / self.scale) ** 2
        if self.name == "soft_l1":
            ratio = 2 * (np.sqrt(1 + ratio) - 1)
        return 0.5 * self.scale**2 * float(np.sum(ratio))

    def influence(self, residuals: Array) -> tuple[Array, Array]:
        """Return the slope of the loss at each residual, and the slope of that slope."""
        ratio = (residuals / self.scale) ** 2
        if self.name == "soft_l1":
            root = np.sqrt(1 + ratio)
            return residuals / root, root**-3
        return residuals, np.ones_like(residuals)

    def moments(self, scatter: float = 1.0) -> tuple[float, float]:
        """Return E[psi^2] and E[psi'] of normal errors of a deviation, psi being the loss's slope.

        An estimate that makes the sum of losses small has a variance of E[psi^2] / E[psi']^2 times
        that of least squares with errors of 1 (Huber, Robust Statistics, 1981, section 7.6).
        """
        if self.name == "linear":
            return scatter**2, 1.0
        errors = np.linspace(-8, 8, 3201)
        density = np.exp(-0.5 * errors**2)
        density /= density.sum()
        slope, bend = self.influence(scatter * errors)
        return float(density @ slope**2), float(density @ bend)

    def seen_moments(self, residuals: Array, spare: int) -> tuple[float, float]:
        """Return the same of residuals if they scatter more than normal errors of 1 would.

        If most of them are far out, hardly any shows how the slope bends there; then they are
        taken for normal errors that scatter as much.

        Parameters:
            residuals: in standard deviations.
            spare: observations beyond the number of directions that they determine.
        """
        expected = self.moments()
        if spare <= 0:
            return expected
        slope, bend = self.influence(residuals)
        seen = float(slope @ slope) / spare, float(np.mean(bend))
        widest = self.moments(max(1.0, float(np.sqrt(residuals @ residuals / spare))))
        return max(expected, min(seen, widest, key=_variance), key=_variance)


def _variance(moments: tuple[float, float]) -> float:
    squares, bend = moments
    return squares / bend**2 if bend > 0 else math.inf


LINEAR = Loss("linear")
LOSSES = {one.name: one for one in (LINEAR, Loss("soft_l1", 1.345))}
"""By name; the robust one keeps about 95 % of the efficiency of least squares if all errors are
normal."""
