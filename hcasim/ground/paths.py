"""Paths that people write, which may be no names that a file can have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def leads_to(path: Path, what: Callable[[Path], bool] = Path.exists) -> bool:
    """Whether a path leads to something; not if it is too long or leads in a circle.

    Parameters:
        path: what was written.
        what: to be there, such as `Path.is_dir`.
    """
    try:
        return what(path)
    except (OSError, ValueError):
        return False
