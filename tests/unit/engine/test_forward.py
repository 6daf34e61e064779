"""What repeats itself is left out, and nothing else: machines that tick, run in full and not."""

from collections.abc import Callable
from typing import Any

import pytest

from hcasim.catalog import resolve
from hcasim.engine import FastForward, SetAssociativeCache, Simulator
from hcasim.engine.changes import Changes
from hcasim.engine.state import State
from hcasim.workloads import Options, run_point

STEP = 1000
OTHER_STEP = 700


class Ticker:
    """Counts to an end, at a pace of its own, and keeps what it has seen last."""

    __module__ = "hcasim.made.for.a.test"

    changes = Changes(counts="count seen names")

    def __init__(self, sim: Simulator, end: int, step: int = STEP, leads: bool = True) -> None:
        self.sim = sim
        self.count = 0
        self.end = end
        self.step = step
        self.leads = leads
        self.seen: list[tuple[int, Any]] = []
        self.names: dict[int, str] = {0: "last"}
        self.finished_at = 0
        self.each: Callable[[int], object] = lambda count: None
        sim.call_after(step, self.tick)

    def ends(self) -> dict[str, int]:
        return {"count": self.end}

    def tick(self) -> None:
        self.count += 1
        self.seen = [(self.sim.now, self.count)]
        self.names = {self.count: "last"}
        self.each(self.count)
        if self.count == self.end:
            self.finished_at = self.sim.now
            return
        self.sim.call_after(self.step, self.tick)
        if self.leads and self.sim.forward is not None:
            self.sim.forward.checkpoint(self, self.end - self.count)


Machine = Callable[[Simulator], Any]


def both(machine: Machine) -> tuple[Any, Any, int]:
    """What a machine is in the end, run in full and not, and how many calls were left out."""
    whole, short = Simulator(exact=True), Simulator()
    short.forward = FastForward(short)
    ends = [machine(sim) for sim in (whole, short)]
    for sim in (whole, short):
        sim.run()
    assert whole.now == short.now
    return ends[0], ends[1], whole.calls - short.calls


def state(ticker: Ticker) -> tuple[object, ...]:
    return ticker.count, ticker.finished_at, ticker.seen, ticker.names


@pytest.mark.parametrize("end", [1, 2, 5, 100, 1001])
def test_a_count_ends_as_it_does_in_full(end: int) -> None:
    whole, short, saved = both(lambda sim: Ticker(sim, end))
    assert state(short) == state(whole)
    assert saved > end - 30


def test_a_long_count_costs_no_more_than_a_short_one() -> None:
    made = []
    for end in (1000, 1_000_000):
        sim = Simulator()
        sim.forward = FastForward(sim)
        Ticker(sim, end)
        sim.run()
        made.append(sim.calls)
    assert made[0] == made[1]


def other_pace(sim: Simulator) -> list[Ticker]:
    return [Ticker(sim, 700), Ticker(sim, 1000, OTHER_STEP)]


def same_pace(sim: Simulator) -> list[Ticker]:
    return [Ticker(sim, 300), Ticker(sim, 1000)]


def seven_beats(sim: Simulator) -> list[Ticker]:
    """All is the same again after seven."""
    ticker = Ticker(sim, 1000)
    ticker.each = lambda count: setattr(ticker, "step", STEP + count % 7)
    return [ticker]


def hurried(sim: Simulator) -> list[Ticker]:
    """What is due meanwhile happens at its time."""
    ticker = Ticker(sim, 1000)
    sim.call_at(500 * STEP + 1, setattr, ticker, "step", OTHER_STEP)
    return [ticker]


@pytest.mark.parametrize(
    ("machine", "least"), [(other_pace, -1), (same_pace, 1200), (seven_beats, 900), (hurried, 900)]
)
def test_what_is_left_out_ends_as_it_does_in_full(machine: Machine, least: int) -> None:
    whole, short, saved = both(machine)
    assert [state(one) for one in short] == [state(one) for one in whole]
    assert saved > least


def test_a_time_that_is_waited_for_is_not_passed() -> None:
    class Rests(Ticker):
        __module__ = "hcasim.made.for.a.test"

        changes = Changes(times="rests_until")

        def __init__(self, sim: Simulator) -> None:
            self.rests_until = 400 * STEP
            super().__init__(sim, 1000)

        def tick(self) -> None:
            self.step = STEP if self.sim.now < self.rests_until else OTHER_STEP
            super().tick()

    whole, short, saved = both(Rests)
    assert state(short) == state(whole)
    assert 0 < saved < 600


@pytest.mark.parametrize("changes", [Changes(), Changes(counts="extra")])
def test_what_is_not_declared_has_to_be_the_same_again(changes: Changes) -> None:
    class Drifts(Ticker):
        __module__ = "hcasim.made.for.a.test"

        def __init__(self, sim: Simulator) -> None:
            self.extra = 0
            super().__init__(sim, 200)

        def tick(self) -> None:
            self.extra += 1
            super().tick()

    Drifts.changes = changes
    whole, short, saved = both(Drifts)
    assert (short.extra, *state(short)) == (whole.extra, *state(whole))
    assert (saved > 150) is (changes.kinds != {})


