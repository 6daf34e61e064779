"""Small OTF2 archives, for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import otf2
from otf2.enums import CollectiveOp, GroupType, LocationGroupType, LocationType, Paradigm

TICKS = 1_000_000_000


class Recorder:
    """Records the events of one process; each call takes 1000 ns."""

    def __init__(self, writer: Any, comms: Sequence[Any], regions: dict[str, Any]) -> None:
        self.writer, self.comms, self._regions = writer, comms, regions
        self.time = 1000
        writer.enter(self.time, regions["main"])

    def compute(self, nanoseconds: int) -> None:
        self.time += nanoseconds

    def call(self, *records: tuple[Any, ...]) -> None:
        """A region of MPI with records, of which each is the name of a method and arguments."""
        self.writer.enter(self.time, self._regions["MPI_Call"])
        for name, *arguments in records:
            getattr(self.writer, name)(self.time + 500, *arguments)
        self.time += 1000
        self.writer.leave(self.time, self._regions["MPI_Call"])

    def send(self, dest: int, size: int, tag: int = 0, comm: int = 0) -> None:
        self.call(("mpi_send", dest, self.comms[comm], tag, size))

    def recv(self, source: int, size: int, tag: int = 0, comm: int = 0) -> None:
        self.call(("mpi_recv", source, self.comms[comm], tag, size))

    def collective(
        self, name: str, sent: int = 0, received: int = 0, root: int = 0, comm: int = 0
    ) -> None:
        operation = getattr(CollectiveOp, name)
        end = ("mpi_collective_end", operation, self.comms[comm], root, sent, received)
        self.call(("mpi_collective_begin",), end)

    def end(self) -> None:
        self.writer.leave(self.time, self._regions["main"])


Program = Callable[[Recorder], object]


def write_archive(
    folder: Path, *programs: Program, groups: Sequence[Sequence[int]] = (), thread: bool = False
) -> Path:
    """Write what each process does; return the anchor file.

    Parameters:
        groups: ranks of further communicators.
        thread: whether the first process has a thread that sends, too.
    """
    with otf2.writer.open(str(folder), timer_resolution=TICKS) as archive:
        own = archive.definitions
        node = own.system_tree_node("node", parent=own.system_tree_node("machine"))
        processes = [
            own.location_group(
                f"Rank {rank}",
                location_group_type=LocationGroupType.PROCESS,
                system_tree_parent=node,
            )
            for rank in range(len(programs))
        ]
        locations = [
            own.location("Master", group=one, type=LocationType.CPU_THREAD) for one in processes
        ]
        own.group(
            "all", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, members=locations
        )
        comms = [
            own.comm(
                f"comm {number}",
                group=own.group(
                    f"group {number}",
                    group_type=GroupType.COMM_GROUP,
                    paradigm=Paradigm.MPI,
                    members=list(ranks),
                ),
            )
            for number, ranks in enumerate([range(len(programs)), *groups])
        ]
        alone = own.group("self", group_type=GroupType.COMM_SELF, paradigm=Paradigm.MPI, members=[])
        comms.append(own.comm("MPI_COMM_SELF", group=alone))
        regions = {
            "main": own.region("main", paradigm=Paradigm.USER),
            "MPI_Call": own.region("MPI_Call", paradigm=Paradigm.MPI),
        }
        for location, program in zip(locations, programs, strict=True):
            recorder = Recorder(archive.event_writer_from_location(location), comms, regions)
            program(recorder)
            recorder.end()
        if thread:
            other = own.location("Thread", group=processes[0], type=LocationType.CPU_THREAD)
            writer = archive.event_writer_from_location(other)
            writer.mpi_send(5000, 0, comms[0], 0, 8)
    return folder / "traces.otf2"
