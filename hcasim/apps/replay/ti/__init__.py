"""Reads time-independent traces, which SimGrid's SMPI writes and replays.

A trace is one file whose lines begin with the rank, `0 send 1 7 100 6`, or a list of files, one in
each line, by rank. Counts are of elements whose type has a number; without one it is a byte, or a
double if `init` has a word behind it. Numbers may be written as 5e4.

Collectives are those of the machine's MPI library, among all ranks. The operations of a reduction
are computed behind it, as SimGrid does. A `reducescatter` with parts that differ has equal ones
here, of the same bytes together. Who sleeps computes. What nobody has waited for is waited for at
the end.

Source: SimGrid 4, src/smpi/internals/smpi_replay.cpp, src/smpi/mpi/smpi_datatype.cpp,
src/smpi/internals/smpi_deployment.cpp, src/xbt/xbt_replay.cpp. It takes files of a list from the
current folder; here they may also be beside the list. Words behind the last one that has a meaning
are a fault here, and so is what it passes over: lines of another rank.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from hcasim.apps.replay.text import (
    MOST_RANKS,
    first_lines,
    missing_of,
    read_bytes,
    refuse,
    text_of,
)
from hcasim.apps.replay.ti.lines import NAMES, Reader, text
from hcasim.apps.replay.trace import Trace
from hcasim.ground.errors import CatalogError
from hcasim.ground.reading import MIB, leads_to
from hcasim.ground.text import printable

LARGEST_TOGETHER: Final = 1024 * MIB
"""Bytes of all files of a list."""
_RANK = re.compile(rb"^[ \t]*([0-9]{1,7})(?=[ \t])", re.MULTILINE)
_LINE = re.compile(rb"[ \t]*[0-9]{1,15}[ \t]+(?:%s)\b" % "|".join(NAMES).encode())
_FILE = re.compile(rb"\S(?:.*\S)?\.[A-Za-z][A-Za-z0-9]*")


def is_ti(path: Path, data: bytes) -> bool:
    """Whether a file is a time-independent trace, or a list of such files."""
    if _has_actions(data):
        return True
    names = [name for line in first_lines(data) if (name := line.strip())]
    return bool(names) and (
        all(map(_FILE.fullmatch, names)) or leads_to(_file(path, names[0]), Path.is_file)
    )


def _has_actions(data: bytes) -> bool:
    return any(map(_LINE.match, first_lines(data)))


def _file(path: Path, name: bytes) -> Path:
    """A file of a list: beside it, or else in the current folder."""
    word = name.decode("utf-8", "surrogateescape")
    beside, here = path.parent / word, Path(word)
    return here if not leads_to(beside) and leads_to(here) else beside


def read_ti(path: Path, name: str, data: bytes) -> Trace:
    """Read a trace: one file, or all of a list.

    Raises:
        CatalogError: the first line that is wrong.
    """
    if _has_actions(data):
        return _read_one(name, name, data)
    listed = _listed(path, name, data)
    if len(listed) == 1:
        return _read_one(name, *_read(*listed[0]))
    reader = Reader(len(listed))
    together = 0
    for rank, (where, file) in enumerate(listed):
        one, content = _read(where, file)
        together += len(content)
        if together > LARGEST_TOGETHER:
            refuse(where, f"found {together} B together; allowed: {LARGEST_TOGETHER // MIB} MiB")
        reader.read(one, content, rank)
    return reader.trace(name)


def _listed(path: Path, name: str, data: bytes) -> list[tuple[str, Path]]:
    """The files that a list names, each with where it does."""
    text_of(name, data)
    found: dict[Path, str] = {}
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not (word := line.strip()):
            continue
        file, where = _file(path, word), f"{name}:{number}"
        if file in found:
            refuse(where, f"found {text(word)} again; allowed: each file once")
        found[file] = where
    if len(found) > MOST_RANKS:
        refuse(name, f"found {len(found)} files; allowed: up to {MOST_RANKS}")
    return [(where, file) for file, where in found.items()]


def _read(where: str, file: Path) -> tuple[str, bytes]:
    """The name of a file of a list, and what it holds."""
    try:
        name, data = read_bytes(file)
        text_of(name, data)
    except CatalogError as error:
        refuse(where, printable(error.faults[0]))
    return name, data


def _read_one(trace: str, name: str, data: bytes) -> Trace:
    """Read a file that has all ranks."""
    text_of(name, data)
    reader = Reader(_ranks_of(name, data))
    reader.read(name, data, None)
    return reader.trace(trace)


def _ranks_of(name: str, data: bytes) -> int:
    """The number of ranks of a file that has all of them."""
    found = {int(match[1]) for match in _RANK.finditer(data)}
    count = max(found, default=0) + 1
    if count > MOST_RANKS:
        refuse(name, f"rank: found {count - 1}; allowed: 0 to {MOST_RANKS - 1}")
    if len(found) < count:
        ranks = f"found {len(found)} ranks of {count}; missing: {missing_of(found, count)}"
        refuse(name, f"{ranks}; is it a file of one rank? then name the list of them")
    return count
