"""Which part of a region a message is about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, repeat
from random import Random

from hcasim.verbs import MR
from hcasim.workloads.options import Access

LINE = 64
"""Bytes of a cache line, on which messages begin unless a tool says otherwise."""

HELD = 1 << 16
"""Pages of a region of which the adapter has the translations at the start, if there is room."""


def hold(memory: MR, page_size: int, parts: Sequence[tuple[int, int]] = ()) -> None:
    """Have a region's translations as after a run of minutes: the caches are full.

    The last pages were used last: of places that are drawn uniformly as many are found as there is
    room for, of those that follow each other the first ones only if there is room for all.

    Args:
        parts: those of the region in use, as (offset, bytes), all equally long; or all of it.
    """
    pages = [
        range(memory.addr + offset, memory.addr + offset + length, page_size)[: -HELD - 1 : -1]
        for offset, length in parts or [(0, memory.length)]
    ]
    for addresses in zip(*pages, strict=True):
        for address in addresses:
            memory.hold(address, 1)


def stride(size: int) -> int:
    """Bytes from one message to the next behind it."""
    return -(-size // LINE) * LINE


def places(region: int, size: int, access: Access, seed: int, align: int = LINE) -> Iterator[int]:
    """The offsets in a region of one message after another, for ever.

    Args:
        region: its bytes; no fewer than a message has.
        size: bytes of a message.
        access: one message behind the other, again from the start at the end; or drawn uniformly.
        seed: of what is drawn.
        align: what offsets that are drawn are multiples of.
    """
    if access == "sequential":
        step = stride(size)
        number = max(1, region // step)
        return (turn % number * step for turn in count())
    draw, number = Random(seed).random, (region - size) // align + 1
    return (int(draw() * number) * align for _ in repeat(None))
