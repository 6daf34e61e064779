"""Options are read as users and papers write them, and tell what they may be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.workloads.options import AXES, LARGEST, OPTIONS, Options, varying

SIZE = AXES["size"]


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("8", (8,)),
        ("4K", (4096,)),
        ("1M", (2**20,)),
        ("2G", (2**31,)),
        ("16 KiB", (16384,)),
        ("8,64, 4K", (8, 64, 4096)),
        ("4..32", (4, 8, 16, 32)),
        ("0..8", (0, 1, 2, 4, 8)),
        ("3..20", (3, 4, 8, 16, 20)),
        ("8..8", (8,)),
        ("8,4..16", (8, 4, 16)),
    ],
)
def test_a_list_may_hold_sizes_and_ranges_of_powers_of_two(
    text: str, sizes: tuple[int, ...]
) -> None:
    assert SIZE.read(text) == sizes


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("size", ["", "x", "8,", "-4", "3G", "1.5", "8..", "64..8", "8 ns"]),
        ("qps", ["", "x", "8,", "0", "-4", "1.5", "8..", "64..8", "4K"]),
        ("reuse", ["", "x", "101", "-1", "1.5", "0..100"]),
    ],
)
def test_what_an_axis_cannot_be_is_refused(name: str, texts: list[str]) -> None:
    for text in texts:
        with pytest.raises(ValueError, match="found"):
            AXES[name].read(text)


def test_all_faults_of_a_list_are_said_at_once() -> None:
    with pytest.raises(ValueError, match="found") as caught:
        SIZE.read("-1,x,8,64..8")
    assert len(str(caught.value).splitlines()) == 3


@given(st.integers(min_value=0, max_value=LARGEST))
def test_the_label_of_a_size_reads_back_as_the_size(size: int) -> None:
    assert SIZE.read(SIZE.label(size)) == (size,)


@given(st.integers(1, LARGEST), st.integers(1, LARGEST))
def test_a_range_rises_from_its_start_to_its_end(one: int, other: int) -> None:
    low, high = sorted((one, other))
    sizes = SIZE.read(f"{low}..{high}")
    assert sizes[0] == low
    assert sizes[-1] == high
    assert list(sizes) == sorted(set(sizes))
    assert all(size & (size - 1) == 0 for size in sizes[1:-1])


@pytest.mark.parametrize(
    ("name", "given", "values"),
    [
        ("size", "4K", (4096,)),
        ("qps", "1..4", (1, 2, 4)),
        ("qps", 8, (8,)),
        ("qps", [8, 2], (8, 2)),
        ("reuse", "100,75, 50,25,0,75", (100, 75, 50, 25, 0)),
        ("qps", "3..10,1", (3, 4, 8, 10, 1)),
    ],
)
def test_values_are_text_or_numbers(name: str, given: object, values: tuple[int, ...]) -> None:
    assert AXES[name].read(given) == values


def test_only_what_has_several_values_varies() -> None:
    rows = [{"size": 8, "qps": 1, "reuse": 0}, {"size": 8, "qps": 2, "reuse": 50}]
    assert [axis.name for axis in varying(rows)] == ["qps", "reuse"]
    assert varying(rows[:1]) == []
    assert varying([{"size": 8}, {"size": 8}]) == []


def test_what_is_counted_doubles_along_the_axis_and_percentages_do_not() -> None:
    assert {name: axis.doubling for name, axis in AXES.items()} == {
        "size": True,
        "qps": True,
        "reuse": False,
        "processes": True,
        "clients": True,
        "nodes": True,
        "silent_for": True,
        "timeout": False,
        "retry_cnt": False,
        "min_rnr_timer": False,
        "window_bytes": True,
    }
    assert AXES["size"].label(4096) == "4K"
    assert AXES["qps"].label(4096) == "4096"


def test_the_usual_value_of_each_option_is_allowed_and_something_else_is_not() -> None:
    for name in OPTIONS:
        option, usual = OPTIONS[name], getattr(Options(), name)
        assert option.help
        assert not option.fault(usual)
        free = option.is_flag or option.is_name
        assert free or option.fault("nothing" if option.words else option.low - 1)
