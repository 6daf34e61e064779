"""Fast-forward: what repeats itself is accounted for without being run."""

from __future__ import annotations

from itertools import chain
from typing import ClassVar, Final

from hcasim.engine.cache import AccessLog, Replayed
from hcasim.engine.clock import Simulator
from hcasim.engine.state import State

_LONGEST: Final = 64
"""Checkpoints in the longest period."""
_MOST: Final = 4 * _LONGEST
"""Checkpoints before the search begins again."""
_NUMBER: Final = 0.2
"""Time to read a number of the state, in events."""
_PATIENCE: Final = 16
"""Checkpoints of another message that the leader may let pass, as it does in a burst."""
_TRIES: Final = 3
"""A pause follows when more states than these were read in vain."""
_MOST_IN_VAIN: Final = 12
"""How often the pause may double."""


class FastForward:
    """Leaves out what a machine at a steady pace would do until something else happens.

    A send engine or a responder in a long message calls `checkpoint` again and again. If as much is
    due at equal times after two checkpoints, the state of the machine is read, and once more a
    period later. Two equal states prove that the machine repeats what lies between them. Times and
    counts then advance by as many periods as may pass before a count reaches its end, a cache would
    hit where it missed or the reverse, or another event is due. Nothing is left out while somebody
    listens to the clock's probes or watches.

    Attributes:
        skipped_ps: time that was left out so far, in ps.
    """

    looks_on: ClassVar[bool] = True

    def __init__(self, sim: Simulator) -> None:
        self._sim = sim
        self.skipped_ps = 0
        self._leader: object = None
        self._others: dict[object, int] = {}
        self._checkpoints: list[_Checkpoint] = []
        self._last: dict[tuple[int, ...], int] = {}
        self._states: dict[int, State] = {}
        self._contents: list[Replayed] = []
        self._cyclic: list[tuple[object, str]] = []
        self._size = self._due = self._in_vain = 0
        self._rests_until = 0

    def checkpoint(self, leader: object, left: int, place: int = 0) -> None:
        """Look for a period at a checkpoint of a message.

        Args:
            leader: the message. The first one leads until another has many in a row.
            left: checkpoints still to come; after the last there is no leader.
            place: what has to be equal at two checkpoints, such as the offset in a page.
        """
        sim = self._sim
        if sim.listeners or sim.watchers:
            return
        if not left:
            self._others.pop(leader, None)
            if leader is self._leader:
                self._leader = None
                self._give_up()
            return
        if leader is self._leader:
            self._others.clear()
        elif self._leader is not None and self._others.get(leader, 0) < _PATIENCE:
            self._others[leader] = self._others.get(leader, 0) + 1
            return
        else:
            self._leader = leader
            self._others.clear()
            self._begin()
        if sim.calls >= self._rests_until:
            # When all that is due now has been done: between two calls.
            sim.call_after(0, self._note, leader, left, place)

    def _begin(self) -> None:
        for one in self._contents:
            one.log = None
        self._checkpoints = []
        self._last = {}
        self._states = {}
        self._due = 0

    def _note(self, leader: object, left: int, place: int) -> None:
        if leader is not self._leader:
            return
        past = self._checkpoints
        number = len(past)
        if number == _MOST:
            self._give_up()
            return
        here = _Checkpoint(self._sim, past[-1].now if past else self._sim.now, self._contents)
        past.append(here)
        # Where a queue is longer, no state needs to be read.
        looks_like = (place, self._sim.resources.queued(), *here.due(self._sim))
        for holder, name in self._cyclic:
            value = getattr(holder, name)
            looks_like += tuple(value) if isinstance(value, list) else (value,)
        period = number - self._last.get(looks_like, number)
        self._last[looks_like] = number
        if not 0 < period <= _LONGEST or number < self._due:
            return
        affordable = int((left - period) * (here.calls - past[-2].calls) / (2 * _NUMBER))
        if affordable > self._size:
            self._due = number + period
            self._read(number, affordable)

    def _read(self, number: int, affordable: int) -> None:
        state = State(self._sim, affordable)
        self._size = state.size
        known = {id(one) for one in self._contents}
        if any(id(one) not in known for one in state.replayed):
            self._begin()
            self._contents, self._cyclic = state.replayed, state.cyclic
            return
        for before, other in reversed(self._states.items()):
            period = number - before
            steps = state.steps_from(other)
            if steps is None or period > before or state.slips_from(other):
                continue
            if self._jump(state, steps, number, period):
                self._in_vain = 0
                self._begin()
                return
        self._states[number] = state
        if len(self._states) > _TRIES:
            self._give_up()

    def _give_up(self) -> None:
        if self._states:
            self._rests_until = self._sim.calls + (int(_NUMBER * self._size) << self._in_vain)
            self._in_vain = min(self._in_vain + 1, _MOST_IN_VAIN)
        self._begin()

    def _jump(self, state: State, steps: list[int], number: int, period: int) -> bool:
        sim = self._sim
        step = sim.now - self._checkpoints[number - period].now
        count = self._repeat(number, period, state.most(steps, step) if step > 0 else 0)
        if count <= 0:
            return False
        profile = sim.profile
        sent = 0 if profile is None else profile.packets()
        state.move(steps, step, count)
        if profile is not None:
            profile.left_out += profile.packets() - sent
        self.skipped_ps += count * step
        return True

    def _repeat(self, number: int, period: int, count: int) -> int:
        if count <= 0:
            return 0
        todo: list[tuple[Replayed, AccessLog, AccessLog]] = []
        for place, one in enumerate(self._contents):
            done = [
                checkpoint.done[place]
                for checkpoint in self._checkpoints[number - 2 * period + 1 :]
            ]
            early, late = list(chain(*done[:period])), list(chain(*done[period:]))
            if len(early) != len(late):
                return 0
            if not late or count <= 0:
                continue
            steps = [
                tuple([b - a for a, b in zip(before, after, strict=True)])
                for before, after in zip(early, late, strict=True)
            ]
            count = one.predict(late, steps, count)
            # What is done again and again leaves the contents as they are.
            if late != early:
                todo.append((one, late, steps))
        if count > 0:
            for one, late, steps in todo:
                one.repeat(late, steps, count)
        return count


class _Checkpoint:
    """A time in ps, the events before it, and the accesses to each cache since the one before."""

    __slots__ = ("_before_ps", "calls", "done", "now")

    def __init__(self, sim: Simulator, before_ps: int, contents: list[Replayed]) -> None:
        self.now = sim.now
        self.calls = sim.calls
        self._before_ps = before_ps
        self.done = [one.log or [] for one in contents]
        for one in contents:
            one.log = []

    def due(self, sim: Simulator) -> tuple[int, ...]:
        """Times until other events, up to the checkpoint after the next, in ps."""
        now = self.now
        end = 3 * now - 2 * self._before_ps
        return tuple([entry[0] - now for entry in sim.to_come(end)])
