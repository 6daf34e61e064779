"""No text makes an importer fail otherwise than by saying what is wrong with it."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.catalog import CatalogError
from hcasim.traces import FORMATS, Hints, Source, Trace, import_trace, parse_trace, render
from tests.limits import promptly
from tests.unit.traces import outputs
from tests.unit.traces.conftest import DATA

TEXTS = [
    *(path.read_text() for path in sorted(DATA.rglob("*.*")) if path.name != "README.md"),
    *outputs.TEXTS.values(),
]
FORMS = st.sampled_from(["", *FORMATS])


def survives(data: bytes, form: str = "") -> Trace | None:
    """Import promptly; a trace that comes out is one that can be written and read."""
    trace, faults = None, ["none"]
    try:
        with promptly():
            trace = import_trace(Source("file", data), form, Hints())
    except CatalogError as error:
        faults = error.faults
    assert faults
    assert all(fault.strip() for fault in faults)
    if trace is not None:
        again = parse_trace(render(trace).encode(), "file")
        assert (again.header, again.points, again.end) == (trace.header, trace.points, trace.end)
    return trace


@given(
    st.binary(max_size=300)
    | st.text(max_size=300).map(lambda text: text.encode("utf-8", "replace")),
    FORMS,
)
def test_any_bytes_and_any_text_are_read_or_refused(data: bytes, form: str) -> None:
    survives(data, form)


@given(st.sampled_from(TEXTS), st.integers(min_value=0))
def test_a_lost_or_doubled_figure_is_never_imported_in_silence(text: str, seed: int) -> None:
    """Every point of a damaged table is one of the whole one, or the file is refused."""
    dice = random.Random(seed)
    try:
        whole = import_trace(Source("file", text.encode()))
    except CatalogError:
        return
    lines = text.split("\n")
    rows = [i for i, line in enumerate(lines) if sum(w[:1].isdigit() for w in line.split()) >= 2]
    if not rows or whole.header.tool.name == "hcasim-probes":
        return
    place = dice.choice(rows)
    words = lines[place].split()
    del words[dice.randrange(len(words))]
    lines[place] = "  ".join(words)
    trace = survives("\n".join(lines).encode())
    if trace is not None:
        found = {point.model_dump_json() for point in trace.points}
        assert found <= {point.model_dump_json() for point in whole.points}


@pytest.mark.parametrize("form", FORMATS)
def test_a_long_line_is_refused_at_once(form: str) -> None:
    for text in ("1" * 200_000, "1 " * 100_000, "# Size " * 20_000, "{" * 100_000, ":" * 100_000):
        survives(text.encode(), form)
