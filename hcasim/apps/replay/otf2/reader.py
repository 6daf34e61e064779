"""Reads OTF2 archives, as Score-P and other tools record programs of MPI.

Each process of MPI does what its location has recorded: messages, waits for requests and
collectives, over the communicators of the archive, of which the simulator makes no messages.
The time between regions of MPI is computed; that within them is not looked at. Messages of one
region are begun first and waited for at its end, as `MPI_Sendrecv` needs it. Receives take what
they took, also those of any source or tag. Communicators are made by a barrier of their parents.

Locations that are no processes of MPI, as further threads and accelerators, are left out; messages
and collectives of theirs are refused. So are one-sided operations, collectives that do not wait,
those of two groups, prefix sums, and receives of matched probes. Tests and probes take no time.

Of a collective the archive has bytes with all partners together. Of an exchange, they are taken to
be as many times those of a part as there are processes, or one less if only that is a whole number:
with `MPI_IN_PLACE` the parts may come out shorter. Those of `MPI_Alltoallv` are taken to be as
long as the sums of both sides say.

Sources: OTF2 3.1.1, OTF2_Events.h; Score-P 9, src/adapters/mpi/scorep_mpi_coll.inc.c for bytes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final

from hcasim.apps.replay.collectives import Collective, Collectives
from hcasim.apps.replay.extras import need
from hcasim.apps.replay.graph import CALC, COLL, RECV, SEND, Operations
from hcasim.apps.replay.otf2 import child
from hcasim.apps.replay.otf2.child import FIELDS, KINDS, NONE
from hcasim.apps.replay.text import LARGEST, Faults, TooMuchWrong
from hcasim.apps.replay.trace import MOST_ACTIONS, MOST_BYTES, MOST_RANKS
from hcasim.ground.errors import CatalogError
from hcasim.ground.faults import shown
from hcasim.ground.process import tell_read, unwatched
from hcasim.ground.reading import size_of
from hcasim.mpi.messages import MAX_SECONDS

MARK: Final = b"BOTF2"
"""Behind the first byte of an anchor file."""
_OPERATIONS: Final = (
    *("barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv"),
    *("alltoall", "alltoallv", "alltoallv", "allreduce", "reduce", "reduce_scatter"),
)
"""Collectives by their number in OTF2; that of all-to-all with types is that with counts."""
_SCANS: Final = (14, 15)
_BLOCK: Final = 16
_MADE: Final = (17, 21)
"""Operations that make a communicator or a window."""
_MOST_OPERATION: Final = 22
_NUMBERS: Final = 2**40
"""More than the events of a location."""
_SECONDS: Final = 30
_SPEED: Final = 50_000
"""Bytes of an archive that are read at least in a second."""
_SAID: Final = 1000
"""Bytes that the library has printed last, which are looked at."""
_CHUNK: Final = 8 * FIELDS * 4096


def is_otf2(path: Path, data: bytes) -> bool:
    """Whether a file is the anchor of an archive."""
    return data[1 : 1 + len(MARK)] == MARK


class Events(Faults):
    """All that is wrong with an archive; its lines are events of locations."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.locations: Sequence[int] = ()

    def place(self, line: int) -> str:
        """Where an event is."""
        return f"{self.name}: {self.told(line)}"

    def told(self, line: int) -> str:
        """What an event is called."""
        rank, number = divmod(line, _NUMBERS)
        return f"location {self.locations[rank]}, event {number}"


