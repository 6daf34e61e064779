"""Which points of a curve a claim is about, for verdict, role, figure and calibration alike."""

from __future__ import annotations

from collections.abc import Iterable

from hcasim.papers.claim import Measure

Points = tuple[int, ...]
"""Values of x, of which the best result is the number that an author states."""


def select(
    measure: Measure, x: Iterable[int], against: Iterable[int] | None = None
) -> list[tuple[Points, Points]]:
    """Return the points that a measure reads off the x of its curves.

    Parameters:
        measure: says which.
        x: of the series.
        against: of the series to compare with.

    Returns:
        A pair for each number, or pair of numbers, in the order of x: where it is read off the
        series, and where off the other; empty where there is no other.
    """
    left = _points(measure, x, measure.at)
    if against is None:
        return [(one, ()) for one in left]
    at = measure.at if measure.against_at is None else measure.against_at
    right = _points(measure, against, at)
    if measure.select == "all":
        left = right = [one for one in left if one in right]
    return list(zip(left, right, strict=True))


def _points(measure: Measure, x: Iterable[int], at: int | None) -> list[Points]:
    covered = tuple(sorted({one for one in x if measure.covers(one)}))
    if at is not None:
        return [(at,)]
    if not covered or measure.select == "peak":
        return [covered] if covered else []
    if measure.select == "all":
        return [(one,) for one in covered]
    return [covered[:1] if measure.select == "smallest" else covered[-1:]]
