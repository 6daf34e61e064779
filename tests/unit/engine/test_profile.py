"""What a run costs is counted by block, and changes nothing."""

from collections.abc import Callable, Generator
from functools import partial
from typing import Any

import pytest

from hcasim.catalog import resolve
from hcasim.engine import Event, Profile, Simulator
from hcasim.engine.profile import block_of
from hcasim.workloads import Options, Result, run_point


class Block:
    def __init__(self) -> None:
        self.seen: list[int] = []

    def hear(self, number: int) -> None:
        self.seen.append(number)

    @classmethod
    def of_all(cls) -> None:
        pass

    def later(self) -> Callable[[], None]:
        return lambda: self.hear(0)


class on_data_later_Block_obj:
    """What a compiled closure looks like from outside."""

    def __call__(self) -> None:
        pass


def alone() -> None:
    pass


@pytest.mark.parametrize(
    ("action", "block"),
    [
        (Block().hear, "Block"),
        (Block.of_all, "Block"),
        (Block().later(), "Block"),
        (on_data_later_Block_obj(), "Block"),
        (alone, "alone"),
        ([].append, "list"),
        (partial(alone), "partial"),
    ],
)
def test_a_call_is_of_the_class_that_it_is_made_to(action: Any, block: str) -> None:
    assert block_of(action) == block


def test_each_call_is_counted_once() -> None:
    sim, block = Simulator(), Block()
    sim.profile = profile = Profile()
    event = sim.event()

    def program() -> Generator[Event, Any, None]:
        yield sim.timeout(5)
        event.succeed()

    for number in range(3):
        sim.call_after(number, block.hear, number)
    sim.process(program())
    sim.run(until=event)
    sim.call_after(7, alone)
    sim.call_after(20, alone)
    sim.run(until=sim.now + 10)
    # The begin of the program, its timeout, the event and the end of the program; and the end of
    # the time, which is an event of the simulator.
    assert profile.calls == {"software": 4, "Block": 3, "alone": 1, "Simulator": 1}
    assert sum(profile.calls.values()) == sim.calls
    assert profile.ns.keys() == profile.calls.keys()
    assert min(profile.ns.values()) >= 0
    assert profile.queue_ns > 0


def test_a_call_that_fails_is_counted_too() -> None:
    sim = Simulator()
    sim.profile = profile = Profile()

    def fail() -> None:
        raise ZeroDivisionError

    sim.call_after(1, fail)
    with pytest.raises(ZeroDivisionError):
        sim.run()
    assert list(profile.calls.values()) == [1]


def run(workload: str, exact: bool, profile: Profile | None) -> tuple[Result, Simulator]:
    sims = []

    def listen(sim: Simulator) -> None:
        sim.profile = profile
        sims.append(sim)

    options = Options(size=1 << 20, window=4, iters=1, warmup=0, exact=exact)
    result = run_point(workload, resolve("liu2004"), options, listen)
    return result, sims[0]


@pytest.mark.parametrize("workload", ["window_bw", "window_bibw", "read_lat"])
@pytest.mark.parametrize("exact", [False, True])
def test_what_is_measured_does_not_change_and_packets_are_those_of_the_adapters(
    workload: str, exact: bool
) -> None:
    usual, without = run(workload, exact, None)
    profile = Profile()
    found, sim = run(workload, exact, profile)
    assert found == usual
    assert sim.now == without.now
    assert sum(profile.calls.values()) == sim.calls == without.calls
    # One more read is followed, to tell what it takes.
    times = 2 if workload == "read_lat" else 1
    assert profile.packets() == times * found.counters["port_xmit_packets"]
    assert bool(profile.left_out) == (not exact)
    assert 0 <= profile.left_out < profile.packets()
