"""Message sizes are read as users and papers write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.study.sizes import LARGEST, axis_label, parse_counts, parse_percents, parse_sizes


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
        ("3..20", (3, 4, 8, 16, 20)),
        ("8..8", (8,)),
        ("8,4..16", (8, 4, 16)),
    ],
)
def test_a_list_may_hold_sizes_and_ranges_of_powers_of_two(
    text: str, sizes: tuple[int, ...]
) -> None:
    assert parse_sizes(text) == sizes


@pytest.mark.parametrize("text", ["", "x", "8,", "0", "-4", "3G", "1.5", "8..", "64..8", "8 ns"])
def test_a_size_that_no_message_can_have_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="found"):
        parse_sizes(text)


def test_all_faults_of_a_list_are_said_at_once() -> None:
    with pytest.raises(ValueError, match="found") as caught:
        parse_sizes("0,x,8,64..8")
    assert len(str(caught.value).splitlines()) == 3


@given(st.integers(min_value=1, max_value=LARGEST))
def test_the_label_of_a_size_reads_back_as_the_size(size: int) -> None:
    assert parse_sizes(axis_label(size)) == (size,)


@given(st.integers(1, LARGEST), st.integers(1, LARGEST))
def test_a_range_rises_from_its_start_to_its_end(one: int, other: int) -> None:
    low, high = sorted((one, other))
    sizes = parse_sizes(f"{low}..{high}")
    assert sizes[0] == low
    assert sizes[-1] == high
    assert list(sizes) == sorted(set(sizes))
    assert all(size & (size - 1) == 0 for size in sizes[1:-1])


@pytest.mark.parametrize(
    ("text", "counts"),
    [("8", (8,)), ("1,128", (1, 128)), ("1..16", (1, 2, 4, 8, 16)), ("3..10,1", (3, 4, 8, 10, 1))],
)
def test_queue_pairs_are_listed_like_sizes(text: str, counts: tuple[int, ...]) -> None:
    assert parse_counts(text) == counts


@pytest.mark.parametrize("text", ["", "x", "8,", "0", "-4", "1.5", "8..", "64..8", "4K"])
def test_queue_pairs_are_whole_numbers_from_one_on(text: str) -> None:
    with pytest.raises(ValueError, match="found"):
        parse_counts(text)


def test_percentages_keep_their_order() -> None:
    assert parse_percents("100,75, 50,25,0,75") == (100, 75, 50, 25, 0)


@pytest.mark.parametrize("text", ["", "x", "101", "-1", "1.5", "0..100"])
def test_a_percentage_is_a_whole_number_up_to_a_hundred(text: str) -> None:
    with pytest.raises(ValueError, match="found"):
        parse_percents(text)
