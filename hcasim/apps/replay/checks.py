"""What can be said of a trace before it runs: cycles, and messages without a partner."""

from __future__ import annotations

from array import array
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from operator import gt
from typing import Final

from hcasim.apps.replay.operations import ANY, RECVS, SENDS, UNKNOWN
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
    if not trace.in_order:
        for rank in range(trace.ranks):
            _check_cycle(trace, rank)
    if trace.collectives is not None:
        trace.collectives.check(trace.places)
    _Partners(trace).check()


def _check_cycle(trace: Trace, rank: int) -> None:
    """Find operations of which each requires the next, and the last one the first."""
    operations = trace.operations[rank]
    if all(map(gt, operations.later, operations.earlier)):
        return
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for later, earlier in zip(operations.later, operations.earlier, strict=True):
        sorter.add(later, earlier)
    try:
        sorter.prepare()
    except CycleError as error:
        # From each to what requires it; the first stands at the end again.
        circle = error.args[1][:0:-1]
    else:
        return
    first = circle.index(min(circle))
    circle = circle[first:] + circle[:first]
    some = ", ".join(str(operations.lines[one]) for one in circle[:_SHOWN])
    some += ", ..." * (len(circle) > _SHOWN)
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

    def check(self) -> None:
        """Compare them, those to ranks that receive from any sender, or any tag, by rank."""
        wild = {dest for source, dest, tag in self._recvs if ANY in (source, tag)}
        for channel in sorted(self._sends.keys() | self._recvs.keys()):
            if channel[1] not in wild:
                self._compare(channel)
        for rank in sorted(wild):
            self._check_wild(rank)

    def _compare(self, channel: _Channel) -> None:
        source, dest, tag = channel
        sends, recvs, where = self._sends[channel], self._recvs[channel], self._trace.where
        what = f"from rank {source} to rank {dest}, tag {tag}"
        if len(sends) > len(recvs):
            found = f"send without a recv: {len(sends)} {what}; received: {len(recvs)}"
            refuse(where(source, sends[len(recvs)]), found)
        if len(sends) < len(recvs):
            found = f"recv without a send: {len(recvs)} {what}; sent: {len(sends)}"
            refuse(where(dest, recvs[len(sends)]), found)
        sizes, rooms = (self._trace.operations[rank].sizes for rank in (source, dest))
        ordered: tuple[list[int], list[int]] = list(sends), list(recvs)
        if not self._trace.in_order:
            # Independent operations meet in any order: only what no order can mend is a fault.
            ordered = sorted(sends, key=sizes.__getitem__), sorted(recvs, key=rooms.__getitem__)
        for send, recv in zip(*ordered, strict=True):
            if rooms[recv] == UNKNOWN:
                rooms[recv] = sizes[send]
            elif sizes[send] > rooms[recv]:
                there = f"its recv in {where(dest, recv)} takes {rooms[recv]} B"
                refuse(where(source, send), f"send of {sizes[send]} B {what}; {there}")

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
            for one in found:
                if rooms[one] == UNKNOWN:
                    rooms[one] = max(able, default=0)
        total, received = (sum(map(len, some.values())) for some in (to_it, by_it))
        if total != received:
            received_text = f"rank {rank} receives {received} messages"
            refuse(self._trace.name, f"{received_text}; {total} are sent to it")
