"""Quantities are read exactly and written so that they read back the same."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.ground.units import (
    DELAY,
    FREQUENCY,
    LENGTH,
    RATE,
    SIZE,
    TIME,
    UNITS,
    Unit,
    UnitError,
    parse_size,
    parse_time,
)

READ = {
    TIME: {"25 ns": 25_000, "  25ns ": 25_000, "0.001 ns": 1, "2 s": 2 * 10**12, "+1 ns": 1000},
    SIZE: {"0.5 KiB": 512, "1 GiB": 2**30},
    FREQUENCY: {"133.333333 MHz": 133_333_333},
    RATE: {"972 MB/s": 972_000_000},
    LENGTH: {"30 mm": 30},
}
WRITTEN = {
    TIME: {"0 ns": 0, "999 ps": 999, "1 ns": 1000, "2.5 us": 2_500_000, "-1.5 ns": -1_500},
    SIZE: {"0 B": 0, "4096 B": 4096, "16 KiB": 16_384, "16385 B": 16_385, "4 MiB": 2**22},
    FREQUENCY: {"133.333333 MHz": 133_333_333},
    RATE: {"6.4 GB/s": 6_400_000_000},
    LENGTH: {"5 m": 5_000},
    DELAY: {"5 ns/m": 5_000},
}


def test_a_quantity_is_read_exactly_and_written_in_its_natural_unit() -> None:
    for unit, texts in READ.items():
        assert {text: unit.parse(text) for text in texts} == texts
    for unit, texts in WRITTEN.items():
        assert {unit.format(value): value for value in texts.values()} == texts


@pytest.mark.parametrize(
    ("unit", "text", "message"),
    [
        (TIME, "25", "found '25' with no unit; a time is allowed with the unit ps, ns, .* or s"),
        (TIME, "25 nz", "found '25 nz' with the unit 'nz'; .* or s; did you mean 'n?s'?"),
        (TIME, "25 NS", "found '25 NS' with the unit 'NS'.*did you mean 'ns'?"),
        (TIME, "", "found '', which is not a number with a unit"),
        (TIME, "1,5 ns", "found '1,5 ns' with the unit ',5|found '1,5 ns', which is not"),
        (TIME, "1e3 ns", "found '1e3 ns'"),
        (TIME, "٣ ns", "found '٣ ns', which is not a number"),
        (TIME, "0.0001 ns", "found '0.0001 ns', which is not a whole number of ps"),
        (SIZE, "4K", "found '4K' with the unit 'K'; .*B, KiB, MiB or GiB"),
        (FREQUENCY, "133 mhz", "found '133 mhz' with the unit 'mhz'.*did you mean 'MHz'"),
        (RATE, "1 Gb/s", "found '1 Gb/s' with the unit 'Gb/s'; a data rate is allowed"),
    ],
)
def test_what_is_not_a_quantity_is_refused_with_what_is_allowed(
    unit: Unit, text: str, message: str
) -> None:
    with pytest.raises(UnitError) as caught:
        unit.parse(text)
    assert re.search(message, str(caught.value)), str(caught.value)


def test_the_command_line_may_shorten_sizes_but_not_times() -> None:
    sizes = {"8": 8, "4K": 4096, "1M": 2**20, "1 G": 2**30, "2 KiB": 2048}
    assert {text: parse_size(text) for text in sizes} == sizes
    with pytest.raises(UnitError, match="no unit"):
        TIME.parse_argument("25")
    assert parse_time("25 ns") == TIME.parse_argument("25 ns") == 25_000


def test_times_and_lengths_are_shown_in_one_unit() -> None:
    times = [TIME.shown(one) for one in (0, 7, 25_000, 10**7)]
    assert times == ["0 ns", "0.007 ns", "25 ns", "10000 ns"]
    assert (LENGTH.shown(5_500), SIZE.shown(2**20)) == ("5.5 m", "1 MiB")


@given(st.sampled_from(sorted(UNITS)), st.integers(-(10**24), 10**24))
def test_what_is_written_reads_back_the_same(dimension: str, value: int) -> None:
    unit = UNITS[dimension]
    assert unit.parse(unit.format(value)) == value
    assert unit.parse_argument(unit.format(value)) == value


@given(st.sampled_from(sorted(UNITS)), st.integers(0, 10**9), st.integers(0, 10**6 - 1), st.data())
def test_reading_never_rounds(dimension: str, whole: int, micro: int, data: st.DataObject) -> None:
    unit = UNITS[dimension]
    name, factor = data.draw(st.sampled_from(unit.factors))
    scaled = (whole * 10**6 + micro) * factor
    text = f"{whole}.{micro:06d} {name}"
    if scaled % 10**6:
        with pytest.raises(UnitError, match="not a whole number"):
            unit.parse(text)
    else:
        assert unit.parse(text) * 10**6 == scaled


@given(st.sampled_from(sorted(UNITS)), st.text(max_size=20))
def test_any_text_is_either_read_or_refused_with_a_reason(dimension: str, text: str) -> None:
    fault = ""
    try:
        UNITS[dimension].parse(text)
    except UnitError as error:
        fault = str(error)
    assert not fault or fault.startswith(f"found {text!r}")
