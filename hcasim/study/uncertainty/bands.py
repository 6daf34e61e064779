"""Bands of results: what they are over samples of machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hcasim.calibrate.file.bands import band
from hcasim.ground.quantities import band_fields, measured

_CERTAIN = ("error_percent",)
"""Results that say how exact the simulation is, not what the machine does."""


def banded(row: Mapping[str, Any], samples: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a row in which the 5 and 95 % quantiles stand behind each number that was measured.

    Parameters:
        row: of the machine as it is described.
        samples: rows of the same point on other machines; those that lack a number do not count.
    """
    fields = {*measured(row)} - {*_CERTAIN}
    found: dict[str, Any] = {}
    for name, value in row.items():
        found[name] = value
        values = [one[name] for one in samples if isinstance(one.get(name), int | float)]
        if name in fields and isinstance(value, int | float) and len(values) > 1:
            found |= zip(band_fields(name), band(values, value), strict=True)
    return found
