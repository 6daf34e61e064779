"""The way to memory that takes no time."""

from hcasim.bus.direct import DirectBus
from hcasim.engine import Simulator


def test_what_is_asked_for_is_done_now_and_in_order() -> None:
    sim, done = Simulator(), list[tuple[str, int]]()
    bus = DirectBus(sim, "bus")

    def note(what: str) -> None:
        done.append((what, sim.now))

    def ask() -> None:
        bus.read(0, 5000, note, "read")
        bus.write(0, 300, on_visible=lambda: note("visible"))
        bus.mmio_write(8, note, "doorbell")
        done.append(("asked", sim.now))

    sim.call_at(7, ask)
    sim.run()
    assert done == [(what, 7) for what in ("asked", "read", "visible", "doorbell")]
    assert bus.counters() == {
        "bus_read_requests": 1,
        "bus_read_bytes": 5000,
        "bus_writes": 1,
        "bus_write_bytes": 300,
        "bus_mmio_writes": 1,
    }


def test_nothing_leaves_while_it_is_held() -> None:
    sim, done = Simulator(), list[int]()
    bus = DirectBus(sim, "bus")
    assert (bus.hold(10), bus.hold(5)) == (10, 15)
    bus.read(0, 8, lambda: done.append(sim.now))
    bus.write(0, 8, lambda: done.append(sim.now), lambda: done.append(sim.now))
    sim.run()
    assert done == [15, 15, 15]
