"""Reads a trace of whatever form."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from hcasim.apps.replay.chakra.reader import ChakraReader, is_chakra
from hcasim.apps.replay.checks import check
from hcasim.apps.replay.goal.reader import MARK, GoalReader
from hcasim.apps.replay.graph_trace import GraphTrace
from hcasim.apps.replay.otf2.reader import Otf2Reader, is_otf2
from hcasim.apps.replay.text import TooMuchWrong, read_bytes, text_of
from hcasim.apps.replay.ti.checks import check as check_ti
from hcasim.apps.replay.ti.reader import TiReader, is_ti
from hcasim.apps.replay.ti.trace import TiTrace
from hcasim.apps.replay.trace import Trace
from hcasim.ground.errors import CatalogError, nearest, one_of
from hcasim.ground.reading import MIB

_LABEL = re.compile(r"[ \t]*([A-Za-z][A-Za-z0-9_]*)[ \t]*:")
_SNIFFED: Final = 1000
"""Lines at the beginning of a file that tell what it is."""
_Sniff = Callable[[Path, bytes], bool]
_Read = Callable[[Path, str, bytes], Trace]


def read_schedule(path: str | Path, form: str = "") -> Trace:
    """Read what the processes of a program have done.

    Parameters:
        path: of the file.
        form: one of FORMS; found out without it.

    Raises:
        CatalogError: every place that cannot be read or replayed, and why.
    """
    if form and form not in FORMS:
        raise CatalogError(
            [f"form: found {form!r}; allowed: {one_of(FORMS)}{nearest(form, FORMS)}"]
        )
    path = Path(path)
    name, data = read_bytes(path)
    found = form or next((one for one, (sniff, _) in _READERS.items() if sniff(path, data)), "")
    if not found:
        text_of(name, data)
        raise CatalogError([f"{name}: found no trace of a known form; allowed: {one_of(FORMS)}"])
    return _READERS[found][1](path, name, data)


def _is_goal(path: Path, data: bytes) -> bool:
    head = data[:MIB].split(b"\n", _SNIFFED)[:_SNIFFED]
    return any(MARK.match(line.decode("utf-8", "replace")) for line in head)


def _read_goal(path: Path, name: str, data: bytes) -> GraphTrace:
    text = text_of(name, data)
    reader = GoalReader(name, text)
    reader.faults.refuse()
    lines = text.split("\n")

    def called(rank: int, one: int) -> str:
        line = reader.ranks[rank].lines[one]
        label = _LABEL.match(lines[line - 1])
        return label[1] if label else f"line {line}"

    check(reader.ranks, reader.faults, called)
    reader.faults.refuse()
    return GraphTrace(name, "goal", reader.ranks)


def _read_ti(path: Path, name: str, data: bytes) -> TiTrace:
    reader = TiReader(path, name, data)
    check_ti(reader)
    reader.faults.refuse()
    return TiTrace(name, reader.ranks, reader.counts, reader.files)


def _read_otf2(path: Path, name: str, data: bytes) -> GraphTrace:
    return _checked("otf2", Otf2Reader(path, name))


def _read_chakra(path: Path, name: str, data: bytes) -> GraphTrace:
    return _checked("chakra", ChakraReader(path, name))


def _checked(form: str, reader: Otf2Reader | ChakraReader) -> GraphTrace:
    """A trace whose operations are those of a graph, with collectives."""
    faults, collectives = reader.faults, reader.collectives
    faults.refuse()
    with suppress(TooMuchWrong):
        collectives.check(faults)
        check(
            reader.ranks,
            faults,
            lambda rank, one: faults.told(reader.ranks[rank].lines[one]),
            collectives.groups,
        )
    faults.refuse()
    return GraphTrace(faults.name, form, reader.ranks, collectives)


_READERS: Final[Mapping[str, tuple[_Sniff, _Read]]] = {
    "goal": (_is_goal, _read_goal),
    "ti": (is_ti, _read_ti),
    "otf2": (is_otf2, _read_otf2),
    "chakra": (is_chakra, _read_chakra),
}
"""By form: whether a file is of it, and what reads it."""
FORMS: Final = tuple(_READERS)
