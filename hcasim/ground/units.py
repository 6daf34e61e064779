"""Quantities with units: exact reading, natural writing, and the integer types built on them.

Times are whole picoseconds, sizes whole bytes, frequencies whole hertz, rates whole bytes per
second. Text is read with exact arithmetic, and a quantity that is not a whole number of the base
unit is refused rather than rounded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import core_schema

from hcasim.ground.errors import nearest, one_of

_NUMBER = re.compile(r"([+-]?[0-9]+(?:\.[0-9]+)?)\s*(\S*)", re.ASCII)


class UnitError(ValueError):
    """A text that is not a quantity of the expected dimension."""


@dataclass(frozen=True)
class Unit:
    """One dimension: the units it may be written in and the base unit it is kept in.

    Parameters:
        dimension: what is measured, for messages.
        base: name of the unit of the integer value.
        zero: unit in which zero is written.
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
        """Units a file may use."""
        return [name for name, _ in self.factors]

    def parse(self, text: str) -> int:
        """Read a text such as "25 ns" exactly.

        Parameters:
            text: a decimal number and one of this dimension's units.

        Returns:
            The quantity in base units.

        Raises:
            UnitError: not a number with a unit, an unknown unit, or not a whole number of base
                units.
        """
        return self._parse(text, dict(self.factors))

    def parse_argument(self, text: str) -> int:
        """Read a command-line text, where "4K" and a bare number of bytes are customary too.

        Parameters:
            text: as for `parse`, or with this dimension's shorthand.

        Returns:
            The quantity in base units.

        Raises:
            UnitError: as for `parse`.
        """
        return self._parse(text, dict(self.factors + self.shorthand))

    def _parse(self, text: str, factors: Mapping[str, int]) -> int:
        match = _NUMBER.fullmatch(text.strip())
        if match is None:
            raise UnitError(f"found {text!r}, which is not a number with a unit; {self.hint}")
        number, unit = match.groups()
        if unit not in factors:
            what = f"the unit {unit!r}" if unit else "no unit"
            close = nearest(unit, self.names) if unit else ""
            raise UnitError(f"found {text!r} with {what}; {self.hint}{close}")
        exact = Fraction(Decimal(number)) * factors[unit]
        if exact.denominator != 1:
            raise UnitError(f"found {text!r}, which is not a whole number of {self.base}")
        return int(exact)

    @property
    def hint(self) -> str:
        """What may be written, for messages."""
        return f"a {self.dimension} is allowed with the unit {one_of(self.names)}"

    def format(self, value: int) -> str:
        """Write a value in its natural unit, so that `parse` reads the same value back.

        Parameters:
            value: the quantity in base units.

        Returns:
            A text such as "25 ns" or "16 KiB".
        """
        if value == 0:
            return f"0 {self.zero}"
        name, factor = self.factors[0]
        larger = self.factors if abs(value) >= self.plain_below else ()
        for candidate, size in larger:
            if abs(value) >= size and not (self.whole and value % size):
                name, factor = candidate, size
        return f"{_decimal(value, factor)} {name}"

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        def read(value: Any) -> Any:
            return self.parse(value) if isinstance(value, str) else value

        return core_schema.no_info_before_validator_function(read, handler(source))


def _decimal(value: int, factor: int) -> str:
    sign = "-" if value < 0 else ""
    whole, rest = divmod(abs(value), factor)
    digits = ""
    while rest:
        digit, rest = divmod(rest * 10, factor)
        digits += str(digit)
    return f"{sign}{whole}.{digits}" if digits else f"{sign}{whole}"


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
LENGTH = Unit("length", "mm", "m", (("mm", 1), ("m", 10**3), ("km", 10**6)))
DELAY = Unit("delay per length", "ps/m", "ns/m", (("ps/m", 1), ("ns/m", 10**3)))

UNITS: Mapping[str, Unit] = MappingProxyType(
    {unit.dimension: unit for unit in (TIME, SIZE, FREQUENCY, RATE, OPERATIONS, LENGTH, DELAY)}
)

Picoseconds = Annotated[int, TIME]
Bytes = Annotated[int, SIZE]
Hertz = Annotated[int, FREQUENCY]
BytesPerSecond = Annotated[int, RATE]
Millimetres = Annotated[int, LENGTH]
PicosecondsPerMetre = Annotated[int, DELAY]


def parse_time(text: str) -> int:
    """Return the picoseconds in a text such as "25 ns"; raise UnitError if it is not a time."""
    return TIME.parse(text)


def parse_size(text: str) -> int:
    """Return the bytes in a text such as "8", "4K" or "16 KiB"; raise UnitError otherwise."""
    return SIZE.parse_argument(text)


def format_time(value: int) -> str:
    """Write picoseconds in their natural unit."""
    return TIME.format(value)


def format_size(value: int) -> str:
    """Write bytes in their natural unit."""
    return SIZE.format(value)
