"""What `bench`, `sweep` and `compare` take and say of bands."""

from __future__ import annotations

import click

from hcasim.cli.output import note

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
    from hcasim.study.bands import USUAL, samples_fault

    if not text:
        return USUAL
    if fault := samples_fault(int(text) if text.isdecimal() else text):
        faults.append(f"--{fault}")
        return None
    return int(text)


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
