"""The files that a command reads and those that it writes: no file may be both."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from hcasim.ground.errors import Fault, display, refuse

_Keys = set[tuple[int, int] | str]
"""A file by its device and inode, which all its links share, and by its path without links."""


class _Files:
    def __init__(self) -> None:
        self.read: dict[tuple[int, int] | str, str] = {}
        self.outputs: dict[tuple[int, int] | str, str] = {}
        self.renewed: _Keys = set()


_FILES: ContextVar[_Files | None] = ContextVar("files", default=None)


@contextmanager
def one_command() -> Iterator[None]:
    """Register the files of one command inside the block; outside nothing is refused."""
    token = _FILES.set(_Files())
    try:
        yield
    finally:
        _FILES.reset(token)


def registering() -> bool:
    """Whether files are registered here."""
    return _FILES.get() is not None


def read_fault(path: Path, name: str = "") -> str:
    """Register a file that is opened for reading, and say if the command writes it.

    Parameters:
        name: what messages call it, if not by its path.
    """
    if (files := _FILES.get()) is None:
        return ""
    keys = _keys(path)
    told = f"{name or display(path)}, which is read"
    files.read |= dict.fromkeys(keys, told)
    return _fault(_known(files.outputs, keys - files.renewed), told)


def note_read(path: Path, name: str = "") -> None:
    """Register a file as `read_fault` does; CatalogError if the command writes it."""
    refuse(read_fault(path, name))


def output_fault(path: Path, name: str) -> str:
    """Register a file that will be written, and say if the command reads it or writes it twice.

    Parameters:
        name: the option with the file, for messages.
    """
    if (files := _FILES.get()) is None:
        return ""
    keys = _keys(path)
    fault = overwriting_fault(path, name) or _fault(name, _known(files.outputs, keys))
    files.outputs |= dict.fromkeys(keys, name)
    return fault


def overwriting_fault(path: Path, name: str = "") -> str:
    """Say if the command has read a file that it is about to write."""
    if (files := _FILES.get()) is None:
        return ""
    return _fault(name or display(path), _known(files.read, _keys(path) - files.renewed))


def renew(path: Path) -> None:
    """Let the command write a file that it reads, to bring it up to date."""
    if files := _FILES.get():
        files.renewed |= _keys(path)


def _keys(path: Path) -> _Keys:
    found: _Keys = set()
    with suppress(OSError, ValueError):
        found.add(os.path.realpath(path))
        status = path.stat()
        found.add((status.st_dev, status.st_ino))
    return found


def _known(files: Mapping[tuple[int, int] | str, str], keys: _Keys) -> str:
    return next((files[key] for key in keys if key in files), "")


def _fault(output: str, other: str) -> str:
    if not (output and other):
        return ""
    return Fault(output, other, "one of its own", text=f"the same file as {other}")
