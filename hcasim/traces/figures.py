"""Numbers as tools print them: what they say, how exact they are, and whether they agree."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

from hcasim.ground.faults import shown
from hcasim.traces.schema import UNITS, Measured, Statistics
from hcasim.traces.source import Unreadable

_FIGURE = re.compile(r"[0-9]+(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,2}))?", re.ASCII)
_COUNT = re.compile(r"[0-9]{1,15}", re.ASCII)
_LONGEST = 40

UNIT_FACTORS: dict[str, tuple[str, Decimal]] = {
    "us": ("latency", Decimal(1000)),
    "s": ("latency", Decimal(1_000_000_000)),
    "MB/s": ("bandwidth", Decimal(1)),
    "MiB/s": ("bandwidth", Decimal(2**20).scaleb(-6)),
    "Mbit/s": ("bandwidth", Decimal("0.125")),
    "Gbit/s": ("bandwidth", Decimal(125)),
    "Mibit/s": ("bandwidth", Decimal(2**17).scaleb(-6)),
    "M/s": ("rate", Decimal(1)),
    "1/s": ("rate", Decimal("1e-6")),
}
"""The units that tools print, as a trace writes them, and what one of them is in the trace's."""


@dataclass(frozen=True)
class Figure:
    """A number as it was printed under the title of its column; its step is one of the last digit,
    which says how exact it is."""

    what: str
    text: str
    value: Decimal
    step: Decimal

    def between(self, factor: Decimal | int = 1) -> tuple[Decimal, Decimal]:
        """Return the least and the greatest number that is printed so, times a factor."""
        half = self.step * Decimal("0.500001")
        return max(self.value - half, Decimal(0)) * factor, (self.value + half) * factor


Cells = Mapping[str, Figure]
"""The figures of a line: "mean", "minimum", "99" (of percentiles) and the like, "rate" of messages,
and what else a tool prints."""


def figure(text: str, what: str) -> Figure:
    """Read a number that is not negative, under the title of its column."""
    if re.fullmatch(r"-[0-9.]+(e[+-]?[0-9]+)?", text, re.ASCII):
        raise Unreadable(f"{what}: found {shown(text)}; it cannot be negative")
    match = _FIGURE.fullmatch(text)
    if not match or len(text) > _LONGEST:
        raise Unreadable(f"{what}: found {shown(text)}; allowed: a number")
    exponent = int(match[2] or 0) - len(match[1] or "")
    return Figure(what, text, Decimal(text), Decimal(1).scaleb(exponent))


def count(text: str, what: str, least: int = 0) -> int:
    """Read a whole number, under the title of its column."""
    if not _COUNT.fullmatch(text) or int(text) < least:
        kind = "a whole number" if least == 0 else f"a whole number from {least}"
        raise Unreadable(f"{what}: found {shown(text)}; allowed: {kind}")
    return int(text)


def is_number(word: str) -> bool:
    """Whether a word is a number, be it negative."""
    return len(word) <= _LONGEST and _FIGURE.fullmatch(word.removeprefix("-")) is not None


def all_numbers(line: str, least: int) -> bool:
    """Whether a line holds so many numbers or more and nothing else, as those of tables do."""
    words = line.split()
    return len(words) >= least and all(map(is_number, words))


def agree(one: tuple[Decimal, Decimal], other: tuple[Decimal, Decimal]) -> bool:
    """Whether two numbers, each known within its digits, can be the same."""
    slack = Decimal("1.000001")
    return one[0] <= other[1] * slack and other[0] <= one[1] * slack


def rate_fits(bandwidth: Figure, unit: str, rate: Figure, rate_unit: str, size: int) -> bool:
    """Whether a bandwidth is that of so many messages of a size in a second."""
    messages = rate.between(UNIT_FACTORS[rate_unit][1] * size)
    return agree(bandwidth.between(UNIT_FACTORS[unit][1]), messages)


def time_fits(bandwidth: Figure, unit: str, time: Figure, time_unit: str, size: int) -> bool:
    """Whether a bandwidth is that of so many bytes in a time."""
    least, most = time.between(UNIT_FACTORS[time_unit][1])
    # Bytes in a nanosecond are 1000 times MB/s.
    moved = Decimal(1000 * size)
    bound = moved / least if least else Decimal("1e30")
    return agree(bandwidth.between(UNIT_FACTORS[unit][1]), (moved / most, bound))


def measured(cells: Cells, unit: str, iters: int | None = None) -> Measured:
    """Return a quantity of a line in the form of a trace.

    Parameters:
        cells: statistics by their name, percentiles by percent; the median or the mean counts.
        unit: as printed, one of UNIT_FACTORS.
        iters: samples.

    Raises:
        Unreadable: figures that contradict each other.
    """
    percentiles = sorted((one for one in cells if one[0].isdigit()), key=float)
    quantity, factor = UNIT_FACTORS[unit]
    rising = (("minimum", "median", "maximum"), ("minimum", "mean", "maximum"), percentiles)
    for names in rising if quantity == "latency" else ():
        _check_order([cells[one] for one in names if one in cells])
    values = {one: float(found.value * factor) for one, found in cells.items()}
    named = {one: values[one] for one in Statistics.model_fields if one in values}
    main = cells["median"] if "median" in cells else cells["mean"]
    if not main.value:
        raise Unreadable(f"{main.what}: found {main.text}; allowed: more than nothing")
    return Measured.model_validate(
        {
            "quantity": quantity,
            "unit": UNITS[quantity],
            "statistics": Statistics(
                count=iters, percentiles={one: values[one] for one in percentiles}, **named
            ),
            "printed": f"{main.text} {unit}",
        }
    )


def _check_order(figures: Sequence[Figure]) -> None:
    for low, high in pairwise(figures):
        if low.between()[0] > high.between()[1]:
            raise Unreadable(
                f"found {low.what} {low.text} above {high.what} {high.text}: "
                "the line is damaged, or its columns are swapped"
            )


def bandwidth(cells: Cells, unit: str, rate_unit: str, iters: int | None) -> list[Measured]:
    """Return the bandwidth of a line and its rate of messages; neither if all digits are 0."""
    found = []
    if cells["mean"].value:
        # Without peak, as with -N or -D, perftest prints 0.
        known = {one: two for one, two in cells.items() if one != "maximum" or two.value}
        found.append(measured(known, unit, iters))
    if "rate" in cells and cells["rate"].value:
        found.append(measured({"mean": cells["rate"]}, rate_unit, iters))
    return found
