"""When Python looks for garbage that reference counts do not free."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

OBJECTS: Final = 200_000
"""Objects made before the young ones are looked at."""


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Look for garbage seldom.

    A simulation makes hardly any that is in a circle, and keeps millions of objects, all of which
    Python would look at again and again: more often, and each time longer, the larger it is.
    """
    before = gc.get_threshold()
    if 0 < before[0] < OBJECTS:
        gc.set_threshold(OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
