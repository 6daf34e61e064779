"""This process: which build it runs, its room in memory, and the files that it opens."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import ExtensionFileLoader, PathFinder
from importlib.util import source_from_cache
from pathlib import Path
from typing import Any

Watcher = Callable[[str, tuple[Any, ...]], object]
"""Is given an audit event of Python by its name, and what belongs to it; may refuse it."""

_watchers: list[Watcher] = []
_hooks: list[Watcher] = []


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Tell a watcher of all that happens inside the block, in any thread of this process."""
    if not _hooks:
        # It stays until the process ends.
        _hooks.append(_tell)
        sys.addaudithook(_tell)
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


@contextmanager
def unwatched() -> Iterator[None]:
    """Tell nobody what happens inside the block; what is read there is told by `tell_read`."""
    before, _watchers[:] = [*_watchers], []
    try:
        yield
    finally:
        _watchers[:] = before


def tell_read(file: str | Path) -> None:
    """Tell that a file is read, by another process or library."""
    sys.audit("open", str(file), "rb", os.O_RDONLY)


def file_read(event: str, given: tuple[Any, ...]) -> str:
    """Return the file that an event opens for reading, or nothing; of bytecode its source."""
    if event != "open" or not isinstance(given[0], str | bytes | os.PathLike):
        return ""
    if given[2] & os.O_ACCMODE == os.O_WRONLY or given[2] & os.O_TRUNC:
        return ""
    name = os.fsdecode(given[0])
    if name.endswith(".pyc"):
        try:
            source = source_from_cache(name)
        except ValueError:
            return name
        return source if Path(source).exists() else name
    return name


def _tell(event: str, given: tuple[Any, ...]) -> None:
    for one in _watchers:
        one(event, given)


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
