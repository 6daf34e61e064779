"""Reading takes no time that grows with the square of what is read, whatever it is."""

from contextlib import suppress

import pytest

from hcasim.catalog import CatalogError
from hcasim.traces import FORMATS, Hints, Source, import_trace
from tests.limits import promptly

SIZE = 100_000
"""Characters; what is quadratic would take minutes."""
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


@pytest.mark.check
@pytest.mark.parametrize("form", FORMATS)
def test_a_long_text_of_one_pattern_is_read_promptly(form: str) -> None:
    for start in STARTS:
        for pattern in PATTERNS if start in ("", "# Size", "{") else PATTERNS[:5]:
            source = Source("file", f"{start}{pattern * (SIZE // len(pattern))}@".encode())
            with promptly(), suppress(CatalogError):
                import_trace(source, form, Hints())
