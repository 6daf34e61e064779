"""Fast-forward: what repeats itself is accounted for without being run."""

from __future__ import annotations

from typing import Final

from hcasim.engine.clock import Simulator
from hcasim.engine.snapshot import Doings, Replayed, Snapshot

_LONGEST: Final = 64
"""Beats that a period may have."""
_PATIENCE: Final = 1
"""Calls for each number looked at in vain, before the next attempt."""
_NUMBER: Final = 0.4
"""What it takes to look at a number of the state beside a call."""
_TRIES: Final = 2
"""Looks that may be in vain before others are waited for."""
_MANY: Final = 1 << 60
_TIMES: Final = ("_at", "_until", "_from")
"""How the names of times end."""


class FastForward:
    """Leaves out what a machine at a steady pace would do until something else happens.

    A block that does the same again and again, with other numbers each time, tells of each of its
    beats. When beats follow each other at a steady pace, the state of the machine is looked at
    three times, a period apart. If it differs only in numbers, each by as much from the first to
    the second as from the second to the third, then it goes on like that: times, counters,
    addresses and sequence numbers are moved on by as many periods as may pass before the first
    count reaches its end, a look-up turns out otherwise, or a call of something else is due.

    Args:
        sim: the clock; nothing is left out while somebody listens to its probes or watches.

    Attributes:
        skipped_ps: time that was left out so far, in ps.
    """

    def __init__(self, sim: Simulator) -> None:
        self._sim = sim
        self.skipped_ps = 0
        self._leader: object = None
        self._others: set[object] = set()
        self._beats: list[_Beat] = []
        self._last: dict[tuple[int, ...], int] = {}
        self._round: list[tuple[object, str]] = []
        self._period = 0
        self._wraps = False
        self._due = 0
        self._looks: list[_Look] = []
        self._tries = self._numbers = self._affordable = 0
        self._spent = self._rests_until = 0

    def beat(self, leader: object, left: int) -> None:
        """Note a beat of something that repeats itself.

        Args:
            leader: what does. The first to have a beat leads, until another has two without any of
                the leader's between them.
            left: beats that it has before it.
        """
        sim = self._sim
        if sim.listeners or sim.watchers:
            return
        if leader is self._leader:
            self._others.clear()
        elif self._leader is not None and leader not in self._others:
            self._others.add(leader)
            return
        else:
            self._leader = leader
            self._others.clear()
            self._begin()
        beats = self._beats
        beats.append(_Beat(sim, beats[-1].now if beats else sim.now, self._round))
        if self._looks:
            begins = len(beats) == self._due
        elif sim.calls >= self._rests_until:
            self._period = self._seen_before()
            begins = self._period > 0 and self._pays(left)
        else:
            begins = False
        if begins:
            # When all that is due now has been done: between two calls.
            sim.call_after(0, self._look, leader)

    def _pays(self, left: int) -> bool:
        """Whether so many beats take longer than three looks do."""
        last, before = self._beats[-1], self._beats[-2]
        saved = (left - 2 * self._period) * (last.calls - before.calls)
        self._affordable = int(saved / (3 * _NUMBER))
        return self._affordable > self._numbers

    def end(self, leader: object) -> None:
        """Note that there will be no more beats of a leader."""
        if leader is self._leader:
            self._leader = None
            self._begin()
        self._others.discard(leader)

    def _begin(self) -> None:
        """Begin anew."""
        for look in self._looks:
            look.end()
        self._looks = []
        self._tries = 0
        self._beats = []
        self._last = {}

    def _seen_before(self) -> int:
        """Beats after which the machine seems to repeat itself; 0 if it does not."""
        beats = self._beats
        last = len(beats) - 1
        state = beats[last].state
        period = last - self._last.get(state, last)
        self._last[state] = last
        if (
            0 < period <= _LONGEST
            and last >= 2 * period
            and beats[last - 2 * period].state == state
        ):
            return period
        return 0

    def _look(self, leader: object) -> None:
        if leader is not self._leader:
            return
        looks = self._looks
        if looks:
            looks[-1].end()
        look = _Look(self._sim, self._affordable)
        if looks and (look.state.shape != looks[0].state.shape):
            looks.clear()
            self._tries += 1
        looks.append(look)
        if not self._round:
            self._round = look.state.rounds()
        self._numbers = len(look.state.numbers)
        self._spent += self._numbers
        if len(looks) == 3:
            if self._jump():
                self._spent = 0
                self._begin()
                return
            if self._wraps and 2 * self._period <= _LONGEST:
                # What counts round and round takes several of them.
                self._period *= 2
                del looks[:-1]
            else:
                del looks[0]
                self._tries += 1
        if self._tries > _TRIES or not look.state.comparable:
            self._rests_until = self._sim.calls + _PATIENCE * self._spent
            self._spent = 0
            self._begin()
        else:
            self._due = len(self._beats) + self._period

    def _jump(self) -> bool:
        """Move everything on; return whether anything could be left out."""
        self._wraps = False
        first, second, third = (look.state for look in self._looks)
        step = third.now - second.now
        steps: dict[int, int] = {}
        if step <= 0 or second.now - first.now != step:
            return False
        for index, (a, b, c) in enumerate(
            zip(first.numbers, second.numbers, third.numbers, strict=True)
        ):
            if c - b != b - a:
                if c > third.now or b > second.now or a > first.now or not third.lapses(index):
                    self._wraps = third.wraps(index)
                    return False
                steps[index] = step
            elif c != b:
                if third.wraps(index):
                    self._wraps = True
                    return False
                if not third.movable(index):
                    return False
                steps[index] = c - b
        count = self._most(third, steps, step)
        count = self._repeat(count)
        if count <= 0:
            return False
        profile = self._sim.profile
        sent = 0 if profile is None else profile.packets()
        third.write({index: third.numbers[index] + count * by for index, by in steps.items()})
        if profile is not None:
            profile.left_out += profile.packets() - sent
        self._sim.now += count * step
        self.skipped_ps += count * step
        return True

    def _most(self, state: Snapshot, steps: dict[int, int], step: int) -> int:
        """Periods until a count reaches its end, or until something of another pace is due."""
        numbers, now = state.numbers, state.now
        most = _MANY
        for index in state.due:
            if index not in steps:
                most = min(most, (numbers[index] - now - 1) // step)
            elif steps[index] != step:
                return 0
        for index, by in steps.items():
            holder, name = state.attribute(index)
            if hasattr(holder, "ends") and name in (ends := holder.ends()):
                most = min(most, (ends[name] - 1 - numbers[index]) // by if by > 0 else 0)
        for index, number in enumerate(numbers):
            by, ahead = steps.get(index, 0), number - now
            # A time to come may not be reached, and one that has passed may not be left behind.
            if (by < step if ahead > 0 else by > step) and state.attribute(index)[1].endswith(
                _TIMES
            ):
                most = min(most, (ahead - 1) // (step - by) if ahead > 0 else -ahead // (by - step))
        # What nothing ends would go on for ever.
        return most if most < _MANY else 0

    def _repeat(self, count: int) -> int:
        """Do again what was done to contents; return how often it turned out the same."""
        first, second, third = self._looks
        todo: list[tuple[Replayed, Doings, Doings]] = []
        for one, early, late in zip(third.state.replayed, first.done, second.done, strict=True):
            if len(early) != len(late):
                return 0
            if not late or count <= 0:
                continue
            steps = [
                tuple([b - a for a, b in zip(before, after, strict=True)])
                for before, after in zip(early, late, strict=True)
            ]
            count = one.foresee(late, steps, count)
            # What is done again and again leaves the contents as they are.
            if late != early:
                todo.append((one, late, steps))
        if count > 0:
            for one, late, steps in todo:
                one.repeat(late, steps, count)
        return count


class _Look:
    """A look at the state, and what is done to contents from then on until the next.

    Attributes:
        done: by content, in the order of the walk.
    """

    def __init__(self, sim: Simulator, most: int) -> None:
        self.state = Snapshot(sim, most)
        self.done: list[Doings] = []
        for one in self.state.replayed:
            one.log = []

    def end(self) -> None:
        """No more is of interest."""
        if not self.done:
            self.done = [one.log or [] for one in self.state.replayed]
        for one in self.state.replayed:
            one.log = None


class _Beat:
    """A beat, with what tells one from another at once.

    Attributes:
        now: when it was, in ps.
        calls: those before it.
        state: how long after it others are due before as long as since the beat before has passed,
            and what counts round and round.
    """

    __slots__ = ("calls", "now", "state")

    def __init__(self, sim: Simulator, before_ps: int, round_: list[tuple[object, str]]) -> None:
        self.now = now = sim.now
        self.calls = sim.calls
        end = 2 * now - before_ps
        due = sorted([entry[0] - now for entry in sim.queue if entry[0] <= end])
        for holder, name in round_:
            value = getattr(holder, name)
            due.extend(value if isinstance(value, list) else (value,))
        self.state = tuple(due)
