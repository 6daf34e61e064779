"""A file that is replayed: what it may hold, and how it is refused."""

from __future__ import annotations

from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NoReturn

from hcasim.ground.errors import CatalogError, display
from hcasim.ground.reading import MIB, read_file
from hcasim.ground.text import printable
from hcasim.traces.source import binary

LARGEST: Final = 256 * MIB
"""Bytes of a file."""
MOST_RANKS: Final = 1 << 20
MOST_ACTIONS: Final = 1 << 24
MOST_BYTES: Final = 2**31
"""Of a message."""


def refuse(where: str, reason: str) -> NoReturn:
    """Raise a CatalogError that says what is wrong, and where."""
    raise CatalogError([f"{where}: {reason}"])


def read_bytes(path: str | Path) -> tuple[str, bytes]:
    """Return the name of a file for messages, and what it holds, or raise a CatalogError."""
    data = read_file(path, LARGEST)
    name = printable(display(Path(path)))
    if not data.strip():
        refuse(name, "found an empty file; allowed: a trace of a program")
    return name, data


def text_of(name: str, data: bytes) -> str:
    """Return the text of a file, or raise a CatalogError if it holds none."""
    zero = data.find(b"\0")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        zero = error.start
    if zero >= 0:
        line = data[:zero].count(b"\n") + 1
        refuse(f"{name}:{line}", f"found {binary(data)}; allowed: text in UTF-8")
    return text.replace("\r\n", "\n")


def checked(number: int, what: str, most: int, least: int = 0) -> int:
    """Return a number that is within its limits, or raise a ValueError that says which."""
    if not least <= number <= most:
        raise ValueError(f"{what}: found {number}; allowed: {least} to {most}")
    return number


def need(name: str, library: str, extra: str) -> None:
    """Raise a CatalogError unless a library is installed, which an extra of this package brings."""
    try:
        found = find_spec(library)
    except ModuleNotFoundError:
        found = None
    if found is None:
        refuse(name, f"needs a library that is missing; needed: pip install 'hcasim[{extra}]'")


def missing_of(found: Collection[int], count: int) -> str:
    """Name the first of the ranks that are missing."""
    missing = [rank for rank in range(min(count, len(found) + 6)) if rank not in found]
    return ", ".join(map(str, missing[:5])) + ", ..." * (count - len(found) > 5)
