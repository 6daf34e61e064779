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

A process of its own reads the archive: what a damaged one does to the library, which is written in
C, ends with that process: its complaints, its use of memory and its crashes.

Sources: OTF2 3.1.1, OTF2_Events.h; Score-P 9, src/adapters/mpi/scorep_mpi_coll.inc.c for bytes.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from hcasim.apps.replay.collectives import CALLS, Collective, Collectives
from hcasim.apps.replay.operations import Kind, Operations
from hcasim.apps.replay.text import (
    LARGEST,
    MOST_ACTIONS,
    MOST_BYTES,
    MOST_RANKS,
    checked,
    need,
    refuse,
)
from hcasim.apps.replay.trace import Trace
from hcasim.ground.errors import words_of
from hcasim.ground.faults import shown
from hcasim.ground.reading import size_of
from hcasim.mpi.messages import MAX_SECONDS

_MARK: Final = b"BOTF2"
"""Behind the first byte of an anchor file."""
_COLLECTIVES: Final = (
    *("barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv"),
    *("alltoall", "alltoallv", "alltoallv", "allreduce", "reduce", "reduce_scatter", "", ""),
    *("reduce_scatter", "barrier", None, None, None, "barrier", None),
)
"""By their number in OTF2; an empty one is refused, and None takes no time. Those that make a
communicator or a window are barriers; that of all-to-all with types is that with counts."""
_PASSED: Final = ("MpiRequestTest", "MpiProbe", "MpiCollectiveBegin")
_MEMORY: Final = 4 << 30
_SECONDS: Final = 30
_SPEED: Final = 50_000
"""Bytes of an archive that are read at least in a second."""


def is_otf2(path: Path, data: bytes) -> bool:
    """Whether a file is the anchor of an archive."""
    return data[1 : 1 + len(_MARK)] == _MARK


