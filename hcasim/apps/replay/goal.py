"""Schedules of GOAL, the text that LogGOPSim's tools read.

Operations are `send 10b to 1 tag 2`, `recv 10b from 0 tag 2` and `calc 500`, of 500 ns, each with a
label before it if another one names it: `l2 requires l1` lets l2 wait until l1 has ended, `l2
irequires l1` until it has begun. `cpu` is the number of a thread of the process, `nic` that of an
adapter, which has no meaning here. A source or tag of -1 stands for any.

Source: LogGOPSim, src/LogGOPSim/txt2bin.re and README. It lets labels be used only behind their
operations; here they may stand anywhere in the rank. A label that is given twice is a fault here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from hcasim.apps.replay.operations import ANY, Kind, Operations
from hcasim.apps.replay.text import (
    MOST_ACTIONS,
    MOST_BYTES,
    MOST_RANKS,
    checked,
    missing_of,
    refuse,
    text_of,
)
from hcasim.apps.replay.trace import Trace
from hcasim.ground.faults import shown
from hcasim.ground.reading import MIB
from hcasim.mpi.messages import MAX_SECONDS

_PS_PER_NS: Final = 1000
_SNIFFED: Final = 1000
"""Lines that tell what a file is."""
_LABEL = "[A-Za-z][A-Za-z0-9_]*"
_OPERATION = re.compile(
    rf"(?:({_LABEL})[ \t]*:)?[ \t]*"
    r"(?:(send|recv)[ \t]+([0-9]{1,15})[ \t]*b[ \t]+(to|from)"
    r"[ \t]+(-1|[0-9]{1,15})|calc[ \t]+([0-9]{1,15}))"
    r"((?:[ \t]+(?:tag|cpu|nic)[ \t]+(?:-1|[0-9]{1,15}))*)"
)
_REQUIREMENT = re.compile(rf"({_LABEL})[ \t]+(i?requires)[ \t]+({_LABEL})")
_RANK = re.compile(r"rank[ \t]+([0-9]{1,15})")
_RANKS = re.compile(r"num_ranks[ \t]+([0-9]{1,15})")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_OPTIONS: Final = {"tag": 2**32 - 2, "cpu": 255, "nic": 255}
"""What may stand behind an operation, and the most that it may be."""
_MARK = re.compile(rb"[ \t]*num_ranks[ \t]+[0-9]|[ \t]*rank[ \t]+[0-9]+[ \t]*\{")
_INSIDE: Final = (
    "`send 8b to RANK`, `recv 8b from RANK`, `calc NS`, with `tag`, `cpu` or `nic` and a number, "
    "`LABEL requires LABEL` or `}`"
)
_OUTSIDE: Final = "`num_ranks N` or `rank N {`"


def is_goal(path: Path, data: bytes) -> bool:
    """Whether a file is a schedule."""
    return any(map(_MARK.match, data[:MIB].split(b"\n", _SNIFFED)[:_SNIFFED]))


def read_goal(path: Path, name: str, data: bytes) -> Trace:
    """Read a schedule, or raise a CatalogError with the first line that is wrong."""
    ranks = _Reader(name).read(text_of(name, data))
    return Trace(name, "goal", ranks, [f"{name}:"] * len(ranks))


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """The statements and braces of a schedule, each with its line."""
    if "/*" in text:
        text = _COMMENT.sub(lambda found: "\n" * found[0].count("\n") or " ", text)
    for number, whole in enumerate(text.split("\n"), start=1):
        line = whole.partition("//")[0].strip()
        if line and line[0] != "#":
            pieces = re.split(r"([{}])", line) if "{" in line or "}" in line else [line]
            yield from ((number, piece) for piece in filter(None, map(str.strip, pieces)))


class _Reader:
    def __init__(self, name: str) -> None:
        self._name = name
        self._ranks: dict[int, Operations] = {}
        self._count = self._actions = self._line = 0
        # Of the rank that is read.
        self._here = Operations()
        self._labels: dict[str, int] = {}

    def read(self, text: str) -> list[Operations]:
        pieces = _pieces(text)
        try:
            for self._line, piece in pieces:
                if found := _RANK.fullmatch(piece):
                    rank = checked(int(found[1]), "rank", (self._count or MOST_RANKS) - 1)
                    if rank in self._ranks:
                        raise ValueError(f"found rank {rank} again; allowed: once")
                    self._ranks[rank] = self._here = Operations()
                    if not self._read_rank(pieces):
                        found_end = f"found the end of the file within rank {rank}"
                        self._line = text.count("\n") + 1
                        raise ValueError(f"{found_end}; it may be cut")
                elif (found := _RANKS.fullmatch(piece)) and not self._count:
                    self._count = checked(int(found[1]), "num_ranks", MOST_RANKS, 1)
                else:
                    raise ValueError(f"found {shown(piece)}; allowed: {_OUTSIDE}, each once")
        except ValueError as error:
            refuse(f"{self._name}:{self._line}", str(error))
        if not self._count:
            refuse(self._name, "num_ranks: missing; allowed: `num_ranks N` before the ranks")
        if len(self._ranks) < self._count:
            which = missing_of(self._ranks, self._count)
            cut = f"found {len(self._ranks)} ranks of {self._count}; missing: {which}"
            refuse(self._name, f"{cut}; the file may be cut")
        return [self._ranks[rank] for rank in range(self._count)]

    def _read_rank(self, pieces: Iterator[tuple[int, str]]) -> bool:
        """Read what stands in braces; return whether they are closed."""
        self._labels = {}
        required: list[tuple[str, bool, str, int]] = []
        for self._line, opening in pieces:
            if opening != "{":
                raise ValueError(f"found {shown(opening)}; allowed: `{{`")
            break
        for self._line, piece in pieces:
            if found := _OPERATION.fullmatch(piece):
                self._operation(found)
            elif found := _REQUIREMENT.fullmatch(piece):
                required.append((found[1], found[2] == "irequires", found[3], self._line))
            elif piece == "}":
                self._require(required)
                return True
            else:
                raise ValueError(f"found {shown(piece)}; allowed: {_INSIDE}")
        return False

    def _require(self, required: list[tuple[str, bool, str, int]]) -> None:
        labels = self._labels
        for later, begun, earlier, self._line in required:
            if unknown := next((one for one in (later, earlier) if one not in labels), ""):
                raise ValueError(f"label: found {shown(unknown)}; allowed: one of this rank")
            self._here.require(labels[later], labels[earlier], begun)

    def _operation(self, found: re.Match[str]) -> None:
        label, word, size_word, way, peer_word, nanoseconds, options = found.groups()
        self._actions += 1
        checked(self._actions, "operations", MOST_ACTIONS, 1)
        if word is None:
            kind, peer = Kind.CALC, 0
            size = _PS_PER_NS * checked(int(nanoseconds), "calc", MAX_SECONDS * 10**9)
        else:
            kind = Kind.SEND if word == "send" else Kind.RECV
            if way != ("to" if kind == Kind.SEND else "from"):
                raise ValueError(f"found {way} behind {word}; allowed: {_INSIDE}")
            size = checked(int(size_word), "bytes", MOST_BYTES)
            least = 0 if kind == Kind.SEND else ANY
            peer = checked(int(peer_word), "rank", (self._count or MOST_RANKS) - 1, least)
        given: dict[str, int] = {}
        words = options.split()
        for name, value in zip(words[::2], words[1::2], strict=True):
            if name in given or (name == "tag" and kind == Kind.CALC):
                allowed = "once, and tag only of a message"
                raise ValueError(f"found {name} {value} of {word or 'calc'}; allowed: {allowed}")
            least = ANY if name == "tag" and kind == Kind.RECV else 0
            given[name] = checked(int(value), name, _OPTIONS[name], least)
        if label in self._labels:
            first = self._here.lines[self._labels[label]]
            raise ValueError(f"found label {shown(label)} again; it is in line {first}")
        tag, thread = given.get("tag", 0), given.get("cpu", 0)
        one = self._here.add(kind, size, peer, tag, thread=thread, line=self._line)
        if label:
            self._labels[label] = one
