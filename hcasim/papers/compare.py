"""The one comparison of a simulated with a published number."""

from __future__ import annotations

from dataclasses import dataclass

TOLERANCES = {"latency": 0.05, "bandwidth": 0.03, "ratio": 0.03, "memory": 0.25, "time": 0.05}
"""Relative tolerance by the kind of quantity; a claim may have a tighter one, never a wider."""

Published = float | tuple[float, float]
"""A published number, or the lower and upper end of a published range."""


@dataclass(frozen=True)
class Comparison:
    """How far a simulated number lies from a published one.

    Parameters:
        error: relative and signed, positive if the simulated number is too large; zero inside
            a published range.
        tolerance: largest absolute error that passes.
    """

    error: float
    tolerance: float

    @property
    def passed(self) -> bool:
        """Whether the error is within the tolerance; an error that is not a number is not."""
        return abs(self.error) <= self.tolerance


def compare(simulated: float, published: Published, tolerance: float) -> Comparison:
    """Compare a simulated number with a published number or range.

    Parameters:
        simulated: the simulated number.
        published: in the same unit; a range is compared with its nearer end.
        tolerance: relative.

    Raises:
        ValueError: a published number that is not positive, or a range that is upside down:
            nothing is relative to those.
    """
    low, high = published if isinstance(published, tuple) else (published, published)
    if not 0 < low <= high:
        raise ValueError(f"cannot compare with {published!r}: a positive number is needed")
    nearest = min(max(simulated, low), high)
    return Comparison((simulated - nearest) / nearest, tolerance)
