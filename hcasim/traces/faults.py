"""How much is said of a file in which much is wrong."""

from __future__ import annotations

from collections.abc import Sequence

_MANY = 20
_SAID = 10
"""Faults of one file that are said if there are more than those."""


def few(name: str, faults: Sequence[str]) -> list[str]:
    """Return what is said of a file in which more is wrong than a reader can use.

    Parameters:
        name: of the file.
        faults: all that was found.
    """
    if len(faults) <= _MANY:
        return list(faults)
    said, left = faults[:_SAID], faults[_SAID:]
    start = f"{name}:"
    lines = {one.removeprefix(start).partition(":")[0] for one in left if one.startswith(start)}
    more = "1 more line" if len(lines) == 1 else f"{len(lines)} more lines"
    return [*said, f"{name}: ... and {more} that cannot be read"]