class Otf2Reader:
    """Reads one archive.

    Attributes:
        ranks: the operations of each process.
        collectives: and their collectives.
        faults: what is wrong with it.
    """

    def __init__(self, path: Path, name: str) -> None:
        need(name, "otf2", "otf2")
        self.faults = Events(name)
        self.ranks: list[Operations] = []
        self.collectives = Collectives(parts)
        self._path = path
        self._comms: dict[int, int] = {}
        self._own: set[int] = set()
        self._processes: list[_Process] = []
        self._resolution = 1
        self._left = MOST_ACTIONS
        self._tags: dict[tuple[int, int], int] = {}
        try:
            self._read()
        except TooMuchWrong:
            self.faults.refuse()

    def _read(self) -> None:
        files = self._files()
        seconds = _SECONDS + self._size(files) // _SPEED
        for one in filter(Path.is_file, files):
            tell_read(one)
        with unwatched():
            self._read_records(seconds)

    def _read_records(self, seconds: int) -> None:
        file = str(self._path.absolute())
        words = [sys.executable, "-P", child.__file__, file, str(seconds)]
        # The library needs its own docstrings.
        env = {name: one for name, one in os.environ.items() if name != "PYTHONOPTIMIZE"}
        # A file holds what the library prints: a pipe that nobody reads would stop it.
        with TemporaryFile() as complaints:
            with subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=complaints, env=env
            ) as library:
                assert library.stdout is not None
                try:
                    self._definitions(library.stdout.readline())
                    for record in _records(library.stdout):
                        self._record(*record)
                except BaseException:
                    library.kill()
                    raise
            complaints.seek(max(0, complaints.tell() - _SAID))
            said = complaints.read().decode("utf-8", "replace").strip()
        if library.returncode:
            reason = said.splitlines()[-1] if said else f"it has ended with {library.returncode}"
            self.faults.add(0, f"the library of OTF2 cannot read it: {shown(reason)}")
            return
        for process in self._processes:
            process.finish()

    def _files(self) -> list[Path]:
        """All files of the archive, which may not be there."""
        stem = self._path.with_suffix("")
        return [self._path, stem.with_suffix(".def"), *sorted(stem.glob("*"))]

    def _size(self, files: list[Path]) -> int:
        """Bytes of the files that there are."""
        size = sum(map(size_of, files))
        if size > LARGEST:
            raise CatalogError(
                [f"{self.faults.name}: found {size} B in its files; allowed: {LARGEST} B"]
            )
        return size

    def _definitions(self, line: bytes) -> None:
        if not line:
            return
        found = json.loads(line)
        self.faults.locations = locations = found["locations"]
        count, self._resolution = len(locations), found["resolution"]
        if not 1 <= count <= MOST_RANKS:
            self.faults.add(0, f"found {count} processes of MPI; allowed: 1 to {MOST_RANKS}")
            raise TooMuchWrong
        if not 1 <= self._resolution <= 10**18:
            ticks = f"found {self._resolution} ticks a second"
            self.faults.add(0, f"clock: {ticks}; allowed: 1 to 10^18")
            raise TooMuchWrong
        self.ranks = [Operations() for _ in range(count)]
        self._processes = [
            _Process(self, rank, one, events)
            for rank, (one, events) in enumerate(zip(self.ranks, found["events"], strict=True))
        ]
        for ref, comm in found["comms"].items():
            if comm["self"]:
                self._own.add(int(ref))
            else:
                called = shown(comm["name"]) if comm["name"] else f"communicator {ref}"
                self._comms[int(ref)] = self.collectives.add_group(comm["members"], called)

    def _record(self, kind: int, rank: int, number: int, time: int, *more: int) -> None:
        name = KINDS[kind]
        if name != "other":
            self._left -= 1
            if self._left < 0:
                self.faults.add(0, f"found more than {MOST_ACTIONS:,} events; divide it")
                raise TooMuchWrong
            self._processes[rank].take(name, rank * _NUMBERS + number, time, more)
            return
        what = more[0].to_bytes(8, "big").rstrip(b"\0").decode()
        where = f"location {more[1]}, event {number}"
        if rank == NONE:
            allowed = "allowed: by the location that is the process of MPI"
            self.faults.add(0, f"{where}: found {what}... of another thread; {allowed}")
        else:
            allowed = "allowed: messages, and collectives that wait"
            self.faults.add(0, f"{where}: found {what}..., which cannot be replayed; {allowed}")

    def ticks(self, ticks: int) -> int:
        """Picoseconds of ticks of the clock."""
        return ticks * 10**12 // self._resolution

    def members(self, comm: int, rank: int, line: int) -> Sequence[int] | None:
        """Who is in a communicator, which has to have a rank; None with a fault."""
        if comm in self._own:
            return (rank,)
        number = self._comms.get(comm)
        if number is None:
            self.faults.add(line, "found a communicator of two groups; allowed: of one")
            return None
        group = self.collectives.groups[number]
        if rank not in self.collectives.members(number):
            self.faults.add(line, f"communicator: rank {rank} is not one of its members")
            return None
        return group

    def number(self, comm: int) -> int | None:
        """The number of the group of a communicator; None of that of a process alone."""
        return self._comms.get(comm)

    def tag(self, comm: int, tag: int) -> int:
        """A tag that no other communicator has."""
        number = self._comms.get(comm, NONE)
        if number == 0:
            return tag
        return self._tags.setdefault((comm, tag), 2**32 + len(self._tags))


