"""Reading takes time in proportion to what is read, whatever it is."""

import time
from contextlib import suppress

import pytest

from hcasim.catalog import CatalogError
from hcasim.traces import FORMATS, Hints, Source, import_trace

SIZES = (1_250, 10_000)
ABOUT = 1.5 * SIZES[1] / SIZES[0]
"""How many times as long it may take; what is quadratic takes 64 times as long."""
BRIEF = 0.02
"""Seconds of the processor of which nothing can be said."""
ATTEMPTS = 10
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
            for _ in range(ATTEMPTS):
                # The clock of a processor varies: only what is measured together is compared.
                small = min(seconds(start, pattern, SIZES[0], form) for _ in range(3))
                if large < ABOUT * small:
                    break
                large = seconds(start, pattern, SIZES[1], form)
            else:
                pytest.fail(f"{large:.3f} s beside {small:.4f} s: {start!r}, {pattern!r}")
