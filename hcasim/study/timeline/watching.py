"""A run as a timeline: a track for each block, and requests that are followed through all."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from json.encoder import encode_basestring_ascii as quoted
from operator import itemgetter
from typing import Any, Final

from hcasim.cluster import Cluster
from hcasim.fabric.link import PACKET as LINK
from hcasim.fabric.packet import Packet
from hcasim.ground.errors import Fault, refuse
from hcasim.hca.wqe import SendWqe
from hcasim.study.onlooker import Onlooker
from hcasim.study.timeline.tracks import Choice, ChromeFile, Track, Tracks

_PACKETS: Final = 512
"""Packets whose words are kept, because several blocks tell of each."""
_POSTED: Final = "post_send"
_OVER: Final = "over"
_NOTHING: Final = object()
"""What stands for the details of work whose begin is not known: it has no slice."""
_BATCH: Final = 2000
"""What is told before it is written down."""
_NEVER: Final = 1 << 62
_LATE: Final = 64
"""Operations that are over for the adapter, and of which an application may still tell."""
_TOGETHER: Final = 1_000_000
"""Work of one kind that a server does without a pause is one slice, up to so many ps."""

_Told = tuple[str, str, int, int, Any, int] | list[Any]
"""Block, work, begin and end in ps, details, operation; or block, nothing, time and value."""


@dataclass(slots=True)
class _Operation:
    """A work request of a queue pair on its way, from the processor that posts it, with the time in
    ps at which each piece of work for it ended."""

    number: int
    block: str
    queue: str
    begin_ps: int
    what: str = "request"
    marks: list[tuple[int, str]] = field(default_factory=list)


class Timeline(Onlooker):
    """Watches a simulator, and writes the chosen part of what it sees as a trace of Chrome's, which
    says in words what run it is of.

    Nothing is kept but what is under way. While it watches, the run leaves nothing out.
    """

    def __init__(
        self, write: Callable[[bytes], object], choice: Choice | None = None, run: str = ""
    ) -> None:
        super().__init__()
        self._choice = choice or Choice()
        self._begin = self._choice.begin_ps
        self._end = _NEVER if self._choice.end_ps is None else self._choice.end_ps
        self._told: list[_Told] = []
        self._last: dict[str, list[Any]] = {}
        self._file = ChromeFile(write, run)
        self._tracks = Tracks(self._file, self._choice)
        self._kinds: dict[str, dict[str, Track | None]] = {}
        self._counters: dict[str, str] = {}
        self._words: dict[Packet, str] = {}
        self._operations: dict[int, _Operation] = {}
        self._late: deque[_Operation] = deque()

    @property
    def records(self) -> int:
        """Records in the file."""
        return self._file.records

    def built(self, what: object) -> None:
        """Refuse nodes that a machine does not have, with a CatalogError."""
        if isinstance(what, Cluster) and self._choice.nodes is not None:
            most = what.machine.nodes - 1
            beyond = (str(one) for one in self._choice.nodes if one > most)
            refuse(*(Fault("--trace-node", one, f"0 to {most}", text=one) for one in beyond))

    def finish(self) -> None:
        """Write what is left: the run is over."""
        self._show_told()
        for operation in self._operations.values():
            self._show(operation)
        self._file.finish()

    def event(
        self,
        time_ps: int,
        block: str,
        event: str,
        operation: int,
        details: object,
        since_ps: int | None,
    ) -> None:
        """Note a piece of work that ends with an event."""
        if since_ps is not None:
            what = details if isinstance(details, Packet) else str(details)
            self._tell((block, event, since_ps, time_ps, what, operation))
        elif operation:
            self._told.append((block, event, time_ps, time_ps, _NOTHING, operation))

    def work(self, block: str, what: str, start_ps: int, end_ps: int, details: object) -> None:
        """Note a piece of work."""
        if details.__class__ is not int:
            self._tell((block, what, start_ps, end_ps, details, 0))
            return
        last = self._last.get(block)
        if (
            last is not None
            and last[3] == start_ps
            and end_ps - last[2] < _TOGETHER
            and (what == last[1] or not details)
        ):
            # One slice for what follows at once.
            last[3] = end_ps
            last[4] += details
        else:
            self._last[block] = whole = [block, what, start_ps, end_ps, details, 0]
            self._tell(whole)

    def level(self, block: str, time_ps: int, value: int) -> None:
        """Note how much a pool, a queue or a cache holds."""
        self._tell((block, "", time_ps, value, None, 0))

    def over(self, block: str, operation: int, details: object) -> None:
        """Note that the adapter has done with an operation."""
        what = f"{details.opcode.name} {details.length} B" if isinstance(details, SendWqe) else ""
        self._tell((block, _OVER, self.sim.now, self.sim.now, what, operation))

    def _tell(self, told: _Told) -> None:
        self._told.append(told)
        if len(self._told) >= _BATCH:
            self._show_told()

    def _show_told(self) -> None:
        """Write what has been told down: many at once, because that is quicker."""
        operations, kinds = self._operations, self._kinds
        add, words_of = self._file.add, self._words
        begin, end = self._begin, self._end
        partial = begin > 0 or end < _NEVER
        told, self._told = self._told, []
        self._last.clear()
        for block, what, start, stop, details, operation in told:
            if partial and (start > end or (stop < begin and what)):
                continue
            if not what:
                self._level(block, start, stop)
                continue
            bound = ""
            if details.__class__ is Packet:
                words = words_of.get(details)
                if words is None:
                    if len(words_of) >= _PACKETS:
                        words_of.clear()
                    words = words_of[details] = quoted(str(details))
                operation = details.operation
            elif details.__class__ is int:
                words = f"{details}"
            else:
                words = quoted(str(details))
            if operation:
                if what == _OVER:
                    self._end_of(operation, str(details))
                    continue
                if what == _POSTED:
                    operations[operation] = _Operation(operation, block, str(details), start)
                    bound = f',"bind_id":"{operation:#x}","flow_out":true'
                elif operation in operations:
                    bound = f',"bind_id":"{operation:#x}","flow_in":true,"flow_out":true'
                if what != LINK and (known := operations.get(operation)):
                    known.marks.append((stop, what))
                if details is _NOTHING:
                    continue
            elif start == stop:
                continue
            try:
                track = kinds[block][what]
            except KeyError:
                track = self._tracks.of(block, what)
                kinds.setdefault(block, {})[what] = track
            if track is None:
                continue
            free_at = track.free_at
            if free_at and free_at[0] <= start:
                free_at[0] = stop
                head = track.heads[0]
            else:
                head = track.lane(start, stop)
            at = start // 1000
            # A number of nanoseconds with an exponent takes half as long as one with a point.
            if operation:
                add(
                    f'{head}{what}","ts":{at}e-3,"dur":{stop // 1000 - at}e-3,"args":{{"start_ps":'
                    f'{start},"dur_ps":{stop - start},"details":{words},"operation":{operation}}}'
                    f"{bound}}}"
                )
            else:
                add(
                    f'{head}{what}","ts":{at}e-3,"dur":{stop // 1000 - at}e-3,"args":{{"start_ps":'
                    f'{start},"dur_ps":{stop - start},"details":{words}}}}}'
                )
        self._file.flush()
        if self.sim.now > end:
            self._leave()

    def _level(self, block: str, time_ps: int, value: int) -> None:
        """Write a value of a counter."""
        head = self._counters.get(block)
        if head is None:
            head = self._counters[block] = self._tracks.counter(block)
        if head and time_ps >= self._begin:
            self._file.add(f'{head}{value}}},"ts":{time_ps // 1000}e-3}}')

    def _leave(self) -> None:
        """Let the run go on as if nobody had watched, unless somebody else does."""
        if self.sim.watchers == [self] and len(self.sim.listeners) == 1:
            self.sim.unwatch(self)

    def _end_of(self, operation: int, what: str) -> None:
        """Note that an operation is over, and show one of which nobody tells any more."""
        if (found := self._operations.get(operation)) is not None:
            found.what = what or found.what
            self._late.append(found)
            if len(self._late) > _LATE:
                self._show(self._operations.pop(self._late.popleft().number))

    def _show(self, operation: _Operation) -> None:
        """Show an operation on the track of its queue pair: steps that follow each other without a
        gap; those that take no time are left out."""
        track = self._tracks.track(operation.block.partition(".")[0], operation.queue)
        steps, end = [], operation.begin_ps
        for time_ps, event in sorted(operation.marks, key=itemgetter(0)):
            if time_ps > end:
                steps.append((end, time_ps, event))
                end = time_ps
        if track is None or not steps:
            return
        head = track.lane(operation.begin_ps, end)
        for start, stop, step in [(operation.begin_ps, end, operation.what), *steps]:
            self._file.slice(head, quoted(step)[1:-1], start, stop, operation.number)
