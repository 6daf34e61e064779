"""Words of a time-independent trace: numbers, and the sizes of SMPI's types."""

from __future__ import annotations

import re
from typing import Final

from hcasim.ground.faults import shown

MOST_OPERATIONS: Final = 10**18
"""To compute at a time."""
TYPES: Final = (
    *(8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4),
    *(8, 1, 2, 4, 8, 8, 16, 32, 8, 8, 8, 16, 16, 8, 8, 8, 16, 16, 4, 4),
    *(8, 16, 8, 16, 16, 4, 2, 4, 8, 16, 32, 1, 8, 16, 32, 0, 0, 1, 8, 8),
)
SIZES: Final = {b"-1": 0} | {b"%d" % number: size for number, size in enumerate(TYPES)}
"""Bytes of an element, by the number of its type, where a long has 64 bits."""
_NUMBER = re.compile(rb"-?[0-9]{1,15}(?:\.[0-9]{0,15})?(?:[eE][+-]?[0-9]{1,3})?")


def text(word: bytes) -> str:
    """A word, as messages show it."""
    return shown(word.decode("utf-8", "replace"))


def _number(word: bytes, what: str, least: int, most: int) -> float | int:
    if word.isdigit() and len(word) <= 15:
        number: float | int = int(word)
    else:
        number = float(word) if _NUMBER.fullmatch(word) else float("nan")
    if not least <= number <= most:
        raise ValueError(f"{what}: found {text(word)}; allowed: {least} to {most}")
    return number


def whole(word: bytes, what: str, most: int, least: int = 0) -> int:
    """A whole number; what is behind its point is left out, as SimGrid does."""
    return int(_number(word, what, least, most))


def real(word: bytes, what: str, most: int) -> float:
    """A number."""
    return float(_number(word, what, 0, most))


def operations(word: bytes) -> float:
    """A number of operations."""
    return real(word, "operations", MOST_OPERATIONS)
