"""This process: which build it runs, and its room in memory."""

from __future__ import annotations

from importlib.machinery import ExtensionFileLoader, PathFinder
from pathlib import Path


def build() -> str:
    """``compiled`` or ``pure Python``; nothing is imported for it."""
    engine = Path(__file__).parents[1] / "engine"
    found = PathFinder.find_spec("clock", [str(engine)])
    compiled = found is not None and isinstance(found.loader, ExtensionFileLoader)
    return "compiled" if compiled else "pure Python"


def look_for_room(size: int) -> None:
    """Raise MemoryError if there is no room for bytes in the address space of this process."""
    import mmap

    try:
        mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError as error:
        raise MemoryError from error
