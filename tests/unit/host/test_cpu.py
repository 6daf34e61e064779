"""A core that runs one thread."""

from collections.abc import Generator

from simpy.events import Event

from hcasim.engine import Simulator
from hcasim.host import Core


def test_work_takes_its_time_and_is_counted() -> None:
    sim = Simulator()
    core = Core(sim, "core")
    seen: list[int] = []

    def thread() -> Generator[Event, None, None]:
        for duration in (10, 0, 32):
            yield core.work(duration)
            seen.append(int(sim.now))

    sim.process(thread())
    sim.run()
    assert seen == [10, 10, 42]
    assert core.busy_ps == 42


def test_waiting_is_not_counted_as_work() -> None:
    sim = Simulator()
    core = Core(sim, "core")

    def thread() -> Generator[Event, None, None]:
        yield sim.timeout(1000)
        yield core.work(5)

    sim.process(thread())
    sim.run()
    assert (sim.now, core.busy_ps) == (1005, 5)


def test_two_cores_work_at_the_same_time() -> None:
    sim = Simulator()
    cores = [Core(sim, "0"), Core(sim, "1")]

    def thread(core: Core) -> Generator[Event, None, None]:
        yield core.work(100)

    for core in cores:
        sim.process(thread(core))
    sim.run()
    assert sim.now == 100
    assert [core.busy_ps for core in cores] == [100, 100]
