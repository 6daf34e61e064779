"""The tracks of a timeline, in the trace format of Chrome, which Perfetto opens.

Times are microseconds, written as whole nanoseconds, cut off at both ends of a slice, because
Perfetto's trace processor rounds begin and duration to nanoseconds each by itself: slices that
follow each other to the picosecond would overlap, and it drops what overlaps. The arguments
``start_ps`` and ``dur_ps`` have the exact times.

Source: Trace Event Format (Google, 2016); perfetto, src/trace_processor/importers/json.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import count
from json import dumps
from json.encoder import encode_basestring_ascii as quoted
from typing import Final

_OTHERS: Final = 1_000_000
"""Numbers from which on parts of the machine are no nodes."""

_OWN: Final = {
    **{name: name for name in ("doorbell", "WQE fetch", "send pipeline", "receive pipeline")},
    **{name: name for name in ("completion engine", "CQE write")},
    **{name: name for name in ("read responder", "atomic responder")},
    "gather data": "DMA read",
    "data write": "DMA write",
}
"""Work that has a track of its own, apart from other work of its block."""

_ORDER: Final = re.compile(
    r"(cpu)|(qp )|(doorbell)|(WQE)|(sqpc)|(rqpc)|(cqc)|(mpt)|(mtt)|(send engine)|(DMA read)"
    r"|(send pipeline)|(bus upstream)|(bus downstream)|(bus)|(memory|interconnect)"
    r"|(port\d+ (?:link|loopback))|(receive pipeline)|(\w+ responder)|(DMA write)|(completion)"
    r"|(CQE)"
)
"""The way of a message through the parts of a node, from the top."""
_NUMBER: Final = re.compile(r"\d+")
_KIND, _MEMBER, _LANES = 10_000, 100, 100
"""Numbers that are set aside for tracks of a kind, for each of them, and for its lanes."""
_FURTHER: Final = 10_000_000
"""Numbers from which on there are lanes that have no place among those."""


@dataclass(frozen=True)
class Choice:
    """A part of a run: from a time to another, None to its end, of the nodes with some numbers;
    None stands for all, with the switches."""

    begin_ps: int = 0
    end_ps: int | None = None
    nodes: Collection[int] | None = None

    def has_part(self, name: str) -> bool:
        """Whether it has a part of the machine, such as node3 or a switch."""
        return self.nodes is None or name in {f"node{number}" for number in self.nodes}


class ChromeFile:
    """Writes records of a trace one after the other: `add` takes one, `flush` writes them, and the
    file is whole when `finish` has been called."""

    def __init__(self, write: Callable[[bytes], object], run: str) -> None:
        self._write = write
        self._lines: list[str] = []
        self.add = self._lines.append
        self._written = 0
        about = {"run": run, "exact": "args.start_ps and args.dur_ps; ts and dur are cut off to ns"}
        write(f'{{"displayTimeUnit":"ns","otherData":{dumps(about)},"traceEvents":[\n'.encode())
        write(b'{"ph":"M","pid":0,"name":"process_name","args":{"name":"run"}}')

    @property
    def records(self) -> int:
        """Records so far."""
        return self._written + len(self._lines)

    def flush(self) -> None:
        """Write what has been added."""
        if self._lines:
            self._written += len(self._lines)
            self._write((",\n" + ",\n".join(self._lines)).encode())
            self._lines.clear()

    def process(self, process: int, name: str) -> None:
        """Name a part of the machine; parts are shown in the order of their numbers."""
        self._named("process", f'"pid":{process}', name, process)

    def thread(self, process: int, thread: int, name: str) -> str:
        """Name a track; return what its slices begin with."""
        head = f'"pid":{process},"tid":{thread}'
        self._named("thread", head, name, thread)
        return f'{{"ph":"X",{head},"name":"'

    def _named(self, kind: str, head: str, name: str, order: int) -> None:
        for key, told in (("name", quoted(name)), ("sort_index", f"{order}")):
            self.add(f'{{"ph":"M",{head},"name":"{kind}_{key}","args":{{"{key}":{told}}}}}')

    def counter(self, process: int, name: str, unit: str) -> str:
        """What the records of a counter begin with, up to its value."""
        return f'{{"ph":"C","pid":{process},"name":{quoted(name)},"args":{{{quoted(unit)}:'

    def slice(self, head: str, name: str, start_ps: int, end_ps: int, operation: int) -> None:
        """Add a slice, which belongs to an operation, to a track with a head."""
        start = start_ps // 1000
        self.add(
            f'{head}{name}","ts":{start}e-3,"dur":{end_ps // 1000 - start}e-3,"args":'
            f'{{"start_ps":{start_ps},"dur_ps":{end_ps - start_ps},"operation":{operation}}}}}'
        )

    def finish(self) -> None:
        """Write what is left, and the end."""
        self.flush()
        self._write(b"\n]}\n")


def named(block: str) -> tuple[str, str]:
    """Return the part of the machine, such as node0, and what a block is called in it."""
    part, _, rest = block.partition(".")
    words = rest.removeprefix("hca.").replace("_", " ").replace(".", " ")
    return part, words or part


def order(name: str) -> int:
    """Return the number of a track's first lane: Perfetto shows them in the order of these."""
    found = _ORDER.match(name)
    kind = found.lastindex if found and found.lastindex else _ORDER.groups + 1
    number = _NUMBER.search(name)
    member = int(number[0]) if number else 0
    return kind * _KIND + member * _MEMBER if member < _KIND // _MEMBER else _FURTHER


