"""Input files and TOML: regular ones, or standard input, up to a limit."""

from __future__ import annotations

import os
import re
import stat
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from hcasim.ground.errors import CatalogError, Fault, display, nearest, one_of
from hcasim.ground.opened import note_read
from hcasim.ground.text import printable

MIB = 1 << 20
WRITTEN = 4 * MIB
"""Bytes of a file that a person writes, or that holds what was fitted."""
MEASURED = 32 * MIB
"""Bytes of a file that a tool writes: an output, a trace, points that were simulated."""
DEEPEST = 16
_TOO_DEEP = f"found tables and lists more than {DEEPEST} deep in each other"
_TOO_LARGE = "found a whole number of more than 64 bits"
"""Levels of tables and lists in each other."""
_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*"""
_LONG_KEY = re.compile(rf"(?<![\w-])(?:{_PART}\.[ \t]*){{{4 * DEEPEST}}}")
_LIST = re.compile(r"= \[\n((?:    [^\s{\[].*\n)+)\]")
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
        most: bytes that it may have.
        else_allowed: what may be named instead of a file, for messages.

    Raises:
        NoSuchFile: there is none.
        CatalogError: it is no regular file, too large, or cannot be read, or the command writes it.
    """
    try:
        path = Path(file)
        where = display(path)
        _refuse_other(where, path.stat().st_mode, else_allowed)
        # It may have become a pipe meanwhile, which must not be waited for.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as stream:
            _refuse_other(where, os.fstat(stream.fileno()).st_mode, else_allowed)
            note_read(path)
            return _up_to(most, stream, where)
    except ValueError:
        said = "cannot be the name of a file"
        raise CatalogError([Fault(repr(str(file)), file, "", said=said)]) from None
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
    note_read(path)
    return status.st_size


def read_stdin(most: int = MEASURED) -> bytes:
    """Return what standard input gives; CatalogError if that is more bytes than `most`."""
    note_read(Path("/dev/stdin"), "<stdin>")
    return _up_to(most, sys.stdin.buffer, "<stdin>")


def check_tree(tree: object) -> None:
    """Raise ValueError if what a file holds is too deep, or has a number that is too large."""
    values: list[object] = [tree]
    for _ in range(DEEPEST + 1):
        if any(isinstance(one, int) and not -(2**63) <= one < 2**63 for one in values):
            raise ValueError(_TOO_LARGE)
        inside = [one for one in values if isinstance(one, dict | list)]
        parts = [one.values() if isinstance(one, dict) else one for one in inside]
        values = [*chain.from_iterable(parts)]
    if inside:
        raise ValueError(_TOO_DEEP)


def tree_fault(error: Exception) -> str:
    """Return what is wrong with a file, of an error of Python's readers or of `check_tree`."""
    if isinstance(error, RecursionError):
        return _TOO_DEEP
    return _TOO_LARGE if "set_int_max_str_digits" in str(error) else str(error)


def _unread(where: str, error: OSError) -> Fault:
    said = f"cannot be read: {(error.strerror or str(error)).lower()}"
    return Fault(where, None, "", said=said)


def _refuse_other(where: str, mode: int, else_allowed: str) -> None:
    if not stat.S_ISREG(mode):
        found = next((name for is_kind, name in _KINDS if is_kind(mode)), "no file")
        allowed = f"a regular file{else_allowed and f', or {else_allowed}'}"
        raise CatalogError([Fault(where, found, allowed, text=found)])


def _up_to(most: int, stream: BinaryIO, where: str) -> bytes:
    pieces, size = [], 0
    while piece := stream.read(MIB):
        pieces.append(piece)
        size += len(piece)
        if size > most:
            limit = f"{most // MIB} MiB"
            raise CatalogError([Fault(where, size, f"up to {limit}", text=f"more than {limit}")])
    return b"".join(pieces)


def leads_to(path: Path, what: Callable[[Path], bool] = Path.exists) -> bool:
    """Whether a path leads to something, or a folder with `Path.is_dir`; not if in a circle."""
    try:
        return what(path)
    except (OSError, ValueError):
        return False


def read_toml(file: Path) -> dict[str, Any]:
    """Return the contents of a TOML file, which the caller must not change.

    Raises:
        CatalogError: no such file, unreadable, or not TOML; the message has line and column.
    """
    try:
        status = file.stat()
        # A file that is not read again is one that the command has read, too.
        note_read(file)
        return _read(file, status.st_mtime_ns, status.st_size)
    except (FileNotFoundError, NoSuchFile):
        raise no_such_file(file) from None
    except OSError as error:
        said = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError as error:
        said = f"not UTF-8 text at byte {error.start}"
    except (ValueError, RecursionError) as error:
        said = f"not valid TOML: {tree_fault(error)}"
    raise CatalogError([Fault(display(file), None, "", said=said)])


def no_such_file(file: Path) -> CatalogError:
    """Say that a file is missing, and which ones its folder holds."""
    beside = sorted(path.name for path in file.parent.glob("*.toml"))
    # The suffix, which all have, would make any of them near.
    close = nearest(file.stem, (name[:-5] for name in beside)).replace("'?", ".toml'?")
    said = f"no such file; its folder holds {one_of(beside)}"
    return CatalogError([Fault(display(file), None, "", close, said=said)])


@lru_cache(maxsize=256)
def _read(file: Path, modified_ns: int, size: int) -> dict[str, Any]:
    text = read_file(file).decode()
    # The library takes the square of a key's parts.
    if _LONG_KEY.search(text):
        raise ValueError(f"found a key of more than {4 * DEEPEST} parts")
    table = tomllib.loads(text)
    check_tree(table)
    return table


def render_toml(table: Mapping[str, Any], header: Iterable[str] = ()) -> str:
    """Return a table as TOML, with lines of comment for the top of the file."""
    import tomli_w

    comment = "".join(f"# {printable(line)}".rstrip() + "\n" for line in header)
    text = _LIST.sub(_on_one_line, tomli_w.dumps(table))
    return comment + "\n" * bool(comment) + text


def _on_one_line(found: re.Match[str]) -> str:
    # Only this ends a line of TOML; text may hold what Unicode takes for the end of one.
    lines = found[1].strip("\n").split("\n")
    return f"= [{', '.join(line[4:-1] for line in lines)}]"
