"""Bands of a benchmark: what it gives over the values that a calibration leaves possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hcasim.calibrate.file.calibration import Calibration
from hcasim.catalog import CatalogError
from hcasim.ground.errors import display
from hcasim.ground.quantities import band_fields
from hcasim.runs.benchmark import Benchmark
from hcasim.runs.executor import Progress, run_points
from hcasim.runs.point import Point

USUAL = 50
"""Samples unless the user says otherwise."""


def chosen_samples(calibration: Calibration, wanted: int) -> list[int]:
    """Return which samples of a calibration to simulate: the first ones.

    Raises:
        CatalogError: the file has too few.
    """
    where = display(calibration.file)
    if not calibration.tries:
        raise CatalogError([f"--uncertainty: {where} has no samples; it was not fitted to traces"])
    if not 2 <= wanted <= calibration.tries:
        allowed = f"2 to {calibration.tries}, the samples of {where}"
        raise CatalogError([f"--uncertainty: found {wanted}; allowed: {allowed}"])
    return list(range(wanted))


def band(values: Sequence[float], base: float) -> tuple[float, float]:
    """Return the quantiles of 5 and 95 % over samples, widened to what no sample was drawn for.

    Between them lie 90 % of all further samples on average (R. J. Hyndman and Y. Fan, Sample
    Quantiles in Statistical Packages, 1996, definition 6); fewer than 19 samples are all between
    them, and do not suffice.

    Parameters:
        values: what the samples give.
        base: what the values as they are give, which is allowed, too, even at the end of what is.
    """
    import numpy as np

    low, high = np.quantile(values, (0.05, 0.95), method="weibull").tolist()
    return min(low, base), max(high, base)


def with_bands(
    result: Benchmark,
    samples: Sequence[Sequence[Point]],
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Benchmark:
    """Return a benchmark whose rows also hold the `band` of each number over samples.

    Parameters:
        result: with the values as they are.
        samples: of each sample the points of the benchmark, in its order.
        jobs: processes to use; all processors without it.
        progress: is told how many points are done.
    """
    found = run_points((job for one in samples for job in one), workers=jobs, progress=progress)
    rows: list[Mapping[str, Any]] = []
    for number, row in enumerate(result.curve.rows):
        bands: dict[str, float] = {}
        for field in result.fields:
            values = [found[one[number]].row[field] for one in samples]
            bands |= zip(band_fields(field), band(values, row[field]), strict=True)
        rows.append({**row, **bands})
    return replace(result, curve=replace(result.curve, rows=tuple(rows)))
