"""Input files: regular ones, or standard input, up to a limit."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import BinaryIO

from hcasim.ground.errors import CatalogError, display

MIB = 1 << 20
WRITTEN = 4 * MIB
"""Bytes of a file that a person writes, or that holds what was fitted."""
MEASURED = 32 * MIB
"""Bytes of a file that a tool writes: an output, a trace, points that were simulated."""
DEEPEST = 16
_TOO_DEEP = f"found tables and lists more than {DEEPEST} deep in each other"
_TOO_LARGE = "found a whole number of more than 64 bits"
"""Levels of tables and lists in each other."""
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


class NoSuchFile(CatalogError):
    """There is no file of a name."""


def read_file(file: str | Path, most: int = WRITTEN, else_allowed: str = "") -> bytes:
    """Return the bytes of a file.

    Parameters:
        file: its path.
        most: bytes that it may have.
        else_allowed: what may be named instead of a file, for messages.

    Raises:
        NoSuchFile: there is none.
        CatalogError: it is no regular file, too large, or cannot be read.
    """
    try:
        path = Path(file)
        where = display(path)
        _refuse_other(where, path.stat().st_mode, else_allowed)
        # It may have become a pipe meanwhile, which must not be waited for.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as stream:
            _refuse_other(where, os.fstat(stream.fileno()).st_mode, else_allowed)
            return _up_to(most, stream, where)
    except ValueError:
        raise CatalogError([f"{str(file)!r}: cannot be the name of a file"]) from None
    except OSError as error:
        kind = NoSuchFile if isinstance(error, FileNotFoundError) else CatalogError
        raise kind([_unread(where, error)]) from None


def size_of(path: Path) -> int:
    """Return the bytes of a file that a library will open; 0 if there is none, or a folder.

    Raises:
        CatalogError: it is a pipe or a device, which the library might wait for, or out of reach.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise CatalogError([_unread(display(path), error)]) from None
    if stat.S_ISDIR(status.st_mode):
        return 0
    _refuse_other(display(path), status.st_mode, "")
    return status.st_size


def read_stdin(most: int = MEASURED) -> bytes:
    """Return what standard input gives.

    Parameters:
        most: bytes that it may give.

    Raises:
        CatalogError: it gives more.
    """
    return _up_to(most, sys.stdin.buffer, "<stdin>")


def check_tree(tree: object) -> None:
    """Check that what a file holds can be worked with.

    Parameters:
        tree: tables, lists and values, as TOML and JSON have them.

    Raises:
        ValueError: it is too deep for whoever goes through it, or holds a number that is too large.
    """
    values: list[object] = [tree]
    for _ in range(DEEPEST + 1):
        if any(isinstance(one, int) and not -(2**63) <= one < 2**63 for one in values):
            raise ValueError(_TOO_LARGE)
        inside = [one for one in values if isinstance(one, dict | list)]
        values = [
            one
            for outer in inside
            for one in (outer.values() if isinstance(outer, dict) else outer)
        ]
    if inside:
        raise ValueError(_TOO_DEEP)


def tree_fault(error: Exception) -> str:
    """Return what is wrong with a file, of an error of Python's readers or of `check_tree`."""
    if isinstance(error, RecursionError):
        return _TOO_DEEP
    return _TOO_LARGE if "set_int_max_str_digits" in str(error) else str(error)


def _unread(where: str, error: OSError) -> str:
    return f"{where}: cannot be read: {(error.strerror or str(error)).lower()}"


def _refuse_other(where: str, mode: int, else_allowed: str) -> None:
    if not stat.S_ISREG(mode):
        found = next((name for is_kind, name in _KINDS if is_kind(mode)), "no file")
        allowed = f"a regular file{else_allowed and f', or {else_allowed}'}"
        raise CatalogError([f"{where}: found {found}; allowed: {allowed}"])


def _up_to(most: int, stream: BinaryIO, where: str) -> bytes:
    pieces, size = [], 0
    while piece := stream.read(MIB):
        pieces.append(piece)
        size += len(piece)
        if size > most:
            limit = f"{most // MIB} MiB"
            raise CatalogError([f"{where}: found more than {limit}; allowed: up to {limit}"])
    return b"".join(pieces)
