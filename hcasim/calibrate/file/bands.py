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
from hcasim.runs.point import Point
from hcasim.runs.pool import Progress, run_points

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


def with_bands(
    result: Benchmark,
    samples: Sequence[Sequence[Point]],
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Benchmark:
    """Return a benchmark whose rows also hold the quantiles of 5 and 95 % over samples.

    Between them lie 90 % of all further samples on average (R. J. Hyndman and Y. Fan, Sample
    Quantiles in Statistical Packages, 1996, definition 6); fewer than 19 samples are all between
    them, and do not suffice. Bands are widened to what the fit itself gives.

    Parameters:
        result: with the fitted values.
        samples: of each sample the points of the benchmark, in its order.
        jobs: processes to use; all processors without it.
        progress: is told how many points are done.
    """
    import numpy as np

    found = run_points((job for one in samples for job in one), workers=jobs, progress=progress)
    rows: list[Mapping[str, Any]] = []
    for number, row in enumerate(result.curve.rows):
        bands = {}
        for field in result.fields:
            values = [found[one[number]].row[field] for one in samples]
            for name, part in zip(band_fields(field), (0.05, 0.95), strict=True):
                # What was fitted is allowed, too, even where it is at the end of what is.
                widest = min if part < 0.5 else max
                end = np.quantile(values, part, method="weibull")
                bands[name] = widest(float(end), row[field])
        rows.append({**row, **bands})
    return replace(result, curve=replace(result.curve, rows=tuple(rows)))
