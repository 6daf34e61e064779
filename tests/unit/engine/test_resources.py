"""Resources are read by name; serial servers, exact rates and caches of keys."""

from fractions import Fraction

import pytest

from hcasim.engine import (
    ParallelServers,
    Rate,
    Resources,
    SerialServer,
    SetAssociativeCache,
    Simulator,
    Waits,
)


def test_two_resources_of_one_name_are_refused_and_one_may_be_entered_again() -> None:
    sim, resources = Simulator(), Resources()
    server = SerialServer(sim, "server")
    resources.serves("server", server)
    resources.serves("server", server)
    server.reserve(5)
    assert resources.busy_ps() == {"server": 5}
    with pytest.raises(ValueError, match="two resources have the name server"):
        resources.serves("server", SerialServer(sim, "server"))


def test_what_is_waited_for_under_one_name_adds_up() -> None:
    sim, resources = Simulator(), Resources()
    for waits in (Waits(sim, "one"), Waits(sim, "other")):
        waits.begin()
        resources.keeps_waiting("both", waits)
    sim.run(until=sim.timeout(7))
    assert resources.waiting_ps() == {"both": 14}


def test_what_has_been_done_is_accounted_for_before_times_are_read() -> None:
    sim, resources = Simulator(), Resources()
    server = SerialServer(sim, "server")
    resources.serves("server", server)
    resources.settle(lambda: None if server.busy_ps else server.reserve(3) and None)
    assert resources.busy_ps() == {"server": 3}


@pytest.mark.parametrize("reserve", ["reserve", "reserve_from"])
def test_a_negative_service_time_is_refused(reserve: str) -> None:
    pipeline = SerialServer(Simulator(), "pipeline")
    arguments = (-1,) if reserve == "reserve" else (0, -1)
    with pytest.raises(ValueError, match="pipeline: a service time cannot be negative: -1 ps"):
        getattr(pipeline, reserve)(*arguments)
    assert (pipeline.free_at, pipeline.busy_ps) == (0, 0)


def test_half_a_picosecond_is_rounded_up_and_a_third_is_not_lost_over_many_bytes() -> None:
    assert [Rate(Fraction(1, 2)).time(size) for size in range(5)] == [0, 1, 1, 2, 2]
    rate = Rate(Fraction(1, 3))
    assert [rate.time(size) for size in range(7)] == [0, 0, 1, 1, 1, 2, 2]
    assert rate.time(3 * 10**18) == 10**18


@pytest.mark.parametrize("value", [Fraction(0), Fraction(-1, 2)])
def test_a_rate_needs_a_positive_time_per_byte(value: Fraction) -> None:
    with pytest.raises(ValueError, match="a rate needs a positive time per byte"):
        Rate(value)


def test_what_precedes_displaces_nothing_and_is_the_first_to_go() -> None:
    cache = SetAssociativeCache(3, 3, "lru")
    cache.fill(1)
    cache.precede(2)
    cache.precede(3)
    assert cache.full
    cache.precede(4)
    assert 4 not in cache
    cache.precede(1)
    assert [cache.fill(key) for key in (5, 6, 7)] == [3, 2, 1]


def test_filling_in_a_key_that_is_held_changes_nothing() -> None:
    cache = SetAssociativeCache(2, 2)
    cache.fill(1)
    cache.fill(2)
    assert cache.fill(1) is None
    assert len(cache) == 2
    assert cache.fill(3) == 1


@pytest.mark.parametrize(
    ("entries", "ways", "fault"),
    [
        (0, 1, "positive entries and ways"),
        (4, 0, "positive entries and ways"),
        (-4, 2, "positive entries and ways"),
        (8, 3, "3 ways do not divide 8 entries"),
    ],
)
def test_what_is_no_cache_is_refused(entries: int, ways: int, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        SetAssociativeCache(entries, ways)


def test_what_takes_no_time_holds_none_of_several_servers() -> None:
    units = ParallelServers(Simulator(), "units", 2)
    assert [units.reserve_from(100, 0) for _ in range(2)] == [100, 100]
    assert units.reserve_from(0, 10) == 10
