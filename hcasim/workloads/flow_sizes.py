"""How large the flows of data centres are, as studies of networks draw them.

Source: alibaba-edu/High-Precision-Congestion-Control, traffic_gen/WebSearch_distribution.txt,
FbHdp_distribution.txt and AliStorage2019.txt. The first is the web search of Alizadeh and others,
Data Center TCP (SIGCOMM 2010), the second the Hadoop cluster of Roy and others, Inside the Social
Network's (Datacenter) Network (SIGCOMM 2015), the third the block storage of Alibaba in 2019.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import pairwise

Sizes = Sequence[tuple[int, float]]
"""Bytes, and the percentage of flows that are no longer; between two of them all are as likely."""

SIZES: Mapping[str, Sizes] = {
    "websearch": (
        (0, 0),
        (10_000, 15),
        (20_000, 20),
        (30_000, 30),
        (50_000, 40),
        (80_000, 53),
        (200_000, 60),
        (1_000_000, 70),
        (2_000_000, 80),
        (5_000_000, 90),
        (10_000_000, 97),
        (30_000_000, 100),
    ),
    "hadoop": (
        (0, 0),
        (100, 1),
        (200, 2),
        (300, 5),
        (350, 15),
        (400, 20),
        (500, 30),
        (600, 40),
        (700, 50),
        (1000, 60),
        (2000, 67),
        (7000, 70),
        (30_000, 72),
        (50_000, 82),
        (80_000, 87),
        (120_000, 90),
        (300_000, 95),
        (1_000_000, 97.5),
        (2_000_000, 99),
        (10_000_000, 100),
    ),
    "storage": (
        (0, 0),
        (4000, 22.93),
        (8000, 69.21),
        (16_000, 80.61),
        (32_000, 90.47),
        (64_000, 93.53),
        (128_000, 96.77),
        (256_000, 97.53),
        (2_000_000, 100),
    ),
}


def size_at(sizes: Sizes, share: float) -> int:
    """The size in bytes that a share of all flows do not exceed, at least 1."""
    place = bisect_left(sizes, 100 * share, lo=1, key=lambda one: one[1])
    (low, below), (high, above) = sizes[place - 1], sizes[place]
    return max(1, round(low + (high - low) * (100 * share - below) / (above - below)))


def mean_size(sizes: Sizes) -> float:
    """The mean in bytes."""
    return (
        sum((low + high) / 2 * (above - below) for (low, below), (high, above) in pairwise(sizes))
        / 100
    )
