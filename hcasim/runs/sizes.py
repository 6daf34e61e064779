"""Numbers as users write them: lists, ranges, and for sizes the K and M of the papers' axes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hcasim.ground.units import UnitError, format_size, parse_size

LARGEST = 2**31
"""Longest message of an RDMA operation, in bytes (InfiniBand Architecture Specification 9.7.2)."""

PERTURBATION = 3
"""Bytes by which NetPIPE varies a size (DEFPERT in its src/netpipe.h)."""

LONGEST = 10_000_000
"""Bytes beyond which NetPIPE tries no size (MAXINT in its src/netpipe.h)."""


def parse_sizes(text: str) -> tuple[int, ...]:
    """Read message sizes such as "8", "4K,64K" or "4..1M".

    Parameters:
        text: sizes and ranges, separated by commas; a range holds the powers of two between its
            ends and the ends themselves.

    Returns:
        The sizes in bytes, in the order written, each once.

    Raises:
        ValueError: one line per fault.
    """
    return _parse_list(text, lambda item: _parse_range(item, _parse_one))


def parse_counts(text: str) -> tuple[int, ...]:
    """Read numbers of queue pairs such as "8", "1,2,4" or "1..4096".

    Parameters:
        text: numbers and ranges, as for `parse_sizes`.

    Returns:
        The numbers in the order written, each once.

    Raises:
        ValueError: one line per fault.
    """
    return _parse_list(text, lambda item: _parse_range(item, _parse_count))


def parse_percents(text: str) -> tuple[int, ...]:
    """Read percentages such as "75" or "100,75,50,25,0".

    Parameters:
        text: whole numbers, separated by commas.

    Returns:
        The numbers in the order written, each once.

    Raises:
        ValueError: one line per fault.
    """
    return _parse_list(text, _parse_percent)


def _parse_list(text: str, parse: Callable[[str], Iterable[int]]) -> tuple[int, ...]:
    found: dict[int, None] = {}
    faults: list[str] = []
    for item in text.split(","):
        try:
            found.update(dict.fromkeys(parse(item.strip())))
        except ValueError as error:
            faults.append(str(error))
    if faults:
        raise ValueError("\n".join(faults))
    return tuple(found)


def _parse_range(item: str, parse: Callable[[str], int]) -> Iterable[int]:
    first, dots, last = item.partition("..")
    if not dots:
        return [parse(item)]
    low, high = parse(first), parse(last)
    if low > high:
        raise ValueError(f"found the range {item!r}, whose end is below its start")
    powers = (1 << n for n in range(low.bit_length(), high.bit_length()))
    return [low, *(number for number in powers if number < high), high]


def _parse_one(text: str) -> int:
    try:
        size = parse_size(text)
    except UnitError as error:
        raise ValueError(
            f"found {text!r}; allowed are sizes such as 8, 4K or 1M, "
            "lists such as 8,64 and ranges such as 4..1M"
        ) from error
    if not 1 <= size <= LARGEST:
        raise ValueError(f"found the size {text!r}; allowed are 1 B to {format_size(LARGEST)}")
    return size


def _parse_count(text: str) -> int:
    try:
        count = int(text)
    except ValueError:
        raise ValueError(
            f"found {text!r}; allowed: a whole number, lists such as 1,2 and ranges such as 1..64"
        ) from None
    if count < 1:
        raise ValueError(f"found {count}; allowed: 1 or more")
    return count


def _parse_percent(text: str) -> Iterable[int]:
    try:
        percent = int(text)
    except ValueError:
        raise ValueError(
            f"found {text!r}; allowed: a whole number from 0 to 100 and lists such as 100,50,0"
        ) from None
    if not 0 <= percent <= 100:
        raise ValueError(f"found {percent}; allowed: 0 to 100")
    return [percent]


def netpipe_ladder(perturbation: int = PERTURBATION) -> tuple[int, ...]:
    """Return the message sizes of NetPIPE 3 in bytes: 1, 2, 3, 4, 6, 8, 12, 13, 16, ... 8 MiB + 3.

    Two steps lie between one power of two and the next. As soon as a step is longer than the
    perturbation and one byte more, the sizes on both sides are measured too (NetPIPE 3.6,
    src/netpipe.c: the main loop).

    Parameters:
        perturbation: bytes on each side of a size; 0 for the size alone.
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


def axis_label(size: int) -> str:
    """Write a size as the papers' axes do: 512, 4K, 1M."""
    for suffix, factor in (("G", 2**30), ("M", 2**20), ("K", 2**10)):
        if size >= factor and size % factor == 0:
            return f"{size // factor}{suffix}"
    return str(size)
