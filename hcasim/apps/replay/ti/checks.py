"""What can be said of a time-independent trace before it runs: partners, requests, collectives."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from typing import Final

from hcasim.apps.replay.text import TooMuchWrong
from hcasim.apps.replay.ti.actions import (
    ALLGATHERV,
    ALLTOALLV,
    ANY,
    BARRIER,
    FROM_ROOT,
    GATHERV,
    IRECV,
    ISEND,
    NAMES,
    RECV,
    ROOTED,
    SCATTERV,
    SEND,
    SENDRECV,
    TEST,
    UNKNOWN,
    WAIT,
    WAITALL,
)
from hcasim.apps.replay.ti.order import check_order
from hcasim.apps.replay.ti.reader import TiReader

_COUNTED: Final = (GATHERV, SCATTERV, ALLTOALLV)
"""Collectives whose parts differ, and are not known everywhere."""
Channel = tuple[int, int, int]
"""Sender, receiver and tag."""


def check(trace: TiReader) -> None:
    """Find what keeps a trace from ending, and fill in the sizes that receives do not tell."""
    if trace.faults:
        return
    try:
        for rank in range(len(trace.ranks)):
            _check_requests(trace, rank)
        _Partners(trace).check()
        _Collectives(trace).check()
        if not trace.faults:
            check_order(trace)
    except TooMuchWrong:
        pass


def where(trace: TiReader, rank: int, one: int) -> str:
    """The place of an action, as messages show it."""
    return f"{trace.files[rank]}:{trace.ranks[rank].lines[one]}"


def add(trace: TiReader, rank: int, one: int | None, reason: str) -> None:
    """Add what is wrong with an action, or with a rank."""
    faults = trace.faults
    name, faults.name = faults.name, trace.files[rank]
    try:
        faults.add(0 if one is None else trace.ranks[rank].lines[one], reason)
    finally:
        faults.name = name


def _check_requests(trace: TiReader, rank: int) -> None:
    """Find what waits for a message that has not been begun."""
    actions = trace.ranks[rank]
    kinds, peers, tags = actions.kinds, actions.peers, actions.tags
    open_: Counter[Channel] = Counter()
    tested: set[Channel] = set()
    wild = False
    for one, kind in enumerate(kinds):
        if kind == ISEND:
            open_[rank, peers[one], tags[one]] += 1
        elif kind == IRECV:
            wild = wild or ANY in (peers[one], tags[one])
            open_[peers[one], rank, tags[one]] += 1
        elif kind == WAITALL:
            open_.clear()
        elif kind in (WAIT, TEST):
            channel = peers[one], actions.others[one], tags[one]
            if not open_[channel]:
                # A test may have been the last of its request, and be followed by others.
                if channel not in tested and not (wild and channel[1] == rank):
                    source, dest, tag = channel
                    what = f"from rank {source} to rank {dest}, tag {tag}"
                    begun = "nothing that has begun and is not waited for"
                    add(trace, rank, one, f"{NAMES[kind]}: found {begun} {what}")
            elif kind == WAIT:
                open_[channel] -= 1
            else:
                tested.add(channel)


class _Partners:
    """The sends and receives of a trace, which meet in the order of their ranks."""

    def __init__(self, trace: TiReader) -> None:
        self._trace = trace
        self._sends: dict[Channel, array[int]] = defaultdict(_places)
        self._recvs: dict[Channel, array[int]] = defaultdict(_places)
        self._wild: set[int] = set()
        for rank, actions in enumerate(trace.ranks):
            peers, tags = actions.peers, actions.tags
            for one, kind in enumerate(actions.kinds):
                if kind in (SEND, ISEND):
                    self._sends[rank, peers[one], tags[one]].append(one)
                elif kind in (RECV, IRECV):
                    self._recvs[peers[one], rank, tags[one]].append(one)
                    if ANY in (peers[one], tags[one]):
                        self._wild.add(rank)
                elif kind == SENDRECV:
                    self._sends[rank, peers[one], 0].append(one)
                    self._recvs[tags[one], rank, 0].append(one)

    def check(self) -> None:
        for channel in sorted(self._sends.keys() | self._recvs.keys()):
            if channel[1] not in self._wild:
                self._compare(channel)
        for rank in sorted(self._wild):
            self._check_wild(rank)

    def _compare(self, channel: Channel) -> None:
        trace = self._trace
        source, dest, tag = channel
        sends, recvs = self._sends.get(channel, _NONE), self._recvs.get(channel, _NONE)
        what = f"from rank {source} to rank {dest}, tag {tag}"
        if len(sends) > len(recvs):
            count = f"{len(sends)} {what}; received: {len(recvs)}"
            add(trace, source, sends[len(recvs)], f"send without a recv: {count}")
        elif len(sends) < len(recvs):
            count = f"{len(recvs)} {what}; sent: {len(sends)}"
            add(trace, dest, recvs[len(sends)], f"recv without a send: {count}")
        for send, recv in zip(sends, recvs, strict=False):
            size, room = trace.ranks[source].sizes[send], self._room(dest, recv)
            if room == UNKNOWN:
                trace.ranks[dest].sizes[recv] = size
            elif size > room:
                there = f"its recv in {where(trace, dest, recv)} takes {room} B"
                add(trace, source, send, f"send of {size} B {what}; {there}")
                return

    def _room(self, rank: int, one: int) -> int:
        actions = self._trace.ranks[rank]
        return actions.others[one] if actions.kinds[one] == SENDRECV else actions.sizes[one]

    def _check_wild(self, rank: int) -> None:
        """Check a rank some of whose receives take messages of any sender or tag."""
        trace, actions = self._trace, self._trace.ranks[rank]
        to_it = {channel: some for channel, some in self._sends.items() if channel[1] == rank}
        by_it = {channel: some for channel, some in self._recvs.items() if channel[1] == rank}
        sent, received = (sum(map(len, some.values())) for some in (to_it, by_it))
        if sent != received:
            add(
                trace,
                rank,
                None,
                f"rank {rank} receives {received} messages; {sent} are sent to it",
            )
        for (source, _, tag), some in by_it.items():
            able = [
                trace.ranks[peer].sizes[one]
                for (peer, _, other), sends in to_it.items()
                if source in (ANY, peer) and tag in (ANY, other)
                for one in sends
            ]
            if len(able) < len(some):
                source_text = "any rank" if source == ANY else f"rank {source}"
                tag_text = "any tag" if tag == ANY else f"tag {tag}"
                what = f"{len(some)} messages of {source_text}, {tag_text}"
                there = f"there are {len(able)} sends"
                add(trace, rank, some[len(able)], f"rank {rank} receives {what}; {there}")
            most = max(able, default=0)
            for one in some:
                if actions.kinds[one] != SENDRECV and actions.sizes[one] == UNKNOWN:
                    actions.sizes[one] = most


def _places() -> array[int]:
    return array("q")


_NONE: Final = _places()


class _Collectives:
    """The collectives of a trace, each of which all ranks have to call in the same order."""

    def __init__(self, trace: TiReader) -> None:
        self._trace = trace
        self._calls = [
            array("q", [one for one, kind in enumerate(actions.kinds) if kind >= BARRIER])
            for actions in trace.ranks
        ]
        self._exchanged: set[tuple[int, ...]] = set()

    def check(self) -> None:
        trace, calls = self._trace, self._calls
        for number in range(min(map(len, calls))):
            if not self._alike(number):
                return
            kind = trace.ranks[0].kinds[calls[0][number]]
            if kind in _COUNTED:
                self._check_counts(kind, number)
        first = len(calls[0])
        for rank, some in enumerate(calls):
            if len(some) != first:
                here = f"rank {rank} calls {len(some)} collectives, rank 0 {first}"
                add(trace, rank, some[first] if len(some) > first else None, here)

    def _alike(self, number: int) -> bool:
        """Whether all call the same with the same root and the same sizes."""
        trace = self._trace
        wanted = self._said(0, number)
        alike = True
        for rank in range(1, len(trace.ranks)):
            found = self._said(rank, number)
            if found != wanted:
                there = f"rank 0 calls {_told(wanted)} in {where(trace, 0, self._calls[0][number])}"
                one = self._calls[rank][number]
                add(trace, rank, one, f"found {_told(found)} of rank {rank}, where {there}")
                alike = False
        return alike

    def _said(self, rank: int, number: int) -> tuple[int, int, int, int]:
        actions, one = self._trace.ranks[rank], self._calls[rank][number]
        kind, root = actions.kinds[one], actions.peers[one]
        if kind in _COUNTED:
            return kind, root, 0, 0
        # The counts tell how long the own part is.
        size = 0 if kind == ALLGATHERV else actions.sizes[one]
        return kind, root, size, actions.others[one]

    def _check_counts(self, kind: int, number: int) -> None:
        trace, ranks = self._trace, len(self._trace.ranks)
        if kind == ALLTOALLV:
            places = tuple(
                actions.others[calls[number]]
                for actions, calls in zip(trace.ranks, self._calls, strict=True)
            )
            if places not in self._exchanged:
                self._exchanged.add(places)
                self._check_exchange(places, number)
            return
        root = trace.ranks[0].peers[self._calls[0][number]]
        one = self._calls[root][number]
        counts = trace.counts.take(trace.ranks[root].others[one], ranks)
        for rank, count in enumerate(counts):
            here = self._calls[rank][number]
            size = trace.ranks[rank].sizes[here]
            if size != count:
                there = f"allowed: {count} B, as the root has in {where(trace, root, one)}"
                add(trace, rank, here, f"{NAMES[kind]}: found {size} B of rank {rank}; {there}")

    def _check_exchange(self, places: tuple[int, ...], number: int) -> None:
        """Compare what each sends to each with what that receives."""
        from numpy import array as numbers
        from numpy import frombuffer, nonzero

        trace, ranks = self._trace, len(places)
        all_counts = frombuffer(trace.counts.numbers, dtype="int64")
        received_at = numbers(places) + ranks
        for rank, place in enumerate(places):
            sent, received = all_counts[place : place + ranks], all_counts[received_at + rank]
            for peer in nonzero(sent != received)[0][:1].tolist():
                there = where(trace, peer, self._calls[peer][number])
                what = f"{sent[peer]} B from rank {rank} to rank {peer}"
                said = f"allowed: {received[peer]} B, as it receives in {there}"
                add(trace, rank, self._calls[rank][number], f"alltoallv: found {what}; {said}")


def _told(said: tuple[int, int, int, int]) -> str:
    kind, root, size, _ = said
    name = NAMES[kind]
    if kind in ROOTED:
        name += f" {'from' if kind in FROM_ROOT else 'to'} root {root}"
    return f"{name} of {size} B" if size else name
