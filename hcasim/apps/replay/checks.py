"""What can be said of a trace before it runs: cycles, and messages without a partner."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict, deque
from typing import Final

from hcasim.apps.replay.collectives import FROM_ROOT, TO_ROOT
from hcasim.apps.replay.operations import (
    ANY,
    COLL,
    NAMES,
    RECV,
    RECVS,
    SENDS,
    UNKNOWN,
    Followers,
)
from hcasim.apps.replay.text import refuse
from hcasim.apps.replay.trace import Trace

_SHOWN: Final = 6
_Channel = tuple[int, int, int]
"""Sender, receiver and tag."""
_Channels = dict[_Channel, "array[int]"]


def check(trace: Trace) -> None:
    """Find what keeps a trace from ending, and fill in the sizes that receives do not tell.

    Raises:
        CatalogError: the first that is found.
    """
    followers = [Followers(operations) for operations in trace.operations]
    if not trace.in_order:
        for rank in range(trace.ranks):
            _check_cycle(trace, rank, followers[rank])
    if trace.collectives is not None:
        trace.collectives.check(trace.where)
    wild = _Partners(trace).check()
    _check_order(trace, followers, wild)


def _check_cycle(trace: Trace, rank: int, followers: Followers) -> None:
    """Find operations of which each requires the next, and the last one the first."""
    operations = trace.operations[rank]
    missing = operations.missing()
    ready = [one for one, count in enumerate(missing) if not count]
    left = len(operations)
    while ready:
        left -= 1
        for later in followers.of(ready.pop(), True, False):
            missing[later] -= 1
            if not missing[later]:
                ready.append(later)
    if not left:
        return
    required = {
        later: earlier
        for later, earlier in zip(operations.later, operations.earlier, strict=True)
        if missing[later] and missing[earlier]
    }
    # Whoever is left waits for somebody who is left.
    one = next(iter(required))
    path: dict[int, int] = {}
    while one not in path:
        path[one] = len(path)
        one = required[one]
    circle = [operations.lines[one] for one in list(path)[path[one] :]]
    some = ", ".join(map(str, circle[:_SHOWN])) + ", ..." * (len(circle) > _SHOWN)
    found = f"found a cycle, in which each requires the next and the last the first: {some}"
    refuse(trace.where(rank, circle[0]), f"rank {rank}: {found}")


class _Partners:
    """The sends and receives of each sender, receiver and tag."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._sends: _Channels = defaultdict(lambda: array("q"))
        self._recvs: _Channels = defaultdict(lambda: array("q"))
        for rank, operations in enumerate(trace.operations):
            columns = zip(operations.kinds, operations.peers, operations.tags, strict=True)
            for one, (kind, peer, tag) in enumerate(columns):
                if kind in SENDS:
                    self._sends[rank, peer, tag].append(one)
                elif kind in RECVS:
                    self._recvs[peer, rank, tag].append(one)

    def check(self) -> set[int]:
        """Compare them; return the ranks that receive from any sender, or any tag."""
        wild = {dest for source, dest, tag in self._recvs if ANY in (source, tag)}
        for channel in sorted(self._sends.keys() | self._recvs.keys()):
            if channel[1] not in wild:
                self._compare(channel)
        for rank in sorted(wild):
            self._check_wild(rank)
        return wild

    def _place(self, rank: int, one: int) -> str:
        return self._trace.where(rank, self._trace.operations[rank].lines[one])

    def _compare(self, channel: _Channel) -> None:
        source, dest, tag = channel
        sends, recvs = self._sends[channel], self._recvs[channel]
        what = f"from rank {source} to rank {dest}, tag {tag}"
        if len(sends) > len(recvs):
            found = f"send without a recv: {len(sends)} {what}; received: {len(recvs)}"
            refuse(self._place(source, sends[len(recvs)]), found)
        if len(sends) < len(recvs):
            found = f"recv without a send: {len(recvs)} {what}; sent: {len(sends)}"
            refuse(self._place(dest, recvs[len(sends)]), found)
        sizes, rooms = (self._trace.operations[rank].sizes for rank in (source, dest))
        ordered: tuple[list[int], list[int]] = list(sends), list(recvs)
        if not self._trace.in_order:
            # Independent operations meet in any order: only what no order can mend is a fault.
            ordered = sorted(sends, key=sizes.__getitem__), sorted(recvs, key=rooms.__getitem__)
        for send, recv in zip(*ordered, strict=True):
            if rooms[recv] == UNKNOWN:
                rooms[recv] = sizes[send]
            elif sizes[send] > rooms[recv]:
                there = f"its recv in {self._place(dest, recv)} takes {rooms[recv]} B"
                refuse(self._place(source, send), f"send of {sizes[send]} B {what}; {there}")

    def _check_wild(self, rank: int) -> None:
        """Check a rank some of whose receives take messages of any sender or tag."""
        to_it = {channel: found for channel, found in self._sends.items() if channel[1] == rank}
        by_it = {channel: found for channel, found in self._recvs.items() if channel[1] == rank}
        rooms = self._trace.operations[rank].sizes
        for (source, _, tag), found in by_it.items():
            able = [
                self._trace.operations[peer].sizes[one]
                for (peer, _, other), sends in to_it.items()
                if source in (ANY, peer) and tag in (ANY, other)
                for one in sends
            ]
            if len(able) < len(found):
                source_text = "any rank" if source == ANY else f"rank {source}"
                tag_text = "any tag" if tag == ANY else f"tag {tag}"
                what = f"{len(found)} messages of {source_text}, {tag_text}"
                sent = f"rank {rank} receives {what}; there are {len(able)} sends"
                refuse(self._place(rank, found[len(able)]), sent)
            for one in found:
                if rooms[one] == UNKNOWN:
                    rooms[one] = max(able)
        total, received = (sum(map(len, some.values())) for some in (to_it, by_it))
        if total != received:
            received_text = f"rank {rank} receives {received} messages"
            refuse(self._trace.name, f"{received_text}; {total} are sent to it")


