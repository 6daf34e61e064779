"""When Python looks for garbage that reference counts do not free.

A simulation makes hardly any that is in a circle, and keeps millions of objects, all of which
Python would look at again and again: more often, and each time longer, the larger it is.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

OBJECTS: Final = 200_000
"""Objects made before the young ones are looked at."""


_usual: tuple[int, int, int] | None = None
_inside = 0


def collect_seldom() -> None:
    """Look for garbage seldom until a `seldom_collected` ends: for machines before they run."""
    global _usual
    before = gc.get_threshold()
    if 0 < before[0] < OBJECTS:
        _usual = before
        gc.set_threshold(OBJECTS, *before[1:])


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Look for garbage seldom, and as often as before at the end, unless inside of another one."""
    global _inside, _usual
    collect_seldom()
    _inside += 1
    try:
        yield
    finally:
        _inside -= 1
        if not _inside and _usual is not None:
            gc.set_threshold(*_usual)
            _usual = None
