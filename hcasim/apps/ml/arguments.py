"""Arguments of programs, written as `name=value` behind the name of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, Final

from hcasim.ground.errors import nearest, one_of
from hcasim.ground.units import SIZE, Unit, UnitError, format_size, parse_size

MAX_COUNT: Final = 2**31
MAX_SIZE: Final = 2**36
MAX_RATE: Final = 10**24
_ENDINGS: Final = (("k", 10**3), ("M", 10**6), ("G", 10**9), ("T", 10**12), ("P", 10**15))
_FLOPS: Final = Unit(
    "rate of operations",
    "flop/s",
    "flop/s",
    (("flop/s", 1), *((f"{letter}flop/s", factor) for letter, factor in _ENDINGS)),
    tuple((f"{letter}op/s", factor) for letter, factor in (("", 1), *_ENDINGS)),
)
_BYTES: Final = Unit(
    "data rate",
    "B/s",
    "B/s",
    (("B/s", 1), *((f"{letter}B/s", factor) for letter, factor in _ENDINGS[:4])),
)


@dataclass(frozen=True)
class Argument:
    """What a program may be told.

    Attributes:
        read: text into a value; a ValueError says what is wrong with it.
        default: in its place, as text; none if it has to be given or has another meaning.
        meaning: in words.
    """

    read: Callable[[str], Any]
    default: str
    meaning: str


def count(text: str, least: int = 1) -> int:
    """A number of things."""
    if not text.isascii() or not text.isdigit() or not least <= int(text[:12]) <= MAX_COUNT:
        raise ValueError(f"found {text!r}; allowed: {least} to {MAX_COUNT}")
    return int(text)


def count_or_none(text: str) -> int:
    """A number of things, or none of them."""
    return count(text, 0)


def size(text: str) -> int:
    """A number of bytes, such as 25M."""
    try:
        found = parse_size(text)
    except UnitError as error:
        raise ValueError(
            f"{error}, or {one_of([name for name, _ in SIZE.shorthand[1:]])}"
        ) from None
    if not 1 <= found <= MAX_SIZE:
        raise ValueError(f"found {text!r}; allowed: 1 B to {format_size(MAX_SIZE)}")
    return found


def sizes(text: str) -> tuple[int, ...]:
    """Several numbers of bytes, with commas."""
    return tuple(size(one) for one in text.split(","))


def yes(text: str) -> bool:
    """Whether something is so."""
    if text not in ("yes", "no"):
        raise ValueError(f"found {text!r}; allowed: yes or no{nearest(text, ('yes', 'no'))}")
    return text == "yes"


def rate(text: str) -> float:
    """Operations a second, such as 200Tflop/s; `inf` takes no time."""
    return _rate(text, _FLOPS)


def combining(text: str) -> float | None:
    """Bytes a second that an accelerator adds up; none for `host`, whose processor does."""
    return None if text == "host" else _rate(text, _BYTES, "host")


def _rate(text: str, unit: Unit, *words: str) -> float:
    if text == "inf":
        return inf
    try:
        found = unit.parse_argument(text)
    except UnitError as error:
        raise ValueError(f"{error}, or {one_of(['inf', *words])}") from None
    if not 1 <= found <= MAX_RATE:
        raise ValueError(f"found {text!r}; allowed: 1 to 1e24 {unit.base}, or inf")
    return float(found)


def exponent(text: str) -> float:
    """A number that is not negative."""
    try:
        found = float(text)
    except ValueError:
        found = -1
    if not isfinite(found) or not 0 <= found <= 10:
        raise ValueError(f"found {text!r}; allowed: 0 to 10")
    return found


def read(
    program: str, words: Sequence[str], known: Mapping[str, Argument], faults: list[str]
) -> dict[str, Any]:
    """Return the values of all arguments; add what is wrong with them to the faults.

    Parameters:
        words: each `name=value`.
    """
    given: dict[str, str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or name not in known:
            allowed = one_of([f"{one}=..." for one in known])
            hint = nearest(name, known)
            faults.append(f"{program}: found {word!r}; allowed: {allowed}{hint}")
        elif name in given:
            faults.append(f"{program}: {name}: found twice, {given[name]!r} and {text!r}")
        else:
            given[name] = text
    found: dict[str, Any] = {}
    for name, argument in known.items():
        text = given.get(name, argument.default)
        try:
            found[name] = argument.read(text) if text else None
        except ValueError as error:
            faults.append(f"{program}: {name}: {error}")
        if not text and name in given:
            faults.append(f"{program}: {name}: found nothing; needed: {argument.meaning}")
    return found
