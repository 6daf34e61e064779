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
STRANGE = [
    "",
    "-1",
    "0",
    "nan",
    "inf",
    "1e999",
    "9" * 5000,
    "٣",
    "½",
    "\0",
    "\u2028",
    "{",
    "}",
    "#",
]
HINTS = st.builds(
    Hints,
    workload=st.sampled_from(
        ["", "write_lat", "osu_bw", "imb_pingpong", "imb_bcast", "netpipe", "netpipe_bi", "x"]
    ),
    unit=st.sampled_from(["", "MiB/s", "Gbit/s", "Mibit/s"]),
    transport=st.sampled_from(["", "roce", "iwarp"]),
    nodes=st.sampled_from([None, 1, 2, 10**9]),
    processes=st.sampled_from([None, 1, 3, 10**9]),
    algorithm=st.sampled_from(["", "ring", "x"]),
)
FORMS = st.sampled_from(["", *FORMATS])


def survives(data: bytes, form: str, hints: Hints) -> Trace | None:
    """Import promptly; a trace that comes out is one that can be written and read."""
    faults = ["none"]
    try:
        with promptly():
            trace = import_trace(Source("file", data), form, hints)
    except CatalogError as error:
        faults = error.faults
        trace = None
    assert faults
    assert all(fault.strip() for fault in faults)
    if trace is None:
        return None
    again = parse_trace(render(trace).encode(), "file")
    assert (again.header, again.points, again.end) == (trace.header, trace.points, trace.end)
    assert trace.points or trace.header.tool.name == "hcasim-probes"
    return trace


@given(st.binary(max_size=300), FORMS, HINTS)
def test_any_bytes_are_read_or_refused(data: bytes, form: str, hints: Hints) -> None:
    survives(data, form, hints)


@given(st.text(max_size=300), FORMS, HINTS)
def test_any_text_is_read_or_refused(text: str, form: str, hints: Hints) -> None:
    survives(text.encode("utf-8", "replace"), form, hints)


@given(st.sampled_from(TEXTS), st.integers(min_value=0), FORMS, HINTS)
def test_a_damaged_output_is_read_or_refused(text: str, seed: int, form: str, hints: Hints) -> None:
    dice = random.Random(seed)
    lines = text.split("\n")
    for _ in range(dice.randint(1, 4)):
        _damage(lines, dice)
    survives("\n".join(lines).encode("utf-8", "replace"), form, hints)


def _damage(lines: list[str], dice: random.Random) -> None:
    place = dice.randrange(len(lines))
    words = lines[place].split(" ")
    match dice.randrange(8):
        case 0:
            del lines[place + 1 :]
            lines[place] = lines[place][: dice.randint(0, len(lines[place]))]
        case 1:
            lines.insert(dice.randrange(len(lines)), lines[place])
        case 2:
            other = dice.randrange(len(words))
            words[0], words[other] = words[other], words[0]
            lines[place] = " ".join(words)
        case 3:
            words[dice.randrange(len(words))] = dice.choice(STRANGE)
            lines[place] = " ".join(words)
        case 4:
            lines[place] = dice.choice(dice.choice(TEXTS).split("\n"))
        case 5:
            dice.shuffle(lines)
        case 6:
            at = dice.randint(0, len(lines[place]))
            lines[place] = lines[place][:at] + chr(dice.randrange(0xD800)) + lines[place][at:]
        case _:
            if len(lines) > 1:
                del lines[place]


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
    trace = survives("\n".join(lines).encode(), "", Hints())
    if trace is not None:
        found = {point.model_dump_json() for point in trace.points}
        assert found <= {point.model_dump_json() for point in whole.points}


@pytest.mark.parametrize("form", FORMATS)
def test_a_long_line_is_refused_at_once(form: str) -> None:
    for text in ("1" * 200_000, "1 " * 100_000, "# Size " * 20_000, "{" * 100_000, ":" * 100_000):
        survives(text.encode(), form, Hints())
