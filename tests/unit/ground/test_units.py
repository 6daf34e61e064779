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


def test_a_quantity_is_read_exactly() -> None:
    for unit, text, value in [
        (TIME, "25 ns", 25_000),
        (TIME, "  25ns ", 25_000),
        (TIME, "0.001 ns", 1),
        (TIME, "1.5 ms", 1_500_000_000),
        (TIME, "2 s", 2_000_000_000_000),
        (TIME, "-1 ns", -1_000),
        (TIME, "+1 ns", 1_000),
        (SIZE, "0.5 KiB", 512),
        (SIZE, "1 GiB", 1_073_741_824),
        (FREQUENCY, "133.333333 MHz", 133_333_333),
        (RATE, "972 MB/s", 972_000_000),
        (LENGTH, "30 mm", 30),
        (DELAY, "5 ns/m", 5_000),
    ]:
        assert unit.parse(text) == value


def test_digits_beyond_a_float_are_kept() -> None:
    assert TIME.parse("9007199254740993.000000000001 s") == 9007199254740993000000000001


@pytest.mark.parametrize(
    ("unit", "text", "message"),
    [
        (TIME, "25", "found '25' with no unit; a time is allowed with the unit ps, ns, .* or s"),
        (TIME, "25 nz", "found '25 nz' with the unit 'nz'; .* or s; did you mean 'n?s'?"),
        (TIME, "25 NS", "found '25 NS' with the unit 'NS'.*did you mean 'ns'?"),
        (TIME, "", "found '', which is not a number with a unit"),
        (TIME, "ns", "found 'ns', which is not a number with a unit"),
        (TIME, "1,5 ns", "found '1,5 ns' with the unit ',5|found '1,5 ns', which is not"),
        (TIME, "1e3 ns", "found '1e3 ns'"),
        (TIME, "nan ns", "found 'nan ns', which is not a number"),
        (TIME, "٣ ns", "found '٣ ns', which is not a number"),
        (TIME, "0.0001 ns", "found '0.0001 ns', which is not a whole number of ps"),
        (SIZE, "0.3 KiB", "found '0.3 KiB', which is not a whole number of B"),
        (SIZE, "4K", "found '4K' with the unit 'K'; .*B, KiB, MiB or GiB"),
        (SIZE, "4 kB", "found '4 kB' with the unit 'kB'; .*B, KiB, MiB or GiB"),
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


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [
        (TIME, 0, "0 ns"),
        (TIME, 999, "999 ps"),
        (TIME, 1_000, "1 ns"),
        (TIME, 2_500_000, "2.5 us"),
        (TIME, -1_500, "-1.5 ns"),
        (SIZE, 0, "0 B"),
        (SIZE, 1024, "1024 B"),
        (SIZE, 4096, "4096 B"),
        (SIZE, 16_384, "16 KiB"),
        (SIZE, 16_385, "16385 B"),
        (SIZE, 4 * 2**20, "4 MiB"),
        (FREQUENCY, 133_333_333, "133.333333 MHz"),
        (RATE, 6_400_000_000, "6.4 GB/s"),
        (LENGTH, 5_000, "5 m"),
        (DELAY, 5_000, "5 ns/m"),
    ],
)
def test_a_value_is_written_in_its_natural_unit(unit: Unit, value: int, text: str) -> None:
    assert unit.format(value) == text


def test_times_and_lengths_are_shown_in_one_unit() -> None:
    assert [TIME.shown(one) for one in (0, 7, 25_000, 10**7)] == [
        "0 ns",
        "0.007 ns",
        "25 ns",
        "10000 ns",
    ]
    assert (LENGTH.shown(5_500), SIZE.shown(2**20)) == ("5.5 m", "1 MiB")


@given(st.sampled_from(sorted(UNITS)), st.integers(-(10**24), 10**24))
def test_what_is_written_reads_back_the_same(dimension: str, value: int) -> None:
    unit = UNITS[dimension]
    assert unit.parse(unit.format(value)) == value
    assert unit.parse_argument(unit.format(value)) == value


@given(
    st.sampled_from(sorted(UNITS)),
    st.integers(0, 10**9),
    st.integers(0, 10**6 - 1),
    st.data(),
)
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