class _Process:
    """What one process does, as operations of which each requires the one before."""

    def __init__(self, reader: Otf2Reader, rank: int, operations: Operations, events: int) -> None:
        self._reader, self._rank, self._operations = reader, rank, operations
        self._faults = reader.faults
        self._events, self._seen = events, 0
        self._depth = self._time = 0
        self._before: int | None = None
        self._goes_on = False
        self._sends: list[int] = []
        # Of each request: its operation, and whether it receives.
        self._requests: dict[int, tuple[int, bool]] = {}

    def take(self, name: str, line: int, time: int, more: tuple[int, ...]) -> None:
        """Take the next event."""
        self._seen = line % _NUMBERS
        if time < self._time:
            self._faults.add(line, f"time: found {time}; allowed: {self._time} or later, as before")
            raise TooMuchWrong
        if name == "begin":
            self._time = time
        elif name == "leave":
            self._leave(line, time)
        elif name == "end":
            self._compute(line, time)
        else:
            if not (self._depth or name == "collective_end"):
                self._compute(line, time)
            self._time = time
            if name == "enter":
                self._depth += 1
            elif name != "collective_begin":
                getattr(self, "_" + name)(line, *more)
                if not self._depth:
                    self._wait(line)

    def finish(self) -> None:
        """Check what can be known only at the end."""
        if self._seen < self._events:
            location = self._faults.locations[self._rank]
            found = f"found {self._seen} events; there should be {self._events}"
            self._faults.add(0, f"location {location}: {found}; the archive may be cut")
        for request, (one, receives) in self._requests.items():
            if receives:
                line = self._operations.lines[one]
                self._faults.add(line, f"found a receive that never ends: request {request}")

    def _leave(self, line: int, time: int) -> None:
        if not self._depth:
            self._compute(line, time)
            return
        self._depth -= 1
        if not self._depth:
            self._wait(line)
            self._time = time

    def _add(self, kind: int, size: int, line: int, peer: int = 0, tag: int = 0) -> int:
        """Add an operation behind those before."""
        one = self._operations.add(kind, size, peer, tag, line=line)
        if self._before is not None:
            self._operations.require(one, self._before, self._goes_on)
        self._before, self._goes_on = one, False
        return one

    def _compute(self, line: int, time: int) -> None:
        took_ps = self._reader.ticks(time - self._time)
        self._time = time
        if took_ps > MAX_SECONDS * 10**12:
            allowed = f"allowed: 0 to {MAX_SECONDS} s"
            self._faults.add(line, f"time: found {took_ps // 10**12} s without an event; {allowed}")
        elif took_ps:
            self._add(CALC, took_ps, line)

    def _wait(self, line: int) -> None:
        """Wait for the sends of the region."""
        if self._sends:
            last = self._add(CALC, 0, line)
            for one in self._sends:
                self._operations.require(last, one)
            self._sends.clear()

    def _message(
        self, kind: int, line: int, comm: int, peer: int, tag: int, size: int
    ) -> int | None:
        members = self._reader.members(comm, self._rank, line)
        if members is None:
            return None
        if peer >= len(members):
            self._faults.add(line, f"rank: found {peer}; allowed: 0 to {len(members) - 1}")
            return None
        if size > MOST_BYTES:
            self._faults.add(line, f"bytes: found {size}; allowed: 0 to {MOST_BYTES}")
            return None
        return self._add(kind, size, line, members[peer], self._reader.tag(comm, tag))

    def _send(self, line: int, comm: int, peer: int, tag: int, size: int, _: int) -> None:
        one = self._message(SEND, line, comm, peer, tag, size)
        if one is not None:
            self._goes_on = True
            self._sends.append(one)

    def _recv(self, line: int, comm: int, peer: int, tag: int, size: int, _: int) -> None:
        self._message(RECV, line, comm, peer, tag, size)

    def _isend(self, line: int, comm: int, peer: int, tag: int, size: int, request: int) -> None:
        one = self._message(SEND, line, comm, peer, tag, size)
        if one is not None:
            self._goes_on = True
            self._begin(request, one, False, line)

    def _begin(self, request: int, one: int, receives: bool, line: int) -> None:
        if request in self._requests:
            self._faults.add(line, f"found request {request} again, which has not ended")
        self._requests[request] = one, receives

    def _end(self, request: int, receives: bool, line: int) -> int | None:
        found = self._requests.pop(request, None)
        if found is None or found[1] != receives:
            what = "receive" if receives else "send"
            self._faults.add(line, f"found the end of request {request}; no {what} has begun it")
            return None
        return found[0]

    def _isend_complete(self, line: int, *more: int) -> None:
        one = self._end(more[-1], False, line)
        if one is not None:
            self._operations.require(self._add(CALC, 0, line), one)

    def _irecv_request(self, line: int, *more: int) -> None:
        # From whom, and how much, is known when it ends.
        one = self._add(RECV, 0, line, self._rank)
        self._goes_on = True
        self._begin(more[-1], one, True, line)

    def _irecv(self, line: int, comm: int, peer: int, tag: int, size: int, request: int) -> None:
        one = self._end(request, True, line)
        if one is None:
            return
        operations = self._operations
        last = self._message(CALC, line, comm, peer, tag, size)
        if last is None:
            return
        operations.peers[one], operations.tags[one] = operations.peers[last], operations.tags[last]
        operations.sizes[one] = size
        operations.peers[last] = operations.tags[last] = operations.sizes[last] = 0
        operations.require(last, one)

    def _cancelled(self, line: int, *more: int) -> None:
        found = self._requests.pop(more[-1], None)
        if found is not None and found[1]:
            self._operations.kinds[found[0]] = CALC
        else:
            self._faults.add(line, f"found request {more[-1]} cancelled; allowed: of a receive")

    def _collective_end(
        self, line: int, comm: int, root: int, operation: int, sent: int, received: int
    ) -> None:
        if self._reader.members(comm, self._rank, line) is None:
            return
        group = self._reader.number(comm)
        if operation in _SCANS or operation > _MOST_OPERATION:
            found = "a prefix sum" if operation in _SCANS else f"collective operation {operation}"
            self._faults.add(line, f"found {found}, which cannot be replayed")
            return
        if operation < len(_OPERATIONS):
            call = _OPERATIONS[operation]
        elif operation == _BLOCK:
            call = "reduce_scatter"
        elif operation in _MADE:
            call = "barrier"
        else:
            return
        if group is None:
            return
        most = MOST_BYTES * len(self._reader.collectives.groups[group])
        if max(sent, received) > most:
            self._faults.add(line, f"bytes: found {max(sent, received)}; allowed: 0 to {most}")
            return
        place = self._reader.collectives.add(group, self._rank, call, root, sent, received, line)
        self._add(COLL, place, line, tag=group)


