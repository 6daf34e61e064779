"""Schedules as text of GOAL, which LogGOPSim's txt2bin reads.

Source: LogGOPSim, txt2bin.re and README.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hcasim.apps.replay.graph import ANY, CALC, SEND, Operations, Ranks
from hcasim.ground.writing import written_atomically

_PS_PER_NS = 1000


def write_goal(ranks: Ranks, file: Path) -> None:
    """Write a schedule line by line: whole, or not at all.

    Raises:
        CatalogError: it cannot be written.
    """
    with written_atomically(file) as stream:
        for line in goal_lines(ranks):
            stream.write(f"{line}\n".encode())


def goal_lines(ranks: Ranks) -> Iterator[str]:
    """Yield the lines of a schedule; what is left of a whole nanosecond has the next computing."""
    yield f"num_ranks {len(ranks)}"
    for rank, operations in enumerate(ranks):
        yield ""
        yield f"rank {rank} {{"
        yield from _statements(operations)
        yield "}"


def _statements(operations: Operations) -> Iterator[str]:
    left = at = 0
    later, earlier, begun = operations.later, operations.earlier, operations.begun
    for number, kind in enumerate(operations.kinds):
        size, peer, tag = (
            operations.sizes[number],
            operations.peers[number],
            operations.tags[number],
        )
        if kind == CALC:
            whole, left = divmod(size + left, _PS_PER_NS)
            yield f"l{number}: calc {whole}"
        else:
            word = "send {}b to {}" if kind == SEND else "recv {}b from {}"
            asked = "" if tag == ANY else f" tag {tag}"
            yield f"l{number}: {word.format(size, peer)}{asked}"
        while at < len(later) and later[at] == number:
            yield f"l{number} {'irequires' if begun[at] else 'requires'} l{earlier[at]}"
            at += 1
