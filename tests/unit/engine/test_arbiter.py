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


@pytest.mark.parametrize(
    ("groups", "passes", "asked", "order"),
    [
        pytest.param((1, 1, 1), None, [0, 0, 1, 1, 2, 2], [0, 1, 2, 0, 1, 2], id="groups in turn"),
        # The first came to a free resource.
        pytest.param((3,), None, [2, 2, 1, 1, 0, 0], [2, 0, 0, 1, 1, 2], id="lower number first"),
        pytest.param(
            (2, 1), None, [1, 1, 0, 0, 0, 2, 2, 2], [1, 2, 0, 2, 0, 2, 0, 1], id="of its own group"
        ),
        # Each is passed twice: by the lowest number, or by the other that had waited as long.
        pytest.param(
            (3,),
            2,
            [*[0] * 9, 1, 2, 2],
            [0, 0, 0, 1, 2, 0, 0, 2, 0, 0, 0, 0],
            id="passed often enough",
        ),
    ],
)
def test_groups_take_turns_and_the_lower_number_of_a_group_goes_first(
    groups: tuple[int, ...], passes: int | None, asked: list[int], order: list[int]
) -> None:
    bench = Bench(*groups, passes=passes)
    bench.ask(*asked)
    assert bench.order() == order


def test_what_a_turn_makes_ready_competes_for_the_next_turn() -> None:
    bench = Bench(1, 1)
    bench.arbiter.request(0, 10, Call(bench.ask, (1,)))
    bench.ask(0)
    # Were the next turn given away before this one ends, requester 0 would have it.
    assert bench.order() == [1, 0]


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
