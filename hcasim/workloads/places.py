"""Which part of a region a message is about."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, repeat
from random import Random

from hcasim.verbs import MR
from hcasim.workloads.options import Access

LINE = 64
"""Bytes of a cache line, on which messages begin unless a tool says otherwise."""

HELD = 1 << 16
"""Pages of a region of which the adapter has the translations at the start, if there is room."""


def hold(region: MR, page_size: int) -> None:
    """Have a region's translations as after a run of minutes: the caches are full.

    Of places that are drawn uniformly as many are then found as there is room for.
    """
    region.hold(region.addr, min(region.length, HELD * page_size))


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
