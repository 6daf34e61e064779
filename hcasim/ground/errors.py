"""What is said when input is wrong: every fault at once, the nearest name, the shortest path."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path


class CatalogError(Exception):
    """Every fault found in one pass over the descriptions.

    Parameters:
        faults: one line each: file and key path, what was found, what is allowed. A line that
            comes twice is kept once.
    """

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults: list[str] = list(dict.fromkeys(map(str, faults)))
        super().__init__(self.faults)

    def __str__(self) -> str:
        return "\n".join(self.faults)


def words_of(error: BaseException) -> str:
    """Return the kind of an exception and what it says, if it can say anything."""
    # A class of somebody else's may hide its name.
    name = str(type.__getattribute__(type(error), "__name__"))
    try:
        return f"{name}: {error}".removesuffix(": ")
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001
        return name


def nearest(name: object, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the closest known name, or nothing if none is close.

    Of several that are equally close it is the first.
    """
    return _nearest(str(name).lower(), tuple(known))


# A sweep may ask the same thousands of times.
@lru_cache(maxsize=64)
def _nearest(wanted: str, names: tuple[str, ...]) -> str:
    folded = {candidate.lower(): candidate for candidate in reversed(names)}
    matches = difflib.get_close_matches(wanted, folded, n=5, cutoff=0.5)
    if not matches:
        return ""
    order = {candidate: place for place, candidate in enumerate(map(str.lower, names))}
    matches.sort(key=order.__getitem__)
    closest = max(matches, key=lambda one: difflib.SequenceMatcher(None, one, wanted).ratio())
    return f"; did you mean {folded[closest]!r}?"


def one_of(allowed: Sequence[str]) -> str:
    """Write alternatives as `a, b or c`."""
    if not allowed:
        return "nothing"
    if len(allowed) == 1:
        return allowed[0]
    return f"{', '.join(allowed[:-1])} or {allowed[-1]}"


def display(path: Path) -> str:
    """Write a path as short as it can be and still be opened from the current folder."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)
