"""The clock: the order of events is the whole of a simulator's reproducibility."""

from collections.abc import Generator
from importlib.metadata import version
from math import inf
from random import Random
from types import FunctionType
from typing import Any

import pytest
from simpy import Environment

from hcasim.engine import Call, Profile, Simulator

Steps = Generator[Any, Any, None]


@pytest.fixture
def sim() -> Simulator:
    return Simulator()


@pytest.mark.parametrize("arguments", [(), (1,), (1, "two", None)])
def test_a_call_gets_its_arguments_each_time(sim: Simulator, arguments: tuple[object, ...]) -> None:
    seen: list[tuple[object, ...]] = []

    def note(*args: object) -> None:
        seen.append((sim.now, *args))

    call = Call(note, arguments)
    for time in (30, 10, 10):
        sim.schedule(time, call)
    sim.call_after(20, note, *arguments)
    sim.call_at(20, note, *arguments)
    sim.run()
    assert seen == [(time, *arguments) for time in (10, 10, 20, 20, 30)]


def test_a_negative_delay_is_refused(sim: Simulator) -> None:
    with pytest.raises(ValueError, match="a delay cannot be negative: -1 ps"):
        sim.call_after(-1, print)


def test_a_time_that_has_passed_is_refused(sim: Simulator) -> None:
    sim.call_after(10, lambda: None)
    sim.run()
    with pytest.raises(ValueError, match="9 ps has passed: it is 10 ps"):
        sim.call_at(9, print)
    with pytest.raises(ValueError, match="9 ps has passed: it is 10 ps"):
        sim.schedule(9, Call(print, ()))
    with pytest.raises(ValueError, match="9 ps has passed: it is 10 ps"):
        sim.run(until=9)
    assert sim.peek() == inf, "what is refused is not done later"
    sim.call_at(10, lambda: None)
    sim.schedule(10, Call(print, ()))


def test_timeouts_of_processes_and_calls_at_the_same_time_keep_their_order(sim: Simulator) -> None:
    seen: list[str] = []

    def process(name: str) -> Steps:
        yield sim.timeout(10)
        seen.append(name)

    # A process starts, and so schedules its timeout, only once the simulation runs.
    sim.process(process("process 1"))
    sim.call_after(10, seen.append, "call")
    sim.process(process("process 2"))
    sim.run(until=1)
    sim.call_at(10, seen.append, "last")
    sim.run()
    assert seen == ["call", "process 1", "process 2", "last"]


def test_a_run_stops_at_the_given_time_and_goes_on_from_there(sim: Simulator) -> None:
    seen: list[int] = []
    for time in (10, 20, 30):
        sim.call_at(time, seen.append, time)
    sim.run(until=20)
    assert (seen, sim.now) == ([10], 20)
    sim.run()
    assert (seen, sim.now) == ([10, 20, 30], 30)


def test_a_run_until_an_event_leaves_later_calls_alone(sim: Simulator) -> None:
    seen: list[int] = []
    done = sim.event()
    sim.call_at(10, done.succeed, "value")
    sim.call_at(11, seen.append, 11)
    assert sim.run(until=done) == "value"
    assert (seen, sim.now) == ([], 10)


def test_an_event_that_never_comes_is_an_error_and_not_a_result(sim: Simulator) -> None:
    sim.call_after(1, lambda: None)
    with pytest.raises(RuntimeError):
        sim.run(until=sim.event())


@pytest.mark.parametrize("where", ["call", "process"])
def test_what_goes_wrong_reaches_the_caller_of_run(sim: Simulator, where: str) -> None:
    def fail() -> None:
        raise LookupError("broken")

    def process() -> Steps:
        yield sim.timeout(1)
        fail()

    if where == "call":
        sim.call_after(1, fail)
    else:
        sim.process(process())
    with pytest.raises(LookupError, match="broken"):
        sim.run()


