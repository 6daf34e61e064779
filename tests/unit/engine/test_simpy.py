"""What the clock relies on inside SimPy, so that a version that changes it fails here."""

from importlib.metadata import version

from simpy.core import Environment
from simpy.events import NORMAL

from hcasim.engine import Event, Process, Simulator, Timeout


def test_the_version_is_one_whose_inside_is_known() -> None:
    assert (4, 1) <= tuple(int(part) for part in version("simpy").split(".")[:2]) < (5, 0)


def test_the_queue_is_a_heap_of_time_priority_number_and_event() -> None:
    plain = Environment()
    late, soon = plain.timeout(7), plain.timeout(3)
    assert type(plain._queue) is list
    assert plain._queue == [(3, NORMAL, 1, soon), (7, NORMAL, 0, late)]
    assert next(plain._eid) == 2


def test_a_step_takes_the_first_of_the_queue_and_sets_the_time() -> None:
    plain = Environment()
    plain.timeout(5)
    plain.timeout(9)
    plain.step()
    assert (plain._now, [entry[0] for entry in plain._queue]) == (5, [9])


def test_a_run_takes_the_steps_of_the_subclass() -> None:
    seen: list[int] = []

    class Counted(Environment):
        def step(self) -> None:
            seen.append(len(self._queue))
            super().step()

    counted = Counted()
    counted.timeout(1)
    counted.timeout(2)
    counted.run()
    assert seen == [2, 1, 0]


def test_calls_and_events_share_the_queue_in_the_order_of_scheduling() -> None:
    sim = Simulator()
    order: list[str] = []
    sim.timeout(4).callbacks.append(lambda _: order.append("event"))
    sim.call_after(4, order.append, "call")
    assert [len(entry) for entry in sim._queue] == [4, 5]
    sim.run()
    assert order == ["event", "call"]


def test_the_engine_hands_on_what_others_need() -> None:
    sim = Simulator()
    assert type(sim.timeout(1)) is Timeout
    assert type(sim.event()) is Event

    def program():
        yield sim.timeout(1)

    assert type(sim.process(program())) is Process
