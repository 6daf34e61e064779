"""What `bench` and `sweep` take and say of bands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from hcasim.cli.output import note

if TYPE_CHECKING:
    from hcasim.runs.point import Point

uncertainty_option = click.option(
    "--uncertainty",
    is_flag=False,
    flag_value="",
    metavar="[N]",
    help="Also the 5 and 95 % quantiles over N samples (50 without a number): of a calibration, or "
    "else of all that nobody has published.",
)


def read_samples(text: str | None, faults: list[str]) -> int | None:
    """Return how many samples `uncertainty_option` asks for, if it does."""
    if text is None:
        return None
    from hcasim.study.uncertainty.draws import USUAL, samples_fault

    if not text:
        return USUAL
    if fault := samples_fault(int(text) if text.isdecimal() else text):
        faults.append(f"--{fault}")
        return None
    return int(text)


def drawn_points(
    prepared: Sequence[Point],
    count: int,
    prepare: Callable[[dict[str, str]], tuple[list[Point], list[str]]],
) -> list[list[Point]]:
    """Return the points of a benchmark on samples of its machine; those of no machine are left out.

    Parameters:
        prepared: the points.
        count: how many samples.
        prepare: returns them with what-if settings, or the faults of these.
    """
    from hcasim.catalog import CatalogError
    from hcasim.catalog.loader import each_file_once
    from hcasim.study.uncertainty.draws import draw

    def build(settings: Mapping[str, str]) -> None:
        if faults := prepare(dict(settings))[1]:
            raise CatalogError(faults)

    machine = prepared[0].machine
    with each_file_once():
        draws = draw([(machine, build)], count)
        tried = [prepare(settings) for settings in draws.settings(machine)]
    tell_bands(count, len(draws.factors))
    return [points for points, faults in tried if not faults]


def tell_bands(samples: int, values: int) -> None:
    """Say what bands are made of."""
    note(f"Bands: 5 to 95 % over {samples} samples of {values} values that nobody has published")
