"""The values that a setting takes one after the other, as they are written, and their columns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, localcontext
from os import PathLike
from typing import Any

from hcasim.catalog import Machine
from hcasim.ground.errors import written
from hcasim.ground.faults import shown
from hcasim.ground.text import items_of, plain
from hcasim.ground.units import (
    DELAY,
    FREQUENCY,
    LENGTH,
    OPERATIONS,
    RATE,
    SHARE,
    SIZE,
    TIME,
    UNITS,
    Unit,
)
from hcasim.workloads.option import Option

MOST = 100_000
"""Values of a setting, and points of a sweep."""
_LONGEST = 200
"""Characters of a range."""

_NUMBER = r"[+-]?[0-9]{1,200}(?:\.[0-9]+)?"
_SCALES = [dict((*one.factors, *one.shorthand)) for one in UNITS.values()]
_TIMES = re.compile(rf"[x×]\s*({_NUMBER})")
_RANGE = re.compile(
    rf"({_NUMBER})\s*([^\s0-9.+*/-]\S*?)?\s*\.\.\s*({_NUMBER})\s*([^\s0-9.+*/-]\S*?)?"
    rf"\s*(?:([+*/])\s*({_NUMBER})\s*(\S+)?)?"
)
_RANGES = "4..64 by doubling, 0..10+2 by steps, 1..1000*10 by factors or 1..2/5 in equal parts"
_COLUMNS = {
    DELAY.base: ("ns_per_m", "ns/m", 10**3),
    TIME.base: ("ns", "ns", 10**3),
    SIZE.base: ("B", "B", 1),
    FREQUENCY.base: ("MHz", "MHz", 10**6),
    RATE.base: ("MBps", "MB/s", 10**6),
    OPERATIONS.base: ("Mops", "Mop/s", 10**6),
    LENGTH.base: ("m", "m", 10**3),
    SHARE.base: ("percent", "%", 10**7),
}
"""By the unit in which a value is kept: the last word of its column, that unit as --set takes it,
and how many make one."""


@dataclass(frozen=True)
class Times:
    """So many times what a description says."""

    factor: Decimal

    def __str__(self) -> str:
        return f"x{float(self.factor):g}"


def several(given: Any, option: Option | None, *, again: bool = False) -> list[Any]:
    """Return the values of a setting, each once, as they come.

    Parameters:
        given: a value; a list, tuple or array of values; or text of values between commas, and of
            ranges and factors as `hcasim.sweep` takes them.
        option: of a benchmark, if it is one, which knows how it is written.
        again: keep a value as often as it comes.

    Raises:
        ValueError: a line for each fault.
    """
    given = plain(given)
    single = isinstance(given, str | bytes | PathLike | Machine)
    own = None if single else items_of(given)
    items = [given] if own is None else own
    # What stands alone may hold commas of its own, as the arguments of a program.
    alone = len(items) == 1 and isinstance(items[0], str)
    found: list[Any] = []
    faults: list[str] = []
    for part in items[0].split(",") if alone else items:
        try:
            found += _expanded(plain(part), option)
        except ValueError as error:
            faults += str(error).splitlines()
    if not (found or faults):
        faults.append("found no value; allowed: one or more")
    if faults:
        raise ValueError("\n".join(faults))
    # True is no 1.
    return found if again else [*{(type(one) is bool, one): one for one in found}.values()]


def _expanded(item: Any, option: Option | None) -> list[Any]:
    if isinstance(item, list | tuple | dict):
        raise ValueError(f"found {shown(item)} in a list; allowed: a value")
    if not isinstance(item, str):
        try:
            hash(item)
        except TypeError:
            raise ValueError(f"found {written(item)}; allowed: a value") from None
        return [_read(item, option)]
    text = item.strip()
    if not text:
        raise ValueError("found '' between commas; allowed: a value")
    times = _TIMES.fullmatch(text)
    if times and option is None:
        return [Times(Decimal(times[1]))]
    if ".." in text and (option is None or not (option.words or option.is_name)):
        return _range(text, option)
    return [_read(text, option)]


def _read(item: Any, option: Option | None) -> Any:
    if option is None:
        return item
    if option.is_flag and isinstance(item, str):
        words = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
        if item.strip().lower() not in words:
            raise ValueError(f"found {item!r}; allowed: true or false")
        return words[item.strip().lower()]
    value = option.read(item)
    value = value[0] if isinstance(value, tuple) else value
    if fault := option.fault(value):
        raise ValueError(fault)
    return value


def _range(text: str, option: Option | None) -> list[Any]:
    if len(text) > _LONGEST:
        raise ValueError(f"found a range of {len(text)} characters; allowed: up to {_LONGEST}")
    match = _RANGE.fullmatch(text)
    if match is None:
        raise ValueError(f"found the range {text!r}; allowed: {_RANGES}")
    first, low_unit, last, high_unit, how, by, by_unit = match.groups(default="")
    if option is None:
        unit = high_unit or low_unit
        if {low_unit or unit, by_unit or unit} != {unit}:
            raise ValueError(f"found the range {text!r} with several units; allowed: one")
        steps = _steps(text, Decimal(first), Decimal(last), how, Decimal(by or 2))
        return [_written(number, unit) for number in steps]
    if option.title and not how:
        values = list(option.read(text))
        if faults := dict.fromkeys(filter(None, map(option.fault, values))):
            raise ValueError("\n".join(faults))
        return values
    low, high = (Decimal(_read(one, option)) for one in (first + low_unit, last + high_unit))
    step = Decimal(_read(by + by_unit, option) if how == "+" else by or 2)
    numbers = _steps(text, low, high, how, step)
    if broken := next((one for one in numbers if not _is_whole(one)), None):
        found = f"found the range {text!r}, which holds {float(broken):g}"
        raise ValueError(f"{found}; allowed: whole numbers")
    return [_read(int(one), option) for one in numbers]


def _steps(text: str, low: Decimal, high: Decimal, how: str, by: Decimal) -> list[Decimal]:
    """Return the numbers of a range; without a way they double, and the end is one of them."""
    if low > high:
        raise ValueError(f"found the range {text!r}, whose end is below its start")
    with localcontext(prec=60):
        if how == "/":
            if not _is_whole(by) or not 2 <= by <= MOST:
                raise ValueError(f"found the range {text!r}; allowed: 2 to {MOST} parts behind /")
            return [low + (high - low) * n / (by - 1) for n in range(int(by))]
        if by <= 0 if how == "+" else by <= 1 or low <= 0:
            allowed = "a step above 0" if how == "+" else "a start above 0 and a factor above 1"
            raise ValueError(f"found the range {text!r}; allowed: {allowed}")
        found: list[Decimal] = []
        while low <= high:
            if len(found) >= MOST or (how == "+" and (high - low) / by > MOST):
                raise ValueError(f"found the range {text!r}; allowed: at most {MOST} values")
            found.append(low)
            low = low + by if how == "+" else low * by
    return found if how or found[-1] == high else [*found, high]


def _written(number: Decimal, unit: str) -> Any:
    if not unit:
        return int(number) if _is_whole(number) else float(number)
    scale = next((scales[unit] for scales in _SCALES if unit in scales), 1)
    if scale > 1:
        # Descriptions keep whole base units.
        number = Decimal(round(number * scale)) / scale
    return f"{int(number) if _is_whole(number) else float(number)!r} {unit}"


def _is_whole(number: Decimal) -> bool:
    return number == number.to_integral_value()


def unit_of(base: str) -> Unit | None:
    """Return the dimension whose values are kept in a unit, if it is one."""
    return next((unit for unit in UNITS.values() if unit.base == base), None)


def column_of(name: str, base: str) -> str:
    """Return the column of a setting that is kept in a unit."""
    return f"{name}_{_COLUMNS[base][0]}" if unit_of(base) else name


def number_of(value: Any, base: str) -> Any:
    """Return what the column of a setting holds of a value that is kept in a unit."""
    if unit_of(base) and isinstance(value, int):
        whole, rest = divmod(value, _COLUMNS[base][2])
        return value / _COLUMNS[base][2] if rest else whole
    return int(value) if isinstance(value, str) and value.isdecimal() else value


def column_unit(column: str) -> tuple[str, str]:
    """Return the path that a column is of, and its unit; none of other columns."""
    for word, unit, _ in _COLUMNS.values():
        if "." in column and column.endswith(f"_{word}"):
            return column.removesuffix(f"_{word}"), unit
    return column, ""
