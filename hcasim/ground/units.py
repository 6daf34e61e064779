"""Quantities with units: exact reading, natural writing, and the integer types built on them.

Times are whole picoseconds, sizes whole bytes, frequencies whole hertz, rates whole bytes per
second, shares whole parts of 10**9. Text is read with exact arithmetic, and a quantity that is not
a whole number of the base unit is refused rather than rounded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import core_schema

from hcasim.ground.errors import FaultError, nearest, one_of

_NUMBER = re.compile(r"([+-]?[0-9]+(?:\.[0-9]+)?)\s*(\S*)", re.ASCII)


class UnitError(FaultError):
    """A text that is not a quantity of the expected dimension."""


@dataclass(frozen=True)
class Unit:
    """One dimension: the units it may be written in and the base unit it is kept in.

    Parameters:
        dimension: what is measured, for messages.
        base: name of the unit of the integer value.
        zero: unit in which zero is written, and values are shown.
        factors: units a file may use, smallest first, each in base units.
        shorthand: further units that only the command line accepts.
        whole: write a value in a larger unit only if it is a whole number of it.
        plain_below: write smaller values in the first unit, as MTUs and payloads customarily are.
    """

    dimension: str
    base: str
    zero: str
    factors: tuple[tuple[str, int], ...]
    shorthand: tuple[tuple[str, int], ...] = ()
    whole: bool = False
    plain_below: int = 0

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.factors]

    def parse(self, text: str) -> int:
        """Return the base units in a text such as "25 ns"; UnitError if not a whole number."""
        return self._parse(text, dict(self.factors))

    def parse_argument(self, text: str) -> int:
        """Return the base units in an argument, where "4K" and a bare number of bytes will do."""
        return self._parse(text, dict(self.factors + self.shorthand))

    def _parse(self, text: str, factors: Mapping[str, int]) -> int:
        match = _NUMBER.fullmatch(text.strip())
        if match is None:
            why = f"{text!r}, which is not a number with a unit"
            raise UnitError(text, hint=f"; {self.hint}", text=why)
        number, unit = match.groups()
        if unit not in factors:
            what = f"the unit {unit!r}" if unit else "no unit"
            close = nearest(unit, self.names) if unit else ""
            raise UnitError(text, hint=f"; {self.hint}{close}", text=f"{text!r} with {what}")
        exact = Fraction(Decimal(number)) * factors[unit]
        if exact.denominator != 1:
            raise UnitError(text, text=f"{text!r}, which is not a whole number of {self.base}")
        return int(exact)

    @property
    def hint(self) -> str:
        return f"a {self.dimension} is allowed with the unit {one_of(self.names)}"

    def format(self, value: int) -> str:
        """Write base units in the natural unit, as "25 ns", so that `parse` reads the same back."""
        if value == 0:
            return f"0 {self.zero}"
        name, factor = self.factors[0]
        larger = self.factors if abs(value) >= self.plain_below else ()
        for candidate, size in larger:
            if abs(value) >= size and not (self.whole and value % size):
                name, factor = candidate, size
        # All factors are products of 2 and 5: the division comes to an end.
        exact = Context(prec=60).divide(Decimal(value), Decimal(factor)).normalize()
        return f"{exact:f} {name}"

    def number(self, value: int) -> int | float:
        """Return base units in the unit that all values are shown in."""
        exact = Fraction(value, dict(self.factors)[self.zero])
        return exact.numerator if exact.denominator == 1 else float(exact)

    def shown(self, value: int) -> str:
        """Write a value in the unit that all values are shown in, but for sizes and rates."""
        return f"{self.number(value)} {self.zero}" if self.zero != self.base else self.format(value)

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        def read(value: Any) -> Any:
            return self.parse(value) if isinstance(value, str) else value

        return core_schema.no_info_before_validator_function(read, handler(source))


TIME = Unit(
    "time", "ps", "ns", (("ps", 1), ("ns", 10**3), ("us", 10**6), ("ms", 10**9), ("s", 10**12))
)
SIZE = Unit(
    "size",
    "B",
    "B",
    (("B", 1), ("KiB", 2**10), ("MiB", 2**20), ("GiB", 2**30)),
    shorthand=(("", 1), ("K", 2**10), ("M", 2**20), ("G", 2**30)),
    whole=True,
    plain_below=8 * 2**10,
)
FREQUENCY = Unit(
    "frequency", "Hz", "Hz", (("Hz", 1), ("kHz", 10**3), ("MHz", 10**6), ("GHz", 10**9))
)
RATE = Unit(
    "data rate", "B/s", "B/s", (("B/s", 1), ("kB/s", 10**3), ("MB/s", 10**6), ("GB/s", 10**9))
)
OPERATIONS = Unit(
    "rate of operations",
    "op/s",
    "op/s",
    (("op/s", 1), ("kop/s", 10**3), ("Mop/s", 10**6), ("Gop/s", 10**9), ("Top/s", 10**12)),
)
CYCLES = Unit("number of cycles", "cycles", "cycles", (("cycles", 1),))
LENGTH = Unit("length", "mm", "m", (("mm", 1), ("m", 10**3), ("km", 10**6)))
DELAY = Unit("delay per length", "ps/m", "ns/m", (("ps/m", 1), ("ns/m", 10**3)))
SHARE = Unit("share", "ppb", "%", (("ppb", 1), ("ppm", 10**3), ("%", 10**7)))

_ALL = (TIME, SIZE, FREQUENCY, RATE, OPERATIONS, CYCLES, LENGTH, DELAY, SHARE)
UNITS: Mapping[str, Unit] = {unit.base: unit for unit in _ALL}
"""By the base unit."""

Picoseconds = Annotated[int, TIME]
Bytes = Annotated[int, SIZE]
Hertz = Annotated[int, FREQUENCY]

parse_time, format_time = TIME.parse, TIME.format
"""Between a text such as "25 ns" and picoseconds."""
parse_size, format_size = SIZE.parse_argument, SIZE.format
"""Between a text such as "8", "4K" or "16 KiB" and bytes."""
