"""What can be said of a trace before it runs: cycles, and messages without a partner."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from graphlib import CycleError, TopologicalSorter
from operator import gt
from typing import Final

from hcasim.apps.replay.operations import ANY, Kind
from hcasim.apps.replay.text import refuse
from hcasim.apps.replay.trace import Trace

_SHOWN: Final = 6
_Channel = tuple[int, int, int]
"""Sender, receiver and tag."""
_Channels = dict[_Channel, "array[int]"]


def check(trace: Trace) -> None:
    """Raise a CatalogError with the first thing that keeps a trace from ending."""
    for rank in range(trace.ranks):
        _check_cycle(trace, rank)
    if trace.collectives is not None:
        trace.collectives.check(trace.places)
    _check_messages(trace)


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


def _check_messages(trace: Trace) -> None:
    """Compare sends and receives; by rank where it receives from any sender, or any tag."""
    sends: _Channels = defaultdict(lambda: array("q"))
    recvs: _Channels = defaultdict(lambda: array("q"))
    for rank, operations in enumerate(trace.operations):
        columns = zip(operations.kinds, operations.peers, operations.tags, strict=True)
        for one, (kind, peer, tag) in enumerate(columns):
            if kind == Kind.SEND:
                sends[rank, peer, tag].append(one)
            elif kind == Kind.RECV:
                recvs[peer, rank, tag].append(one)
    wild = {dest for source, dest, tag in recvs if ANY in (source, tag)}
    for channel in sorted(sends.keys() | recvs.keys()):
        if channel[1] not in wild:
            _compare(trace, channel, sends[channel], recvs[channel])
    counts = Counter[int](), Counter[int]()
    for count, some in zip(counts, (sends, recvs), strict=True):
        for (_, dest, _), found in some.items():
            count[dest] += len(found)
    for rank in sorted(wild):
        sent, received = (count[rank] for count in counts)
        if sent != received:
            found_text = f"rank {rank} receives {received} messages; {sent} are sent to it"
            refuse(trace.name, found_text)


def _compare(trace: Trace, channel: _Channel, sends: array[int], recvs: array[int]) -> None:
    (source, dest, tag), where = channel, trace.where
    what = f"from rank {source} to rank {dest}, tag {tag}"
    if len(sends) > len(recvs):
        found = f"send without a recv: {len(sends)} {what}; received: {len(recvs)}"
        refuse(where(source, sends[len(recvs)]), found)
    if len(sends) < len(recvs):
        found = f"recv without a send: {len(recvs)} {what}; sent: {len(sends)}"
        refuse(where(dest, recvs[len(sends)]), found)
    sizes, rooms = (trace.operations[rank].sizes for rank in (source, dest))
    # Independent operations meet in any order: only what no order can mend is a fault.
    ordered = sorted(sends, key=sizes.__getitem__), sorted(recvs, key=rooms.__getitem__)
    for send, recv in zip(*ordered, strict=True):
        if sizes[send] > rooms[recv]:
            there = f"its recv in {where(dest, recv)} takes {rooms[recv]} B"
            refuse(where(source, send), f"send of {sizes[send]} B {what}; {there}")
