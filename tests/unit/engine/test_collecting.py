"""Python looks for garbage seldom while a simulation runs, and as before when it does not."""

import gc
from collections.abc import Iterator

import pytest

from hcasim.engine import Simulator, collect_seldom, seldom_collected


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def while_running() -> tuple[int, int, int]:
    sim, found = Simulator(), []
    sim.call_after(1, lambda: found.append(gc.get_threshold()))
    sim.run()
    return found[0]


@pytest.mark.parametrize("before", [(700, 10, 10), (1000, 5, 20)])
def test_it_is_seldom_during_a_run_and_as_before_afterwards(before: tuple[int, int, int]) -> None:
    gc.set_threshold(*before)
    assert while_running()[0] > 100 * before[0]
    assert gc.get_threshold() == before


@pytest.mark.parametrize("before", [(0, 10, 10), (10**6, 10, 10)])
def test_who_wants_it_never_or_even_more_seldom_has_it_so(before: tuple[int, int, int]) -> None:
    gc.set_threshold(*before)
    assert while_running() == before


def test_a_failure_leaves_it_as_before() -> None:
    gc.set_threshold(700, 10, 10)
    with pytest.raises(ZeroDivisionError), seldom_collected():
        1 / 0  # noqa: B018
    assert gc.get_threshold() == (700, 10, 10)


def test_from_the_building_of_a_machine_until_its_run_it_is_seldom() -> None:
    gc.set_threshold(700, 10, 10)
    collect_seldom()
    collect_seldom()
    assert gc.get_threshold()[0] > 70_000
    with seldom_collected():
        while_running()
        assert gc.get_threshold()[0] > 70_000
    assert gc.get_threshold() == (700, 10, 10)
