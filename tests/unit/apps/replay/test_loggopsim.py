"""On a LogGP machine, schedules take as long as LogGOPSim prints for them."""

from collections import defaultdict
from heapq import heappop, heappush
from itertools import count
from pathlib import Path

import pytest

from hcasim.apps.replay import read_schedule
from hcasim.apps.replay.operations import CALC, SEND, Followers, Ranks


def finished(
    ranks: Ranks, L: int = 2500, o: int = 1500, g: int = 1000, G: int = 6, S: int = 65535
) -> list[int]:
    """When the processor of each rank is free, in ns, as src/LogGOPSim/LogGOPSim.cpp has it.

    A message of more than S bytes lets its sender go on when message and receive have met.
    """
    cpu: dict[tuple[int, int], int] = defaultdict(int)
    out, into = [0] * len(ranks), [0] * len(ranks)
    after: dict[tuple[int, int], int] = defaultdict(int)
    missing, followers = [one.missing() for one in ranks], [Followers(one) for one in ranks]
    early: list[tuple[int, int, int]] = []
    posted: list[tuple[int, int]] = []
    steps: list[tuple[int, int, int, int, bool]] = []
    serial = count()

    def ask(now: int, rank: int, ready: list[int]) -> None:
        for one in sorted(ready, key=lambda one: (ranks[rank].kinds[one] - SEND) % 3):
            at = max(now, after[rank, one], cpu[rank, ranks[rank].threads[one]])
            heappush(steps, (at, next(serial), rank, one, False))

    def tell(now: int, rank: int, one: int, begun: bool, at: int) -> None:
        ready = []
        for later in followers[rank].of(one, begun):
            after[rank, later] = max(after[rank, later], at)
            missing[rank][later] -= 1
            if not missing[rank][later]:
                ready.append(later)
        ask(now, rank, ready)

    def meet(now: int, sender: int, send: int, receiver: int, recv: int, end: int) -> None:
        if ranks[sender].sizes[send] > S:
            cpu[sender, 0], out[sender] = max(cpu[sender, 0], now), max(out[sender], now)
            tell(now, sender, send, False, max(now, cpu[sender, 0]))
        tell(now, receiver, recv, False, end)

    def fits(sender: int, send: int, receiver: int, recv: int) -> bool:
        one, other = ranks[sender], ranks[receiver]
        there = one.peers[send] == receiver and other.peers[recv] == sender
        return there and one.tags[send] == other.tags[recv]

    for rank, counts in enumerate(missing):
        ask(0, rank, [one for one, number in enumerate(counts) if not number])
    while steps:
        now, number, rank, one, arrives = heappop(steps)
        here = ranks[rank]
        thread, size, peer = here.threads[one], here.sizes[one], here.peers[one]
        more = max(size - 1, 0)
        if arrives:
            if (free := max(cpu[peer, 0], into[peer])) > now:
                heappush(steps, (free, number, rank, one, True))
                continue
            end = cpu[peer, 0] = now + o + more * G
            into[peer] = now + g + more * G
            found = next((two for two in posted if fits(rank, one, *two)), None)
            if found is None:
                early.append((rank, one, end))
            else:
                posted.remove(found)
                meet(now, rank, one, *found, end)
        elif here.kinds[one] in (CALC, SEND):
            sends = here.kinds[one] == SEND
            if (free := max(cpu[rank, thread], out[rank] * sends)) > now:
                heappush(steps, (free, number, rank, one, False))
                continue
            cpu[rank, thread] = now + (o if sends else size // 1000)
            if sends:
                out[rank] = now + g + more * G
                heappush(steps, (now + o + L, next(serial), rank, one, True))
            tell(now, rank, one, True, now)
            if not sends or size <= S:
                tell(now, rank, one, False, cpu[rank, thread])
        else:
            tell(now, rank, one, True, now)
            waiting = next((two for two in early if fits(*two[:2], rank, one)), None)
            if waiting is None:
                posted.append((rank, one))
            else:
                early.remove(waiting)
                meet(now, *waiting[:2], rank, one, max(now, waiting[2]))
    return [max(cpu[rank, thread] for thread in range(2)) for rank in range(len(ranks))]


REDUCTION = (
    "a: recv 1024b from 1\nb: recv 1024b from 2\nc: recv 1024b from 4",
    "s: send 1024b to 0",
    "a: recv 1024b from 3\ns: send 1024b to 0\ns requires a",
    "s: send 1024b to 2",
    "a: recv 1024b from 5\nb: recv 1024b from 6\ns: send 1024b to 0\ns requires a\ns requires b",
    "s: send 1024b to 4",
    "a: recv 1024b from 7\ns: send 1024b to 4\ns requires a",
    "s: send 1024b to 6",
)


@pytest.mark.parametrize(
    ("eager", "ends"),
    [
        (65535, [34914, 1500, 13138, 1500, 24776, 1500, 13138, 1500]),
        (100, [34914, 4000, 15638, 4000, 27276, 4000, 15638, 4000]),
    ],
)
def test_times_are_those_that_loggopsim_prints(tmp_path: Path, eager: int, ends: list[int]) -> None:
    """LogGOPSim, commit 76451de, with its own values of the other parameters."""
    blocks = [f"rank {rank} {{\n{body}\n}}" for rank, body in enumerate(REDUCTION)]
    file = tmp_path / "a.goal"
    file.write_text("num_ranks 8\n" + "\n".join(blocks))
    assert finished(read_schedule(file).operations, S=eager) == ends