class _Logical:
    """Runs a trace in which nothing takes time, to find who would wait for ever.

    No send waits, and of collectives with a root only who needs the data: what waits here waits in
    every MPI library. Ranks that receive from any sender never wait for messages here. A rank that
    is in a collective does nothing else.

    Attributes:
        waiting: operations, by rank and number, that have begun and not ended.
    """

    def __init__(self, trace: Trace, followers: list[Followers], wild: set[int]) -> None:
        self._trace, self._ranks = trace, trace.operations
        self._followers, self._wild = followers, wild
        self._missing = [operations.missing() for operations in self._ranks]
        self._ready = deque(
            (rank, one)
            for rank, missing in enumerate(self._missing)
            for one, count in enumerate(missing)
            if not count
        )
        self.waiting: dict[tuple[int, int], None] = {}
        self._arrived: Counter[_Channel] = Counter()
        self._posted: dict[_Channel, deque[int]] = defaultdict(deque)
        # Of collectives, by group and place: how many have come, who waits, and which nobody
        # has to wait for any more; of ranks in them, what is ready meanwhile.
        self._came: Counter[tuple[int, int]] = Counter()
        self._inside: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
        self._over: set[tuple[int, int]] = set()
        self._held: dict[int, list[tuple[int, int]]] = {}

    def run(self) -> None:
        """Do all that can be done."""
        while self._ready:
            rank, one = self._ready.popleft()
            if rank in self._held:
                self._held[rank].append((rank, one))
                continue
            operations = self._ranks[rank]
            kind, peer, tag = operations.kinds[one], operations.peers[one], operations.tags[one]
            self.waiting[rank, one] = None
            self._free(rank, one, begun=True)
            if kind == COLL:
                self._meet(rank, one, (tag, operations.sizes[one]))
            elif kind in RECVS and rank not in self._wild:
                self._receive((peer, rank, tag), one)
            else:
                self._end(rank, one)
                if kind in SENDS:
                    self._arrive((rank, peer, tag))

    def _free(self, rank: int, one: int, begun: bool) -> None:
        missing = self._missing[rank]
        for later in self._followers[rank].of(one, begun):
            missing[later] -= 1
            if not missing[later]:
                self._ready.append((rank, later))

    def _end(self, rank: int, one: int) -> None:
        del self.waiting[rank, one]
        self._free(rank, one, begun=False)

    def _receive(self, channel: _Channel, one: int) -> None:
        if self._arrived[channel]:
            self._arrived[channel] -= 1
            self._end(channel[1], one)
        else:
            self._posted[channel].append(one)

    def _arrive(self, channel: _Channel) -> None:
        if waiting := self._posted.get(channel):
            self._end(channel[1], waiting.popleft())
        else:
            self._arrived[channel] += 1

    def _meet(self, rank: int, one: int, which: tuple[int, int]) -> None:
        """Enter a collective; leave it with all who need nothing more."""
        collectives = self._trace.collectives
        assert collectives is not None
        call, root = collectives.call(*which)
        self._came[which] += 1
        self._held[rank] = []
        inside = self._inside[which]
        inside.append((rank, one))
        everybody = self._came[which] == len(collectives.groups[which[0]])
        if everybody or (call in FROM_ROOT and rank == root):
            self._over.add(which)
        leaving = []
        if which in self._over:
            leaving, self._inside[which] = inside, []
        elif call in TO_ROOT and rank != root:
            leaving = [inside.pop()]
        for other, ended in leaving:
            self._ready.extend(self._held.pop(other))
            self._end(other, ended)


def _check_order(trace: Trace, followers: list[Followers], wild: set[int]) -> None:
    """Find what waits for each other in a circle through several ranks."""
    run = _Logical(trace, followers, wild)
    run.run()
    if not run.waiting:
        return
    waiting = [*run.waiting]
    some = ", ".join(_told(trace, rank, one) for rank, one in waiting[:_SHOWN])
    some += ", ..." * (len(waiting) > _SHOWN)
    rank, one = waiting[0]
    place = trace.where(rank, trace.operations[rank].lines[one])
    refuse(place, f"found a circle of ranks that wait for each other: {some}")


def _told(trace: Trace, rank: int, one: int) -> str:
    operations = trace.operations[rank]
    kind, peer = operations.kinds[one], operations.peers[one]
    what = f"{NAMES[RECV]} from rank {peer}"
    if kind == COLL:
        assert trace.collectives is not None
        what = trace.collectives.call(operations.tags[one], operations.sizes[one])[0]
    return f"rank {rank} waits at {trace.where(rank, operations.lines[one])} ({what})"
