"""What NetPIPE prints on the terminal, whose Mbps are of 2^20 bits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def terminal_lines(rows: Iterable[Mapping[str, Any]], iters: int) -> Iterator[str]:
    """The lines that it prints while it runs.

    Parameters:
        rows: what was measured, size by size.
        iters: round trips that were timed for each.
    """
    for number, row in enumerate(rows):
        yield (
            f"{number:3}: {row['size']:7} bytes {iters:6} times --> "
            f" {row['throughput_Mbps']:8.2f} Mbps in {row['latency_us']:10.2f} usec"
        )
