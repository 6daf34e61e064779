"""How the numbers of a block change while a machine repeats itself."""

from __future__ import annotations

from typing import Final

SAME: Final = 0
TIME: Final = 1
COUNT: Final = 2
ADDRESS: Final = 3
SINCE: Final = 4
MIXED: Final = 5
UNSEEN: Final = 6
WRAP: Final = 7
SLIP: Final = 8
KINDS: Final = {
    "times": TIME,
    "counts": COUNT,
    "addresses": ADDRESS,
    "since": SINCE,
    "mixed": MIXED,
    "unseen": UNSEEN,
    "wraps": WRAP,
    "slips": SLIP,
}

ALIKE: Final = 32768
"""Bytes after which addresses are alike to buses and caches: a line of 8 entries of small pages."""
LINE: Final = 64
"""Bytes after which they are alike for what lies within one line of memory."""


def alike(address: int, size: int) -> int:
    """Bytes after which the addresses of as many bytes are alike."""
    return LINE if address // LINE == (address + size - 1) // LINE else ALIKE


class Changes:
    """Declares the whole numbers of a class that are others after each period.

    Each argument, a word of `KINDS`, names attributes, separated by blanks. What a list, a tuple or
    a dictionary holds is declared with the attribute that holds it; subclasses add theirs. Every
    number that is not named has to be the same again, or there is no period.

    Args:
        times: when something is due or free again, in ps. All times that have passed are equal.
        counts: what only adds up, and decides nothing before it reaches what `ends()` says.
        addresses: what only adds up, but for the place within `alike()` or `ALIKE` bytes.
        since: when something began, for measurements and timers, in ps.
        mixed: arguments of calls: constant, a time that goes on, or an address; never a count.
        unseen: what the machine does not depend on.
        wraps: cyclic counters: they have to be the same again, which may take several laps.
        slips: likewise, of bytes or packets up to the next flow control packet or DLLP.
    """

    def __init__(self, **names: str) -> None:
        self.kinds = {name: KINDS[kind] for kind, all_ in names.items() for name in all_.split()}


DECLARED: Final[dict[type, Changes]] = {}
"""Those of dataclasses, in which compiled code takes no class attributes."""


def declare(kind: type, **names: str) -> None:
    """Declare the changes of a dataclass."""
    DECLARED[kind] = Changes(**names)