def test_everybody_who_waits_for_the_event_that_ends_a_run_is_told(sim: Simulator) -> None:
    seen: list[str] = []
    ready = sim.event()
    sim.call_after(3, ready.succeed)

    def process() -> Steps:
        yield ready
        seen.append("late")

    def begin() -> None:
        sim.process(process())

    sim.call_after(1, begin)
    sim.run(until=ready)
    sim.run()
    assert seen == ["late"]


def test_time_stays_a_whole_number_far_beyond_the_reach_of_floats(sim: Simulator) -> None:
    times: list[int] = []
    sim.call_at(2**60, lambda: sim.call_after(1, lambda: times.append(sim.now)))
    sim.run()
    assert times == [2**60 + 1]
    assert type(times[0]) is int


def test_an_interruption_ends_the_run_before_any_other_process_goes_on() -> None:
    sim = Simulator()
    went_on: list[int] = []

    def interrupted() -> Steps:
        yield sim.timeout(5)
        raise KeyboardInterrupt

    def other() -> Steps:
        yield sim.timeout(5)
        went_on.append(sim.now)

    sim.process(interrupted())
    sim.process(other())
    with pytest.raises(KeyboardInterrupt):
        sim.run()
    assert went_on == []


@pytest.mark.parametrize("profile", [None, Profile()])
def test_code_that_is_not_compiled_runs_again_and_again(
    monkeypatch: pytest.MonkeyPatch, profile: Profile | None
) -> None:
    """Python answers signals only there; SimPy, whose property is read, is not compiled."""
    assert isinstance(Environment.active_process.fget, FunctionType)
    seen: list[int] = []
    asked = property(lambda environment: seen.append(sim.calls))
    monkeypatch.setattr(Environment, "active_process", asked)
    sim = Simulator()
    sim.profile = profile
    for time in range(10_000):
        sim.schedule(time // 5000 or time, Call(len, ((),)))
    sim.run()
    assert sorted({0, *seen}) == [0, 4096, 8192]


# What the clock relies on in SimPy.


def test_the_version_is_one_whose_inside_is_known() -> None:
    assert (4, 1) <= tuple(int(part) for part in version("simpy").split(".")[:2]) < (5, 0)


def test_a_program_starts_before_all_else_that_is_due() -> None:
    sim = Simulator()
    order: list[str] = []

    def program(name: str) -> Steps:
        order.append(name)
        yield sim.timeout(0)

    sim.call_after(0, order.append, "call")
    sim.process(program("first"))
    sim.process(program("second"))
    sim.run()
    assert order == ["first", "second", "call"]


def test_an_event_has_happened_when_its_callbacks_are_gone() -> None:
    sim = Simulator()
    event = sim.event()
    assert (event.triggered, event.processed, event.callbacks) == (False, False, [])
    event.succeed(7)
    assert (event.triggered, event.processed) == (True, False)
    assert sim.run(until=event) == 7
    assert (event.processed, event.callbacks) == (True, None)


def test_the_order_is_that_of_times_then_of_those_who_come_first_then_of_asking() -> None:
    draw, sim = Random(1), Simulator()
    asked: list[tuple[int, int, int]] = []
    done: list[tuple[int, int, int]] = []

    def ask(one: tuple[int, int, int]) -> None:
        done.append(one)
        assert one[0] == sim.now
        for _ in range(draw.choice((0, 0, 1, 3)) if len(asked) < 500 else 0):
            at, ahead, number = sim.now + draw.choice((0, 1, 1, 2)), draw.randrange(2), len(asked)
            asked.append((at, -ahead, number))
            (sim.first if ahead else sim.schedule)(at, Call(ask, (asked[-1],)))
        due = [action for _, _, action in sim.to_come()]
        assert [one.args[0] for one in due if isinstance(one, Call)] == sorted(set(asked) - {*done})

    for number in range(100):
        asked.append((1, 0, number))
        sim.call_at(1, ask, asked[-1])
    sim.run()
    assert len(done) == len(asked) == sim.calls > 400
