"""The sizes of NetPIPE are those of a real run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hcasim.workloads.netpipe import LONGEST, netpipe_ladder, perturbed

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
