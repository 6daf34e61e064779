"""Reads an OTF2 archive with the library, in a process of its own, and writes it to a pipe.

What a damaged archive does to the library, which is written in C, ends with this process: its
complaints, its use of memory and its crashes. The first line is JSON, with ranks and communicators;
what follows are records of 64-bit numbers: kind, rank, number of the event, its time, and five
more (`FIELDS`).
"""

from __future__ import annotations

import json
import os
import sys
from array import array
from typing import Any

KINDS = (
    *("begin", "end", "enter", "leave", "send", "recv", "isend", "isend_complete"),
    *("irecv_request", "irecv", "cancelled", "collective_begin", "collective_end", "other"),
)
"""Of records: the first and the last event of a process, regions of MPI, and what MPI does."""
FIELDS = 9
NONE = 2**64 - 1
MEMORY = 4 << 30
MOST_SAID = 1 << 20
"""Bytes of files, as that of what the library prints."""
_AT_ONCE = 1 << 16
_PLAIN = {
    "MpiSend": "send",
    "MpiRecv": "recv",
    "MpiIsend": "isend",
    "MpiIsendComplete": "isend_complete",
    "MpiIrecvRequest": "irecv_request",
    "MpiIrecv": "irecv",
    "MpiRequestCancelled": "cancelled",
    "MpiCollectiveBegin": "collective_begin",
    "MpiCollectiveEnd": "collective_end",
}
_PASSED = ("MpiRequestTest", "MpiProbe")


class _Archive:
    """One archive.

    Parameters:
        out: where records are written.
    """

    def __init__(self, reader: Any, out: Any) -> None:
        self._reader, self._out = reader, out
        self._records = array("Q")
        self._ranks: dict[int, int] = {}
        self._last: dict[int, tuple[int, int]] = {}
        self._regions: dict[int, bool] = {}

    def write(self) -> None:
        """Write all that there is."""
        self._write_definitions()
        counts: dict[int, int] = {}
        for location, event in self._reader.events:
            ref = location._ref
            counts[ref] = number = counts.get(ref, 0) + 1
            self._event(self._ranks.get(ref), ref, number, event)
        for ref, (number, time) in self._last.items():
            self._add("end", self._ranks[ref], number, time)
        self._flush()

    def _write_definitions(self) -> None:
        import otf2

        definitions = self._reader.definitions
        locations: list[Any] = []
        for group in definitions.groups:
            kind = otf2.GroupType.COMM_LOCATIONS
            if group.group_type == kind and group.paradigm == otf2.Paradigm.MPI:
                locations = list(group.members)
        self._ranks = {location._ref: rank for rank, location in enumerate(locations)}
        comms = {}
        for comm in definitions.comms:
            own = comm.group.group_type == otf2.GroupType.COMM_SELF
            members = [] if own else [self._ranks[one._ref] for one in comm.group.members]
            comms[comm._ref] = {"name": comm.name or "", "members": members, "self": own}
        header = {
            "resolution": self._reader.timer_resolution,
            "locations": [one._ref for one in locations],
            "events": [one.number_of_events for one in locations],
            "comms": comms,
        }
        self._out.write(json.dumps(header).encode() + b"\n")

    def _event(self, rank: int | None, ref: int, number: int, event: Any) -> None:
        name = type(event).__name__
        mpi = name.startswith(("Mpi", "NonBlockingCollective", "Rma")) and name not in _PASSED
        if rank is None:
            if mpi:
                self._add("other", NONE, number, event.time, _code(name), ref)
            return
        if ref not in self._last:
            self._add("begin", rank, number, event.time)
        self._last[ref] = number, event.time
        if name in ("Enter", "Leave"):
            if self._is_mpi(event.region):
                self._add(name.lower(), rank, number, event.time)
        elif name in _PLAIN:
            self._add(_PLAIN[name], rank, number, event.time, *_numbers(name, event))
        elif mpi:
            self._add("other", rank, number, event.time, _code(name), ref)

    def _is_mpi(self, region: Any) -> bool:
        import otf2

        ref = region._ref
        if ref not in self._regions:
            named = (region.name or "").upper().startswith(("MPI_", "PMPI_"))
            self._regions[ref] = named or region.paradigm == otf2.Paradigm.MPI
        return self._regions[ref]

    def _add(self, kind: str, rank: int, number: int, time: int, *more: int) -> None:
        self._records.extend((KINDS.index(kind), rank, number, time, *more))
        self._records.extend([0] * (FIELDS - 4 - len(more)))
        if len(self._records) > _AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        self._out.write(self._records.tobytes())
        del self._records[:]


def _numbers(name: str, event: Any) -> tuple[int, ...]:
    """Communicator, partner or root, tag or operation, bytes, and request or bytes received."""
    if name == "MpiCollectiveEnd":
        comm, operation = event.communicator, event.collective_op.value
        return _comm(comm), event.root, operation, event.size_sent, event.size_received
    if name in ("MpiSend", "MpiIsend", "MpiRecv", "MpiIrecv"):
        peer = event.receiver if "send" in name.lower() else event.sender
        request = getattr(event, "request_id", 0)
        return _comm(event.communicator), peer, event.msg_tag, event.msg_length, request
    return 0, 0, 0, 0, getattr(event, "request_id", 0)


def _comm(comm: Any) -> int:
    ref: int = comm._ref
    return ref if hasattr(comm, "group") else NONE


def _code(name: str) -> int:
    """The beginning of a name as a number."""
    return int.from_bytes(name.encode()[:8].ljust(8, b"\0"), "big")


def _limit() -> None:
    import resource

    for kind, wanted in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_FSIZE, MOST_SAID),
        (resource.RLIMIT_CPU, int(sys.argv[2])),
    ):
        # Whoever started us may allow less.
        given = [one for one in resource.getrlimit(kind) if one != resource.RLIM_INFINITY]
        least = min([wanted, *given])
        resource.setrlimit(kind, (least, least))


def main() -> int:
    """Read the archive that the first argument names; the second is seconds of a processor."""
    _limit()
    # The library may print, which is not for the pipe.
    pipe = os.dup(1)
    os.dup2(2, 1)
    with os.fdopen(pipe, "wb") as out:
        try:
            import otf2

            with otf2.reader.open(sys.argv[1], batch_events=1000) as reader:
                _Archive(reader, out).write()
        except Exception as error:  # noqa: BLE001
            print(f"{type(error).__name__}: {error}", file=sys.stderr)  # noqa: T201
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
