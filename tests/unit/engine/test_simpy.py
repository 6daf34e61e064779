"""What the clock relies on in SimPy, so that a version that changes it fails here."""

from collections.abc import Generator
from importlib.metadata import version
from typing import Any

from hcasim.engine import Event, Process, Simulator, Timeout

Steps = Generator[Any, Any, None]


def test_the_version_is_one_whose_inside_is_known() -> None:
    assert (4, 1) <= tuple(int(part) for part in version("simpy").split(".")[:2]) < (5, 0)


def test_calls_and_events_share_the_queue_in_the_order_of_scheduling() -> None:
    sim = Simulator()
    order: list[str] = []
    sim.timeout(4).callbacks.append(lambda _: order.append("event"))
    sim.call_after(4, order.append, "call")
    sim.timeout(4).callbacks.append(lambda _: order.append("another"))
    sim.run()
    assert order == ["event", "call", "another"]


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


def test_conditions_of_events_happen_with_the_first_or_the_last() -> None:
    sim = Simulator()
    events = [sim.timeout(3), sim.timeout(5)]
    first, all_ = sim.any_of(events), sim.all_of(events)
    sim.run(until=first)
    assert (sim.now, all_.triggered) == (3, False)
    sim.run(until=all_)
    assert sim.now == 5


def test_the_engine_hands_on_what_others_need() -> None:
    sim = Simulator()
    assert type(sim.timeout(1)) is Timeout
    assert type(sim.event()) is Event

    def program() -> Steps:
        yield sim.timeout(1)

    assert type(sim.process(program())) is Process