def test_nothing_is_left_out_while_somebody_listens() -> None:
    def machine(sim: Simulator) -> Ticker:
        sim.listeners.append(lambda *event: None)
        return Ticker(sim, 200)

    _, _, saved = both(machine)
    assert saved == 0


def test_nothing_is_left_out_beside_what_is_unknown() -> None:
    class Stranger:
        hidden = 0

    def machine(sim: Simulator) -> Ticker:
        ticker = Ticker(sim, 200)
        ticker.stranger = Stranger()  # type: ignore[attr-defined]
        return ticker

    whole, short, saved = both(machine)
    assert state(short) == state(whole)
    assert saved <= 0


def test_a_large_state_is_not_looked_at_for_a_short_count() -> None:
    hoard = [[0] * 1000 for _ in range(100)]

    def machine(sim: Simulator) -> Ticker:
        ticker = Ticker(sim, 2000)
        ticker.hoard = hoard  # type: ignore[attr-defined]
        return ticker

    _, _, saved = both(machine)
    assert saved <= 0
    sim = Simulator()
    machine(sim)
    state = State(sim, most=2000)
    assert state.size < 4000
    assert state.steps_from(state) is None
    assert State(sim).size > 100_000


class Looker(Ticker):
    """Looks keys up in a cache, and fills in what is missing."""

    __module__ = "hcasim.made.for.a.test"

    changes = Changes(counts="misses")

    def __init__(self, sim: Simulator, end: int, held: int, policy: Any) -> None:
        super().__init__(sim, end)
        self.cache = SetAssociativeCache(256, 4, policy)
        for key in range(held):
            self.cache.fill(key)
        self.misses = 0

    def tick(self) -> None:
        super().tick()
        if not self.cache.touch(self.count):
            self.misses += 1
            self.step = 2 * STEP
            self.cache.fill(self.count)


@pytest.mark.parametrize(("held", "saved_least"), [(0, 900), (120, 900), (200, 900), (256, 900)])
@pytest.mark.parametrize("policy", ["lru", "fifo"])
def test_a_look_up_that_turns_out_otherwise_is_not_passed(
    held: int, saved_least: int, policy: str
) -> None:
    whole, short, saved = both(lambda sim: Looker(sim, 1000, held, policy))
    assert state(short) == state(whole)
    assert short.misses == whole.misses > 0
    assert [key in short.cache for key in range(1001)] == [
        key in whole.cache for key in range(1001)
    ]
    assert saved > saved_least


def test_what_chance_decides_is_run() -> None:
    whole, short, _ = both(lambda sim: Looker(sim, 1000, 256, "random"))
    assert state(short) == state(whole)
    assert [key in short.cache for key in range(1001)] == [
        key in whole.cache for key in range(1001)
    ]


def test_numbers_are_written_where_they_were_read() -> None:
    sim = Simulator()
    ticker = Ticker(sim, 10)
    ticker.seen = [(7, (8, 9))]
    ticker.names = {5: "five", 6: "six"}
    before = State(sim)
    ticker.count, ticker.seen = 1, [(8, (8, 10))]
    ticker.names = {6: "five", 7: "six"}
    ((_, place, action),) = sim.to_come()
    sim.moved([(2 * STEP, place, action)], STEP)
    seen = State(sim)
    steps = seen.steps_from(before)
    assert steps is not None
    seen.move(steps, STEP, 100)
    assert ticker.seen == [(108, (8, 110))]
    assert ticker.names == {106: "five", 107: "six"}
    assert (ticker.count, ticker.end, ticker.step) == (101, 10, STEP)
    assert (sim.now, sim.peek()) == (101 * STEP, 102 * STEP)


def test_times_that_have_just_passed_go_on_with_the_clock() -> None:
    class Timed:
        __module__ = "hcasim.made.for.a.test"

        changes = Changes(times="due free never")

        def __init__(self) -> None:
            self.due, self.free, self.never = 0, -3, 1 << 60

    sim, timed = Simulator(), Timed()
    before = State(sim, roots=[timed])
    sim.now, timed.due, timed.free = STEP, STEP, 0
    seen = State(sim, roots=[timed])
    steps = seen.steps_from(before)
    assert steps is not None
    seen.move(steps, STEP, 100)
    assert (timed.due, timed.free, timed.never) == (101 * STEP, 100 * STEP, 1 << 60)


def test_no_state_is_read_while_a_queue_grows() -> None:
    sims: list[Simulator] = []
    options = Options(size=1 << 19, iters=1, nodes=3, tx_depth=1)
    run_point("incast", resolve("ideal-100g"), options, sims.append)
    forward = sims[0].forward
    assert isinstance(forward, FastForward)
    assert forward._size == 0
