"""Results as NetPIPE 3 writes them: on its terminal and in its file np.out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def terminal_lines(rows: Iterable[Mapping[str, Any]], iters: int) -> Iterator[str]:
    """The lines that it prints while it runs; its Mbps are 2^20 bits per second.

    Parameters:
        rows: what was measured, size by size.
        iters: round trips that were timed for each.
    """
    for number, row in enumerate(rows):
        yield (
            f"{number:3}: {row['size']:7} bytes {iters:6} times --> "
            f" {row['throughput_Mbps']:8.2f} Mbps in {row['latency_us']:10.2f} usec"
        )


def np_out(rows: Iterable[Mapping[str, Any]]) -> str:
    """The text of np.out: bytes, Mbps of 2^20 bits, and seconds of half a round trip."""
    return "".join(
        f"{row['size']:8} {row['throughput_Mbps']:f} {row['latency_us'] / 1e6:12.8f}\n"
        for row in rows
    )
