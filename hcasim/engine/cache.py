"""Caches of keys: what is held, which entry leaves, and how accesses are repeated."""

from __future__ import annotations

from itertools import islice
from math import gcd
from random import Random
from typing import Any, ClassVar, Final, Protocol

AccessLog = list[tuple[int, ...]]
"""Accesses in their order, each as numbers; the last one is its result."""
Held = dict[Any, Any]
"""What a cache, a set or a bank of it holds; what came last is at the end."""

_MANY: Final = 1024
"""Uses after which the order of what is held is put right."""
_USE: Final = 0
_FILL: Final = 1
_DISCARD: Final = 2


class Replayed(Protocol):
    """A cache whose contents depend on the order of its accesses.

    The contents are no part of a state. Instead the accesses of a period, kept in `log` unless that
    is None, are repeated, and each has to have the same result.
    """

    log: AccessLog | None

    def predict(self, accesses: AccessLog, steps: AccessLog, most: int) -> int:
        """Return in how many periods, at most so many, the accesses would have the same results.

        From one period to the next all numbers grow by `steps`. The contents do not change.
        """

    def repeat(self, accesses: AccessLog, steps: AccessLog, count: int) -> None:
        """Repeat the accesses in so many periods, all of which have been predicted."""


def later(accesses: AccessLog, steps: AccessLog, periods: int) -> AccessLog:
    """The accesses so many periods later."""
    return [
        tuple([a + periods * b for a, b in zip(access, by, strict=True)])
        for access, by in zip(accesses, steps, strict=True)
    ]


class Fifo:
    """The entry leaves that was filled longest ago.

    Attributes:
        ordered: whether the order of what is held alone tells which entry leaves.
    """

    ordered: ClassVar[bool] = True

    def __init__(self, seed: int = 0) -> None:
        pass

    def use(self, held: Held, key: Any) -> None:
        """Note that a key which is held is used."""

    def choose(self, held: Held) -> Any:
        """Return the key that leaves; the newest stays."""
        return next(iter(held))


class Lru(Fifo):
    """The entry leaves that was used longest ago."""

    def use(self, held: Held, key: Any) -> None:
        value = held[key]
        del held[key]
        held[key] = value


class Chance(Fifo):
    """Any entry leaves but the newest."""

    ordered: ClassVar[bool] = False

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        # On demand: it is larger than most caches that never have to choose.
        self._random: Random | None = None

    def choose(self, held: Held) -> Any:
        if self._random is None:
            self._random = Random(self._seed)
        return next(islice(held, self._random.randrange(len(held) - 1), None))


POLICIES: Final[dict[str, type[Fifo]]] = {"fifo": Fifo, "lru": Lru, "random": Chance}
"""By their names in descriptions."""


