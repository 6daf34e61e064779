"""What `bench`, `sweep` and `compare` take and say of bands."""

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
    """Return the points of a benchmark on samples of its machine, and say what bands they make.

    Parameters:
        prepared: the points.
        count: how many samples.
        prepare: returns them with what-if settings, or the faults of these.

    Raises:
        CatalogError: too few samples can be machines.
    """
    from hcasim.catalog import CatalogError
    from hcasim.catalog.loader import each_file_once
    from hcasim.study.uncertainty.draws import draw

    def build(settings: Mapping[str, str]) -> list[Point]:
        points, faults = prepare(dict(settings))
        if faults:
            raise CatalogError(faults)
        return points

    machines = [(prepared[0].machine, build)]
    with each_file_once():
        draws = draw(machines, count)
        drawn = [points for (points,) in draws.built(machines)]
    tell_bands(len(drawn), count, len(draws.factors))
    return drawn


def tell_bands(samples: int, asked: int, values: int) -> None:
    """Say what bands are made of.

    Parameters:
        samples: how many took part.
        asked: how many were drawn.
        values: how many were drawn at random in each.
    """
    of = "" if samples == asked else f" ({asked} were drawn, and the others can be no machine)"
    over = f"{samples} samples{of} of {values} values that nobody has published"
    note(f"Bands: 5 to 95 % over {over}")
