"""Credits: never negative, never more than there are, first come first served."""

import pytest

from hcasim.engine import Call, CreditPool, Simulator


class Bench:
    """A pool whose grants are written down as (name, time)."""

    def __init__(self, capacity: int) -> None:
        self.sim = Simulator()
        self.pool = CreditPool(self.sim, "tags", capacity)
        self.grants: list[tuple[str, int]] = []

    def take(self, name: str, count: int) -> None:
        self.pool.acquire(count, self.note, name)

    def note(self, name: str) -> None:
        assert 0 <= self.pool.available <= self.pool.capacity
        self.grants.append((name, int(self.sim.now)))


def test_those_who_go_ahead_keep_their_order_among_themselves() -> None:
    bench = Bench(1)
    for name in ("a", "b", "c"):
        bench.take(name, 1)
    for name in ("x", "y"):
        bench.pool.wait_ahead(1, Call(bench.note, (name,)))
    for time in range(1, 5):
        bench.pool.release_at(time, 1)
        bench.sim.run()
    bench.take("d", 1)
    bench.pool.wait_ahead(1, Call(bench.note, ("z",)))
    bench.pool.release(1)
    assert [name for name, _ in bench.grants] == ["a", "x", "y", "b", "c", "z"]


def test_credits_that_came_back_unnoticed_are_there_for_the_next() -> None:
    bench = Bench(1)
    bench.take("a", 1)
    bench.pool.release_at(100, 1)
    bench.sim.run()
    assert bench.sim.now == 0, "nobody waits, so no event is spent"
    bench.sim.call_at(100, bench.take, "b", 1)
    bench.sim.run()
    assert bench.grants == [("a", 0), ("b", 100)]
    assert bench.pool.wait_ps == 0


def test_who_asks_again_when_served_goes_to_the_end_of_the_queue() -> None:
    bench = Bench(1)
    bench.take("a", 1)
    bench.pool.acquire(1, lambda: (bench.note("b"), bench.take("b again", 1)))
    bench.take("c", 1)
    for _ in range(3):
        bench.pool.release(1)
    assert [name for name, _ in bench.grants] == ["a", "b", "c", "b again"]


def test_nobody_waits_for_more_credits_than_the_pool_has() -> None:
    bench = Bench(3)
    bench.take("a", 3)
    with pytest.raises(ValueError, match="tags: 4 credits asked of a pool of 3"):
        bench.pool.wait(4, Call(bench.note, ("b",)))
    with pytest.raises(ValueError, match="tags: 4 credits asked of a pool of 3"):
        bench.take("c", 4)
    assert not bench.pool.waiting
    bench.pool.release(3)
    assert [name for name, _ in bench.grants] == ["a"]


def test_giving_back_more_than_was_taken_is_refused() -> None:
    bench = Bench(3)
    bench.take("a", 1)
    with pytest.raises(ValueError, match="tags: more credits given back than were taken"):
        bench.pool.release(2)


def test_announcing_more_than_was_taken_is_refused_when_they_are_needed() -> None:
    bench = Bench(3)
    bench.take("a", 1)
    bench.pool.release_at(5, 2)
    bench.sim.call_at(6, bench.take, "b", 3)
    with pytest.raises(ValueError, match="tags: more credits given back than were taken"):
        bench.sim.run()


@pytest.mark.parametrize("capacity", [0, -1])
def test_an_empty_pool_is_refused(capacity: int) -> None:
    with pytest.raises(ValueError, match="at least one credit"):
        Bench(capacity)


def test_a_wait_that_has_not_ended_counts_up_to_now() -> None:
    bench = Bench(1)
    bench.take("a", 1)
    bench.take("b", 1)
    bench.sim.call_after(50, lambda: None)
    bench.sim.run()
    assert bench.pool.wait_ps == 50
