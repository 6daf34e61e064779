"""Message sizes as users write them: lists, ranges and the K and M of the papers' axes."""

from __future__ import annotations

from collections.abc import Iterable

from hcasim.catalog.units import UnitError, format_size, parse_size

LARGEST = 2**31
"""Longest message of an RDMA operation, in bytes (InfiniBand Architecture Specification 9.7.2)."""


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
    sizes: dict[int, None] = {}
    faults: list[str] = []
    for item in text.split(","):
        try:
            sizes.update(dict.fromkeys(_parse_item(item.strip())))
        except ValueError as error:
            faults.append(str(error))
    if faults:
        raise ValueError("\n".join(faults))
    return tuple(sizes)


def _parse_item(item: str) -> Iterable[int]:
    first, dots, last = item.partition("..")
    if not dots:
        return [_parse_one(item)]
    low, high = _parse_one(first), _parse_one(last)
    if low > high:
        raise ValueError(f"found the range {item!r}, whose end is below its start")
    powers = (1 << n for n in range(low.bit_length(), high.bit_length()))
    return [low, *(size for size in powers if size < high), high]


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


def axis_label(size: int) -> str:
    """Write a size as the papers' axes do: 512, 4K, 1M."""
    for suffix, factor in (("G", 2**30), ("M", 2**20), ("K", 2**10)):
        if size >= factor and size % factor == 0:
            return f"{size // factor}{suffix}"
    return str(size)
