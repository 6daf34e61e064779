"""What the caches hold after a program has exchanged messages for long."""

from dataclasses import dataclass, field

from hcasim.mpi.settling import LOOK, Turns, settle


@dataclass
class Small:
    """Room for a few places, the last used of which came in first."""

    room: int
    held: list[tuple[str, int]] = field(default_factory=list)

    @property
    def full(self) -> bool:
        return len(self.held) == self.room

    def turns(self, name: str, used: int, places: int, step: int = 1) -> Turns:
        def hold(number: int) -> None:
            if not self.full:
                self.held.append((name, number % places))

        return Turns(used, places, hold, step)


def test_each_place_is_held_and_last_what_was_not_needed() -> None:
    cache = Small(12)
    settle([cache.turns("idle", 0, 8), cache.turns("ring", 3, 8)], [cache])
    assert cache.held[:8] == [("ring", number % 8) for number in range(2, -6, -1)]
    assert [name for name, _ in cache.held[8:]] == ["idle"] * 4


def test_who_is_used_more_often_has_more_of_the_room() -> None:
    cache = Small(9)
    settle([cache.turns("often", 8, 64), cache.turns("seldom", 1, 64)], [cache])
    assert [name for name, _ in cache.held].count("seldom") == 1


def test_entries_of_a_page_are_held_at_once() -> None:
    cache = Small(100)
    settle([cache.turns("queue", 1, 64, step=16)], [cache])
    assert cache.held == [("queue", 0), ("queue", 48), ("queue", 32), ("queue", 16)]


def test_it_ends_when_nothing_has_room() -> None:
    cache = Small(5)
    asked = []
    endless = Turns(1, 10**9, asked.append)
    settle([cache.turns("ring", 1, 64), endless], [cache])
    assert cache.full
    assert len(asked) <= 2 * LOOK
