"""The message sizes of NetPIPE."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from hcasim.workloads.option import Option

if TYPE_CHECKING:
    from hcasim.workloads import Workload

PERTURBATION = 3
"""Bytes by which NetPIPE varies a size (DEFPERT in its src/netpipe.h)."""

LONGEST = 10_000_000
"""Bytes beyond which NetPIPE tries no size (MAXINT in its src/netpipe.h)."""


def add_ladder(
    workload: Workload, given: dict[str, Any], perturbation: int | str | None
) -> Iterator[str]:
    """Complete the sizes of a workload that runs NetPIPE's, or say why that cannot be.

    Parameters:
        workload: the benchmark.
        given: its options; gets the sizes.
        perturbation: bytes on each side of a size that are measured, too.
    """
    option = Option("", low=0)
    try:
        around = None if perturbation is None else option.read(perturbation)
    except ValueError as error:
        yield f"perturbation: {error}"
        return
    if around is not None and not workload.ladder:
        yield f"perturbation: {workload.name} has no such option; netpipe has it"
    elif around is not None and (fault := option.fault(around)):
        yield f"perturbation: {fault}"
    elif workload.ladder and "size" not in given:
        given["size"] = netpipe_ladder(PERTURBATION if around is None else around)
    elif around:
        given["size"] = perturbed(given["size"], around)


def netpipe_ladder(perturbation: int = PERTURBATION) -> tuple[int, ...]:
    """Return the message sizes of NetPIPE 3 in bytes: 1, 2, 3, 4, 6, 8, 12, 13, 16, ... 8 MiB + 3.

    Two steps lie between one power of two and the next. As soon as a step is longer than the
    perturbation (0: none) and one byte more, the sizes on both sides are measured too (NetPIPE
    3.6, src/netpipe.c: the main loop).
    """
    found: list[int] = []
    size, step, number = 1, 1, 0
    while size <= LONGEST:
        if number > 2 and number % 2:
            step *= 2
        wide = step > perturbation + 1
        found += perturbed([size], perturbation) if wide else [size]
        size, number = size + step, number + 1
    return tuple(found)


def perturbed(sizes: Iterable[int], perturbation: int) -> tuple[int, ...]:
    """Return each size with those that many bytes below and above it, each once."""
    around = dict.fromkeys((-perturbation, 0, perturbation))
    found = (size + change for size in sizes for change in around)
    return tuple(dict.fromkeys(size for size in found if size >= 1))
