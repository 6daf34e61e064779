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
from array import array
from collections import deque
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Final

from hcasim.apps.replay.collectives import CALLS, Collective, Collectives, UnequalError
from hcasim.apps.replay.operations import ANY, UNKNOWN, Kind, Operations
from hcasim.apps.replay.text import (
    MOST_ACTIONS,
    MOST_BYTES,
    MOST_RANKS,
    checked,
    first_lines,
    missing_of,
    read_bytes,
    refuse,
    text_of,
)
from hcasim.apps.replay.trace import Trace
from hcasim.ground.errors import CatalogError, nearest, one_of
from hcasim.ground.faults import shown
from hcasim.ground.reading import leads_to
from hcasim.ground.text import printable
from hcasim.mpi.messages import MAX_BYTES, MAX_SECONDS, MAX_TAG

_ANY_SOURCE: Final = b"-555"
_ANY_TAG: Final = b"-444"
_BYTE, _DOUBLE = 1, 8
_MOST_OPERATIONS: Final = 10**18
"""To compute at a time."""
_IGNORED: Final = ("init", "finalize", "comm_size", "comm_split", "comm_dup", "location")
_WORDS: Final = {
    "compute": "OPERATIONS",
    "sleep": "SECONDS",
    **dict.fromkeys(("send", "isend", "recv", "irecv"), "RANK TAG COUNT [TYPE]"),
    "sendRecv": "COUNT TO COUNT FROM [TYPE [TYPE]]",
    **dict.fromkeys(("wait", "test"), "FROM TO TAG"),
    "waitall": "[NUMBER]",
    "barrier": "",
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
"""What stands behind an action; counts, and places, are one for each rank."""
_NAMES: Final = (*_WORDS, *_IGNORED)
_MESSAGES: Final = {"send": Kind.SEND, "isend": Kind.ISEND, "recv": Kind.RECV, "irecv": Kind.IRECV}
_TYPES: Final = (
    *(8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4),
    *(8, 1, 2, 4, 8, 8, 16, 32, 8, 8, 8, 16, 16, 8, 8, 8, 16, 16, 4, 4),
    *(8, 16, 8, 16, 16, 4, 2, 4, 8, 16, 32, 1, 8, 16, 32, 0, 0, 1, 8, 8),
)
_SIZES: Final = {b"-1": 0} | {b"%d" % number: size for number, size in enumerate(_TYPES)}
"""Bytes of an element, by the number of its type, where a long has 64 bits."""
_NUMBER = re.compile(rb"-?[0-9]{1,15}(?:\.[0-9]{0,15})?(?:[eE][+-]?[0-9]{1,3})?")
_RANK = re.compile(rb"^[ \t]*([0-9]{1,7})(?=[ \t])", re.MULTILINE)
_LINE = re.compile(rb"[ \t]*[0-9]{1,15}[ \t]+(?:%s)\b" % "|".join(_NAMES).encode())
_FILE = re.compile(rb"\S(?:.*\S)?\.[A-Za-z][A-Za-z0-9]*")
_PLAIN: Final = 4096
"""Characters of a line, without its counts."""
_Channel = tuple[int, int, int]


# Files.


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
    whole = name
    if not _has_actions(data):
        listed = _listed(path, name, data)
        if len(listed) > 1:
            reader = _Reader(len(listed))
            for rank, (file, where) in enumerate(listed.items()):
                reader.read(*_read(where, file), rank)
            return reader.trace(name)
        for file, where in listed.items():
            whole, data = _read(where, file)
    text_of(whole, data)
    reader = _Reader(_ranks_of(whole, data))
    reader.read(whole, data, None)
    return reader.trace(name)


def _listed(path: Path, name: str, data: bytes) -> dict[Path, str]:
    """The files that a list names, each with where it does."""
    text_of(name, data)
    found: dict[Path, str] = {}
    for number, line in enumerate(data.split(b"\n"), start=1):
        if word := line.strip():
            file, where = _file(path, word), f"{name}:{number}"
            if file in found:
                refuse(where, f"found {_text(word)} again; allowed: each file once")
            found[file] = where
    if len(found) > MOST_RANKS:
        refuse(name, f"found {len(found)} files; allowed: up to {MOST_RANKS}")
    return found


def _read(where: str, file: Path) -> tuple[str, bytes]:
    try:
        name, data = read_bytes(file)
        text_of(name, data)
    except CatalogError as error:
        refuse(where, printable(error.faults[0]))
    return name, data


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


# Words.


def _text(word: bytes) -> str:
    return shown(word.decode("utf-8", "replace"))


def _number(word: bytes, what: str, most: int, least: int = 0) -> float:
    if word.isdigit() and len(word) <= 15:
        number: float = int(word)
    else:
        number = float(word) if _NUMBER.fullmatch(word) else float("nan")
    if not least <= number <= most:
        raise ValueError(f"{what}: found {_text(word)}; allowed: {least} to {most}")
    return number


def _whole(word: bytes, what: str, most: int, least: int = 0) -> int:
    """A whole number; what is behind its point is left out, as SimGrid does."""
    return int(_number(word, what, most, least))


def _size(word: bytes, unit: int) -> int:
    count = _whole(word, "count", MOST_BYTES)
    return checked(count * unit, f"count: {count} elements of {unit} B", MOST_BYTES)


def _part(name: str, one: int, other: int) -> int:
    """Bytes of a part of which the trace says twice how long it is, once perhaps as 0."""
    if one and other and one != other:
        raise ValueError(f"{name}: found {one} B and {other} B of one part; allowed: as many")
    return one or other


class _Collectives(Collectives):
    """Collectives, of which `received` is where the bytes for each process are kept, if at all."""

    def __init__(self, ranks: Sequence[Operations]) -> None:
        super().__init__(ranks)
        self._numbers = array("q")
        self._places: dict[bytes, int] = {}

    def keep(self, numbers: array[int]) -> int:
        """Return the place of these numbers; the same ones are kept once."""
        key = numbers.tobytes()
        if key not in self._places:
            self._places[key] = len(self._numbers)
            self._numbers.extend(numbers)
            checked(len(self._numbers), "counts that differ", MOST_ACTIONS)
        return self._places[key]

    def parts(self, one: Collective) -> Sequence[int]:
        """What each sent, which has to be what others know of it."""
        number, call, places = len(one.sent), one.call, one.received
        if call == "alltoallv":
            return one.sent
        if call in ("gatherv", "scatterv"):
            start = places[one.root]
            wanted, counted = self._numbers[start : start + number].tolist(), [start] * number
        else:
            # Where counts are, all have to have the same; the own part may differ then.
            wanted = list(one.sent) if call == "allgatherv" else [one.sent[0]] * number
            counted = list(places)
        for rank, sent in enumerate(one.sent):
            if sent != wanted[rank] or counted[rank] != counted[0]:
                known = f"allowed: {wanted[rank]} B, and the same counts, as others have"
                raise UnequalError(rank, f"found {sent} B; {known}")
        return [-(-one.sent[0] // number)] * number if call == "reduce_scatter" else one.sent

    def exchange(self, one: Collective, rank: int) -> tuple[list[int], list[int]]:
        place, ranks = one.received[rank], len(one.received)
        counts = self._numbers[place : place + 2 * ranks].tolist()
        return counts[:ranks], counts[ranks:]


class _Reader:
    """Reads the lines of one trace.

    Parameters:
        count: of ranks.
    """

    def __init__(self, count: int) -> None:
        self._files, self._count = [""] * count, count
        self._ranks = [Operations() for _ in range(count)]
        self._collectives = _Collectives(self._ranks)
        self._collectives.add_group(range(self._count), "all processes")
        self._units = bytearray([_BYTE]) * self._count
        self._ended: set[int] = set()
        # Of each rank, the requests that nobody has waited for.
        self._open: list[dict[_Channel, deque[int]]] = [{} for _ in range(count)]
        self._actions = self._rank = self._line = 0
        read = {
            "sendRecv": self._sendrecv,
            "waitall": self._waitall,
            **dict.fromkeys(("compute", "sleep"), self._compute),
            **dict.fromkeys(_MESSAGES, self._message),
            **dict.fromkeys(("wait", "test"), self._wait),
        }
        self._table = {
            name.encode(): (name, *self._lengths(words), read.get(name, self._collective))
            for name, words in _WORDS.items()
        }

    def _lengths(self, words: str) -> tuple[int, int]:
        each = [
            self._count if word.strip("[]") in ("COUNTS", "PLACES") else 1 for word in words.split()
        ]
        needed = len(words.partition("[")[0].split())
        return sum(each[:needed]), sum(each)

    def read(self, name: str, data: bytes, own: int | None) -> None:
        """Read a file.

        Parameters:
            own: the rank whose file it is; None if it has all.
        """
        for rank in range(self._count) if own is None else [own]:
            self._files[rank] = name
        longest = _PLAIN + 64 * self._count
        try:
            # Not a list of all lines.
            for self._line, line in enumerate(BytesIO(data.removeprefix(b"\xef\xbb\xbf")), start=1):
                checked(len(line), "characters of the line", longest)
                words = line.split()
                if words and not words[0].startswith(b"#"):
                    self._take(words, own)
        except ValueError as error:
            refuse(f"{name}:{self._line}", str(error))

    def trace(self, name: str) -> Trace:
        for rank, (operations, file) in enumerate(zip(self._ranks, self._files, strict=True)):
            if self._ended and rank not in self._ended:
                line = operations.lines[-1] if operations else 1
                found = f"found no finalize of rank {rank}, which others have"
                refuse(f"{file}:{line}", f"{found}; the file may be cut")
            operations.counted = True
            self._rank, self._line = rank, operations.lines[-1] if operations else 0
            if self._open[rank]:
                self._waitall("", [])
        places = [f"{file}:" for file in self._files]
        return Trace(name, "ti", self._ranks, places, self._collectives, in_order=True)

    def _take(self, words: list[bytes], own: int | None) -> None:
        word = words[0]
        rank = int(word) if word.isdigit() and len(word) < 8 else -1
        if not 0 <= rank < self._count or (own is not None and rank != own):
            allowed = f"0 to {self._count - 1}" if own is None else f"{own}, whose file it is"
            raise ValueError(f"rank: found {_text(word)}; allowed: {allowed}")
        self._rank = rank
        found = self._table.get(words[1]) if len(words) > 1 else None
        if found is None:
            self._pass_over(words)
            return
        name, least, most, read = found
        del words[:2]
        if not least <= len(words) <= most:
            form = _WORDS[name] + f" with {self._count} counts" * ("COUNTS" in _WORDS[name])
            allowed = f"{least} to {most}: {form}" if most else "0"
            raise ValueError(f"{name}: found {len(words)} words behind it; allowed: {allowed}")
        self._actions += 1
        checked(self._actions, "actions", MOST_ACTIONS)
        read(name, words)

    def _pass_over(self, words: list[bytes]) -> None:
        name = words[1].decode("utf-8", "replace") if len(words) > 1 else ""
        if name not in _NAMES:
            found = f"found {shown(name)}; allowed: {one_of(_NAMES)}{nearest(name, _NAMES)}"
            raise ValueError(found)
        if name == "init":
            self._units[self._rank] = _DOUBLE if len(words) > 2 else _BYTE
        elif name == "finalize":
            self._ended.add(self._rank)

    def _unit(self, words: list[bytes], place: int) -> int:
        """Bytes of an element, whose type may stand at a place."""
        if place >= len(words):
            return self._units[self._rank]
        size = _SIZES.get(words[place])
        if size is None:
            known = f"the number of a type of SMPI, -1 to {len(_TYPES) - 1}"
            raise ValueError(f"type: found {_text(words[place])}; allowed: {known}")
        return size

    def _peer(self, word: bytes, what: str = "rank") -> int:
        return _whole(word, what, self._count - 1)

    def _add(self, kind: int, size: int, *message: int, goes_on: bool = False, **more: int) -> int:
        here = self._ranks[self._rank]
        return here.then(kind, size, *message, goes_on=goes_on, line=self._line, **more)

    # Computing, messages and requests.

    def _compute(self, name: str, words: list[bytes]) -> None:
        if name == "sleep":
            self._add(Kind.CALC, round(_number(words[0], "seconds", MAX_SECONDS) * 1e12))
        else:
            self._operate(words[0])

    def _operate(self, word: bytes) -> None:
        if amount := _number(word, "operations", _MOST_OPERATIONS):
            self._ranks[self._rank].then(Kind.CALC, 0, line=self._line, amount=amount)

    def _message(self, name: str, words: list[bytes]) -> None:
        kind, receives = _MESSAGES[name], name.endswith("recv")
        peer = ANY if receives and words[0] == _ANY_SOURCE else self._peer(words[0])
        is_any = receives and words[1] == _ANY_TAG
        tag = ANY if is_any else _whole(words[1], "tag", MAX_TAG)
        unit = self._unit(words, 3)
        if receives and words[2].startswith(b"-"):
            _whole(words[2], "count", MOST_BYTES, -MOST_BYTES)
            size = UNKNOWN
        else:
            size = _size(words[2], unit)
        begins = kind in (Kind.ISEND, Kind.IRECV)
        one = self._add(kind, size, peer, tag, goes_on=begins)
        if begins:
            channel = (peer, self._rank, tag) if receives else (self._rank, peer, tag)
            self._open[self._rank].setdefault(channel, deque()).append(one)

    def _sendrecv(self, name: str, words: list[bytes]) -> None:
        size, room = _size(words[0], self._unit(words, 4)), _size(words[2], self._unit(words, 5))
        dest, source = self._peer(words[1]), self._peer(words[3])
        self._add(Kind.SENDRECV, size, dest, goes_on=True)
        self._add(Kind.RECV, room, source)

    def _wait(self, name: str, words: list[bytes]) -> None:
        rank, here = self._rank, self._open[self._rank]
        source, dest = self._peer(words[0]), self._peer(words[1])
        tag = _whole(words[2], "tag", MAX_TAG)
        if rank not in (source, dest):
            allowed = f"one of them is rank {rank}"
            raise ValueError(f"{name}: found ranks {source} and {dest}; allowed: {allowed}")
        channel = source, dest, tag
        either = (channel, (ANY, dest, tag), (source, dest, ANY), (ANY, dest, ANY))
        found = next((one for one in either if one in here), None)
        if found is None:
            # A test may have ended the request, SimGrid says, and passes over it.
            return
        request = here[found].popleft()
        if name == "test":
            here[found].append(request)
            self._add(Kind.TEST, request)
            return
        if not here[found]:
            del here[found]
        self._wait_for(Kind.WAIT, [request])

    def _waitall(self, name: str, words: list[bytes]) -> None:
        here = self._open[self._rank]
        self._wait_for(Kind.WAITALL, [one for some in here.values() for one in some])
        here.clear()

    def _wait_for(self, kind: int, requests: list[int]) -> None:
        one, operations = self._add(kind, 0, len(requests)), self._ranks[self._rank]
        operations.sizes[one] = len(operations.earlier)
        for request in requests:
            operations.require(one, request)

    def _collective(self, name: str, words: list[bytes]) -> None:
        number = self._count
        if name == "allgatherv" and (further := len(words) - number - 1) > 2:
            if further not in (number, number + 2):
                allowed = f"up to 2 types, and {number} places or none"
                raise ValueError(f"{name}: found {further} words behind counts; allowed: {allowed}")
            del words[-number:]
        given: dict[str, list[list[bytes]]] = {}
        for field in _WORDS[name].replace("[", "").replace("]", "").split():
            length = number if field == "COUNTS" else 1
            if words:
                given.setdefault(field.rstrip("S"), []).append(words[:length])
                del words[:length]
        for (word,) in given.get("LENGTH", ()):
            _whole(word, "length", MAX_BYTES)
        counts, types = given.get("COUNT", []), [word for (word,) in given.get("TYPE", ())]
        root = self._peer(given["ROOT"][0][0], "root") if "ROOT" in given else 0

        def sizes(which: int) -> array[int]:
            unit = self._unit(types, which)
            return array("q", [_size(word, unit) for word in counts[which]])

        # How many bytes a part has, and where the counts of all are kept.
        size = place = 0
        at_root = root == self._rank
        if name in ("alltoallv", "reducescatter"):
            every = sizes(0)
            size = sum(every)
            if name == "alltoallv":
                every += sizes(1)
            place = self._collectives.keep(every)
        elif name in ("gatherv", "scatterv", "allgatherv"):
            (size,) = sizes(1 if name == "scatterv" else 0)
            # What only the root uses may be anything elsewhere.
            if at_root or name == "allgatherv":
                every = sizes(0 if name == "scatterv" else 1)
                own = every[self._rank]
                # The own part may be 0 where it is in its place already.
                size = _part(name, size, own) if size else own
                place = self._collectives.keep(every)
        elif name in ("gather", "scatter") and not at_root:
            (size,) = sizes(0 if name == "gather" else 1)
        elif counts:
            size = _part(name, sizes(0)[0], sizes(1)[0] if len(counts) > 1 else 0)
        call = CALLS.index("reduce_scatter" if name == "reducescatter" else name)
        self._add(Kind.COLL, size, root, thread=call, received=place)
        for (word,) in given.get("OPERATION", ()):
            self._operate(word)
