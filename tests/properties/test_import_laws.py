"""Reading takes time in proportion to what is read, whatever it is."""

import time
from contextlib import suppress

import pytest

from hcasim.catalog import CatalogError
from hcasim.traces import FORMATS, Hints, Source, import_trace

SIZES = (1_250, 10_000)
SQUARE = (SIZES[1] / SIZES[0]) ** 2
BRIEF = 0.06
"""Seconds of the processor of which nothing can be said."""
PATTERNS = (" ", "\t", "1", "1 ", "b1", "1 2 3\n", "x\n", "\n", ".", ",", ":", "{", '"', "# ", "[a")
PATTERNS += ("Size ", "Latency(", "stream ", "OSU MPI Test ", " Test", "\x1b[0", '"record" ', "1:")
STARTS = ("", "# Size", "Size", "# OSU MPI", "# [ pairs: 1 ]", "# Size Latency", "1: 2 b", "stream")
STARTS += (
    "  1: 2 bytes 3 times -->",
    "     RDMA_Write BW Test\nDevice",
    '{"record"',
    "{",
    "#bytes",
)


def seconds(start: str, pattern: str, size: int, form: str) -> float:
    """Time of the processor to import a text of so many characters, at least."""
    text = start + pattern * (size // len(pattern))
    source = Source("file", f"{text}@".encode())
    begun = time.process_time()
    with suppress(CatalogError):
        import_trace(source, form, Hints())
    return time.process_time() - begun


@pytest.mark.parametrize("form", FORMATS)
def test_eight_times_as_much_takes_no_more_than_about_eight_times_as_long(form: str) -> None:
    for start in STARTS:
        for pattern in PATTERNS if start in ("", "# Size", "{") else PATTERNS[:5]:
            large = seconds(start, pattern, SIZES[1], form)
            if large < BRIEF:
                continue
            # A machine that is busy with something else is not measured by one attempt.
            ratio = min(
                seconds(start, pattern, SIZES[1], form) / seconds(start, pattern, SIZES[0], form)
                for _ in range(3)
            )
            assert ratio < SQUARE / 2, (start, pattern)
