"""Reads time-independent traces, which SimGrid's SMPI writes and replays.

A trace is one file whose lines begin with the rank, `0 send 1 7 100 6`, or a list of files, one in
each line, by rank. Counts are of elements whose type has a number; without one it is a byte, or a
double if `init` has a word behind it. Numbers may be written as 5e4.

Source: SimGrid 4, src/smpi/internals/smpi_replay.cpp, src/smpi/mpi/smpi_datatype.cpp,
src/smpi/internals/smpi_deployment.cpp, src/xbt/xbt_replay.cpp. It takes files of a list from the
current folder; here they may also be beside the list. Words behind the last one that has a meaning
are a fault here, and so is what it passes over: lines of another rank.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Final

from hcasim.apps.replay.text import Faults, TooMuchWrong, found_instead, read_bytes, text_of
from hcasim.apps.replay.ti.actions import (
    ALLGATHERV,
    ALLTOALLV,
    ANY,
    GATHER,
    GATHERV,
    NAMES,
    REDUCESCATTER,
    SCATTER,
    SCATTERV,
    SENDRECV,
    SLEEP,
    TEST,
    UNKNOWN,
    WAIT,
    Actions,
    Counts,
)
from hcasim.apps.replay.ti.words import SIZES, TYPES, operations, real, text, whole
from hcasim.apps.replay.trace import MOST_ACTIONS, MOST_BYTES, MOST_RANKS
from hcasim.ground.errors import CatalogError, display
from hcasim.ground.faults import shown
from hcasim.ground.reading import MIB, leads_to
from hcasim.ground.text import printable
from hcasim.mpi.messages import MAX_BYTES, MAX_SECONDS, MAX_TAG

LARGEST_TOGETHER: Final = 1024 * MIB
"""Bytes of all files of a list."""
ANY_SOURCE: Final = -555
ANY_TAG: Final = -444
"""As SMPI has them."""
_BYTE, _DOUBLE = 1, 8
_IGNORED: Final = ("init", "finalize", "comm_size", "comm_split", "comm_dup", "location")
_WORDS: Final = {
    "compute": "OPERATIONS",
    "sleep": "SECONDS",
    **dict.fromkeys(("send", "isend", "recv", "irecv"), "RANK TAG COUNT [TYPE]"),
    "sendRecv": "COUNT TO COUNT FROM [TYPE [TYPE]]",
    **dict.fromkeys(("wait", "test"), "FROM TO TAG"),
    "bcast": "COUNT [ROOT [TYPE]]",
    "reduce": "COUNT OPERATIONS [ROOT [TYPE]]",
    "allreduce": "COUNT OPERATIONS [TYPE]",
    **dict.fromkeys(("alltoall", "allgather"), "COUNT COUNT [TYPE [TYPE]]"),
    **dict.fromkeys(("gather", "scatter"), "COUNT COUNT [ROOT [TYPE [TYPE]]]"),
    "alltoallv": "LENGTH COUNTS LENGTH COUNTS [TYPE [TYPE]]",
    "gatherv": "COUNT COUNTS [ROOT [TYPE [TYPE]]]",
    "scatterv": "COUNTS COUNT [ROOT [TYPE [TYPE]]]",
    "allgatherv": "COUNT COUNTS [TYPE [TYPE]] [PLACES]",
    "reducescatter": "COUNTS OPERATIONS [TYPE]",
}
"""What stands behind an action; counts are one for each rank."""
_ALLOWED: Final = (*NAMES, *_IGNORED)
_RANK = re.compile(rb"^[ \t]*([0-9]{1,7})(?=[ \t])", re.MULTILINE)
_LINE = re.compile(rb"[ \t]*[0-9]{1,15}[ \t]+(?:%s)\b" % "|".join(_ALLOWED).encode())
_FILE = re.compile(rb"\S(?:.*\S)?\.[A-Za-z][A-Za-z0-9]*")
_SNIFFED: Final = 1000
"""Lines at the beginning of a file that tell what it is."""
_PLAIN: Final = 4096
"""Characters of a line, without its counts."""

Read = Callable[[int, int, list[bytes], Actions], None]


def is_ti(path: Path, data: bytes) -> bool:
    """Whether a file is a time-independent trace, or a list of such files."""
    head = data[:MIB].split(b"\n", _SNIFFED)[:_SNIFFED]
    if any(map(_LINE.match, head)):
        return True
    names = [name for line in head if (name := line.strip())]
    return bool(names) and (
        all(map(_FILE.fullmatch, names)) or leads_to(_file(path, names[0]), Path.is_file)
    )


def _file(path: Path, name: bytes) -> Path:
    """A file of a list: beside it, or else in the current folder."""
    word = name.decode("utf-8", "surrogateescape")
    beside = path.parent / word
    here = Path(word)
    return here if not leads_to(beside) and leads_to(here) else beside


class TiReader:
    """Reads one trace.

    Attributes:
        ranks: the actions of each rank.
        counts: of collectives that have one for each rank.
        files: the file of each rank, as messages show it.
        faults: what is wrong with it.
    """

    def __init__(self, path: Path, name: str, data: bytes) -> None:
        self.faults = Faults(name)
        self.ranks: list[Actions] = []
        self.counts = Counts()
        self.files: list[str] = []
        self._name = name
        self._actions = 0
        self._ended: dict[int, bool] = {}
        try:
            if any(map(_LINE.match, data[:MIB].split(b"\n", _SNIFFED)[:_SNIFFED])):
                self._read_one(name, data)
            else:
                self._read_list(path, name, data)
            self._check_ends()
        except TooMuchWrong:
            pass
        self.faults.name = name

    # Files.

    def _read_list(self, path: Path, name: str, data: bytes) -> None:
        text_of(name, data)
        listed = [
            (number, word)
            for number, line in enumerate(data.split(b"\n"), start=1)
            if (word := line.strip())
        ]
        if len(listed) > MOST_RANKS:
            self.faults.add(0, f"found {len(listed)} files; allowed: up to {MOST_RANKS}")
            return
        if len(listed) == 1:
            found = self._open(name, *listed[0], path)
            if found is not None:
                self._read_one(*found)
            return
        self._begin(len(listed))
        seen: dict[bytes, int] = {}
        together = 0
        for rank, (number, word) in enumerate(listed):
            self.faults.name = name
            # A file that is not read says nothing of its end.
            self._ended[rank] = False
            if word in seen:
                what = shown(word.decode("utf-8", "replace"))
                self.faults.add(number, f"found {what} again; it is in line {seen[word]}")
                continue
            seen[word] = number
            found = self._open(name, number, word, path)
            if found is None:
                continue
            together += len(found[1])
            if together > LARGEST_TOGETHER:
                most = LARGEST_TOGETHER // MIB
                self.faults.add(number, f"found more than {most} MiB together; allowed: {most} MiB")
                return
            self.files[rank] = found[0]
            del self._ended[rank]
            self._read_lines(*found, rank)

    def _open(self, name: str, number: int, word: bytes, path: Path) -> tuple[str, bytes] | None:
        file = _file(path, word)
        try:
            shown_name, data = read_bytes(file)
            text_of(shown_name, data)
        except CatalogError as error:
            self.faults.name = name
            for fault in error.faults:
                self.faults.add(number, printable(fault))
            return None
        return printable(display(Path(shown_name))), data

    def _read_one(self, name: str, data: bytes) -> None:
        text_of(name, data)
        self.faults.name = name
        found: set[int] = set()
        for match in _RANK.finditer(data):
            rank = int(match[1])
            if rank >= MOST_RANKS:
                line = data.count(b"\n", 0, match.start()) + 1
                self.faults.add(line, f"rank: found {rank}; allowed: 0 to {MOST_RANKS - 1}")
                return
            found.add(rank)
        count = max(found, default=0) + 1
        if len(found) < count:
            missing = [rank for rank in range(min(count, 100)) if rank not in found]
            which = ", ".join(map(str, missing[:5])) + ", ..." * (count - len(found) > 5)
            ranks = f"found {len(found)} ranks of {count}; missing: {which}"
            self.faults.add(0, f"{ranks}; is it a file of one rank? then name the list of them")
            return
        self._begin(count)
        self.files = [name] * count
        self._read_lines(name, data, None)

    def _begin(self, count: int) -> None:
        self.ranks = [Actions() for _ in range(count)]
        self.files = [self._name] * count
        self._longest = _PLAIN + 64 * count
        self._unit = bytearray([_BYTE]) * count
        each = {
            "sendRecv": (4, 6, self._sendrecv),
            "compute": (1, 1, self._amount),
            "sleep": (1, 1, self._amount),
            **dict.fromkeys(("send", "isend", "recv", "irecv"), (3, 4, self._message)),
            **dict.fromkeys(("wait", "test"), (3, 3, self._wait)),
            "waitall": (0, 1, self._plain),
            "barrier": (0, 0, self._plain),
            "bcast": (1, 3, self._bcast),
            "reduce": (2, 4, self._reduce),
            "allreduce": (2, 3, self._allreduce),
            "alltoall": (2, 4, self._both),
            "allgather": (2, 4, self._both),
            "gather": (2, 5, self._rooted),
            "scatter": (2, 5, self._rooted),
            "alltoallv": (2 * count + 2, 2 * count + 4, self._alltoallv),
            "gatherv": (count + 1, count + 4, self._rooted_counts),
            "scatterv": (count + 1, count + 4, self._rooted_counts),
            "allgatherv": (count + 1, 2 * count + 3, self._allgatherv),
            "reducescatter": (count + 1, count + 2, self._reducescatter),
        }
        self._table: dict[bytes, tuple[int, int, int, Read]] = {
            name.encode(): (NAMES.index(name), *each[name]) for name in NAMES
        }

    def _read_lines(self, name: str, data: bytes, rank: int | None) -> None:
        self.faults.name = name
        for number, line in enumerate(_lines(data), start=1):
            try:
                if len(line) > self._longest:
                    found = f"found a line of {len(line)} characters"
                    raise ValueError(f"{found}; allowed: up to {self._longest}")
                words = line.split()
                if words and not words[0].startswith(b"#"):
                    self._line(number, words, rank)
            except ValueError as error:
                self.faults.add(number, str(error))

    def _check_ends(self) -> None:
        """Find ranks that have not ended as others have."""
        if not any(self._ended.values()):
            return
        left = [rank for rank in range(len(self.ranks)) if rank not in self._ended]
        for rank in left:
            lines = self.ranks[rank].lines
            self.faults.name = self.files[rank]
            self.faults.add(
                lines[-1] if lines else 0,
                f"found no finalize of rank {rank}, which others have; the file may be cut",
            )

    # Lines.

    def _line(self, number: int, words: list[bytes], own: int | None) -> None:
        word = words[0]
        rank = int(word) if word.isdigit() and len(word) < 8 else -1
        if own is not None and rank != own:
            raise ValueError(f"rank: found {text(word)}; allowed: {own}, whose file it is")
        if not 0 <= rank < len(self.ranks):
            raise ValueError(f"rank: found {text(word)}; allowed: 0 to {len(self.ranks) - 1}")
        found = self._table.get(words[1]) if len(words) > 1 else None
        if found is None:
            self._passed_over(rank, words)
            return
        kind, least, most, read = found
        del words[:2]
        if not least <= len(words) <= most:
            raise ValueError(self._wrong_number(NAMES[kind], len(words), least, most))
        self._actions += 1
        if self._actions > MOST_ACTIONS:
            self.faults.add(number, f"found more than {MOST_ACTIONS:,} actions; divide it")
            raise TooMuchWrong
        self._rank = rank
        read(kind, number, words, self.ranks[rank])

    def _passed_over(self, rank: int, words: list[bytes]) -> None:
        name = words[1].decode("utf-8", "replace") if len(words) > 1 else ""
        if name not in _IGNORED:
            raise ValueError(found_instead(name, list(_ALLOWED)))
        if name == "init":
            self._unit[rank] = _DOUBLE if len(words) > 2 else _BYTE
        elif name == "finalize":
            self._ended[rank] = True

    def _wrong_number(self, name: str, found: int, least: int, most: int) -> str:
        allowed = f"{least} to {most}" if least < most else str(least)
        what = f"{name}: found {found} words behind it; allowed: {allowed}"
        form = _WORDS.get(name, "")
        if "COUNTS" in form:
            form += f" with {len(self.ranks)} counts"
        return f"{what}: {form}" if form else what

    def _type(self, words: list[bytes], place: int) -> int:
        """Bytes of an element."""
        if place >= len(words):
            return self._unit[self._rank]
        size = SIZES.get(words[place])
        if size is None:
            known = f"the number of a type of SMPI, -1 to {len(TYPES) - 1}"
            raise ValueError(f"type: found {text(words[place])}; allowed: {known}")
        return size

    def _peer(self, word: bytes, what: str = "rank") -> int:
        return whole(word, what, len(self.ranks) - 1)

    def _root(self, words: list[bytes], place: int) -> int:
        return self._peer(words[place], "root") if place < len(words) else 0

    def _size(self, word: bytes, unit: int) -> int:
        count = whole(word, "count", MOST_BYTES)
        if count * unit > MOST_BYTES:
            found = f"{count} elements of {unit} B"
            raise ValueError(f"count: found {found}; allowed: up to {MOST_BYTES} B")
        return count * unit

    def _parts(self, words: list[bytes], unit: int) -> array[int]:
        parts = array("q", [self._size(word, unit) for word in words])
        self._together(sum(parts))
        return parts

    def _together(self, size: int) -> None:
        if size > MAX_BYTES:
            raise ValueError(f"count: found {size} B together; allowed: up to {MAX_BYTES} B")

    # Actions.

    def _plain(self, kind: int, line: int, words: list[bytes], to: Actions) -> None:
        to.add(kind, line)

    def _amount(self, kind: int, line: int, words: list[bytes], to: Actions) -> None:
        amount = real(words[0], "seconds", MAX_SECONDS) if kind == SLEEP else operations(words[0])
        to.add(kind, line, amount=amount)

    def _message(self, kind: int, line: int, words: list[bytes], to: Actions) -> None:
        receives = NAMES[kind].endswith("recv")
        if receives and words[0] == b"%d" % ANY_SOURCE:
            peer = ANY
        else:
            peer = self._peer(words[0])
        if receives and words[1] == b"%d" % ANY_TAG:
            tag = ANY
        else:
            tag = whole(words[1], "tag", MAX_TAG)
        unit = self._type(words, 3)
        if receives and words[2].startswith(b"-"):
            whole(words[2], "count", MOST_BYTES, -MOST_BYTES)
            size = UNKNOWN
        else:
            size = self._size(words[2], unit)
        to.add(kind, line, size, peer, tag=tag)

    def _sendrecv(self, kind: int, line: int, words: list[bytes], to: Actions) -> None:
        size = self._size(words[0], self._type(words, 4))
        room = self._size(words[2], self._type(words, 5))
        assert kind == SENDRECV
        to.add(kind, line, size, self._peer(words[1]), room, self._peer(words[3]))

    def _wait(self, kind: int, line: int, words: list[bytes], to: Actions) -> None:
        assert kind in (WAIT, TEST)
        source, dest = self._peer(words[0]), self._peer(words[1])
        if self._rank not in (source, dest):
            allowed = f"one of them is rank {self._rank}"
            raise ValueError(f"{NAMES[kind]}: found ranks {source} and {dest}; allowed: {allowed}")
        to.add(kind, line, 0, source, dest, whole(words[2], "tag", MAX_TAG))

    def _bcast(self, kind: int, line: int, words: list[bytes], to: Actions) -> None:
        size = self._size(words[0], self._type(words, 2))
        to.add(kind, line, size, self._root(words, 1))

    def _reduce(self, kind: int, line: int, words: list[bytes], to: Actions) -> None:
        size = self._size(words[0], self._type(words, 3))
        to.add(kind, line, size, self._root(words, 2), amount=operations(words[1]))

    def _allreduce(self, kind: int, line: int, words: list[bytes], to: Actions) -> None:
        size = self._size(words[0], self._type(words, 2))
        to.add(kind, line, size, amount=operations(words[1]))

    def _part(self, kind: int, sent: int, received: int) -> int:
        """Bytes of a part of which the trace says twice how long it is, once perhaps as 0."""
        if sent and received and sent != received:
            found = f"{sent} B to send and {received} B to receive"
            raise ValueError(f"{NAMES[kind]}: found {found}; allowed: as many")
        part = sent or received
        self._together(part * len(self.ranks))
        return part

    def _both(self, kind: int, line: int, words: list[bytes], to: Actions) -> None:
        sent = self._size(words[0], self._type(words, 2))
        to.add(kind, line, self._part(kind, sent, self._size(words[1], self._type(words, 3))))

    def _rooted(self, kind: int, line: int, words: list[bytes], to: Actions) -> None:
        root = self._root(words, 2)
        sent = self._size(words[0], self._type(words, 3))
        received = self._size(words[1], self._type(words, 4))
        if root != self._rank:
            # What only the root uses may be anything.
            sent, received = (sent, 0) if kind == GATHER else (0, received)
        assert kind in (GATHER, SCATTER)
        to.add(kind, line, self._part(kind, sent, received), root)

    def _rooted_counts(self, kind: int, line: int, words: list[bytes], to: Actions) -> None:
        number = len(self.ranks)
        root = self._root(words, number + 1)
        sent, received = self._type(words, number + 2), self._type(words, number + 3)
        if kind == GATHERV:
            own, parts = self._size(words[0], sent), words[1 : number + 1]
            unit = received
        else:
            assert kind == SCATTERV
            own, parts = self._size(words[number], received), words[:number]
            unit = sent
        place = 0
        if root == self._rank:
            counts = self._parts(parts, unit)
            own = self._own(kind, own, counts)
            place = self.counts.keep(counts)
        to.add(kind, line, own, root, place)

    def _own(self, kind: int, own: int, counts: array[int]) -> int:
        """Bytes of the own part, which may be 0 where it is in its place already."""
        wanted = counts[self._rank]
        if own and own != wanted:
            found = f"{own} B of rank {self._rank}"
            raise ValueError(f"{NAMES[kind]}: found {found}; allowed: {wanted} B, as its count is")
        return wanted

    def _allgatherv(self, kind: int, line: int, words: list[bytes], to: Actions) -> None:
        assert kind == ALLGATHERV
        number = len(self.ranks)
        further = len(words) - number - 1
        if further > 2 and further not in (number, number + 2):
            allowed = f"up to 2 types, and {number} places or none"
            raise ValueError(f"allgatherv: found {further} words behind counts; allowed: {allowed}")
        typed = words[: number + 3] if further <= 2 or further > number else words[: number + 1]
        own = self._size(typed[0], self._type(typed, number + 1))
        counts = self._parts(words[1 : number + 1], self._type(typed, number + 2))
        to.add(kind, line, self._own(kind, own, counts), 0, self.counts.keep(counts))

    def _alltoallv(self, kind: int, line: int, words: list[bytes], to: Actions) -> None:
        assert kind == ALLTOALLV
        number = len(self.ranks)
        sent, received = self._type(words, 2 * number + 2), self._type(words, 2 * number + 3)
        for place in (0, number + 1):
            whole(words[place], "length", MAX_BYTES)
        counts = self._parts(words[1 : number + 1], sent)
        counts.extend(self._parts(words[number + 2 : 2 * number + 2], received))
        to.add(kind, line, 0, 0, self.counts.keep(counts))

    def _reducescatter(self, kind: int, line: int, words: list[bytes], to: Actions) -> None:
        assert kind == REDUCESCATTER
        number = len(self.ranks)
        counts = self._parts(words[:number], self._type(words, number + 1))
        amount = operations(words[number])
        to.add(kind, line, sum(counts), 0, self.counts.keep(counts), amount=amount)


def _lines(data: bytes) -> Iterator[bytes]:
    """The lines of a file, without a list of all."""
    return iter(BytesIO(data.removeprefix(b"\xef\xbb\xbf")))
