"""Caches that repeat their accesses while the rest of a machine advances by whole periods."""

from __future__ import annotations

from typing import Protocol

AccessLog = list[tuple[int, ...]]
"""Accesses in their order, each as numbers; the last one is its result."""


class Replayed(Protocol):
    """A cache whose contents depend on the order of its accesses.

    The contents are no part of a state. Instead the accesses of a period are repeated, and each has
    to have the same result.

    Attributes:
        log: the accesses since somebody began to log them, or None.
    """

    log: AccessLog | None

    def predict(self, accesses: AccessLog, steps: AccessLog, most: int) -> int:
        """In how many periods, at most so many, the accesses would have the same results.

        From one period to the next all numbers grow by `steps`. The contents do not change.
        """

    def repeat(self, accesses: AccessLog, steps: AccessLog, count: int) -> None:
        """Repeat the accesses in so many periods, all of which have been predicted."""


def later(accesses: AccessLog, steps: AccessLog, periods: int) -> AccessLog:
    """The accesses so many periods later."""
    return [
        tuple([a + periods * b for a, b in zip(access, by, strict=True)])
        for access, by in zip(accesses, steps, strict=True)
    ]
