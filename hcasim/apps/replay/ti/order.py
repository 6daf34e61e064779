"""Runs a time-independent trace in which nothing takes time, to find who would wait for ever."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from typing import TYPE_CHECKING, Final

from hcasim.apps.replay.ti.actions import (
    ANY,
    BARRIER,
    FROM_ROOT,
    IRECV,
    ISEND,
    NAMES,
    RECV,
    SEND,
    SENDRECV,
    TO_ROOT,
    WAIT,
    WAITALL,
)

if TYPE_CHECKING:
    from hcasim.apps.replay.ti.reader import TiReader

_SHOWN: Final = 6
_Channel = tuple[int, int, int]
_Message = tuple[_Channel, int]
"""A message of a channel by its number, from 1."""


def check_order(trace: TiReader) -> None:
    """Find receives and collectives that wait for each other in a circle through several ranks.

    No send waits, and of collectives with a root only who needs the data: what waits here waits in
    every MPI library. Ranks that receive from any sender never wait here.
    """
    run = _Logical(trace)
    run.run()
    ranks = trace.ranks
    waiting = [rank for rank, at in enumerate(run.at) if at < len(ranks[rank])]
    if not waiting:
        return
    some = ", ".join(
        f"rank {rank} waits at {trace.files[rank]}:{ranks[rank].lines[run.at[rank]]} "
        f"({NAMES[ranks[rank].kinds[run.at[rank]]]})"
        for rank in waiting[:_SHOWN]
    )
    some += ", ..." * (len(waiting) > _SHOWN)
    first = waiting[0]
    trace.faults.name = trace.files[first]
    line = ranks[first].lines[run.at[first]]
    trace.faults.add(line, f"found a circle of ranks that wait for others: {some}")


class _Logical:
    """The ranks, each of which goes on as far as it can.

    Attributes:
        at: the action that a rank has come to.
    """

    def __init__(self, trace: TiReader) -> None:
        self._ranks = trace.ranks
        count = len(trace.ranks)
        self.at = [0] * count
        self._sent: Counter[_Channel] = Counter()
        self._received: Counter[_Channel] = Counter()
        # What a rank waits for before it goes on, and its requests.
        self._wanted: list[deque[_Message]] = [deque() for _ in range(count)]
        self._open: list[dict[_Channel, deque[int]]] = [{} for _ in range(count)]
        self._waiting: dict[_Channel, int] = {}
        # Of collectives: how many a rank has entered and left, and who is in each.
        self._entered = [0] * count
        self._left = [0] * count
        self._came: Counter[int] = Counter()
        self._inside: dict[int, list[int]] = defaultdict(list)
        self._ready = deque(range(count))
        self._lenient = [
            any(
                kind in (RECV, IRECV) and ANY in (peer, tag)
                for kind, peer, tag in zip(one.kinds, one.peers, one.tags, strict=True)
            )
            for one in trace.ranks
        ]

    def run(self) -> None:
        """Do all that can be done."""
        while self._ready:
            rank = self._ready.popleft()
            kinds = self._ranks[rank].kinds
            while self._may_go_on(rank) and self.at[rank] < len(kinds):
                if not self._do(rank, kinds[self.at[rank]], self.at[rank]):
                    break
                if not self._wanted[rank]:
                    self.at[rank] += 1

    def _may_go_on(self, rank: int) -> bool:
        wanted = self._wanted[rank]
        if not wanted:
            return True
        while wanted:
            channel, number = wanted[0]
            if self._sent[channel] < number:
                self._waiting[channel] = rank
                return False
            wanted.popleft()
        self.at[rank] += 1
        return True

    def _do(self, rank: int, kind: int, one: int) -> bool:
        """Do an action; return whether it is over, but for messages that it waits for."""
        actions = self._ranks[rank]
        peer, tag = actions.peers[one], actions.tags[one]
        if kind in (SEND, ISEND):
            self._send((rank, peer, tag))
        elif kind in (RECV, IRECV):
            self._receive(rank, (peer, rank, tag), waits=kind == RECV)
        elif kind == SENDRECV:
            self._send((rank, peer, 0))
            self._receive(rank, (tag, rank, 0), waits=True)
        elif kind == WAIT:
            channel = peer, actions.others[one], tag
            numbers = self._open[rank].get(channel)
            if numbers:
                self._wanted[rank].append((channel, numbers.popleft()))
        elif kind == WAITALL:
            for channel, numbers in self._open[rank].items():
                self._wanted[rank].extend((channel, number) for number in numbers)
            self._open[rank].clear()
        elif kind >= BARRIER:
            return self._collective(rank, kind, one)
        return True

    def _send(self, channel: _Channel) -> None:
        self._sent[channel] += 1
        waiting = self._waiting.pop(channel, None)
        if waiting is not None:
            self._ready.append(waiting)

    def _receive(self, rank: int, channel: _Channel, waits: bool) -> None:
        if self._lenient[rank]:
            return
        self._received[channel] += 1
        number = self._received[channel]
        if waits:
            self._wanted[rank].append((channel, number))
        else:
            self._open[rank].setdefault(channel, deque()).append(number)

    def _collective(self, rank: int, kind: int, one: int) -> bool:
        number, root = self._left[rank], self._ranks[rank].peers[one]
        if self._entered[rank] == number:
            self._entered[rank] += 1
            self._came[number] += 1
            if self._came[number] == len(self._ranks) or (kind in FROM_ROOT and rank == root):
                self._ready.extend(self._inside.pop(number, ()))
        if kind in FROM_ROOT:
            over = self._entered[root] > number
        else:
            over = (kind in TO_ROOT and rank != root) or self._came[number] == len(self._ranks)
        if over:
            self._left[rank] += 1
        else:
            self._inside[number].append(rank)
        return over
