"""Samples of a calibration, of which bands are made."""

from __future__ import annotations

from hcasim.calibrate.file.calibration import Calibration
from hcasim.catalog import CatalogError
from hcasim.ground.errors import display

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
