"""Message sizes are read as users and papers write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.runs.sizes import (
    LARGEST,
    LONGEST,
    axis_label,
    netpipe_ladder,
    parse_counts,
    parse_percents,
    parse_sizes,
    perturbed,
)


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


# The first column of a data file of NetPIPE 3: np.out in jli111/ompi on GitHub, at 15f792b.
NP_OUT = """
1 2 3 4 6 8 12 13 16 19 21 24 27 29 32 35 45 48 51 61 64 67 93 96 99 125 128 131 189 192 195 253 256
259 381 384 387 509 512 515 765 768 771 1021 1024 1027 1533 1536 1539 2045 2048 2051 3069 3072 3075
4093 4096 4099 6141 6144 6147 8189 8192 8195 12285 12288 12291 16381 16384 16387 24573 24576 24579
32765 32768 32771 49149 49152 49155 65533 65536 65539 98301 98304 98307 131069 131072 131075 196605
196608 196611 262141 262144 262147 393213 393216 393219 524285 524288 524291 786429 786432 786435
1048573 1048576 1048579 1572861 1572864 1572867 2097149 2097152 2097155 3145725 3145728 3145731
4194301 4194304 4194307 6291453 6291456 6291459 8388605 8388608 8388611
"""


def test_the_ladder_is_that_of_a_real_run_of_netpipe() -> None:
    assert netpipe_ladder() == tuple(int(size) for size in NP_OUT.split())


@pytest.mark.parametrize(
    ("number", "size"), [(2, 3), (70, 24573), (81, 65539), (121, 8388605), (123, 8388611)]
)
def test_the_steps_are_numbered_as_on_netpipe_s_terminal(number: int, size: int) -> None:
    # NPtcp over an e1000, linux-kernel mailing list, 25 May 2004.
    assert netpipe_ladder()[number] == size


def test_without_perturbation_two_steps_lead_from_one_power_of_two_to_the_next() -> None:
    sizes = netpipe_ladder(0)
    assert sizes[:9] == (1, 2, 3, 4, 6, 8, 12, 16, 24)
    assert sizes[-1] == 2**23


@given(st.integers(0, 2000))
def test_the_ladder_has_each_step_and_nothing_but_their_neighbours(perturbation: int) -> None:
    steps = netpipe_ladder(0)
    around = {step + change for step in steps for change in (-perturbation, 0, perturbation)}
    sizes = set(netpipe_ladder(perturbation))
    assert set(steps) <= sizes <= around
    assert all(1 <= size <= LONGEST + perturbation for size in sizes)


def test_a_size_of_one_s_own_is_perturbed_downwards_only_as_far_as_a_byte() -> None:
    assert perturbed((8, 2), 3) == (5, 8, 11, 2)
    assert perturbed((8,), 0) == (8,)