class Track:
    """A track, or several lanes of one, because what overlaps cannot be on the same: when the last
    slice of each ends, in ps, and what its slices begin with."""

    __slots__ = ("_head", "free_at", "heads")

    def __init__(self, head: Callable[[int], str]) -> None:
        self._head = head
        self.free_at: list[int] = []
        self.heads: list[str] = []

    def lane(self, start_ps: int, end_ps: int) -> str:
        """Put a slice into the first lane that is free; return what it begins with."""
        free_at = self.free_at
        for lane, free in enumerate(free_at):
            if free <= start_ps:
                free_at[lane] = end_ps
                return self.heads[lane]
        self.heads.append(self._head(len(free_at)))
        free_at.append(end_ps)
        return self.heads[-1]


class Tracks:
    """All tracks of a file, each named there when it is first needed."""

    def __init__(self, file: ChromeFile, choice: Choice) -> None:
        self._file = file
        self._choice = choice
        self._parts: dict[str, int] = {}
        self._tracks: dict[tuple[str, str], Track] = {}
        self._taken: set[tuple[int, int]] = set()
        self._further = count()

    def of(self, block: str, what: str) -> Track | None:
        """Return the track of some work of a block; None if it is not to be shown."""
        part, name = named(block)
        return self.track(part, _OWN.get(what, name))

    def track(self, part: str, name: str) -> Track | None:
        """Return a track of a part of the machine; None if it is not to be shown."""
        if not self._choice.has_part(part):
            return None
        found = self._tracks.get((part, name))
        if found is None:
            process, first = self._part(part), order(name)
            while (process, first) in self._taken:
                first += _LANES
            self._taken.add((process, first))

            def head(lane: int) -> str:
                shown = f"{name} ({lane + 1})" if lane else name
                number = first + lane
                if lane >= _LANES or number >= _FURTHER:
                    number = _FURTHER + next(self._further)
                return self._file.thread(process, number, shown)

            found = self._tracks[part, name] = Track(head)
        return found

    def counter(self, block: str) -> str:
        """Return what the values of a counter begin with, of a block and, behind a blank, what it
        counts if not what is free; nothing if it is not to be shown."""
        of, _, unit = block.partition(" ")
        part, name = named(of)
        if not self._choice.has_part(part):
            return ""
        return self._file.counter(self._part(part), name, unit or "free")

    def _part(self, part: str) -> int:
        if part not in self._parts:
            number = part.removeprefix("node")
            found = int(number) + 1 if number.isdigit() else _OTHERS + len(self._parts)
            self._parts[part] = found
            self._file.process(found, part)
        return self._parts[part]
