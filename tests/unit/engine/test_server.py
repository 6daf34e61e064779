"""Serial servers and exact rates."""

from fractions import Fraction

import pytest

from hcasim.engine import Rate, SerialServer, Simulator


def server(now: int = 0) -> SerialServer:
    sim = Simulator()
    sim.call_at(now, lambda: None)
    sim.run()
    return SerialServer(sim, "pipeline")


def test_an_idle_server_starts_now() -> None:
    pipeline = server(now=100)
    assert pipeline.reserve(25) == 125
    assert (pipeline.free_at, pipeline.busy_ps) == (125, 25)


def test_a_busy_server_starts_when_it_is_free() -> None:
    pipeline = server()
    assert [pipeline.reserve(10), pipeline.reserve(5), pipeline.reserve(1)] == [10, 15, 16]
    assert pipeline.busy_ps == 16


def test_a_later_arrival_finds_a_gap_before_it() -> None:
    pipeline = server()
    assert pipeline.reserve_from(100, 10) == 110
    assert pipeline.reserve_from(105, 10) == 120
    assert pipeline.reserve_from(500, 10) == 510
    assert pipeline.busy_ps == 30


def test_an_arrival_before_the_server_is_free_waits() -> None:
    pipeline = server()
    pipeline.reserve(50)
    assert pipeline.reserve_from(20, 1) == 51


def test_serving_for_no_time_takes_a_turn_and_no_time() -> None:
    pipeline = server()
    pipeline.reserve(50)
    assert pipeline.reserve(0) == 50
    assert pipeline.busy_ps == 50


@pytest.mark.parametrize("reserve", ["reserve", "reserve_from"])
def test_a_negative_service_time_is_refused(reserve: str) -> None:
    pipeline = server()
    arguments = (-1,) if reserve == "reserve" else (0, -1)
    with pytest.raises(ValueError, match="pipeline: a service time cannot be negative: -1 ps"):
        getattr(pipeline, reserve)(*arguments)
    assert (pipeline.free_at, pipeline.busy_ps) == (0, 0)


def test_whole_picoseconds_per_byte_are_kept_exactly() -> None:
    assert [Rate.from_bandwidth(10**9).time(size) for size in (0, 1, 1050)] == [0, 1000, 1050000]


def test_a_third_of_a_picosecond_is_not_lost_over_many_bytes() -> None:
    rate = Rate(Fraction(1, 3))
    assert [rate.time(size) for size in range(7)] == [0, 0, 1, 1, 1, 2, 2]
    assert rate.time(3 * 10**18) == 10**18


def test_half_a_picosecond_is_rounded_up() -> None:
    assert [Rate(Fraction(1, 2)).time(size) for size in range(5)] == [0, 1, 1, 2, 2]


@pytest.mark.parametrize("value", [Fraction(0), Fraction(-1, 2)])
def test_a_rate_needs_a_positive_time_per_byte(value: Fraction) -> None:
    with pytest.raises(ValueError, match="a rate needs a positive time per byte"):
        Rate(value)
