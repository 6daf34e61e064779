"""What can be said of a schedule before it runs: cycles, and messages without a partner."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence

from hcasim.apps.replay.graph import ANY, CALC, COLL, NAMES, RECV, SEND, Operations, Ranks
from hcasim.apps.replay.text import Faults

_SHOWN = 6
Name = Callable[[int, int], str]
"""The name of an operation, by its rank and number."""
_Channel = tuple[int, int, int]


def check(ranks: Ranks, faults: Faults, name: Name, groups: Sequence[Sequence[int]] = ()) -> None:
    """Find what keeps a schedule from ending.

    Parameters:
        faults: to which it is added.
        name: tells what an operation is called.
        groups: ranks of those that have collectives, by number.
    """
    for rank, operations in enumerate(ranks):
        if circle := _cycle(operations):
            shown = [name(rank, one) for one in circle]
            if len(shown) > _SHOWN:
                shown = [*shown[: _SHOWN - 1], "...", shown[-1]]
            faults.add(
                operations.lines[circle[0]],
                f"rank {rank}: found a cycle: {' requires '.join([*shown, shown[0]])}",
            )
    _check_partners(ranks, faults)
    if not faults:
        _check_order(ranks, faults, name, groups)


def _cycle(operations: Operations) -> list[int]:
    """Operations of which each requires the next, and the last one the first."""
    missing, followers = operations.missing(), operations.followers()
    ready = [one for one, count in enumerate(missing) if not count]
    left = len(operations) - len(ready)
    while ready:
        one = ready.pop()
        for later in (*followers.on_begin.get(one, ()), *followers.on_end.get(one, ())):
            missing[later] -= 1
            if not missing[later]:
                ready.append(later)
                left -= 1
    if not left:
        return []
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
    return list(path)[path[one] :]


def _check_partners(ranks: Ranks, faults: Faults) -> None:
    """Count the messages of each sender, receiver and tag, and compare their sizes."""
    sends: dict[_Channel, list[tuple[int, int]]] = defaultdict(list)
    recvs: dict[_Channel, list[tuple[int, int]]] = defaultdict(list)
    wild: set[int] = set()
    for rank, operations in enumerate(ranks):
        for kind, size, peer, tag, line in zip(
            operations.kinds,
            operations.sizes,
            operations.peers,
            operations.tags,
            operations.lines,
            strict=True,
        ):
            if kind == SEND:
                sends[rank, peer, tag].append((size, line))
            elif kind == RECV:
                recvs[peer, rank, tag].append((size, line))
                if ANY in (peer, tag):
                    wild.add(rank)
    for channel in sorted(sends.keys() | recvs.keys()):
        if channel[1] not in wild:
            _compare(channel, sends.get(channel, []), recvs.get(channel, []), faults)
    for rank in sorted(wild):
        _check_wild(rank, sends, recvs, faults)


def _check_wild(
    rank: int,
    sends: dict[_Channel, list[tuple[int, int]]],
    recvs: dict[_Channel, list[tuple[int, int]]],
    faults: Faults,
) -> None:
    """Check a rank some of whose receives take messages of any sender or tag."""
    to_it = {channel: found for channel, found in sends.items() if channel[1] == rank}
    by_it = {channel: found for channel, found in recvs.items() if channel[1] == rank}
    for (source, _, tag), found in by_it.items():
        able = sum(
            len(some)
            for (peer, _, other), some in to_it.items()
            if source in (ANY, peer) and tag in (ANY, other)
        )
        if able < len(found):
            source_text = "any rank" if source == ANY else f"rank {source}"
            tag_text = "any tag" if tag == ANY else f"tag {tag}"
            faults.add(
                found[able][1],
                f"rank {rank} receives {len(found)} messages of {source_text}, {tag_text}; "
                f"there are {able} sends",
            )
    sent, received = (sum(map(len, some.values())) for some in (to_it, by_it))
    if sent != received:
        faults.add(0, f"rank {rank} receives {received} messages; {sent} are sent to it")


def _compare(
    channel: _Channel,
    sends: list[tuple[int, int]],
    recvs: list[tuple[int, int]],
    faults: Faults,
) -> None:
    source, dest, tag = channel
    what = f"from rank {source} to rank {dest}, tag {tag}"
    if len(sends) > len(recvs):
        line = sends[len(recvs)][1]
        faults.add(line, f"send without a recv: {len(sends)} {what}; received: {len(recvs)}")
    elif len(sends) < len(recvs):
        line = recvs[len(sends)][1]
        faults.add(line, f"recv without a send: {len(recvs)} {what}; sent: {len(sends)}")
    else:
        # Independent operations meet in any order, so only what no order can mend is a fault.
        for (size, line), (room, where) in zip(sorted(sends), sorted(recvs), strict=True):
            if size > room:
                there = f"the recv in {faults.told(where)}" if where else "its recv"
                faults.add(line, f"send of {size} B {what}; {there} takes {room} B")
                break


class _Logical:
    """Runs a schedule in which nothing takes time and no send waits.

    A rank that is in a collective does nothing else.
    """

    def __init__(self, ranks: Ranks, groups: Sequence[Sequence[int]]) -> None:
        self.ranks = ranks
        self._sizes = [len(group) for group in groups]
        self._met: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self.inside: dict[int, int] = {}
        self._held: dict[int, list[int]] = {}
        self.missing = [operations.missing() for operations in ranks]
        self._followers = [operations.followers() for operations in ranks]
        self._ready = deque(
            (rank, one)
            for rank, missing in enumerate(self.missing)
            for one, count in enumerate(missing)
            if not count
        )
        self.arrived: list[Counter[tuple[int, int]]] = [Counter() for _ in ranks]
        self.posted: list[dict[tuple[int, int], deque[int]]] = [{} for _ in ranks]

    def run(self) -> None:
        """Do all that can be done."""
        while self._ready:
            rank, one = self._ready.popleft()
            if rank in self.inside:
                self._held.setdefault(rank, []).append(one)
                continue
            operations = self.ranks[rank]
            kind, peer, tag = operations.kinds[one], operations.peers[one], operations.tags[one]
            self._free(rank, self._followers[rank].on_begin, one)
            if kind == COLL:
                self._meet(rank, one, (tag, operations.sizes[one]))
                continue
            if kind == RECV:
                self._receive(rank, one, (peer, tag))
                continue
            self._free(rank, self._followers[rank].on_end, one)
            if kind == SEND:
                self._arrive(peer, (rank, tag))

    def _free(self, rank: int, followers: dict[int, list[int]], one: int) -> None:
        missing = self.missing[rank]
        for later in followers.get(one, ()):
            missing[later] -= 1
            if not missing[later]:
                self._ready.append((rank, later))

    def _receive(self, rank: int, one: int, wanted: tuple[int, int]) -> None:
        arrived = self.arrived[rank]
        source, tag = wanted
        if ANY in wanted:
            fits = (key for key in arrived if source in (ANY, key[0]) and tag in (ANY, key[1]))
            wanted = next(fits, wanted)
        if arrived[wanted]:
            arrived[wanted] -= 1
            if not arrived[wanted]:
                del arrived[wanted]
            self._free(rank, self._followers[rank].on_end, one)
        else:
            del arrived[wanted]
            self.posted[rank].setdefault((source, tag), deque()).append(one)

    def _meet(self, rank: int, one: int, which: tuple[int, int]) -> None:
        """Enter a collective; leave it with all others."""
        self.inside[rank] = one
        met = self._met.setdefault(which, [])
        met.append((rank, one))
        if len(met) < self._sizes[which[0]]:
            return
        for other, ended in self._met.pop(which):
            del self.inside[other]
            self._ready.extend((other, held) for held in self._held.pop(other, ()))
            self._free(other, self._followers[other].on_end, ended)

    def _arrive(self, rank: int, key: tuple[int, int]) -> None:
        posted = self.posted[rank]
        for wanted in (key, (ANY, key[1]), (key[0], ANY), (ANY, ANY)):
            if waiting := posted.get(wanted):
                self._free(rank, self._followers[rank].on_end, waiting.popleft())
                return
        self.arrived[rank][key] += 1


def _check_order(ranks: Ranks, faults: Faults, name: Name, groups: Sequence[Sequence[int]]) -> None:
    """Find what waits for each other in a circle through several ranks."""
    run = _Logical(ranks, groups)
    run.run()
    waiting = list(run.inside.items())
    waiting += [
        (rank, one)
        for rank, posted in enumerate(run.posted)
        for some in posted.values()
        for one in some
    ]
    if not waiting:
        return
    some = ", ".join(_told(ranks, rank, one, name) for rank, one in waiting[:_SHOWN])
    some += ", ..." * (len(waiting) > _SHOWN)
    rank, one = waiting[0]
    faults.add(ranks[rank].lines[one], f"found a circle of messages that wait for others: {some}")


def _told(ranks: Ranks, rank: int, one: int, name: Name) -> str:
    operations = ranks[rank]
    kind, peer = operations.kinds[one], operations.peers[one]
    assert kind != CALC
    if kind == COLL:
        return f"rank {rank} waits in {name(rank, one)}"
    source = "any rank" if peer == ANY else f"rank {peer}"
    return f"rank {rank} waits at {name(rank, one)} ({NAMES[kind]} from {source})"
