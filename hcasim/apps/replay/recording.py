"""What the processes of a run do, written down as a schedule that can be run elsewhere.

Each message to another process is an operation, those within collectives included. So is computing,
and what collectives and messages to oneself copy and combine, for as long as that took. An
operation waits for the one before it in its process: for its end if the process has waited for
that, else for its begin.
"""

from __future__ import annotations

from collections.abc import Sequence

from hcasim.apps.replay.operations import ANY, Kind, Operations
from hcasim.mpi.message import Request


class Recording:
    """The operations of all processes.

    Parameters:
        ranks: number of processes.

    Attributes:
        operations: by rank.
        members: ranks of each communicator, by its context.
        recorders: to be told by the processes, by rank.
    """

    def __init__(self, ranks: int) -> None:
        self.operations: Sequence[Operations] = [Operations() for _ in range(ranks)]
        self.members: dict[int, tuple[int, ...]] = {0: tuple(range(ranks))}
        self._tags: dict[tuple[int, int], int] = {}
        self._largest = -1
        self.recorders = [RankRecorder(self, rank) for rank in range(ranks)]

    def finish(self) -> None:
        """Take what was received without having been waited for, and number the tags."""
        for one in self.recorders:
            one.finish()
        above = self._largest + ANY
        for operations in self.operations:
            for number, tag in enumerate(operations.tags):
                if tag < ANY:
                    operations.tags[number] = above - tag

    def rank(self, context: int, rank: int) -> int:
        """Rank in the whole program; messages and collectives have contexts of their own."""
        return self.members[context // 2][rank]

    def tag(self, context: int, tag: int) -> int:
        """A tag of all processes; until `finish`, others than those that the program chose are
        below ANY."""
        if context == 0:
            self._largest = max(self._largest, tag)
            return tag
        return self._tags.setdefault((context, tag), ANY - 1 - len(self._tags))


class RankRecorder:
    """Writes down what one process does.

    Parameters:
        rank: of the process.
    """

    def __init__(self, recording: Recording, rank: int) -> None:
        self._recording = recording
        self._rank = rank
        self._operations = recording.operations[rank]
        self._open: dict[Request, int] = {}
        # What the next operation waits for, and whether only for its begin.
        self._before: list[tuple[int, bool]] = []

    def grouped(self, context: int, members: tuple[int, ...]) -> None:
        self._recording.members[context] = members

    def sends(self, request: Request, rank: int) -> None:
        if rank != self._rank:
            tag = self._recording.tag(request.context, request.tag)
            self._open[request] = self._add(Kind.SEND, request.buffer.size, rank, tag)

    def receives(self, request: Request) -> None:
        """It begins to receive; from whom is known once that is done."""
        self._open[request] = self._add(Kind.RECV, request.buffer.size)

    def waited(self, request: Request) -> None:
        """It knows that a request is done."""
        number = self._open.pop(request, None)
        if number is not None:
            self._found(number, request)
            self._before = [one for one in self._before if one[0] != number] + [(number, False)]

    def computed(self, duration_ps: int) -> None:
        self._add(Kind.CALC, duration_ps)

    def finish(self) -> None:
        for request, number in self._open.items():
            self._found(number, request)
        self._open.clear()

    def _found(self, number: int, request: Request) -> None:
        if self._operations.kinds[number] != Kind.RECV:
            return
        status = request.status
        source = -1 if status is None else self._recording.rank(request.context, status.source)
        if status is None or source == self._rank:
            # Nothing has come, or nothing from elsewhere.
            self._operations.kinds[number] = Kind.CALC
            self._operations.sizes[number] = 0
            return
        self._operations.peers[number] = source
        self._operations.tags[number] = self._recording.tag(request.context, status.tag)
        self._operations.sizes[number] = status.count

    def _add(self, kind: int, size: int, peer: int = 0, tag: int = 0) -> int:
        number = self._operations.add(kind, size, peer, tag)
        for before, begun in self._before:
            self._operations.require(number, before, begun)
        self._before = [(number, kind != Kind.CALC)]
        return number
