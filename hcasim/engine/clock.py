"""An integer-picosecond clock: plain callbacks for hardware, SimPy's processes for software."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from heapq import heappop, heappush
from itertools import count
from math import inf
from time import perf_counter_ns
from typing import Any, ClassVar, Final, NoReturn, Protocol, TypeVarTuple

from simpy.core import Environment, SimTime
from simpy.events import NORMAL, AllOf, AnyOf, Event, Process, Timeout

from hcasim.engine.changes import Changes
from hcasim.engine.profile import SOFTWARE, Profile, block_of, seldom_collected
from hcasim.engine.resources import Resources
from hcasim.engine.unrun import Unrun

# Bound once, because compiled code looks names of other modules up each time.
_push: Final = heappush
_pop: Final = heappop
_clock: Final = perf_counter_ns
_add: Final = deque.append
_next: Final = deque.popleft
_remove: Final = dict.pop

_NEVER: Final = 1 << 61
"""A time in ps that does not come."""

_SELDOM: Final = (1 << 12) - 1
"""A mask of the number of actions: where it leaves nothing, signals are answered."""

Args = TypeVarTuple("Args")
"""What a function that is called later is given: a type checker compares it with what it takes."""


class _Stop(Exception):
    """Raised in an action to end the run behind it."""


class Action:
    """Something to do at a time, or as soon as something else is done.

    What happens often is a class of its own, which is faster than a `Call`.
    """

    __slots__ = ()

    block: ClassVar[str] = ""

    def act(self) -> None:
        raise NotImplementedError

    def counted_as(self) -> str:
        """The block whose work it is: its own class, unless it says another."""
        return self.block or type(self).__name__


class Call(Action):
    """A call of anything with its arguments."""

    changes: ClassVar[Changes] = Changes(mixed="args")

    __slots__ = ("args", "function")

    def __init__(self, function: Callable[[*Args], None], args: tuple[*Args]) -> None:
        self.function: Callable[..., None] = function
        self.args: tuple[Any, ...] = args

    def act(self) -> None:
        self.function(*self.args)

    def counted_as(self) -> str:
        return block_of(self.function)


class Onlooker(Call):
    """A call that only looks at what is simulated, and is no part of its state."""

    __slots__ = ()


Entry = tuple[int, int, Action]
"""A time in ps, a place among all that is to come, and what is done then."""


class _Several(Action):
    """What is to be done at the same time, in order; so many of the first are urgent."""

    __slots__ = ("actions", "urgent")

    def __init__(self, first: Action) -> None:
        self.actions = [first]
        self.urgent = 0


class Forward(Protocol):
    """A `FastForward`, which leaves out what repeats itself."""

    def checkpoint(self, leader: object, left: int, place: int = 0) -> None: ...


class Watcher(Protocol):
    """What is told the work of each block, with its begin, and how full pools are."""

    def built(self, what: object) -> None:
        """Note a machine that has been built, before anything happens in it."""

    def event(
        self,
        time_ps: int,
        block: str,
        event: str,
        operation: int,
        details: object,
        since_ps: int | None,
    ) -> None:
        """Note an event of a probe, as listeners do; and when the work began, if that is known."""

    def work(self, block: str, what: str, start_ps: int, end_ps: int, details: object) -> None:
        """Note work of a block of which no probe tells; its begin may be past or to come."""

    def level(self, block: str, time_ps: int, value: int) -> None:
        """Note how much a pool, a queue or a cache holds from a time on; times do not go back."""

    def over(self, block: str, operation: int, details: object) -> None:
        """Note that the adapter which was asked for an operation, a request, has done with it."""


def _watched(*event: object) -> None:
    """Stand for one who watches among those who listen, so that blocks tell what happens."""


class Simulator:
    """Simulated time in integer picoseconds: processes for software, callbacks for hardware.

    Actions at the same time are done in the order in which they were scheduled, so a run is
    reproducible to the picosecond. Nothing can wait for one or cancel it.

    Attributes:
        exact: whether everything is to be run, even what repeats itself.
        listeners: told what the probes of the blocks see.
        watchers: told the work of the blocks with its begin; see `watch`.
        operations: numbers for work requests, from 1.
        calls: actions done so far; an event of SimPy is one.
        forward: leaves out what repeats itself in a message; None if nothing may be.
        unrun: the call of a program that has been made and has not begun.
        steps: events of SimPy so far: each may let a program go on.
        quiet: how many these were when only a `Retry` was to come, and the time in ps.
    """

    def __init__(self, exact: bool = False) -> None:
        self.exact = exact
        self.now = self.calls = self.steps = 0
        self.quiet = (-1, 0)
        self.forward: Forward | None = None
        self.profile: Profile | None = None
        self.listeners: list[Callable[[int, str, str, int, str], None]] = []
        self.watchers: list[Watcher] = []
        self.operations = count(1)
        self.resources = Resources()
        self.unrun = Unrun()
        # The actions of now that are left, in order, the first of which are urgent.
        self._soon: deque[Action] = deque()
        self._urgent = 0
        # A heap of times to come, and what is done at each: integers are compared faster than what
        # holds them, and many actions are at the time of others.
        self._times: list[int] = []
        self._at: dict[int, Action] = {}
        self.environment = _Clockwork(self)

    def watch(self, watcher: Watcher) -> None:
        self.watchers.append(watcher)
        self.listeners.append(_watched)

    def unwatch(self, watcher: Watcher) -> None:
        self.watchers.remove(watcher)
        self.listeners.remove(_watched)

    def schedule(self, time_ps: int, action: Action) -> None:
        """Have ``action`` done at the absolute time ``time_ps``, which may not have passed."""
        if time_ps <= self.now:
            if time_ps < self.now:
                raise ValueError(f"{time_ps} ps has passed: it is {self.now} ps")
            _add(self._soon, action)
            return
        # Made an object once, because compiled code does so each time it hands a number over.
        time: Any = time_ps
        at = self._at
        number = len(at)
        there = at.setdefault(time, action)
        if len(at) != number:
            _push(self._times, time)
        elif isinstance(there, _Several):
            there.actions.append(action)
        else:
            at[time] = several = _Several(there)
            several.actions.append(action)

    def first(self, time_ps: int, action: Action) -> None:
        """Have ``action`` done ahead of all others of its time that are not there by this, too."""
        if time_ps == self.now:
            self._soon.insert(self._urgent, action)
            self._urgent += 1
            return
        there = self._at.get(time_ps)
        if there is None:
            _push(self._times, time_ps)
            self._at[time_ps] = several = _Several(action)
        elif isinstance(there, _Several):
            several = there
            several.actions.insert(several.urgent, action)
        else:
            self._at[time_ps] = several = _Several(action)
            several.actions.append(there)
        several.urgent += 1

    def call_after(self, delay_ps: int, function: Callable[[*Args], None], *args: *Args) -> None:
        if delay_ps < 0:
            raise ValueError(f"a delay cannot be negative: {delay_ps} ps")
        self.schedule(self.now + delay_ps, Call(function, args))

    def call_at(self, time_ps: int, function: Callable[[*Args], None], *args: *Args) -> None:
        self.schedule(time_ps, Call(function, args))

    def process(self, program: Generator[Event, Any, Any]) -> Process:
        """Start a program, which goes on whenever an event that it has yielded has happened."""
        self.unrun.handed(program)
        return Process(self.environment, program)

    def event(self) -> Event:
        return Event(self.environment)

    def timeout(self, delay_ps: int, value: Any = None) -> Timeout:
        return Timeout(self.environment, delay_ps, value)

    def all_of(self, events: Iterable[Event]) -> AllOf:
        return AllOf(self.environment, events)

    def any_of(self, events: Iterable[Event]) -> AnyOf:
        return AnyOf(self.environment, events)

    @property
    def over(self) -> bool:
        """Whether there is nothing left to do."""
        return not self._soon and not self._times

    def peek(self) -> float:
        if self._soon:
            return self.now
        return self._times[0] if self._times else inf

    def to_come(self, until_ps: int = _NEVER) -> list[Entry]:
        """The actions to come up to a time, in order."""
        found: list[tuple[int, Action]] = [(self.now, action) for action in self._soon]
        for time_ps in sorted([one for one in self._times if one <= until_ps]):
            there = self._at[time_ps]
            if isinstance(there, _Several):
                found += [(time_ps, action) for action in there.actions]
            else:
                found.append((time_ps, there))
        return [(time_ps, place, action) for place, (time_ps, action) in enumerate(found)]

    def has_work(self) -> bool:
        """Whether anything is to come but looks of onlookers."""
        return any(not isinstance(action, Onlooker) for _, _, action in self.to_come())

    def moved(self, to_come: Iterable[Entry], now_ps: int) -> None:
        """Go on at a later time with these actions to come; no time of theirs has passed."""
        assert not self._urgent, "nothing moves past what is urgent"
        self.now = now_ps
        self._soon.clear()
        self._times.clear()
        self._at.clear()
        for time_ps, _, action in sorted(to_come):
            self.schedule(time_ps, action)

    def run(self, until: int | Event | None = None) -> Any:
        """Go on until there is nothing left to do, or until something has happened.

        Args:
            until: a time in ps, before whose actions it stops, or an event, whose value it returns.

        Raises:
            ValueError: if that time has passed.
            RuntimeError: if there is nothing left to do before the event, or a call of a program
                was made and never run.
            Exception: with which the event failed.
        """
        if until is None:
            self._go_on()
            if fault := self.unrun.fault():
                raise RuntimeError(fault)
            return None
        if not isinstance(until, Event):
            if until < self.now:
                raise ValueError(f"{until} ps has passed: it is {self.now} ps")
            self.first(until, Call(self._stop, (None,)))
            self._go_on()
            return None
        if not self.reach(until):
            nothing = f"there is nothing left to do, but {until} has not happened"
            raise RuntimeError("; ".join(filter(None, (nothing, self.unrun.fault()))))
        if not until.ok:
            _fail(until)
        return until.value

    def reach(self, event: Event) -> bool:
        """Run until an event has happened, or raise with what it failed; False if it never will."""
        if event.callbacks is not None:
            event.callbacks.append(self._stop)
            self._go_on()
        return event.processed

    def _go_on(self) -> None:
        try:
            with seldom_collected():
                if self.profile is not None:
                    self._go_on_counting(self.profile)
                soon, times, at = self._soon, self._times, self._at
                while True:
                    while soon:
                        if not self.calls & _SELDOM:
                            self._answer_signals()
                        self.calls += 1
                        if self._urgent:
                            self._urgent -= 1
                        _next(soon).act()
                    if not times:
                        break
                    if not self.calls & _SELDOM:
                        self._answer_signals()
                    time: Any = _pop(times)
                    self.now = time
                    action = _remove(at, time)
                    if isinstance(action, _Several):
                        self._take(action)
                    else:
                        self.calls += 1
                        action.act()
        except _Stop:
            pass

    def _take(self, several: _Several) -> None:
        """Have what is to be done now done one by one: all that was there before has been."""
        self._soon.extend(several.actions)
        self._urgent = several.urgent

    def _go_on_counting(self, profile: Profile) -> None:
        after = _clock()
        while self._soon or self._times:
            if not self.calls & _SELDOM:
                self._answer_signals()
            if not self._soon:
                self.now = time = _pop(self._times)
                first = self._at.pop(time)
                if isinstance(first, _Several):
                    self._take(first)
                else:
                    self._soon.append(first)
            self.calls += 1
            if self._urgent:
                self._urgent -= 1
            action = self._soon.popleft()
            before = _clock()
            profile.queue_ns += before - after
            try:
                action.act()
            finally:
                after = _clock()
                profile.count(action.counted_as(), after - before)

    def _answer_signals(self) -> Process | None:
        """Let Python run handlers of signals, which it never does in compiled code.

        The property is code of SimPy, which is not compiled.
        """
        return self.environment.active_process

    def _stop(self, _event: Event | None) -> None:
        raise _Stop


class _Clockwork(Environment):
    """What SimPy's events and processes take for their environment: events are actions."""

    def __init__(self, sim: Simulator) -> None:
        super().__init__()
        self._sim = sim

    @property
    def now(self) -> SimTime:
        return self._sim.now

    def schedule(self, event: Event, priority: int = NORMAL, delay: SimTime = 0) -> None:
        if not event.ok and not isinstance(event.value, Exception):
            # A process was interrupted from outside; no other one runs before that is told.
            _fail(event)
        sim, occurrence = self._sim, _Occurrence(event)
        sim.steps += 1
        if priority < NORMAL:
            sim.first(sim.now + int(delay), occurrence)
        else:
            sim.schedule(sim.now + int(delay), occurrence)


class _Occurrence(Action):
    """An event of SimPy happens."""

    __slots__ = ("event",)

    block: ClassVar[str] = SOFTWARE

    def __init__(self, event: Event) -> None:
        self.event = event

    def act(self) -> None:
        event = self.event
        callbacks = event.callbacks
        event.callbacks = None  # type: ignore[assignment]
        stop: _Stop | None = None
        for callback in callbacks:
            try:
                callback(event)
            except _Stop as asked:
                stop = asked
        if not event.ok and not event.defused:
            _fail(event)
        if stop is not None:
            raise stop


def _fail(event: Event) -> NoReturn:
    error = event.value
    assert isinstance(error, BaseException)
    raise error
