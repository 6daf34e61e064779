"""Who gets the shared resource next."""

import pytest

from hcasim.engine import Arbiter, Call, Simulator


class Bench:
    """An arbiter whose turns are written down as (requester, end)."""

    def __init__(self, *groups: int, passes: int | None = None) -> None:
        self.sim = Simulator()
        self.arbiter = Arbiter(self.sim, "bus", groups, passes=passes)
        self.turns: list[tuple[int, int]] = []

    def ask(self, *requesters: int, duration: int = 10) -> None:
        for requester in requesters:
            self.arbiter.request(requester, duration, Call(self.note, (requester,)))

    def note(self, requester: int) -> None:
        self.turns.append((requester, int(self.sim.now)))

    def order(self) -> list[int]:
        self.sim.run()
        return [requester for requester, _ in self.turns]


def test_a_free_resource_is_granted_at_once() -> None:
    bench = Bench(1, 1)
    bench.ask(1, duration=25)
    bench.sim.run()
    assert bench.turns == [(1, 25)]
    assert bench.arbiter.grants == [0, 1]


def test_turns_follow_each_other_without_a_gap() -> None:
    bench = Bench(1)
    bench.ask(0, 0, 0, duration=7)
    bench.sim.run()
    assert [end for _, end in bench.turns] == [7, 14, 21]
    assert bench.arbiter.busy_ps == 21


def test_groups_take_turns() -> None:
    bench = Bench(1, 1, 1)
    bench.ask(0, 0, 0, 1, 1, 1, 2, 2, 2)
    assert bench.order() == [0, 1, 2, 0, 1, 2, 0, 1, 2]


def test_a_group_that_wants_nothing_is_passed_over() -> None:
    bench = Bench(1, 1, 1)
    bench.ask(0, 0, 0, 2)
    assert bench.order() == [0, 2, 0, 0]


def test_within_a_group_the_lower_number_goes_first() -> None:
    bench = Bench(3)
    bench.ask(2, 2, 1, 1, 0, 0)
    # The first came to a free resource.
    assert bench.order() == [2, 0, 0, 1, 1, 2]


def test_who_has_been_passed_often_enough_goes_before_a_lower_number() -> None:
    bench = Bench(3, passes=2)
    bench.ask(*[0] * 9, 1, 2, 2)
    # Each is passed twice: by the lowest number, or by the other that had waited as long.
    assert bench.order() == [0, 0, 0, 1, 2, 0, 0, 2, 0, 0, 0, 0]


def test_priority_in_one_group_does_not_take_the_turn_of_another() -> None:
    bench = Bench(2, 1)
    bench.ask(1, 1, 0, 0, 0, 2, 2, 2)
    assert bench.order() == [1, 2, 0, 2, 0, 2, 0, 1]


def test_two_groups_share_a_saturated_resource_evenly_by_turns() -> None:
    bench = Bench(2, 1)
    bench.ask(*[0] * 30, *[1] * 30, *[2] * 60)
    order = bench.order()
    assert all({first, second} & {2} for first, second in zip(order[::2], order[1::2], strict=True))
    assert bench.arbiter.grants == [30, 30, 60]


def test_what_a_turn_makes_ready_competes_for_the_next_turn() -> None:
    bench = Bench(1, 1)
    bench.arbiter.request(0, 10, Call(bench.ask, (1,)))
    bench.ask(0)
    # Were the next turn given away before this one ends, requester 0 would have it.
    assert bench.order() == [1, 0]


def test_an_idle_resource_is_granted_again_later() -> None:
    bench = Bench(1, 1)
    bench.ask(0)
    bench.sim.run()
    bench.sim.call_after(100, bench.ask, 0)
    bench.sim.run()
    assert bench.turns == [(0, 10), (0, 120)]


def test_a_turn_may_take_no_time() -> None:
    bench = Bench(1, 1)
    bench.ask(0, 1, duration=0)
    assert bench.order() == [0, 1]
    assert bench.sim.now == 0


def test_a_negative_turn_is_refused() -> None:
    with pytest.raises(ValueError, match="bus: a turn cannot last -1 ps"):
        Bench(1).ask(0, duration=-1)


@pytest.mark.parametrize("groups", [(), (0,), (1, 0), (2, -1)])
def test_an_arbiter_without_requesters_is_refused(groups: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="groups of at least one requester"):
        Arbiter(Simulator(), "bus", groups)