def read_otf2(path: Path, name: str, data: bytes) -> Trace:
    """Read an archive, or raise a CatalogError with the first event that is wrong."""
    need(name, "otf2", "otf2")
    stem = path.with_suffix("")
    files = [path, stem.with_suffix(".def"), *sorted(stem.glob("*"))]
    if (size := sum(map(size_of, files))) > LARGEST:
        refuse(name, f"found {size} B in its files; allowed: {LARGEST} B")
    words = [str(path.absolute()), str(_SECONDS + size // _SPEED)]
    script = f"from {__name__} import _serve; _serve()"
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-P", "-c", script, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=env,
        check=False,
    )
    try:
        fault, found = pickle.loads(done.stdout)
    except (EOFError, pickle.UnpicklingError):
        fault = f"the library of OTF2 cannot read it: it has ended with {done.returncode}"
    if fault:
        refuse(name, fault)
    ranks, collectives, locations = found
    places = [f"{name}: location {location}, event " for location in locations]
    return Trace(name, "otf2", ranks, places, collectives)


def _serve() -> None:
    """Read the archive that the first argument names; the second is seconds of a processor."""
    from resource import RLIM_INFINITY, RLIMIT_AS, RLIMIT_CPU, getrlimit, setrlimit

    for kind, most in ((RLIMIT_AS, _MEMORY), (RLIMIT_CPU, int(sys.argv[2]))):
        hard = getrlimit(kind)[1]
        setrlimit(kind, (most if hard == RLIM_INFINITY else min(most, hard), hard))
    # The library may print, which is not for the pipe.
    with os.fdopen(os.dup(1), "wb") as pipe:
        os.dup2(2, 1)
        fault, found = "", None
        try:
            found = _read(sys.argv[1])
        except ValueError as error:
            fault = str(error)
        except Exception as error:  # noqa: BLE001
            fault = f"the library of OTF2 cannot read it: {shown(words_of(error))}"
        pickle.dump((fault, found), pipe, protocol=5)


def _read(file: str) -> tuple[list[Operations], Collectives, list[int]]:
    """The operations of each process, their collectives, and its location."""
    import otf2

    with otf2.reader.open(file, batch_events=1000) as reader:
        archive = _Archive(reader.definitions, reader.timer_resolution)
        for location, event in reader.events:
            archive.take(location._ref, event)
        for process in archive.processes.values():
            process.finish()
    return archive.ranks, archive.collectives, archive.locations


def _parts(one: Collective) -> Sequence[int]:
    """The part of each process, from bytes for all partners together."""
    size = len(one.sent)
    match one.call:
        case "bcast" | "scatter":
            # Data of the root for itself are not in all archives.
            return [max(one.received)] * size
        case "reduce" | "gather":
            return [max(one.sent)] * size
        case "gatherv":
            return one.sent
        case "scatterv" | "alltoallv":
            return one.received
        case "allgatherv":
            return [_part(sent, size) for sent in one.sent]
        case "reduce_scatter":
            return [_part(max(one.sent), size)] * size
    return [_part(max(one.received), size)] * size


class _Archive:
    """What is defined in an archive, and what its processes do, each of which has a location."""

    def __init__(self, definitions: Any, resolution: int) -> None:
        import otf2

        found: list[Any] = []
        for group in definitions.groups:
            kind = otf2.GroupType.COMM_LOCATIONS
            if group.group_type == kind and group.paradigm == otf2.Paradigm.MPI:
                found = list(group.members)
        self.locations = [one._ref for one in found]
        self.resolution = checked(resolution, "ticks of the clock in a second", 10**18, 1)
        self.ranks = [Operations() for _ in range(checked(len(found), "ranks", MOST_RANKS, 1))]
        self.collectives = Collectives(self.ranks, _parts)
        self.processes = {
            one._ref: _Process(self, rank, one.number_of_events) for rank, one in enumerate(found)
        }
        place = {ref: rank for rank, ref in enumerate(self.locations)}
        # None has the process alone.
        self._comms: dict[int, int | None] = {}
        for comm in definitions.comms:
            own = comm.group.group_type == otf2.GroupType.COMM_SELF
            members = [] if own else [place[one._ref] for one in comm.group.members]
            called = shown(comm.name) if comm.name else f"communicator {comm._ref}"
            self._comms[comm._ref] = None if own else self.collectives.add_group(members, called)
        self._tags: dict[tuple[int, int], int] = {}
        self.calls = {
            region._ref
            for region in definitions.regions
            if (region.name or "").upper().startswith(("MPI_", "PMPI_"))
            or region.paradigm == otf2.Paradigm.MPI
        }
        self._others: Counter[int] = Counter()
        self._taken = 0

    def take(self, location: int, event: Any) -> None:
        """Take the next event of a location."""
        name = type(event).__name__
        mpi = name.startswith(("Mpi", "NonBlockingCollective", "Rma")) and name not in _PASSED
        self._taken += mpi
        checked(self._taken, "events of MPI", MOST_ACTIONS)
        if location in self.processes:
            self.processes[location].take(name, event, mpi)
            return
        self._others[location] += 1
        if mpi:
            where = f"location {location}, event {self._others[location]}"
            allowed = "allowed: by the location that is the process of MPI"
            raise ValueError(f"{where}: found {name} of another thread; {allowed}")

    def group(self, comm: Any, rank: int) -> tuple[int | None, Sequence[int]]:
        """The number of a communicator's group, none for one process alone, and its members."""
        number = self._comms[comm._ref] if hasattr(comm, "group") else -1
        if number is None:
            return None, (rank,)
        if number < 0:
            raise ValueError("found a communicator of two groups; allowed: of one")
        if rank not in self.collectives.members(number):
            raise ValueError(f"communicator: rank {rank} is not one of its members")
        return number, self.collectives.groups[number]

    def tag(self, comm: Any, tag: int) -> int:
        """A tag that no other communicator has."""
        if self._comms[comm._ref] == 0:
            return tag
        return self._tags.setdefault((comm._ref, tag), 2**32 + len(self._tags))


class _Process:
    """What one process does, as operations of which each requires the one before."""

    def __init__(self, archive: _Archive, rank: int, events: int) -> None:
        self._archive, self._rank, self._events = archive, rank, events
        self._operations = archive.ranks[rank]
        self._seen = self._depth = self._time = 0
        # Whether the next operation requires only that the one before has begun.
        self._goes_on = False
        self._sends: list[int] = []
        # Of each request: its operation, and whether it receives.
        self._requests: dict[int, tuple[int, bool]] = {}

    def take(self, name: str, event: Any, mpi: bool) -> None:
        self._seen += 1
        time = event.time
        try:
            if time < self._time:
                raise ValueError(f"time: found {time}; allowed: {self._time} or later, as before")
            if self._seen == 1:
                self._time = time
            if name in ("Enter", "Leave"):
                if event.region._ref in self._archive.calls:
                    self._turn(time, 1 if name == "Enter" else -1)
            elif name == "MpiCollectiveEnd":
                self._time = time
            elif mpi or name == "MpiCollectiveBegin":
                self._turn(time, 0)
            if mpi:
                self._record(name, event)
                if not self._depth:
                    self._wait()
            if self._seen == self._events:
                self._compute(time)
        except ValueError as error:
            raise self._wrong(str(error)) from None

    def _wrong(self, reason: str) -> ValueError:
        location = self._archive.locations[self._rank]
        return ValueError(f"location {location}, event {self._seen}: {reason}")

    def finish(self) -> None:
        if self._seen < self._events:
            raise self._wrong(f"there should be {self._events} events; the archive may be cut")
        for request, (_, receives) in self._requests.items():
            if receives:
                raise self._wrong(f"found a receive that never ends: request {request}")

    def _turn(self, time: int, way: int) -> None:
        """Compute up to here, if this is in no region; enter one (1) or leave it (-1)."""
        if not self._depth:
            self._compute(time)
        self._time = time
        inside = self._depth > 0
        self._depth = max(0, self._depth + way)
        if inside and not self._depth:
            self._wait()

    def _add(self, kind: int, size: int, *message: int, goes_on: bool = False, **more: int) -> int:
        one = self._operations.add(kind, size, *message, line=self._seen, **more)
        if one:
            self._operations.require(one, one - 1, self._goes_on)
        self._goes_on = goes_on
        return one

    def _compute(self, time: int) -> None:
        took_ps = (time - self._time) * 10**12 // self._archive.resolution
        self._time = time
        if took_ps:
            most = MAX_SECONDS * 10**12
            self._add(Kind.CALC, checked(took_ps, "picoseconds without an event", most))

    def _wait(self, *operations: int) -> None:
        """Wait for operations, or else for the sends of the region."""
        waited = [*operations] or self._sends
        if waited:
            last = self._add(Kind.CALC, 0)
            for one in waited:
                self._operations.require(last, one)
            if not operations:
                self._sends.clear()

    def _record(self, name: str, event: Any) -> None:
        operations = self._operations
        match name:
            case "MpiSend":
                self._sends.append(self._add(Kind.SEND, *self._message(event), goes_on=True))
            case "MpiRecv":
                self._add(Kind.RECV, *self._message(event))
            case "MpiIsend":
                self._begin(event, self._add(Kind.SEND, *self._message(event), goes_on=True), False)
            case "MpiIrecvRequest":
                # From whom, and how much, is known when it ends.
                self._begin(event, self._add(Kind.RECV, 0, self._rank, goes_on=True), True)
            case "MpiIsendComplete":
                self._wait(self._end(event, False))
            case "MpiIrecv":
                one, found = self._end(event, True), self._message(event)
                operations.sizes[one], operations.peers[one], operations.tags[one] = found
                self._wait(one)
            case "MpiRequestCancelled":
                operations.kinds[self._end(event, True)] = Kind.CALC
            case "MpiCollectiveEnd":
                self._collect(event)
            case _:
                allowed = "allowed: messages, and collectives that wait"
                raise ValueError(f"found {name}, which cannot be replayed; {allowed}")

    def _message(self, event: Any) -> tuple[int, int, int]:
        members = self._archive.group(event.communicator, self._rank)[1]
        size = checked(event.msg_length, "bytes", MOST_BYTES)
        peer = event.receiver if hasattr(event, "receiver") else event.sender
        peer = members[checked(peer, "rank", len(members) - 1)]
        return size, peer, self._archive.tag(event.communicator, event.msg_tag)

    def _begin(self, event: Any, one: int, receives: bool) -> None:
        if event.request_id in self._requests:
            raise ValueError(f"found request {event.request_id} again, which has not ended")
        self._requests[event.request_id] = one, receives

    def _end(self, event: Any, receives: bool) -> int:
        found = self._requests.pop(event.request_id, None)
        if found is None or found[1] != receives:
            what = "receive" if receives else "send"
            raise ValueError(f"found the end of request {event.request_id}; no {what} has begun it")
        return found[0]

    def _collect(self, event: Any) -> None:
        group, members = self._archive.group(event.communicator, self._rank)
        number = event.collective_op.value
        call = _COLLECTIVES[checked(number, "collective operation", len(_COLLECTIVES) - 1)]
        if call == "":
            raise ValueError("found a prefix sum, which cannot be replayed")
        sent, received = event.size_sent, event.size_received
        checked(max(sent, received), "bytes", MOST_BYTES * len(members))
        if group is not None and call is not None:
            root = event.root if 0 <= event.root < len(members) else -1
            more = {"thread": CALLS.index(call), "received": received}
            self._add(Kind.COLL, sent, root, group, **more)


def _part(whole: int, size: int) -> int:
    """One of as many parts, which may be without that of the process itself."""
    if whole % size and size > 1 and not whole % (size - 1):
        return whole // (size - 1)
    return -(-whole // size)
