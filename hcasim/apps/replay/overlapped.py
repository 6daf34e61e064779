"""Replays schedules on machines that are asked for everything at once, as LogGP machines are."""

from __future__ import annotations

from array import array
from collections.abc import Generator
from typing import Any, Protocol, runtime_checkable

from hcasim.apps.replay.graph import CALC, SEND, Followers, Operations
from hcasim.apps.replay.trace import Counter, Steps
from hcasim.engine import Event


@runtime_checkable
class Overlapping(Protocol):
    """A communicator that begins calculations and messages in no time, by thread."""

    def icompute(self, size_ps: int, thread: int = 0, after_ps: int | None = None) -> Any:
        """Begin to compute."""

    def watch(self) -> None:
        """Keep what changes."""

    def changed(self) -> Generator[Event, object, list[tuple[Any, bool, int]]]:
        """Wait until something begins or ends: what, whether it ends, and when in ps."""


class Prepared(Protocol):
    """The messages of a schedule."""

    def operations(self, rank: int) -> Operations:
        """The operations of a rank."""

    def peer(self, peer: int) -> int:
        """A rank, or any."""

    def tag(self, tag: int) -> int:
        """The tag of a message."""

    def room(self, source: int, dest: int, tag: int) -> int:
        """Bytes that a receive may have to take."""


def replay_overlapped(trace: Prepared, comm: Any, counter: Counter) -> Steps:
    """Hand over what is ready, until all has ended.

    Parameters:
        comm: that is `Overlapping`.
    """
    operations = trace.operations(comm.rank)
    missing, followers = operations.missing(), operations.followers()
    after = array("q", bytes(8 * len(operations)))
    left = len(operations)
    numbers: dict[Any, int] = {}
    ready = [one for one, count in enumerate(missing) if not count]
    comm.watch()
    while left:
        # Sends first and calculations last, as in LogGOPSim.
        for one in sorted(ready, key=lambda one: (operations.kinds[one] - SEND) % 3):
            request = yield from _begin(trace, operations, comm, one, after[one])
            numbers[request] = one
        ready = []
        for request, ends, at in (yield from comm.changed()):
            one = numbers[request]
            if ends:
                left -= 1
                counter.count()
                del numbers[request]
            for later in _waiting(followers, one, ends):
                after[later] = max(after[later], at)
                missing[later] -= 1
                if not missing[later]:
                    ready.append(later)


def _waiting(followers: Followers, one: int, ends: bool) -> list[int]:
    return (followers.on_end if ends else followers.on_begin).get(one, [])


def _begin(
    trace: Prepared, operations: Operations, comm: Any, one: int, after_ps: int
) -> Generator[Event, object, Any]:
    kind, size, thread = operations.kinds[one], operations.sizes[one], operations.threads[one]
    if kind == CALC:
        return comm.icompute(size, thread=thread, after_ps=after_ps)
    peer, tag = operations.peers[one], operations.tags[one]
    further = {"thread": thread, "adapter": operations.adapters[one], "after_ps": after_ps}
    if kind == SEND:
        return (yield from comm.isend(size, peer, trace.tag(tag), **further))
    room = max(size, trace.room(peer, comm.rank, tag))
    return (yield from comm.irecv(room, trace.peer(peer), trace.tag(tag), **further))