class SetAssociativeCache:
    """Which keys are held on chip, each in the set ``key % sets``, without data and time.

    ``seed`` is of what the policy leaves to chance; ``ways`` divide ``entries``.

    Attributes:
        last: the key that was used last, if it is held, whose use changes nothing; else below 0.
        log: what has been done, while somebody wants to know: (what, key, whether it was held).
    """

    def __init__(self, entries: int, ways: int, replacement: str = "lru", seed: int = 0) -> None:
        if entries < 1 or ways < 1:
            raise ValueError(f"a cache needs positive entries and ways, not {entries} and {ways}")
        if entries % ways:
            raise ValueError(f"{ways} ways do not divide {entries} entries")
        self.entries = entries
        self.ways = ways
        self.sets = entries // ways
        self.replacement = replacement
        self.last = -1
        self.log: list[tuple[int, ...]] | None = None
        # Dicts keep insertion order: the first key of a set is the next to go.
        self._sets: dict[int, dict[int, None]] = {}
        self._policy = POLICIES[replacement](seed)
        # Keys that were used since the order of sets was put right, if it depends on that.
        self._used: list[int] = []
        self._by_use = replacement == "lru"
        # What `predict` has come to, and after how many periods, for `repeat` right after it.
        self._foreseen: tuple[SetAssociativeCache, int] | None = None

    def __len__(self) -> int:
        return sum(len(held) for held in self._sets.values())

    @property
    def full(self) -> bool:
        return len(self) == self.entries

    def __contains__(self, key: int) -> bool:
        return key in self._sets.get(key % self.sets, ())

    def touch(self, key: int) -> bool:
        """Look ``key`` up; return whether it is held, and note the use for the policy."""
        if key == self.last:
            return True
        held = self._sets.get(key % self.sets)
        if held is None or key not in held:
            if self.log is not None:
                self._note(self.log, (_USE, key, False))
            return False
        if self.log is not None:
            self._note(self.log, (_USE, key, True))
        if self._by_use:
            self._used.append(key)
            if len(self._used) == _MANY:
                self._put_right()
        self.last = key
        return True

    def _put_right(self) -> None:
        """Have what was used be the last of its set, which only decides what leaves."""
        used = self._used
        for key in used if len(used) == 1 else reversed(dict.fromkeys(reversed(used))):
            self._policy.use(self._sets[key % self.sets], key)
        used.clear()

    def fill(self, key: int) -> int | None:
        """Bring ``key`` in; return the key that had to leave, or None."""
        if self.log is not None:
            self._note(self.log, (_FILL, key, key in self))
        if self._used:
            self._put_right()
        held = self._sets.setdefault(key % self.sets, {})
        if key in held:
            return None
        held[key] = None
        self.last = key
        if len(held) <= self.ways:
            return None
        victim: int = self._policy.choose(held)
        del held[victim]
        return victim

    def discard(self, key: int) -> None:
        if self.log is not None:
            self._note(self.log, (_DISCARD, key, key in self))
        self._put_right()
        held = self._sets.get(key % self.sets)
        if held is not None:
            held.pop(key, None)
        if key == self.last:
            self.last = -1

    def _note(self, log: list[tuple[int, ...]], done: tuple[int, ...]) -> None:
        # To do it twice on end changes no more than to do it once.
        if not log or log[-1] != done:
            log.append(done)

    def predict(self, accesses: AccessLog, steps: AccessLog, most: int) -> int:
        self._put_right()
        trial = SetAssociativeCache(self.entries, self.ways, self.replacement)
        trial._sets = {place: held.copy() for place, held in self._sets.items()}
        found = trial._go_on(accesses, steps, most)
        self._foreseen = (trial, most) if found == most else None
        return found

    def repeat(self, accesses: AccessLog, steps: AccessLog, count: int) -> None:
        self._put_right()
        foreseen, self._foreseen = self._foreseen, None
        if foreseen is not None and foreseen[1] == count:
            self._sets, self.last = foreseen[0]._sets, foreseen[0].last
        else:
            self._go_on(accesses, steps, count)

    def _go_on(self, accesses: AccessLog, steps: AccessLog, most: int) -> int:
        """Do it period after period, as long as it turns out as it says; return how often it did.

        If all keys go on by as much, they belong to the same sets again after a cycle. A cycle that
        leaves in these what the one before it left, but for that, is one of many that all do.
        """
        if any(step[0] or step[2] for step in steps):
            return 0
        rows = [
            (what, key, held > 0, step[1])
            for (what, key, held), step in zip(accesses, steps, strict=True)
        ]
        filled = any(what == _FILL and not held for what, _, held, _ in rows)
        if filled and not self._policy.ordered:
            return 0
        cycle, by, places = self._cycle(rows)
        left: list[list[int]] | None = None
        turn = 0
        while turn < most:
            turn += 1
            if not self._turn(rows, turn):
                return turn - 1
            if cycle and turn % cycle == 0:
                before, left = left, [list(self._sets.get(place, ())) for place in places]
                if before is not None and _moved(before, by * cycle) == left:
                    whole = (most - turn) // cycle * cycle
                    for place, keys in zip(places, _moved(left, by * whole), strict=True):
                        self._sets[place] = dict.fromkeys(keys)
                    turn += whole
                    cycle = 0
        self._recall(rows, turn)
        return turn

    def _cycle(self, rows: list[tuple[int, int, bool, int]]) -> tuple[int, int, list[int]]:
        """Periods of a cycle, by how much all keys go on in each, and their sets; 0 without one."""
        by = rows[0][3] if rows else 0
        if any(step != by for _, _, _, step in rows):
            return 0, 0, []
        apart = gcd(by, self.sets)
        classes = {key % apart for _, key, _, _ in rows}
        return self.sets // apart, by, [n for n in range(self.sets) if n % apart in classes]

    def _turn(self, rows: list[tuple[int, int, bool, int]], turn: int) -> bool:
        sets, number, ways, policy = self._sets, self.sets, self.ways, self._policy
        for what, first, was, step in rows:
            key = first + turn * step
            held = sets.get(key % number)
            if held is None:
                held = sets[key % number] = {}
            if (key in held) != was:
                return False
            if what == _USE:
                if was:
                    policy.use(held, key)
            elif what == _DISCARD:
                held.pop(key, None)
            elif not was:
                held[key] = None
                if len(held) > ways:
                    del held[policy.choose(held)]
        return True

    def _recall(self, rows: list[tuple[int, int, bool, int]], turn: int) -> None:
        for what, first, was, step in reversed(rows):
            if (what == _USE and was) or (what == _FILL and not was):
                key = first + turn * step
                self.last = key if key in self else -1
                return

    def precede(self, key: int) -> None:
        """Have ``key`` held, if there is room, as if it had come before all others of its set."""
        self._put_right()
        held = self._sets.setdefault(key % self.sets, {})
        if len(held) < self.ways and key not in held:
            self._sets[key % self.sets] = {key: None, **held}


def _moved(sets: list[list[int]], by: int) -> list[list[int]]:
    """The keys of sets, each so much further on."""
    return [[key + by for key in keys] for keys in sets]