def parts(one: Collective) -> Sequence[int]:
    """Bytes of the part of each member, of what the archive has for all partners together."""
    size = len(one.sent)
    if one.call in ("bcast", "scatter"):
        # Data of the root for itself are not in all archives.
        return [max(one.received)] * size
    if one.call in ("reduce", "gather"):
        return [max(one.sent)] * size
    if one.call == "gatherv":
        return one.sent
    if one.call in ("scatterv", "alltoallv"):
        return one.received
    if one.call == "allgatherv":
        return [_part(sent, size) for sent in one.sent]
    if one.call == "reduce_scatter":
        return [_part(max(one.sent), size)] * size
    return [_part(max(one.received), size)] * size


def _part(whole: int, size: int) -> int:
    """One of as many parts, which may be without that of the process itself."""
    if whole % size and size > 1 and not whole % (size - 1):
        return whole // (size - 1)
    return -(-whole // size)


def _records(stream: Any) -> Iterator[Sequence[int]]:
    left = b""
    while chunk := stream.read(_CHUNK):
        chunk = left + chunk
        whole = len(chunk) - len(chunk) % (8 * FIELDS)
        left = chunk[whole:]
        numbers = array("Q", chunk[:whole])
        for start in range(0, len(numbers), FIELDS):
            yield numbers[start : start + FIELDS]
